"""Tests jobs.py with botocore's Stubber, because moto's jobs complete at once."""

import contextlib
import io
import unittest

import boto3
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from support import TIME, description
import jobs
from errors import UserError

class Recorded(unittest.TestCase):
    def setUp(self):
        self.sagemaker = boto3.client("sagemaker")
        self.stub = Stubber(self.sagemaker)
        self.stub.activate()
        self.addCleanup(self.stub.assert_no_pending_responses)

    def expect_describe(self, *answers):
        for answer in answers:
            self.stub.add_response("describe_training_job", answer, {"TrainingJobName": "job-1"})


class Waiting(Recorded):
    def test_waiting_prints_each_status_change_once(self):
        self.expect_describe(
            description("InProgress", second="Starting"),
            description("InProgress", second="Training"),
            description("InProgress", second="Training"),
            description("Completed"),
        )
        err, slept = io.StringIO(), []
        with contextlib.redirect_stderr(err):
            found = jobs.wait(self.sagemaker, "job-1", 7, slept.append)
        self.assertEqual(
            err.getvalue().splitlines(),
            [
                "job-1: InProgress Starting",
                "job-1: InProgress Training",
                "job-1: Completed Completed",
            ],
        )
        self.assertEqual(slept, [7, 7, 7])
        self.assertEqual(jobs.outcome(found), (0, "job-1: Completed"))

    def test_waiting_continues_after_temporary_errors(self):
        self.stub.add_client_error(
            "describe_training_job", "ThrottlingException", "Rate exceeded", 400
        )
        self.stub.add_client_error("describe_training_job", "InternalFailure", "", 500)
        self.expect_describe(description("Completed"))
        err, slept = io.StringIO(), []
        with contextlib.redirect_stderr(err):
            found = jobs.wait(self.sagemaker, "job-1", 1, slept.append, "Training")
        self.assertEqual(jobs.outcome(found)[0], 0)
        self.assertEqual(slept, [30, 30])
        self.assertEqual(err.getvalue().count("trying again"), 2)
        self.stub.add_client_error("describe_training_job", "AccessDenied", "no", 403)
        with self.assertRaises(ClientError):
            jobs.wait(self.sagemaker, "job-1", 1, slept.append, "Training")

    def test_the_outcome_contains_the_reason_and_the_spot_savings(self):
        self.assertEqual(
            jobs.outcome(description("Failed", FailureReason="AlgorithmError: x")),
            (1, "job-1: Failed: AlgorithmError: x"),
        )
        self.assertEqual(jobs.outcome(description("Stopped"))[0], 3)
        self.assertEqual(
            jobs.outcome(
                description(
                    "Completed",
                    TrainingTimeInSeconds=200,
                    BillableTimeInSeconds=50,
                    EnableManagedSpotTraining=True,
                )
            )[1],
            "job-1: Completed; 200 s of training, 75 % saved on spot",
        )

    def test_the_job_of_after_must_have_completed(self):
        self.expect_describe(description("Completed"))
        jobs.require_completed(self.sagemaker, "job-1", 0)
        self.expect_describe(description("Failed", FailureReason="no data"))
        with self.assertRaisesRegex(UserError, "has not completed: job-1: Failed: no data"):
            jobs.require_completed(self.sagemaker, "job-1", 0)

    def test_an_unknown_job_is_a_user_error(self):
        self.missing("training")
        self.missing("processing")
        with self.assertRaisesRegex(UserError, "job-1: Requested resource not found."):
            jobs.describe(self.sagemaker, "job-1")
        self.stub.add_client_error("describe_training_job", "AccessDenied", "You may not.")
        with self.assertRaisesRegex(ClientError, "You may not."):
            jobs.describe(self.sagemaker, "job-1")

    def missing(self, kind):
        self.stub.add_client_error(
            f"describe_{kind}_job", "ValidationException", "Requested resource not found."
        )

    def test_a_processing_job_is_found_waited_for_and_stopped(self):
        found = {
            "ProcessingJobName": "job-1",
            "ProcessingJobArn": "arn:aws:sagemaker:us-east-1:123456789012:processing-job/job-1",
            "ProcessingJobStatus": "InProgress",
            "ProcessingResources": {"ClusterConfig": {"VolumeSizeInGB": 1}},
            "AppSpecification": {"ImageUri": "image"},
            "CreationTime": TIME,
        }
        name = {"ProcessingJobName": "job-1"}
        self.missing("training")
        self.stub.add_response("describe_processing_job", found, name)
        self.stub.add_response("stop_processing_job", {}, name)
        jobs.stop(self.sagemaker, "job-1")
        self.missing("training")
        for status in ("InProgress", "Failed"):
            answer = found | {"ProcessingJobStatus": status, "ExitMessage": "no images"}
            self.stub.add_response("describe_processing_job", answer, name)
        ended = jobs.wait(self.sagemaker, "job-1", 0)
        self.assertEqual(jobs.outcome(ended), (1, "job-1: Failed: no images"))

    def test_stop_calls_the_api(self):
        self.expect_describe(description("InProgress"))
        self.stub.add_response("stop_training_job", {}, {"TrainingJobName": "job-1"})
        jobs.stop(self.sagemaker, "job-1")


class Results(Recorded):
    def test_result_addresses_come_from_the_description(self):
        found = description(
            "Completed",
            ModelArtifacts={"S3ModelArtifacts": "s3://bucket/m/"},
            CheckpointConfig={"S3Uri": "s3://bucket/c"},
        )
        self.assertEqual(jobs.result_address(found, "model"), "s3://bucket/m/")
        self.assertEqual(jobs.result_address(found, "output"), "s3://bucket/jobs/job-1/output/")
        self.assertEqual(jobs.result_address(found, "checkpoints"), "s3://bucket/c")
        with self.assertRaisesRegex(UserError, "has no checkpoints"):
            jobs.result_address(description("Completed"), "checkpoints")
        with self.assertRaisesRegex(UserError, "'logs' is not a job result"):
            jobs.result_address(found, "logs")

    def test_a_channel_can_use_another_jobs_model(self):
        channels = {
            "pretrained": {"source": "job:job-1/model", "mode": "FastFile"},
            "train": {"source": "s3://b/t"},
        }
        self.expect_describe(
            description("Completed", ModelArtifacts={"S3ModelArtifacts": "s3://bucket/m"})
        )
        self.assertEqual(
            jobs.resolve_sources(self.sagemaker, channels),
            {
                "pretrained": {"source": "s3://bucket/m/", "mode": "FastFile"},
                "train": {"source": "s3://b/t"},
            },
        )
        self.expect_describe(
            description(
                "Completed", ModelArtifacts={"S3ModelArtifacts": "s3://bucket/model.tar.gz"}
            )
        )
        with self.assertRaisesRegex(UserError, "channels: pretrained: .* job-1 is the archive"):
            jobs.resolve_sources(self.sagemaker, channels)


if __name__ == "__main__":
    unittest.main()
