"""The request of a processing job that converts images for training.

`shoal pack` writes a dataset to one packed file. `shoal prepare` converts ImageNet's archives to
class folders, tars or packed files.
"""

from errors import UserError
from limits import model_violations
from request import (
    DEFAULT_VOLUME_GB,
    add_labels,
    as_texts,
    job_name,
    need,
    parse_instances,
    stopping,
    vpc,
)
from upload import split_uri

SOURCE = "/opt/ml/processing/input/images"
RESULT = "/opt/ml/processing/output"
FORMS = ("folders", "tars", "packs")


def command(settings):
    """Returns the container's entry point and arguments."""
    options = settings.get("pack_options", [])
    form = settings.get("prepare")
    if form is None:
        return ["shoal", "pack"], [SOURCE, f"{RESULT}/{settings.get('pack', 'train.pack')}", *options]
    if form not in FORMS:
        raise UserError(f"prepare is '{form}'; it must be one of {', '.join(FORMS)}")
    if "pack" in settings:
        raise UserError("pack has no effect with prepare, which chooses the file names; remove it")
    if options and form != "packs":
        raise UserError(f"pack_options have no effect with prepare: {form}; remove them")
    return ["shoal", "prepare"], ["imagenet", SOURCE, RESULT, "--as", form, *options]


def processing_request(settings):
    """Returns the request. SageMaker downloads `source` first and uploads the results at the end."""
    need(settings, "image", "role", "output", "source", "instances")
    split_uri(settings["source"])
    kind, count = parse_instances("instances", settings["instances"])
    entrypoint, arguments = command(settings)
    request = {
        "ProcessingJobName": job_name(settings, "-".join(entrypoint)),
        "RoleArn": settings["role"],
        "AppSpecification": {
            "ImageUri": settings["image"],
            "ContainerEntrypoint": entrypoint,
            "ContainerArguments": arguments,
        },
        "ProcessingResources": {
            "ClusterConfig": {
                "InstanceType": kind,
                "InstanceCount": count,
                "VolumeSizeInGB": settings.get("volume_gb", DEFAULT_VOLUME_GB),
            }
        },
        "ProcessingInputs": [
            {
                "InputName": "images",
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
        "StoppingCondition": stopping(settings),
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
                "ProcessingResources.ClusterConfig.InstanceCount: packing and preparing need "
                "exactly one instance"
            )
        if request["AppSpecification"]["ContainerEntrypoint"][1] != "pack":
            return found
        name = request["AppSpecification"]["ContainerArguments"][1].removeprefix(RESULT + "/")
        if "/" in name or name in ("", ".", ".."):
            found.append(
                f"AppSpecification.ContainerArguments: pack is '{name}'; it must be a file name"
            )
    return found
