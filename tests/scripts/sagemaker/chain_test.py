import json
import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import boto3
from moto import mock_aws

from support import IMAGE, ROLE, SCRIPTS, botocore_errors, launch
import jobs
from limits import model_violations

CHAIN = {
    "project": "net",
    "image": IMAGE,
    "role": ROLE,
    "output": "s3://bucket/jobs",
    "instances": "ml.c5.xlarge",
    "hyperparameters": {"lr": 0.1},
    "tasks": {
        "get": {"download": ["https://x.org/a.tar", "https://x.org/b.tar"]},
        "prepare": {"source": "task:get/output", "prepare": "tars"},
        "train": {
            "metrics": "none",
            "max_run": "2h",
            "hyperparameters": {"epochs": 2},
            "channels": {
                "train": "task:prepare/output/train/",
                "val": {"source": "task:prepare/output/val/", "mode": "FastFile"},
            },
        },
    },
}


def changed(task, **more):
    """Returns the chain with settings of a task replaced. None removes a setting."""
    chain = json.loads(json.dumps(CHAIN))
    found = chain["tasks"].setdefault(task, {}) | more
    chain["tasks"][task] = {name: value for name, value in found.items() if value is not None}
    return chain


@mock_aws
class Chains(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "chain.json"
        # Each job gets a different time in its name.
        clock = mock.patch("chain.time")
        clock.start().strftime.side_effect = (f"20260102-{second:06}" for second in range(99))
        self.addCleanup(clock.stop)

    def run_chain(self, *options, chain=CHAIN):
        self.file.write_text(json.dumps(chain))
        return launch(self.file, *options, "--poll", "0")

    def job(self, task, number):
        return f"net-{task}-20260102-{number:06}"

    def described(self, kind, task, number):
        return jobs.describe(boto3.client("sagemaker"), self.job(task, number), kind)

    def test_each_task_reads_the_results_of_the_job_before(self):
        code, out, err = self.run_chain("--wait")
        self.assertEqual(code, 0, err)
        self.assertEqual(
            [line for line in out.splitlines() if "starting" in line],
            [f"{task}: starting {self.job(task, i)}" for i, task in enumerate(CHAIN["tasks"])],
        )
        get = self.described("Processing", "get", 0)
        self.assertEqual(
            get["AppSpecification"]["ContainerArguments"][1::2],
            CHAIN["tasks"]["get"]["download"],
        )
        folder = f"s3://bucket/jobs/net/get/{self.job('get', 0)}/output"
        self.assertEqual(jobs.result_address(get, "output"), folder)
        prepare = self.described("Processing", "prepare", 1)
        self.assertEqual(prepare["ProcessingInputs"][0]["S3Input"]["S3Uri"], folder + "/")
        train = self.described("Training", "train", 2)
        made = jobs.result_address(prepare, "output")
        sources = [c["DataSource"]["S3DataSource"]["S3Uri"] for c in train["InputDataConfig"]]
        self.assertEqual(sources, [made + "/train/", made + "/val/"])
        self.assertEqual(train["InputDataConfig"][1]["InputMode"], "FastFile")
        self.assertEqual(train["HyperParameters"], {"lr": "0.1", "epochs": "2"})
        self.assertEqual(train["CheckpointConfig"]["S3Uri"], "s3://bucket/jobs/net/train/state")

    def names(self):
        sagemaker = boto3.client("sagemaker")
        found = sagemaker.list_processing_jobs()["ProcessingJobSummaries"]
        found += sagemaker.list_training_jobs()["TrainingJobSummaries"]
        return sorted(jobs.name_of(entry) for entry in found)

    def test_complete_tasks_are_skipped_unless_forced_or_with_other_inputs(self):
        self.assertEqual(self.run_chain()[0], 0)
        first = self.names()
        self.assertEqual(len(first), 3)
        code, out, err = self.run_chain()
        self.assertEqual((code, self.names()), (0, first), err)
        self.assertEqual(out.count("is complete; --force runs the task again"), 3)

        code, out, err = self.run_chain("--task", "train", "--force")
        self.assertEqual(code, 0, err)
        self.assertEqual(len(self.names()), 4)
        self.assertNotIn("prepare", out)

        # A new job of prepare makes new data. The training task must not continue from checkpoints
        # of the old data, even if its newest job has failed.
        s3 = boto3.client("s3")
        s3.create_bucket(Bucket="bucket")
        s3.put_object(Bucket="bucket", Key="jobs/net/train/state/epoch-0001.pt", Body=b"x")
        self.assertEqual(self.run_chain("--task", "prepare", "--force")[0], 0)
        failed = lambda found: "Failed" if "TrainingJobStatus" in found else "Completed"  # noqa: E731
        for status in (jobs.status_of, failed):
            with mock.patch("jobs.status_of", status):
                code, out, err = self.run_chain()
            self.assertEqual((code, len(self.names())), (2, 5), err)
            self.assertRegex(err, "tasks: train: the input train of .*; add --clean-state")
        code, out, err = self.run_chain("--keep-state")
        self.assertEqual((code, len(self.names())), (0, 6), err)
        self.assertRegex(out, "train: .* is complete, but its input train has changed")
        self.assertEqual(out.count("starting"), 1)
        self.assertIn("Contents", s3.list_objects_v2(Bucket="bucket"))
        self.assertEqual(self.run_chain("--task", "prepare", "--force")[0], 0)
        code, out, err = self.run_chain("--clean-state")
        self.assertEqual((code, len(self.names())), (0, 8), err)
        self.assertNotIn("Contents", s3.list_objects_v2(Bucket="bucket"))
        # Without checkpoints there is nothing to decide.
        self.assertEqual(self.run_chain("--task", "prepare", "--force")[0], 0)
        self.assertEqual((self.run_chain()[0], len(self.names())), (0, 10))

    def test_mistakes_in_later_tasks_are_reported_before_a_job_starts(self):
        archive = changed("train", compress=True)
        archive["tasks"]["tune"] = {
            "metrics": "none",
            "channels": {"train": "s3://bucket/t", "pretrained": "task:train/model"},
        }
        for chain, message in (
            (changed("train", retries=31), "tasks: train: .*MaximumRetryAttempts"),
            (archive, "tasks: tune: channels: pretrained: the result .* is the archive"),
        ):
            code, _, err = self.run_chain(chain=chain)
            self.assertEqual((code, self.names()), (2, []), err)
            self.assertRegex(err, message)

    def test_a_task_of_a_project_with_a_similar_name_is_another_task(self):
        self.assertEqual(self.run_chain("--task", "get")[0], 0)
        one = changed("b-c", download=["https://x.org/a.tar"]) | {"project": "a"}
        other = changed("c", download=["https://x.org/a.tar"]) | {"project": "a-b"}
        self.assertEqual(self.run_chain("--task", "b-c", chain=one)[0], 0)
        code, out, err = self.run_chain("--task", "c", chain=other)
        self.assertEqual(code, 0, err)
        self.assertIn("c: starting", out)

    def prepare_runs(self, then):
        """Patches jobs.describe: the prepare job is running twice, and then has the status."""
        describe, answers = jobs.describe, []

        def running(sagemaker, job, kind="Training"):
            found = describe(sagemaker, job, kind)
            if job.startswith("net-prepare"):
                answers.append(job)
                found["ProcessingJobStatus"] = "InProgress" if len(answers) < 3 else then
            return found

        return mock.patch("jobs.describe", running)

    def test_a_running_job_is_waited_for_and_not_started_again(self):
        self.assertEqual(self.run_chain()[0], 0)
        names = self.names()
        with self.prepare_runs(then="Completed"):
            code, out, err = self.run_chain()
        self.assertEqual((code, self.names()), (0, names), err)
        self.assertIn(f"prepare: {self.job('prepare', 1)} is running", out)
        self.assertIn("prepare: net-prepare-20260102-000001 is complete", out)

    def test_a_running_job_that_is_stopped_ends_the_chain(self):
        self.assertEqual(self.run_chain()[0], 0)
        names = self.names()
        with self.prepare_runs(then="Stopped"):
            code, out, err = self.run_chain("--force", "--task", "prepare")
        self.assertEqual((code, self.names()), (2, names), err)
        self.assertIn("is still running; stop it first, or omit --force", err)
        with self.prepare_runs(then="Stopped"):
            code, out, err = self.run_chain()
        self.assertEqual((code, self.names()), (3, names), err)
        self.assertIn("Stopped", out)
        self.assertIn("not started: train", err)

    def test_a_failed_task_ends_the_chain_and_runs_again_the_next_time(self):
        describe = jobs.describe

        def failed(sagemaker, job, kind="Training"):
            found = describe(sagemaker, job, kind)
            if job == self.job("prepare", 1):
                found |= {"ProcessingJobStatus": "Failed", "FailureReason": "no images"}
            return found

        with mock.patch("jobs.describe", failed):
            code, out, err = self.run_chain()
            self.assertEqual((code, len(self.names())), (1, 2), err)
            self.assertIn(f"{self.job('prepare', 1)}: Failed: no images", out)
            self.assertIn("not started: train", err)
            code, out, err = self.run_chain("--task", "train")
            self.assertEqual((code, len(self.names())), (2, 2), err)
            self.assertIn("channels: train: task prepare is not complete; run it first", err)
            code, out, err = self.run_chain()
        self.assertEqual(code, 0, err)
        again = [self.job("prepare", 1), self.job("prepare", 3), self.job("train", 4)]
        self.assertEqual(self.names(), [self.job("get", 0), *again])

    def test_clean_state_deletes_the_checkpoints_of_tasks_that_run(self):
        s3 = boto3.client("s3")
        s3.create_bucket(Bucket="bucket")
        state = {"Bucket": "bucket", "Key": "jobs/net/train/state/epoch-0001.pt"}
        s3.put_object(**state, Body=b"x")
        self.assertEqual(self.run_chain()[0], 0)
        self.assertEqual(self.run_chain("--clean-state")[0], 0)  # complete, so it does not run
        s3.head_object(**state)
        code, _, err = self.run_chain("--task", "train", "--force", "--clean-state")
        self.assertEqual(code, 0, err)
        self.assertIn("s3://bucket/jobs/net/train/state: deleted 1 files", err)
        self.assertNotIn("Contents", s3.list_objects_v2(Bucket="bucket"))
        code, _, err = self.run_chain("--task", "get", "--clean-state")
        self.assertEqual(code, 2)
        self.assertIn("--clean-state: none of the tasks has checkpoints", err)

    def test_a_dry_run_prints_valid_requests_of_all_tasks_without_calling_aws(self):
        with mock.patch("boto3.client", side_effect=AssertionError("asked")):
            code, out, err = launch(
                SCRIPTS / "examples/chain.yaml", "--dry-run", "--metrics", "none"
            )
        self.assertEqual(code, 0, err)
        requests = [json.loads(text) for text in re.split(r"(?<=^\})\n", out, flags=re.M) if text]
        kinds = ["Processing", "Processing", "Training"]
        self.assertEqual([jobs.kind_of(request) for request in requests], kinds)
        for kind, request in zip(kinds, requests):
            self.assertEqual(model_violations(f"Create{kind}Job", request), [])
            self.assertEqual(botocore_errors(f"Create{kind}Job", request), "")
        source = requests[2]["InputDataConfig"][0]["DataSource"]["S3DataSource"]["S3Uri"]
        self.assertEqual(source, jobs.result_address(requests[1], "output") + "/train/")

    def test_mistakes_are_one_sentence_that_names_file_and_key(self):
        long = "t" * 60
        two = changed("tune", channels={"train": "s3://bucket/t"})
        state = "s3://bucket/jobs/net/train/state/"
        cases = [
            (CHAIN | {"tasks": []}, "chain.json: tasks must be a map"),
            (CHAIN | {"project": None}, "chain.json: project is missing"),
            (CHAIN | {"project": "a--b"}, "chain.json: project is 'a--b'"),
            (CHAIN | {"name": "x"}, "chain.json: name has no effect with tasks"),
            (CHAIN | {"spott": True}, "chain.json: spott is not a setting"),
            (changed("a_b"), "chain.json: tasks: a_b: the name must consist of"),
            (CHAIN | {"tasks": {"a": "b"}}, "chain.json: tasks: a must be a map"),
            (changed("train", job_name="x"), "chain.json: tasks: train: job_name cannot be set"),
            (
                two | {"checkpoints": "s3://bucket/c"},
                "tasks: tune: its checkpoints are in s3://bucket/c, like those of the task train",
            ),
            (
                changed("tune", channels={}, checkpoints=state),
                "tasks: tune: its checkpoints are in s3://bucket/jobs/net/train/state, like",
            ),
            (changed("train", max_run="3w"), "chain.json: tasks: train: max_run is '3w'"),
            (
                changed("train", lr=1),
                "chain.json: tasks: train: lr is not a setting of a train job",
            ),
            (
                changed("get", download=["a"]),
                "chain.json: tasks: get: download: 'a' is not the URL of a file",
            ),
            (
                changed("prepare", source="task:get/model"),
                "tasks: prepare: source: get is a processing task; its only result is output",
            ),
            (
                changed("prepare", source="task:get"),
                "tasks: prepare: source is 'task:get'; it must be task:NAME/output",
            ),
            (
                changed("get", download=None, source="task:train/output"),
                "tasks: get: source: train is not an earlier task",
            ),
            (
                changed(long, download=["http://a/b"]),
                f"tasks: {long}: ProcessingJobName: 80 characters",
            ),
            (
                changed("train", retries=31),
                "chain.json: tasks: train: RetryStrategy.MaximumRetryAttempts: 31; at most 30",
            ),
        ]
        with mock.patch("boto3.client", side_effect=AssertionError("asked")):
            for chain, expected in cases:
                with self.subTest(expected):
                    code, _, err = self.run_chain("--dry-run", chain=chain)
                    lines = [line for line in err.splitlines() if line.startswith("launch: error")]
                    self.assertEqual((code, len(lines)), (2, 1), err)
                    self.assertIn(expected, lines[0])
            code, _, err = self.run_chain("--task", "gett")
            self.assertIn("--task: there is no task gett; tasks: get, prepare, train", err)
            for option in ("--name", "--job-name", "--upload"):
                code, _, err = self.run_chain("--dry-run", option, "s3://bucket/x")
                self.assertEqual(code, 2)
                self.assertIn(f"launch: error: {option} has no effect with tasks", err)
            for option in (("--task", "get"), ("--force",), ("--keep-state",)):
                code, _, err = launch(*option, "--dry-run")
                self.assertIn(f"{option[0]} needs a file with tasks", err)


if __name__ == "__main__":
    unittest.main()
