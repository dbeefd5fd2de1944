"""Tests `emulate` with a stand-in for shoal."""

import gzip
import io
import json
import os
import struct
import unittest
from pathlib import Path
from unittest import mock

from emulated import StandIn
from support import emulate

MAGIC = struct.pack("<I", 0xCED7230A)
WAIT = "print('training', flush=True)\nsignal.pause()\n"


class Emulating(StandIn):
    def test_the_container_has_the_platforms_files_and_the_results_reach_s3(self):
        code = """
found = {name: config(name) for name in ("resourceconfig", "inputdataconfig", "checkpointconfig")}
found |= {"words": sys.argv, "job": os.environ["TRAINING_JOB_NAME"]}
found |= {"mine": os.environ["MINE"], "base": str(base)}
(base / "model/seen.json").write_text(json.dumps(found))
(base / "output/data/history").write_text("data")
(base / "output/tensorboard/events").write_text("events")
(pathlib.Path(found["checkpointconfig"]["LocalPath"]) / "c.pt").write_text("state")
print("x loss=3.5; loss=nothing;\\nx loss=0.25; acc=7;")
"""
        (self.folder / "metrics.json").write_text(
            json.dumps([{"Name": n, "Regex": f"{n}=(.*?);"} for n in ("loss", "acc", "none")])
        )
        code, out, err = self.job(
            code,
            metrics=str(self.folder / "metrics.json"),
            checkpoints="s3://bucket/c",
            checkpoint_path="/state",
            tensorboard="s3://bucket/tb",
            environment={"MINE": "/opt/ml/model"},
        )
        self.assertEqual(code, 0, err)
        seen = json.loads(self.result("model/seen.json"))
        self.assertEqual((seen["job"], seen["mine"]), ("job", seen["base"] + "/model"))
        self.assertEqual((len(seen["words"]), Path(seen["words"][0]).name), (1, "train"))
        resources = seen["resourceconfig"]
        self.assertEqual((resources["current_host"], resources["hosts"]), ("algo-1", ["algo-1"]))
        self.assertEqual(resources["current_instance_type"], "ml.c5.xlarge")
        self.assertEqual(
            seen["inputdataconfig"]["train"],
            {
                "TrainingInputMode": "File",
                "S3DistributionType": "FullyReplicated",
                "RecordWrapperType": "None",
            },
        )
        self.assertEqual(self.result("data/history"), "data")
        self.assertEqual((self.bucket / "c/c.pt").read_text(), "state")
        self.assertEqual((self.bucket / "tb/events").read_text(), "events")
        states = [line.split()[-1] for line in err.splitlines() if "InProgress" in line]
        self.assertEqual(states, ["Starting", "Downloading", "Training", "Uploading"])
        self.assertIn("job: Completed", out)
        self.assertNotIn("metric ", out)  # the metrics are in the log already
        self.assertEqual(self.emulate("metrics", "job")[1], "loss 0.25\nacc 7\n")
        code, out, err = self.emulate("download", "job", self.folder / "got")
        self.assertTrue((self.folder / "got/seen.json").exists(), err)

    def test_results_are_archives_with_compress(self):
        code = '(base / "model/m").write_text("weights")'
        code, _, err = self.job(code, compress=True)
        self.assertEqual(code, 0, err)
        self.assertEqual(self.emulate("download", "job", self.folder / "got")[0], 0)
        self.assertEqual((self.folder / "got/m").read_text(), "weights")

    def test_a_job_replaces_the_kept_folders_of_an_earlier_job_with_its_name(self):
        for number in range(2):
            code, _, err = self.job(f"(base / 'model/{number}').touch()", "--keep")
            self.assertEqual(code, 0, err)
        kept = self.folder.glob("s3/.containers/job/*/*/model/*")
        self.assertEqual([path.name for path in kept], ["1"])

    def test_file_channels_are_copies(self):
        code = """
path = base / "input/data/train/a/1"
(base / "model/m").write_text(path.read_text())
path.write_text("changed")
"""
        code, _, err = self.job(code)
        self.assertEqual((code, self.result("model/m")), (0, "one"), err)
        self.assertEqual((self.bucket / "train/a/1").read_text(), "one")

    def test_without_mount_namespaces_fastfile_channels_are_links(self):
        code = "(base / 'model/m').write_text((base / 'input/data/train/a/1').read_text())"
        channels = {"train": {"source": "s3://bucket/train/", "mode": "FastFile"}}
        with mock.patch("emulation.cluster.allowed", return_value=None):
            code, _, err = self.job(code, channels=channels)
        self.assertEqual((code, self.result("model/m")), (0, "one"), err)
        self.assertIn("FastFile channels are links", err)

    def read_pipes(self, channel, epochs, hosts=1, code=""):
        """Returns the bytes that each host reads: one entry per epoch."""
        code = f"""
for epoch in range({epochs}):
    path = base / f"input/data/c_{{epoch}}"
    while not path.exists():  # the writer has not yet noticed that the last was closed
        pass
    with open(path, "rb") as pipe:
        data = pipe.read(1) if epoch == 1 else pipe.read()
    (base / f"model/{{config('resourceconfig')['current_host']}}-{{epoch}}").write_bytes(data)
"""
        words = ("--hosts", str(hosts), "--loopback") if hosts > 1 else ()
        code, _, err = self.job(code, *words, channels={"c": channel | {"mode": "Pipe"}})
        self.assertEqual(code, 0, err)
        names = ["127.0.0.1", "127.0.0.2"][:hosts] if hosts > 1 else ["algo-1"]
        folder = self.bucket / "jobs/job/output/model"
        return [[(folder / f"{name}-{e}").read_bytes() for e in range(epochs)] for name in names]

    def test_a_pipe_is_a_new_fifo_for_each_epoch_and_may_be_closed_early(self):
        found = self.read_pipes({"source": "s3://bucket/train"}, 3)
        self.assertEqual(found, [[b"onetwo", b"o", b"onetwo"]])

    def test_pipes_shuffle_objects_and_share_them_among_hosts(self):
        for index in range(9):
            self.put(f"many/{index}", b"%d" % index)
        channel = {"source": "s3://bucket/many/", "shuffle": 1, "distribution": "ShardedByS3Key"}
        first, second = self.read_pipes(channel, 3, hosts=2)
        for epoch in (0, 2):
            both = first[epoch] + second[epoch]
            self.assertEqual(sorted(both), list(b"012345678"))
            self.assertNotEqual(both, b"012345678")
        self.assertNotEqual(first[0], first[2])

    def test_pipes_unpack_gzip_and_wrap_records(self):
        payloads = [b"abcdef", b"1234" + MAGIC + b"56" + MAGIC, MAGIC]
        for index, payload in enumerate(payloads):
            self.put(f"zip/{index}", gzip.compress(payload))
        channel = {"source": "s3://bucket/zip/", "wrapper": "RecordIO", "compression": "Gzip"}
        file, records = io.BytesIO(self.read_pipes(channel, 1)[0][0]), []
        while head := file.read(8):
            magic, word = struct.unpack("<II", head)
            self.assertEqual(magic, 0xCED7230A)
            flag, size = word >> 29, word & (1 << 29) - 1
            part = file.read(size)
            file.read(-size % 4)
            if flag in (0, 1):
                records.append(part)
            else:
                records[-1] += MAGIC + part
        self.assertEqual(records, payloads)

    def test_augmented_manifests_deliver_each_attribute(self):
        refs = [f"s3://bucket/train/{name}" for name in ("a/1", "b/2")]
        lines = [{"source-ref": ref, "class": index} for index, ref in enumerate(refs)]
        self.put("list", "\n".join(map(json.dumps, lines)).encode())
        channel = {"source": "s3://bucket/list", "type": "augmented"}
        channel["attributes"] = ["source-ref", "class"]
        self.assertEqual(self.read_pipes(channel, 1), [[b"one0two1"]])

    def test_a_pipe_whose_objects_cannot_be_unpacked_ends_the_job(self):
        channel = {"source": "s3://bucket/train/", "mode": "Pipe", "compression": "Gzip"}
        code = f"open(base / 'input/data/train_0').read()\n{WAIT}"
        code, _, err = self.job(code, channels={"train": channel})
        self.assertEqual(code, 2)
        self.assertEqual(err.splitlines()[-1][:60], "emulate: error: channels: train: a/1: Not a gzipped file (b'")

    def test_links_in_the_folder_that_emulates_s3_are_followed(self):
        data = self.folder / "elsewhere"
        (self.bucket / "train").rename(data)
        (self.bucket / "train").symlink_to(data)
        (self.folder / "images").mkdir()
        self.emulate = lambda *words: emulate(*words, "--s3", self.folder / "images/../s3")
        code = "(base / 'model/n').write_text(str(len(os.listdir(base / 'input/data/train'))))"
        code, _, err = self.job(code)
        self.assertEqual((code, self.result("model/n")), (0, "2"), err)

    def test_failures_have_the_platforms_reason(self):
        failure = '(base / "output/failure").write_text("no data" + "x" * 2000); sys.exit(7)'
        cases = [
            (failure, f"job: Failed: AlgorithmError: no data{'x' * 1017}, exit code: 7"),
            ("sys.exit(3)", "job: Failed: AlgorithmError: Exit Code: 3"),
            ("os.kill(os.getpid(), signal.SIGKILL)", "job: Failed: AlgorithmError: Exit Code: 137"),
        ]
        for code, expected in cases:
            with self.subTest(expected[:60]):
                code, out, err = self.job(code)
                self.assertEqual(code, 1, err)
                self.assertIn(expected, out)

    def test_a_job_is_stopped_at_its_time_limit_and_keeps_its_results(self):
        code = """
def stop(*_):
    (base / "model/m").write_text("saved")
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
"""
        code, out, err = self.job(code + WAIT, max_run="4s")
        self.assertEqual((code, self.result("model/m")), (3, "saved"), err)
        self.assertIn("job: Stopped", out)
        self.assertEqual(self.job(WAIT, max_run="1s")[0], 3)  # the signal ends the program

    def test_a_spot_job_restarts_in_an_empty_container_with_its_checkpoints(self):
        code = """
state = base / "checkpoints/state"
runs = state.read_text() if state.exists() else ""
used = (base / "model/used").exists()
(base / "model/used").write_text("")
def stop(*_):
    state.write_text(runs + "T")
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
(base / f"output/tensorboard/{len(runs)}").touch()
if len(runs) < 2:
    state.write_text(runs + "K")
    print("training", flush=True)
    signal.pause()
(base / "model/runs").write_text(f"{runs} {used}")
"""
        spot = {"spot": True, "max_wait": "2d", "checkpoints": "s3://bucket/c"}
        twice = ("--stop-at", "^train", "--stop-at", "^train")
        for words, expected in (((), "TT False"), (("--kill",), "KK False")):
            curves = f"tb{expected[0]}"
            code_, out, err = self.job(
                code, *twice, *words, tensorboard=f"s3://bucket/{curves}", **spot
            )
            self.assertEqual((code_, self.result("model/runs")), (0, expected), err)
            # The platform uploads this folder during the job: the files of all containers remain.
            self.assertEqual(sorted(os.listdir(self.bucket / curves)), ["0", "1", "2"])
            self.assertEqual(err.count("InProgress Interrupted"), 2)
            (self.bucket / "c/state").unlink()
        first = 'if base.parent.name == "0": signal.pause()'
        code_, _, err = self.job(first, "--stop-after", "0.1", **spot)
        self.assertEqual((code_, err.count("InProgress Interrupted")), (0, 1), err)
        code_, _, err = self.job("", "--stop-at", "never", **spot)
        self.assertEqual(code_, 0, err)
        self.assertIn("the job ended before --stop-at never interrupted it", err)
        local = self.folder / "images"
        local.mkdir()
        (local / "1").write_bytes(b"one")
        code_, _, err = self.job(code, "--stop-after", "1", channels={"train": str(local)})
        self.assertEqual((code_, "uploaded" in err), (2, False), err)
        self.assertIn("--stop-after, --stop-at: only spot jobs are restarted", err)

    def test_hosts_are_loopback_addresses_without_namespaces_or_with_loopback(self):
        text, err = self.text_from_second_host("--loopback")
        self.assertEqual(text, "127.0.0.2 lo", err)
        (self.folder / "port").unlink()
        with mock.patch("emulation.cluster.allowed", return_value=None):
            text, err = self.text_from_second_host()
        self.assertEqual(text, "127.0.0.2 lo", err)
        self.assertIn("no network namespaces", err)

    def test_a_host_that_fails_ends_the_job_of_all_hosts(self):
        code = "if config('resourceconfig')['current_host'] == '127.0.0.2': sys.exit(4)\n" + WAIT
        code, out, err = self.job(code, "--hosts", "2", "--loopback")
        self.assertEqual(code, 1, err)
        self.assertIn("job: Failed: AlgorithmError: Exit Code: ", out)

    def test_a_chain_runs_from_the_same_file_and_is_complete_the_next_time(self):
        images = self.folder / "images"
        images.mkdir()
        (images / "x.jpg").write_text("")
        code = """
print((base / "input/data/train/t.pack").read_text() + " was packed")
(base / "model/m").write_text("weights")
(base / "checkpoints/c").write_text("state")
"""
        tune = """
print(*((base / "input/data" / name).read_text() for name in ("pretrained/m", "state/c")))
"""
        chain = {name: self.settings[name] for name in ("image", "role", "instances", "output")} | {
            "project": "p",
            "tasks": {
                "pack": {"source": str(images), "pack": "t.pack"},
                "train": {
                    "metrics": "none",
                    "channels": {"train": "task:pack/output"},
                    "hyperparameters": {"code": json.dumps(code)},
                    **{"spot": True, "max_wait": "2d"},
                },
                "tune": {
                    "metrics": "none",
                    "channels": {"pretrained": "task:train/model", "state": "task:train/state"},
                    "hyperparameters": {"code": json.dumps(tune)},
                },
            },
        }
        file = self.folder / "chain.json"
        file.write_text(json.dumps(chain))
        words = (file, "--program", self.folder / "program")
        code, out, err = self.emulate(*words)
        self.assertEqual(code, 0, err)
        self.assertIn("x.jpg was packed\n", out)
        self.assertIn("weights state\n", out)
        code, out, err = self.emulate(*words)
        self.assertEqual((code, out.count("is complete; --force runs the task again")), (0, 3), err)
        self.assertNotIn("was packed", out)
        words += ("--task", "pack", "--task", "train", "--force", "--clean-state")
        code, out, err = self.emulate(*words, "--stop-after", "0")  # interrupts only the spot job
        self.assertEqual((code, err.count("InProgress Interrupted")), (0, 1), err)
        self.assertIn("was packed", out)

    def test_mistakes_are_one_sentence(self):
        cases = [
            ({"channels": {"train": "s3://bucket/no/"}}, (), "channels: train: s3://bucket/no/"),
            ({}, ("--stop-at", "["), "--stop-at: '[' is not a regular expression"),
            ({}, ("--program", "/tmp"), "--program: /tmp is not a program"),
            ({}, ("--hosts", "300"), "--hosts is 300; it must be 1 to 254"),
            ({}, ("--hosts", "0"), "--hosts is 0; it must be 1 to 254"),
            ({}, ("--stop-after", "-1"), "--stop-after is -1.0; it must be 0 or more"),
            ({"channels": {"train": "s3://bucket/../x"}}, (), "s3://bucket/../x is outside"),
            ({"retries": 31}, (), "RetryStrategy.MaximumRetryAttempts: 31"),
            (
                {"instances": None, "groups": {"a": "ml.c5.xlarge"}},
                ("--hosts", "2"),
                "--hosts: the job",
            ),
        ]
        for settings, words, expected in cases:
            with self.subTest(expected):
                code, _, err = self.job("", *words, **settings)
                lines = [line for line in err.splitlines() if ": error: " in line]
                self.assertEqual((code, len(lines)), (2, 1), err)
                self.assertIn(f"emulate: error: {expected}", lines[0])
        for words, expected in (
            (("stop", "job"), "stop is a command of launch.py only"),
            (("metrics", "job", "--series"), "metrics --series is a command of launch.py only"),
            (("process", "--stop-after", "1"), "only spot jobs are restarted"),
        ):
            code, _, err = self.emulate(*words)
            self.assertEqual((code, expected in err), (2, True), err)
        self.assertEqual(list(self.folder.glob("s3/.containers/*")), [])


if __name__ == "__main__":
    unittest.main()
