"""A processing job that packs a data set with `shoal pack`, so that training jobs read one file."""

from limits import model_violations
from request import add_labels, as_texts, job_name, need, parse_instances, vpc
from upload import split_uri

SOURCE = "/opt/ml/processing/input/pictures"
RESULT = "/opt/ml/processing/output"


def processing_request(settings):
    """SOURCE's pictures are downloaded and packed into OUTPUT/PACK, uploaded at the end."""
    need(settings, "image", "role", "output", "source", "instances")
    split_uri(settings["source"])
    kind, count = parse_instances("instances", settings["instances"])
    request = {
        "ProcessingJobName": job_name(settings, "shoal-pack"),
        "RoleArn": settings["role"],
        "AppSpecification": {
            "ImageUri": settings["image"],
            "ContainerEntrypoint": ["shoal", "pack"],
            "ContainerArguments": [
                SOURCE,
                f"{RESULT}/{settings.get('pack', 'train.pack')}",
                *settings.get("pack_options", []),
            ],
        },
        "ProcessingResources": {
            "ClusterConfig": {
                "InstanceType": kind,
                "InstanceCount": count,
                "VolumeSizeInGB": settings.get("volume_gb", 100),
            }
        },
        "ProcessingInputs": [
            {
                "InputName": "pictures",
                "S3Input": {
                    "S3Uri": settings["source"],
                    "LocalPath": SOURCE,
                    "S3DataType": "S3Prefix",
                    "S3InputMode": "File",
                    "S3DataDistributionType": "FullyReplicated",
                },
            }
        ],
        "ProcessingOutputConfig": {
            "Outputs": [
                {
                    "OutputName": "pack",
                    "S3Output": {
                        "S3Uri": settings["output"],
                        "LocalPath": RESULT,
                        "S3UploadMode": "EndOfJob",
                    },
                }
            ]
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": settings.get("max_run", 86400)},
    }
    if settings.get("environment"):
        request["Environment"] = as_texts(settings["environment"])
    network = {
        "EnableNetworkIsolation": settings.get("isolate", False),
        "EnableInterContainerTrafficEncryption": settings.get("encrypt_traffic", False),
    }
    if settings.get("subnets") or settings.get("security_groups"):
        network["VpcConfig"] = vpc(settings)
    request["NetworkConfig"] = network
    add_labels(request, settings)
    return request


def processing_violations(request):
    found = model_violations("CreateProcessingJob", request)
    if not found:
        if request["ProcessingResources"]["ClusterConfig"]["InstanceCount"] != 1:
            found.append(
                "ProcessingResources.ClusterConfig.InstanceCount: one instance packs a set"
            )
        name = request["AppSpecification"]["ContainerArguments"][1].removeprefix(RESULT + "/")
        if "/" in name or name in ("", ".", ".."):
            found.append(
                f"AppSpecification.ContainerArguments: pack is '{name}'; it must be a file name"
            )
    return found
