import contextlib
import json
import os
import stat
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import boto3
from botocore.stub import Stubber
from moto import mock_aws

from support import launch, words


class Launching(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def request(self, *more, **settings):
        code, out, err = launch(*words(**settings), "--dry-run", *more)
        self.assertEqual(code, 0, err)
        return json.loads(out)

    def test_a_dry_run_prints_the_request_without_calling_aws(self):
        with mock.patch("boto3.client", side_effect=AssertionError("asked")):
            request = self.request("--channel", "train=s3://b/t/,mode=FastFile")
        self.assertEqual(request["TrainingJobName"], "job-1")
        self.assertEqual(request["InputDataConfig"][0]["InputMode"], "FastFile")

    def test_metric_definitions_come_from_a_file_or_a_program(self):
        definitions = [{"Name": "loss", "Regex": "loss=(.*?);"}]
        (self.folder / "metrics.json").write_text(json.dumps(definitions))
        program = self.folder / "program"
        program.write_text(
            "#!/bin/sh\n[ \"$*\" = metrics ] || exit 9\n"
            f"cat {self.folder}/metrics.json\n"
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        for place in ("metrics.json", "program"):
            request = self.request(metrics=str(self.folder / place))
            self.assertEqual(request["AlgorithmSpecification"]["MetricDefinitions"], definitions)
        self.assertNotIn(
            "MetricDefinitions", self.request(metrics="none")["AlgorithmSpecification"]
        )
        for text, expected in (("{}", "must contain a list"), ("x", "not valid JSON")):
            (self.folder / "metrics.json").write_text(text)
            code, _, err = launch(*words(metrics=str(self.folder / "metrics.json")), "--dry-run")
            self.assertEqual(code, 2)
            self.assertIn(expected, err)

    def test_every_violation_is_one_line_and_no_job_is_started(self):
        with mock.patch("boto3.client", side_effect=AssertionError("asked")):
            wrong = words(**{"job-name": "a_b", "role": "arn:me"})
            code, out, err = launch(*wrong, "--retries", "31")
        self.assertEqual((code, out), (2, ""))
        self.assertEqual(len(err.splitlines()), 3, err)
        for line, field in zip(
            sorted(err.splitlines()),
            ("RetryStrategy.MaximumRetryAttempts", "RoleArn", "TrainingJobName"),
        ):
            self.assertTrue(line.startswith(f"launch: error: {field}: "), line)

    @mock_aws
    def test_train_uploads_a_folder_creates_the_job_and_waits(self):
        s3 = boto3.client("s3")
        s3.create_bucket(Bucket="bucket")
        (self.folder / "train/cat").mkdir(parents=True)
        (self.folder / "train/cat/1.jpg").write_text("image")
        code, out, err = launch(
            *words(),
            "--channel",
            f"train={self.folder}/train",
            "--tag",
            "project=imagenet",
            "--hyperparameter",
            "epochs=2",
            "--wait",
            "--poll",
            "0",
        )
        self.assertEqual((code, out.splitlines()), (0, ["job-1", "job-1: Completed"]), err)
        self.assertEqual(
            s3.get_object(Bucket="bucket", Key="jobs/upload/train/cat/1.jpg")["Body"].read(),
            b"image",
        )
        found = boto3.client("sagemaker").describe_training_job(TrainingJobName="job-1")
        self.assertEqual(found["HyperParameters"], {"epochs": "2"})
        self.assertEqual(
            found["InputDataConfig"][0]["DataSource"]["S3DataSource"]["S3Uri"],
            "s3://bucket/jobs/upload/train/",
        )

    def created(self, *arguments):
        """Starts a job. Returns (the request, what was printed)."""
        requests, sagemaker = [], boto3.client("sagemaker")
        with mock.patch("boto3.client", return_value=sagemaker), mock.patch.object(
            sagemaker, "create_training_job", lambda **request: requests.append(request)
        ):
            code, out, err = launch(*words(), "--channel", "train=s3://b/t", *arguments)
        self.assertEqual(code, 0, err)
        return requests[0], out + err

    def test_each_job_gets_a_secret_of_its_own_that_is_never_printed(self):
        secrets = []
        for _ in range(2):
            request, printed = self.created()
            secrets.append(request["Environment"]["SHOAL_JOB_SECRET"])
            self.assertRegex(secrets[-1], "^[0-9a-f]{64}$")
            self.assertNotIn(secrets[-1], printed)
        self.assertNotEqual(*secrets)
        given = {"A": "1", "SHOAL_JOB_SECRET": "mine" * 8}
        options = [word for pair in given.items() for word in ("--env", "=".join(pair))]
        self.assertEqual(self.created(*options)[0]["Environment"], given)
        dry = self.request(*options)["Environment"]
        self.assertEqual(dry, {"A": "1", "SHOAL_JOB_SECRET": "***"})

    @mock_aws
    def test_hidden_files_are_uploaded_only_with_upload_hidden(self):
        s3 = boto3.client("s3")
        s3.create_bucket(Bucket="bucket")
        (self.folder / "t").mkdir()
        for name in ("a", ".env"):
            (self.folder / "t" / name).write_text("x")
        channel = ("--channel", f"train={self.folder}/t")
        self.assertEqual(launch(*words(), *channel)[0], 0)
        keys = lambda: [o["Key"] for o in s3.list_objects_v2(Bucket="bucket")["Contents"]]
        self.assertEqual(keys(), ["jobs/upload/train/a"])
        (self.folder / "job.json").write_text('{"upload_hidden": true}')
        code, _, err = launch(self.folder / "job.json", *words(**{"job-name": "job-2"}), *channel)
        self.assertEqual(code, 0, err)
        self.assertEqual(keys(), ["jobs/upload/train/.env", "jobs/upload/train/a"])

    @mock_aws
    def test_a_dry_run_uploads_and_creates_nothing(self):
        boto3.client("s3").create_bucket(Bucket="bucket")
        (self.folder / "t").mkdir()
        (self.folder / "t/a").write_text("x")
        code, _, err = launch(*words(), "--dry-run", "--channel", f"train={self.folder}/t")
        self.assertEqual(code, 0)
        self.assertIn(f"would upload {self.folder}/t → s3://bucket/jobs/upload/train/", err)
        self.assertNotIn("Contents", boto3.client("s3").list_objects_v2(Bucket="bucket"))
        self.assertEqual(boto3.client("sagemaker").list_training_jobs()["TrainingJobSummaries"], [])

    def test_after_makes_the_earlier_jobs_model_a_channel(self):
        sagemaker = boto3.client("sagemaker")
        first = {
            "TrainingJobName": "first",
            "TrainingJobStatus": "InProgress",
            "TrainingJobArn": "a" * 20,
            "SecondaryStatus": "Training",
            "ModelArtifacts": {"S3ModelArtifacts": ""},
            "OutputDataConfig": {"S3OutputPath": "s3://bucket/jobs", "CompressionType": "NONE"},
            "CreationTime": 0,
            "AlgorithmSpecification": {"TrainingInputMode": "File"},
            "StoppingCondition": {},
            "ResourceConfig": {"VolumeSizeInGB": 1},
        }
        done = first | {
            "TrainingJobStatus": "Completed",
            "SecondaryStatus": "Completed",
            "ModelArtifacts": {"S3ModelArtifacts": "s3://bucket/elsewhere/model"},
        }
        created = self.request_after(sagemaker, [first, first, done, done])
        self.assertEqual(
            {
                c["ChannelName"]: c["DataSource"]["S3DataSource"]["S3Uri"]
                for c in created["InputDataConfig"]
            },
            {"train": "s3://b/t", "pretrained": "s3://bucket/elsewhere/model/"},
        )
        created = self.request_after(sagemaker, [first, first, done, done], "old=job:first")
        names = [channel["ChannelName"] for channel in created["InputDataConfig"]]
        self.assertEqual(names, ["train", "old"])  # the job's model is not added once more
        failed = first | {"TrainingJobStatus": "Failed", "FailureReason": "no data"}
        self.assertIsNone(self.request_after(sagemaker, [first, failed]))

    def request_after(self, sagemaker, answers, *channels):
        """Returns the request created with --after, or None. `answers` describe the first job."""
        created = []
        options = [word for channel in channels for word in ("--channel", channel)]
        with Stubber(sagemaker) as stub, contextlib.ExitStack() as stack:
            for answer in answers:
                stub.add_response("describe_training_job", answer, {"TrainingJobName": "first"})
            stack.enter_context(mock.patch("boto3.client", return_value=sagemaker))
            stack.enter_context(
                mock.patch.object(
                    sagemaker, "create_training_job", lambda **request: created.append(request)
                )
            )
            code, _, err = launch(
                *words(), "--after", "first", "--poll", "0", "--channel", "train=s3://b/t", *options
            )
            stub.assert_no_pending_responses()
        self.assertEqual(code, 0 if created else 2, err)
        self.assertTrue(created or "has not completed: first: Failed: no data" in err, err)
        return created[0] if created else None

    @mock_aws
    def test_process_creates_a_packing_job(self):
        boto3.client("s3").create_bucket(Bucket="bucket")
        settings = words() + ["--source", "s3://bucket/imagenet/train/"]
        settings = [word for word in settings if word not in ("--metrics", "none")]
        code, out, err = launch("process", *settings, "--pack-options", "--max-side,500")
        self.assertEqual((code, out), (0, "job-1\n"), err)
        found = boto3.client("sagemaker").describe_processing_job(ProcessingJobName="job-1")
        spec = found["AppSpecification"]
        self.assertEqual(spec["ContainerEntrypoint"], ["shoal", "pack"])
        self.assertEqual(spec["ContainerArguments"][2:], ["--max-side", "500"])

        # Uploaded images must not be among the results, which a training job reads.
        (self.folder / "images").mkdir()
        (self.folder / "images/1.jpg").write_text("image")
        settings[-1] = self.folder / "images"
        for place, code in (
            (None, 2),
            ("s3://bucket/jobs/a", 2),
            ("s3://bucket", 0),
            ("s3://bucket/jobs-a", 0),
        ):
            upload = ["--upload", place] if place else []
            found, out, err = launch("process", *settings, *upload, "--dry-run")
            self.assertEqual(found, code, err)
            self.assertEqual("which is in output; set upload to" in err, code == 2, err)

    @mock_aws
    def test_download_fetches_a_jobs_results(self):
        s3 = boto3.client("s3")
        s3.create_bucket(Bucket="bucket")
        self.assertEqual(
            launch(*words(), "--checkpoints", "s3://bucket/c", "--channel", "train=s3://b/t")[0], 0
        )
        s3.put_object(Bucket="bucket", Key="c/epoch-0001.pt", Body=b"weights")
        code, out, err = launch("download", "job-1", self.folder / "c", "--what", "checkpoints")
        self.assertEqual((code, out), (0, f"s3://bucket/c → {self.folder}/c: 1 files\n"), err)
        self.assertEqual((self.folder / "c/epoch-0001.pt").read_text(), "weights")

    @mock_aws
    def test_an_api_error_is_one_line(self):
        code, _, err = launch("wait", "absent", "--poll", "0")
        self.assertEqual(code, 2)
        self.assertEqual(len(err.splitlines()), 1)
        self.assertIn("absent", err)

    def test_an_unreachable_endpoint_is_one_line(self):
        with mock.patch.dict(
            os.environ, {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_MAX_ATTEMPTS": "1"}
        ):
            code, _, err = launch("stop", "job-1")
        self.assertEqual((code, len(err.splitlines())), (1, 1))
        self.assertIn("127.0.0.1:9", err)


if __name__ == "__main__":
    unittest.main()
