import json
import tempfile
import unittest
from unittest import mock

import boto3
from botocore.exceptions import ClientError
from moto import mock_aws

from support import launch, words
import submission

CHANNEL = ("--channel", "train=s3://data/t")


def options(**more):
    return words(**({"role": "trainer"} | more))


@mock_aws
class Account(unittest.TestCase):
    def policies(self, role):
        """Returns {policy: its statement}."""
        iam = boto3.client("iam")
        found = {}
        for name in iam.list_role_policies(RoleName=role)["PolicyNames"]:
            document = iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
            found[name] = document["Statement"][0]
        return found

    def test_create_makes_the_bucket_and_a_role_with_access_to_the_jobs_buckets(self):
        code, out, err = launch(
            *options(),
            *CHANNEL,
            "--create",
            "--checkpoints",
            "s3://state/c",
            "--region",
            "eu-west-1",
        )
        self.assertEqual((code, out), (0, "job-1\n"), err)
        s3, iam = boto3.client("s3"), boto3.client("iam")
        buckets = {bucket["Name"] for bucket in s3.list_buckets()["Buckets"]}
        self.assertEqual(buckets, {"bucket", "state"})  # not data, which the job only reads
        place = s3.get_bucket_location(Bucket="bucket")["LocationConstraint"]
        self.assertEqual(place, "eu-west-1")
        role = iam.get_role(RoleName="trainer")["Role"]
        trusted = role["AssumeRolePolicyDocument"]["Statement"][0]["Principal"]
        self.assertEqual(trusted, {"Service": "sagemaker.amazonaws.com"})
        found = boto3.client("sagemaker", region_name="eu-west-1").describe_training_job(
            TrainingJobName="job-1"
        )
        self.assertEqual(found["RoleArn"], role["Arn"])

        policies = self.policies("trainer")
        self.assertEqual(
            policies["shoal-s3-read-data"],
            {
                "Effect": "Allow",
                "Action": ["s3:GetObject", "s3:ListBucket"],
                "Resource": ["arn:aws:s3:::data", "arn:aws:s3:::data/*"],
            },
        )
        for bucket in ("bucket", "state"):
            for action in ("s3:GetObject", "s3:PutObject", "s3:DeleteObject"):
                self.assertIn(action, policies[f"shoal-s3-write-{bucket}"]["Action"])
        self.assertIn("ssmmessages:OpenDataChannel", policies["shoal"]["Action"])
        self.assertEqual(len(policies), 4)

        # Another job that reads what this one writes: the role keeps its access and gets more.
        code, _, err = launch(
            *options(**{"job-name": "job-2"}),
            *("--channel", "train=s3://more/t", "--channel", "old=s3://state/t", "--create"),
        )
        self.assertEqual(code, 0, err)
        more = {"shoal-s3-read-more", "shoal-s3-read-state"}
        self.assertEqual(set(self.policies("trainer")), {*policies, *more})
        self.assertIn("s3:PutObject", self.policies("trainer")["shoal-s3-write-state"]["Action"])

    def test_without_create_a_missing_role_is_an_error_and_nothing_is_made(self):
        code, _, err = launch(*options(), *CHANNEL)
        errors = [line for line in err.splitlines() if line.startswith("launch: error")]
        self.assertEqual((code, len(errors)), (2, 1), err)
        self.assertIn("role: there is no IAM role 'trainer'; --create creates it", errors[0])
        self.assertEqual(boto3.client("iam").list_roles()["Roles"], [])
        self.assertEqual(boto3.client("sagemaker").list_training_jobs()["TrainingJobSummaries"], [])

    def test_a_role_of_the_user_is_found_by_name_and_not_changed(self):
        boto3.client("s3").create_bucket(Bucket="bucket")
        role = boto3.client("iam").create_role(RoleName="trainer", AssumeRolePolicyDocument="{}")
        code, _, err = launch(*options(), *CHANNEL, "--create")
        self.assertEqual(code, 0, err)
        self.assertEqual(self.policies("trainer"), {})
        found = boto3.client("sagemaker").describe_training_job(TrainingJobName="job-1")
        self.assertEqual(found["RoleArn"], role["Role"]["Arn"])

    def test_a_bucket_of_someone_else_is_an_error(self):
        s3 = boto3.client("s3")
        for answer, text, expected, message in (
            ("403", "Forbidden", 2, "--create: the bucket bucket exists, but you have no access"),
            ("503", "Slow Down", 1, "launch: error: HeadBucket: Slow Down (503)"),
        ):
            refused = ClientError({"Error": {"Code": answer, "Message": text}}, "HeadBucket")
            with mock.patch("boto3.client", return_value=s3), mock.patch.object(
                s3, "head_bucket", side_effect=refused
            ):
                code, _, err = launch(*options(), *CHANNEL, "--create")
            self.assertEqual(code, expected)
            self.assertIn(message, err)

    def test_a_dry_run_makes_nothing(self):
        with mock.patch("boto3.client", side_effect=AssertionError("asked")):
            code, out, err = launch(*options(), *CHANNEL, "--create", "--dry-run")
        self.assertEqual(code, 0, err)
        self.assertEqual(json.loads(out)["RoleArn"], "arn:aws:iam::000000000000:role/trainer")

    def test_a_job_with_a_new_role_is_tried_again_until_sagemaker_knows_the_role(self):
        error = {"Code": "ValidationException", "Message": "Could not assume role arn:aws:iam::1"}
        refused = ClientError({"Error": error}, "CreateTrainingJob")
        sagemaker = mock.Mock()
        made = submission.Submission({"TrainingJobName": "job-1"}, [])
        sagemaker.create_training_job.side_effect = [refused, refused, None]
        slept = []
        submission.create(sagemaker, made, True, slept.append)
        self.assertEqual(slept, [5, 5])
        for patient in (True, False):
            sagemaker.create_training_job.side_effect = refused
            slept.clear()
            with self.assertRaises(ClientError):
                submission.create(sagemaker, made, patient, slept.append)
            self.assertEqual(sum(slept), 60 if patient else 0)

    def test_clean_state_deletes_only_the_jobs_checkpoints(self):
        s3 = boto3.client("s3")
        s3.create_bucket(Bucket="bucket")
        kept = ["c2/a", "model"]
        for key in ["c/a", "c/b/c", *kept]:
            s3.put_object(Bucket="bucket", Key=key, Body=b"x")
        keys = lambda: [entry["Key"] for entry in s3.list_objects_v2(Bucket="bucket")["Contents"]]
        clean = (*words(), *CHANNEL, "--clean-state", "--checkpoints")
        code, _, err = launch(*clean, "s3://bucket/c", "--dry-run")
        self.assertEqual((code, len(keys())), (0, 4))
        self.assertIn("would delete the files in s3://bucket/c", err)
        code, _, err = launch(*clean, "s3://bucket/")
        self.assertEqual((code, len(keys())), (2, 4))
        self.assertIn("checkpoints is the whole bucket s3://bucket/", err)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)  # empty, so it cannot be uploaded
        code, _, err = launch(*clean, "s3://bucket/c", "--channel", f"train={folder.name}")
        self.assertEqual((code, len(keys())), (2, 4), err)
        code, _, err = launch(*clean, "s3://bucket/c")
        self.assertEqual((code, keys()), (0, kept), err)
        self.assertIn("s3://bucket/c: deleted 2 files", err)
        code, _, err = launch(*words(), *CHANNEL, "--clean-state")
        self.assertEqual(code, 2)
        self.assertIn("--clean-state: the job has no checkpoints", err)


if __name__ == "__main__":
    unittest.main()
