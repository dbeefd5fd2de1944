import copy
import unittest

import support
from limits import training_notes, training_violations
from request import training_request

S3 = {"source": "s3://b/t/"}


def violations(**more):
    definitions = more.pop("definitions", ())
    return training_violations(training_request(support.job(**more), definitions))


def channels(count):
    return {f"train_{i}": S3 for i in range(count)}


def definitions(count):
    return [{"Name": f"m{i}", "Regex": "(.)"} for i in range(count)]


class Limits(unittest.TestCase):
    def test_each_limit_accepts_its_last_valid_value_and_rejects_the_next(self):
        cases = [  # valid settings, invalid settings, part of the violation
            ({"job_name": "a" * 63}, {"job_name": "a" * 64}, "TrainingJobName: 64 characters"),
            ({"job_name": "a-b"}, {"job_name": "a_b"}, "TrainingJobName: 'a_b' does not match"),
            (
                {"hyperparameters": {f"h{i}": "" for i in range(100)}},
                {"hyperparameters": {f"h{i}": "" for i in range(101)}},
                "HyperParameters: 101 entries",
            ),
            (
                {"hyperparameters": {"k" * 256: ""}},
                {"hyperparameters": {"k" * 257: ""}},
                "HyperParameters name: 257 characters",
            ),
            (
                {"hyperparameters": {"k": "v" * 2500}},
                {"hyperparameters": {"k": "v" * 2501}},
                "HyperParameters.k: 2501 characters",
            ),
            (
                {"environment": {f"E{i}": "" for i in range(100)}},
                {"environment": {f"E{i}": "" for i in range(101)}},
                "Environment: 101 entries",
            ),
            (
                {"environment": {"E" * 512: "v" * 512}},
                {"environment": {"E": "v" * 513}},
                "Environment.E: 513 characters",
            ),
            ({"environment": {"_A1": ""}}, {"environment": {"1A": ""}}, "Environment name: '1A'"),
            ({"channels": channels(20)}, {"channels": channels(21)}, "InputDataConfig: 21 entries"),
            (
                {"channels": {"a.b-c_d" + "e" * 57: S3}},
                {"channels": {"a.b-c_d" + "e" * 58: S3}},
                "InputDataConfig[0].ChannelName: 65 characters",
            ),
            (
                {"channels": {"a": S3}},
                {"channels": {"a b": S3}},
                "ChannelName: 'a b' does not match",
            ),
            (
                {"definitions": definitions(40)},
                {"definitions": definitions(41)},
                "MetricDefinitions: 41 entries",
            ),
            (
                {"definitions": [{"Name": "n" * 255, "Regex": "(" + "r" * 498 + ")"}]},
                {"definitions": [{"Name": "n", "Regex": "(" + "r" * 499 + ")"}]},
                "Regex: 501 characters",
            ),
            (
                {"definitions": definitions(1)},
                {"definitions": [{"Name": "n" * 256, "Regex": "(.)"}]},
                "Name: 256 characters",
            ),
            (
                {"instances": None, "groups": {f"g{i}": "ml.c5.xlarge" for i in range(5)}},
                {"instances": None, "groups": {f"g{i}": "ml.c5.xlarge" for i in range(6)}},
                "InstanceGroups: 6 entries",
            ),
            ({"keep_alive": 21600}, {"keep_alive": 21601}, "KeepAlivePeriodInSeconds: 21601"),
            ({"retries": 30}, {"retries": 31}, "MaximumRetryAttempts: 31; at most 30"),
            ({"retries": 1}, {"retries": 0}, "MaximumRetryAttempts: 0; at least 1"),
            ({"max_run": 28 * 86400}, {"max_run": 28 * 86400 + 1}, "MaxRuntimeInSeconds: 2419201"),
            ({"tags": {"k" * 128: "v" * 256}}, {"tags": {"k": "v" * 257}}, "Tags[0].Value: 257"),
            (
                {"tags": {"grün/1 a": "x"}},
                {"tags": {"a?": "x"}},
                "Tags[0].Key: 'a?' does not match",
            ),
            (
                {"tags": {f"k{i}": "" for i in range(50)}},
                {"tags": {f"k{i}": "" for i in range(51)}},
                "Tags: 51 entries",
            ),
            (
                {"instances": "ml.p4d.24xlarge"},
                {"instances": "ml.p4d.25xlarge"},
                "InstanceType: 'ml.p4d.25xlarge' is not a valid value",
            ),
            ({}, {"role": "arn:aws:iam::1:role/abcdef"}, "RoleArn: 'arn:aws:iam::1:role/abcdef'"),
            ({}, {"output": "bucket/jobs"}, "S3OutputPath: 'bucket/jobs' does not match"),
            (
                {"channels": {"a": S3 | {"mode": "Pipe"}}},
                {"channels": {"a": S3 | {"mode": "pipe"}}},
                "InputMode: 'pipe' is not a valid value; it must be Pipe, File",
            ),
            (
                {
                    "channels": {
                        "a": {
                            "source": "s3://b/m",
                            "type": "augmented",
                            "mode": "Pipe",
                            "attributes": ["a"] * 16,
                        }
                    }
                },
                {
                    "channels": {
                        "a": {
                            "source": "s3://b/m",
                            "type": "augmented",
                            "mode": "Pipe",
                            "attributes": ["a"] * 17,
                        }
                    }
                },
                "AttributeNames: 17 entries",
            ),
        ]
        for good, bad, expected in cases:
            with self.subTest(expected):
                self.assertEqual(violations(**copy.deepcopy(good)), [])
                found = violations(**copy.deepcopy(bad))
                self.assertEqual(len(found), 1, found)
                self.assertIn(expected, found[0])
                self.assertNotIn("\n", found[0])

    def test_each_contradiction_between_fields_is_one_line(self):
        spot = {"spot": True, "checkpoints": "s3://b/c", "max_run": 100}
        groups = {"instances": None, "groups": {"a": "ml.c5.xlarge", "b": "ml.c5.xlarge"}}
        fsx = {"channels": {"t": {"source": "fsx://fs-01234567/p"}}}
        cases = [
            (spot, "MaxWaitTimeInSeconds: is missing"),
            (
                spot | {"max_wait": 99},
                "MaxWaitTimeInSeconds: 99 is less than MaxRuntimeInSeconds, 100",
            ),
            ({"max_wait": 99999}, "is for spot instances only"),
            ({"spot": True, "max_wait": 99999}, "CheckpointConfig: is missing"),
            (spot | {"max_wait": 100, "keep_alive": 60}, "spot instances have no warm pool"),
            (groups | {"keep_alive": 60}, "instance groups have no warm pool"),
            (groups | {"instances": "ml.c5.xlarge"}, "either instances or groups"),
            ({"instances": "0 x ml.c5.xlarge"}, "InstanceCount: 0"),
            ({"volume_gb": 0}, "VolumeSizeInGB: 0"),
            (
                {"channels": {"t": S3 | {"shuffle": 1}}},
                "ShuffleConfig: the platform shuffles in Pipe",
            ),
            (
                {"channels": {"t": S3 | {"wrapper": "RecordIO"}}},
                "RecordWrapperType: RecordIO is for Pipe",
            ),
            (
                {"channels": {"t": S3 | {"compression": "Gzip"}}},
                "CompressionType: Gzip is for Pipe",
            ),
            (
                {"channels": {"t": {"source": "s3://b/t", "mode": "FastFile"}}},
                "FastFile needs a folder",
            ),
            (
                {"channels": {"t": {"source": "s3://b/m", "type": "manifest", "mode": "FastFile"}}},
                "FastFile takes a prefix, not a ManifestFile",
            ),
            (
                {
                    "channels": {
                        "t": {"source": "s3://b/m", "type": "augmented", "attributes": ["a"]}
                    }
                },
                "augmented manifest is read in Pipe mode only",
            ),
            (
                {"channels": {"t": {"source": "s3://b/m", "type": "augmented", "mode": "Pipe"}}},
                "AttributeNames: is missing",
            ),
            ({"channels": {"t": S3 | {"attributes": ["a"]}}}, "are for an augmented manifest only"),
            (groups | {"channels": {"t": S3 | {"groups": ["c"]}}}, "there is no instance group c"),
            (fsx, "a file system needs subnets"),
            (
                fsx
                | {
                    "channels": {"t": {"source": "fsx://fs-01234567/p", "mode": "Pipe"}},
                    "subnets": ["s"],
                    "security_groups": ["g"],
                },
                "a file system needs File mode",
            ),
            ({"subnets": ["s"]}, "VpcConfig.SecurityGroupIds: 0 entries; at least 1 is needed"),
            (
                {"checkpoints": "s3://b/c", "checkpoint_path": "/opt/ml/model/c"},
                "inside /opt/ml/model",
            ),
            ({"definitions": definitions(1) * 2}, "MetricDefinitions: m0 is listed twice"),
            (
                {"definitions": [{"Name": "m", "Regex": "x"}]},
                "MetricDefinitions m: the expression needs a group",
            ),
            ({"definitions": [{"Name": "m", "Regex": "("}]}, "MetricDefinitions m: "),
            (
                {"definitions": [{"Name": "m", "Regexp": "(.)"}]},
                "MetricDefinitions[0].Regex: is missing",
            ),
        ]
        for settings, expected in cases:
            with self.subTest(expected):
                found = violations(**copy.deepcopy(settings))
                self.assertIn(expected, found[0])
                self.assertEqual(len(found), 2 if "Regexp" in str(settings) else 1, found)

    def test_hyperparameters_must_be_strings(self):
        request = training_request(support.job(hyperparameters={"lr": "0.1"}))
        request["HyperParameters"]["lr"] = 0.1
        self.assertEqual(
            training_violations(request), ["HyperParameters.lr: must be a string, not 0.1"]
        )

    def test_notes_hint_at_efa_groups_metrics_channels_and_shells(self):
        def notes(**more):
            return "\n".join(training_notes(training_request(support.job(**more), definitions(1))))

        self.assertEqual(notes(), "")
        self.assertIn("ml.p4d.24xlarge has EFA", notes(instances="2 x ml.p4d.24xlarge"))
        self.assertEqual(notes(instances="ml.p4d.24xlarge"), "")
        two = {"instances": None, "groups": {"a": "ml.c5.xlarge", "b": "ml.m5.xlarge"}}
        self.assertIn("instance_group", notes(**two))
        self.assertEqual(notes(**two, hyperparameters={"instance-group": "a"}), "")
        self.assertIn("no channels", notes(channels=None))
        self.assertIn("--target sagemaker-training-job:job-1_algo-1", notes(remote_debug=True))


if __name__ == "__main__":
    unittest.main()
