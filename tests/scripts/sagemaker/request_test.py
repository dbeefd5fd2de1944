import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import support
from errors import UserError
from limits import training_violations
from process import processing_request, processing_violations
from request import training_request


class TrainingRequest(unittest.TestCase):
    def test_every_setting_sets_its_field(self):
        definitions = [{"Name": "loss", "Regex": "loss=(.*?);"}]
        request = training_request(
            support.job(
                volume_gb=30,
                max_run=7200,
                spot=True,
                max_wait=9000,
                retries=3,
                isolate=True,
                encrypt_traffic=True,
                checkpoints="s3://bucket/c",
                checkpoint_path="/state",
                tensorboard="s3://bucket/tb",
                remote_debug=True,
                metrics_time_series=False,
                subnets=["subnet-1"],
                security_groups=["sg-1"],
                environment={"NCCL_DEBUG": "INFO", "A": 1},
                entrypoint=["shoal"],
                arguments=["train"],
                tags={"project": "imagenet"},
                experiment="e",
                trial="t",
                hyperparameters={
                    "lr": 0.1,
                    "amp": True,
                    "use_xla": "",
                    "workers": None,
                    "arch": "b4",
                    "l": [1, 2],
                },
                channels={
                    "train": {
                        "source": "s3://b/t",
                        "mode": "Pipe",
                        "distribution": "ShardedByS3Key",
                        "shuffle": 0,
                        "wrapper": "RecordIO",
                        "compression": "Gzip",
                        "content_type": "application/x-recordio",
                    },
                    "list": {
                        "source": "s3://b/l.manifest",
                        "type": "augmented",
                        "mode": "Pipe",
                        "attributes": ["source-ref", "class"],
                    },
                    "val": {"source": "fsx://fs-0123456789abcdef0/fsx/val"},
                    "more": {"source": "efs://fs-01234567/", "access": "rw"},
                },
            ),
            definitions,
        )
        self.assertEqual(support.botocore_errors("CreateTrainingJob", request), "")
        self.assertEqual(
            request,
            {
                "TrainingJobName": "job-1",
                "AlgorithmSpecification": {
                    "TrainingImage": support.IMAGE,
                    "TrainingInputMode": "File",
                    "ContainerEntrypoint": ["shoal"],
                    "ContainerArguments": ["train"],
                    "MetricDefinitions": definitions,
                    "EnableSageMakerMetricsTimeSeries": False,
                },
                "RemoteDebugConfig": {"EnableRemoteDebug": True},
                "RoleArn": support.ROLE,
                "OutputDataConfig": {"S3OutputPath": "s3://bucket/jobs", "CompressionType": "NONE"},
                "ResourceConfig": {
                    "VolumeSizeInGB": 30,
                    "InstanceType": "ml.c5.xlarge",
                    "InstanceCount": 1,
                },
                "StoppingCondition": {"MaxRuntimeInSeconds": 7200, "MaxWaitTimeInSeconds": 9000},
                "EnableManagedSpotTraining": True,
                "EnableNetworkIsolation": True,
                "EnableInterContainerTrafficEncryption": True,
                "InputDataConfig": [
                    {
                        "ChannelName": "train",
                        "InputMode": "Pipe",
                        "CompressionType": "Gzip",
                        "RecordWrapperType": "RecordIO",
                        "ContentType": "application/x-recordio",
                        "ShuffleConfig": {"Seed": 0},
                        "DataSource": {
                            "S3DataSource": {
                                "S3DataType": "S3Prefix",
                                "S3Uri": "s3://b/t",
                                "S3DataDistributionType": "ShardedByS3Key",
                            }
                        },
                    },
                    {
                        "ChannelName": "list",
                        "InputMode": "Pipe",
                        "DataSource": {
                            "S3DataSource": {
                                "S3DataType": "AugmentedManifestFile",
                                "S3Uri": "s3://b/l.manifest",
                                "S3DataDistributionType": "FullyReplicated",
                                "AttributeNames": ["source-ref", "class"],
                            }
                        },
                    },
                    {
                        "ChannelName": "val",
                        "InputMode": "File",
                        "DataSource": {
                            "FileSystemDataSource": {
                                "FileSystemId": "fs-0123456789abcdef0",
                                "FileSystemType": "FSxLustre",
                                "FileSystemAccessMode": "ro",
                                "DirectoryPath": "/fsx/val",
                            }
                        },
                    },
                    {
                        "ChannelName": "more",
                        "InputMode": "File",
                        "DataSource": {
                            "FileSystemDataSource": {
                                "FileSystemId": "fs-01234567",
                                "FileSystemType": "EFS",
                                "FileSystemAccessMode": "rw",
                                "DirectoryPath": "/",
                            }
                        },
                    },
                ],
                "HyperParameters": {
                    "lr": "0.1",
                    "amp": "true",
                    "use_xla": "",
                    "workers": "null",
                    "arch": "b4",
                    "l": "[1, 2]",
                },
                "Environment": {"NCCL_DEBUG": "INFO", "A": "1"},
                "VpcConfig": {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-1"]},
                "CheckpointConfig": {"S3Uri": "s3://bucket/c", "LocalPath": "/state"},
                "TensorBoardOutputConfig": {
                    "S3OutputPath": "s3://bucket/tb",
                    "LocalPath": "/opt/ml/output/tensorboard",
                },
                "RetryStrategy": {"MaximumRetryAttempts": 3},
                "Tags": [{"Key": "project", "Value": "imagenet"}],
                "ExperimentConfig": {
                    "ExperimentName": "e",
                    "TrialName": "t",
                    "TrialComponentDisplayName": "shoal",
                },
            },
        )
        self.assertEqual(training_violations(request), [])

    def test_the_metrics_time_series_is_on_off_or_left_to_sagemaker(self):
        field = "EnableSageMakerMetricsTimeSeries"
        for given in (True, False):
            request = training_request(support.job(metrics_time_series=given))
            self.assertIs(request["AlgorithmSpecification"][field], given)
            self.assertEqual(support.botocore_errors("CreateTrainingJob", request), "")
            self.assertEqual(training_violations(request), [])
        self.assertNotIn(field, training_request(support.job())["AlgorithmSpecification"])

    def test_instance_groups_replace_instances(self):
        request = training_request(
            support.job(
                instances=None,
                groups={"data": "2 x ml.c5.xlarge", "net": "4x ml.p4d.24xlarge"},
                channels={"train": {"source": "s3://b/t", "groups": ["data"]}},
            )
        )
        self.assertEqual(
            request["ResourceConfig"],
            {
                "VolumeSizeInGB": 100,
                "InstanceGroups": [
                    {
                        "InstanceGroupName": "data",
                        "InstanceType": "ml.c5.xlarge",
                        "InstanceCount": 2,
                    },
                    {
                        "InstanceGroupName": "net",
                        "InstanceType": "ml.p4d.24xlarge",
                        "InstanceCount": 4,
                    },
                ],
            },
        )
        self.assertEqual(training_violations(request), [])

    def test_invalid_settings_raise_an_error(self):
        cases = [
            ({"image": None, "role": None}, "^image is missing.*\nrole is missing"),
            ({"instances": None}, "instances is missing"),
            ({"instances": "two"}, "instances is 'two'"),
            ({"checkpoint_path": "/state"}, "checkpoint_path has no effect"),
            ({"channels": {"t": {"source": "gs://b"}}}, "channels: t: source is 'gs://b'"),
            ({"channels": {"t": {"source": "s3://b", "type": "x"}}}, "channels: t: type is 'x'"),
            ({"channels": {"t": {"source": "s3://b", "access": "ro"}}}, "channels: t: access"),
            ({"channels": {"t": {"source": "s3://b", "shuffle": "yes"}}}, "shuffle is 'yes'"),
            ({"channels": {"t": {"source": "efs://fs-1/", "shuffle": 1}}}, "a file system takes"),
        ]
        for more, expected in cases:
            with self.subTest(more), self.assertRaisesRegex(UserError, expected):
                training_request(support.job(**more))


class ProcessingRequest(unittest.TestCase):
    def settings(self, **more):
        own = {
            "channels": None,
            "source": "s3://bucket/imagenet/train/",
            "output": "s3://bucket/packed",
        }
        return support.job(**(own | more))

    def test_packing_runs_shoal_pack_in_the_image(self):
        request = processing_request(
            self.settings(pack="val.pack", pack_options=["--max-side", "500"])
        )
        self.assertEqual(processing_violations(request), [])
        self.assertEqual(
            request["AppSpecification"],
            {
                "ImageUri": support.IMAGE,
                "ContainerEntrypoint": ["shoal", "pack"],
                "ContainerArguments": [
                    "/opt/ml/processing/input/images",
                    "/opt/ml/processing/output/val.pack",
                    "--max-side",
                    "500",
                ],
            },
        )
        self.assertEqual(
            request["ProcessingInputs"][0]["S3Input"]["S3Uri"], "s3://bucket/imagenet/train/"
        )
        self.assertEqual(
            request["ProcessingOutputConfig"]["Outputs"][0]["S3Output"]["S3Uri"],
            "s3://bucket/packed",
        )

    def test_preparing_runs_shoal_prepare_in_the_image(self):
        for form, options in (("folders", []), ("packs", ["--max-side", "500"])):
            more = {"pack_options": options} if options else {}
            request = processing_request(self.settings(prepare=form, **more))
            self.assertEqual(processing_violations(request), [])
            spec = request["AppSpecification"]
            self.assertEqual(spec["ContainerEntrypoint"], ["shoal", "prepare"])
            self.assertEqual(
                spec["ContainerArguments"],
                [
                    "imagenet",
                    "/opt/ml/processing/input/images",
                    "/opt/ml/processing/output",
                    "--as",
                    form,
                    *options,
                ],
            )
        for more, expected in (
            ({"prepare": "zips"}, "folders, tars, packs"),
            ({"prepare": "tars", "pack": "x.pack"}, "pack has no effect"),
            ({"prepare": "tars", "pack_options": ["--quality", "90"]}, "pack_options"),
        ):
            with self.subTest(more), self.assertRaisesRegex(UserError, expected):
                processing_request(self.settings(**more))

    def test_downloading_runs_curl_in_the_image(self):
        long = "https://x.org/a%20b/one.tar?signature=a/b"
        long += "/" * (255 * 2 + 256 - len(long)) + "%2F"  # longer than three arguments
        urls = [long, "https://x.org/two.tar"]
        request = processing_request(self.settings(download=urls, source=None))
        self.assertEqual(processing_violations(request), [])
        self.assertEqual(request["ProcessingInputs"], [])
        self.assertEqual(support.botocore_errors("CreateProcessingJob", request), "")
        spec = request["AppSpecification"]
        self.assertEqual(
            spec["ContainerArguments"],
            ["one.tar", long[:256], "/" * 256, "/" * 256, "/%2F", "two.tar", urls[1]],
        )
        isolated = processing_request(self.settings(download=urls, source=None, isolate=True))
        self.assertRegex(processing_violations(isolated)[0], "download needs the network")

        with tempfile.TemporaryDirectory() as folder:
            result = Path(folder) / "result"
            result.mkdir()
            curl = Path(folder) / "curl"  # fails for the second URL of a call
            curl.write_text(
                "#!/bin/sh\nfor url; do :; done\ncase $url in *$BAD) exit 22 ;; esac\n"
                'while [ "$1" != -o ]; do shift; done; echo "$url" >"$2"\n'
            )
            curl.chmod(0o755)
            words = [
                word.replace("/opt/ml/processing/output", str(result))
                for word in spec["ContainerEntrypoint"] + spec["ContainerArguments"]
            ]
            for bad, code, names in (
                ("two.tar", 1, ["one.tar"]),
                ("none", 0, ["one.tar", "two.tar"]),
            ):
                env = {"PATH": f"{folder}:{os.environ['PATH']}", "BAD": bad}
                done = subprocess.run(words, env=env, capture_output=True)
                self.assertEqual(done.returncode, code)
                self.assertNotIn(b"signature", done.stdout)
                self.assertEqual(sorted(path.name for path in result.iterdir()), names)
            self.assertEqual((result / "one.tar").read_text(), urls[0] + "\n")
        for more, expected in (
            ({"download": ["x.tar"]}, "download: 'x.tar' is not the URL of a file"),
            ({"download": ["http://a/"]}, "is not the URL of a file"),
            ({"download": ["http://a/x", "http://b/x"]}, "two files are named x"),
            ({"download": urls, "pack": "x"}, "pack has no effect with download"),
        ):
            with self.subTest(more), self.assertRaisesRegex(UserError, expected):
                processing_request(self.settings(**{"source": None} | more))
        with self.assertRaisesRegex(UserError, "source is missing"):
            processing_request(self.settings(source=None))

    def test_violations_name_the_field(self):
        for more, expected in (
            ({"instances": "2 x ml.c5.xlarge"}, "InstanceCount: .* one instance"),
            ({"pack": "../x"}, "pack is '../x'"),
            ({"max_run": 10**6}, "MaxRuntimeInSeconds: 1000000; at most 777600"),
            ({"environment": {"A": "x" * 257}}, "Environment.A: 257 characters"),
        ):
            with self.subTest(more):
                found = processing_violations(processing_request(self.settings(**more)))
                self.assertEqual(len(found), 1)
                self.assertRegex(found[0], expected)


if __name__ == "__main__":
    unittest.main()
