"""The request of a processing job that makes training data.

`download` copies files from the internet. `shoal pack` writes a dataset to one packed file.
`shoal prepare` converts ImageNet's archives to class folders, tars or packed files.
"""

from urllib.parse import urlsplit

from errors import UserError
from limits import model_violations
from request import (
    DEFAULT_VOLUME_GB,
    add_labels,
    as_texts,
    job_name,
    need,
    parse_instances,
    role_arn,
    stopping,
    vpc,
)
from upload import split_uri

SOURCE = "/opt/ml/processing/input/images"
RESULT = "/opt/ml/processing/output"
FORMS = ("folders", "tars", "packs")
# Downloads files. The arguments are, for each file, its name, its URL, and the rest of a long URL
# in parts that begin with a slash, which is removed. Prints only the names, because a URL may
# contain a signature.
DOWNLOAD = (
    f'cd "{RESULT}" && while [ $# -gt 0 ]; do n=$1 u=$2; shift 2; '
    'while [ "$1" != "${1#/}" ]; do u=$u${1#/}; shift; done; echo "downloading $n" && '
    'curl -fsSL --retry 5 --retry-all-errors -o "$n" "$u" || exit 1; done && ls -l'
)
MOST = 256  # characters of an argument


def parts(url):
    """Returns the URL as arguments of DOWNLOAD."""
    rest = range(MOST, len(url), MOST - 1)
    return [url[:MOST], *("/" + url[start : start + MOST - 1] for start in rest)]


def download_command(urls):
    names = [urlsplit(url).path.rpartition("/")[2] for url in urls]
    for url, name in zip(urls, names):
        if "://" not in url or not name:
            raise UserError(f"download: '{url}' is not the URL of a file")
        if names.count(name) > 1:
            raise UserError(
                f"download: two files are named {name}; download one of them in another task"
            )
    return ["sh", "-c", DOWNLOAD, "download"], [
        word for name, url in zip(names, urls) for word in (name, *parts(url))
    ]


def command(settings):
    """Returns the container's entry point and arguments."""
    if settings.get("download"):
        for name in ("source", "prepare", "pack", "pack_options"):
            if name in settings:
                raise UserError(f"{name} has no effect with download; use a job of its own")
        return download_command(settings["download"])
    options = settings.get("pack_options", [])
    form = settings.get("prepare")
    if form is None:
        return ["shoal", "pack"], [
            SOURCE,
            f"{RESULT}/{settings.get('pack', 'train.pack')}",
            *options,
        ]
    if form not in FORMS:
        raise UserError(f"prepare is '{form}'; it must be one of {', '.join(FORMS)}")
    if "pack" in settings:
        raise UserError("pack has no effect with prepare, which chooses the file names; remove it")
    if options and form != "packs":
        raise UserError(f"pack_options have no effect with prepare: {form}; remove them")
    return ["shoal", "prepare"], ["imagenet", SOURCE, RESULT, "--as", form, *options]


def images_input(source):
    split_uri(source)
    return {
        "InputName": "images",
        "S3Input": {
            "S3Uri": source,
            "LocalPath": SOURCE,
            "S3DataType": "S3Prefix",
            "S3InputMode": "File",
            "S3DataDistributionType": "FullyReplicated",
        },
    }


def processing_request(settings):
    """Returns the request of a job that downloads `source`, runs a command, uploads results."""
    need(settings, "image", "role", "output", "instances")
    if not settings.get("download"):
        need(settings, "source")
    kind, count = parse_instances("instances", settings["instances"])
    entrypoint, arguments = command(settings)
    request = {
        "ProcessingJobName": job_name(settings, "shoal-" + entrypoint[-1]),
        "RoleArn": role_arn(settings),
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
        "ProcessingInputs": [images_input(settings["source"])] if settings.get("source") else [],
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
    if found:
        return found
    if request["ProcessingResources"]["ClusterConfig"]["InstanceCount"] != 1:
        found.append(
            "ProcessingResources.ClusterConfig.InstanceCount: a processing job needs exactly one "
            "instance"
        )
    entrypoint, arguments = (
        request["AppSpecification"][f"Container{part}"] for part in ("Entrypoint", "Arguments")
    )
    if entrypoint[0] == "sh" and request["NetworkConfig"]["EnableNetworkIsolation"]:
        found.append("NetworkConfig.EnableNetworkIsolation: download needs the network")
    if entrypoint[1] == "pack":
        name = arguments[1].removeprefix(RESULT + "/")
        if "/" in name or name in ("", ".", ".."):
            found.append(
                f"AppSpecification.ContainerArguments: pack is '{name}'; it must be a file name"
            )
    return found
