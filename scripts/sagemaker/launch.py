#!/usr/bin/env python3
"""Starts and manages shoal's jobs on SageMaker. Needs Python 3.11 and boto3; PyYAML for .yaml.

  launch.py [train] FILE [options]    start a training job; --dry-run prints the request
  launch.py process FILE [options]    start a processing job that packs or prepares images
  launch.py wait JOB | logs [-f] JOB | metrics JOB | stop JOB | download JOB DIR | search

See `launch.py COMMAND --help` for the options and docs/sagemaker.md for examples. Exit status:
0 success; 1 the job failed, or AWS refused the request; 2 a wrong setting; 3 the job was stopped.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

try:
    import boto3
    from botocore.exceptions import BotoCoreError, ClientError
except ImportError:
    sys.exit("launch: error: boto3 is missing; install it with: python3 -m pip install boto3")

import jobs  # noqa: E402
import logs  # noqa: E402
from definitions import metric_definitions  # noqa: E402
from errors import UserError  # noqa: E402
from job_secret import add_secret, without_secret  # noqa: E402
from limits import print_notes, training_notes, training_violations  # noqa: E402
from process import processing_request, processing_violations  # noqa: E402
from request import need, training_request  # noqa: E402
from settings import gather, rows  # noqa: E402
from upload import download, plan_uploads, upload_folder  # noqa: E402

COMMANDS = ("train", "process", "wait", "logs", "metrics", "stop", "download", "search")


def client(service, region):
    return boto3.client(service, region_name=region or None)


def raise_if_any(violations):
    if violations:
        raise UserError(*violations)


def given_options(arguments, job):
    """Returns the options given on the command line as {setting name: value}."""
    found = {row.name: getattr(arguments, row.name) for row in rows(job)}
    return {name: value for name, value in found.items() if value is not None}


def take_settings(arguments, settings):
    """Stores the settings that are not part of the request in `arguments`."""
    arguments.region = settings.get("region")
    arguments.hidden = settings.get("upload_hidden", False)


def replace_local_folders(settings):
    """Replaces local folders in `settings` by S3 addresses. Returns [(folder, S3 address)]."""
    need(settings, "output")
    sources = dict(settings.get("channels", {}))
    if settings.get("source"):
        sources["source"] = {"source": settings["source"]}
    planned, resolved = plan_uploads(sources, settings.get("upload"), settings["output"])
    if settings.get("source"):
        settings["source"] = resolved.pop("source")["source"]
    if resolved:
        settings["channels"] = resolved
    return planned


def submit(arguments, request, planned, create, name):
    if arguments.dry_run:
        for folder, address in planned:
            print(f"would upload {folder} → {address}", file=sys.stderr)
        print(json.dumps(without_secret(request), indent=2))
        return
    for folder, address in planned:
        upload_folder(client("s3", arguments.region), folder, address, arguments.hidden)
    create(**request)
    print(request[name])


def add_previous(settings, job):
    """--after JOB: adds JOB's model as channel pretrained, unless a channel already uses JOB."""
    channels = settings.setdefault("channels", {})
    if not any(channel["source"].startswith(f"job:{job}/") for channel in channels.values()):
        if "pretrained" in channels:
            raise UserError(
                "--after: the channel pretrained exists already. To use the model of "
                f"{job}, set a channel's source to job:{job}/model"
            )
        channels["pretrained"] = {"source": f"job:{job}/model"}


def run_train(arguments):
    settings = gather("train", arguments.file, given_options(arguments, "train"))
    take_settings(arguments, settings)
    sagemaker = None
    if arguments.after:
        add_previous(settings, arguments.after)
    if any(c["source"].startswith("job:") for c in settings.get("channels", {}).values()):
        sagemaker = client("sagemaker", arguments.region)

    def build():
        found = dict(settings)
        if sagemaker:
            found["channels"] = jobs.resolve_sources(sagemaker, found["channels"])
        planned = replace_local_folders(found)
        request = training_request(found, metric_definitions(found.get("metrics")))
        add_secret(request)
        raise_if_any(training_violations(request))
        return request, planned

    request, planned = build()
    print_notes(training_notes(request))
    if arguments.after and not arguments.dry_run:
        jobs.require_completed(sagemaker, arguments.after, arguments.poll)
        request, planned = build()  # again, because only now the model's address is known
    sagemaker = sagemaker or (None if arguments.dry_run else client("sagemaker", arguments.region))
    submit(
        arguments, request, planned, sagemaker and sagemaker.create_training_job, "TrainingJobName"
    )
    if arguments.wait and not arguments.dry_run:
        return print_outcome(jobs.wait(sagemaker, request["TrainingJobName"], arguments.poll))
    return 0


def run_process(arguments):
    settings = gather("process", arguments.file, given_options(arguments, "process"))
    take_settings(arguments, settings)
    planned = replace_local_folders(settings)
    request = processing_request(settings)
    raise_if_any(processing_violations(request))
    sagemaker = None if arguments.dry_run else client("sagemaker", arguments.region)
    submit(
        arguments,
        request,
        planned,
        sagemaker and sagemaker.create_processing_job,
        "ProcessingJobName",
    )
    return 0


def print_outcome(found):
    code, text = jobs.outcome(found)
    print(text)
    return code


def run_wait(arguments):
    sagemaker = client("sagemaker", arguments.region)
    return print_outcome(jobs.wait(sagemaker, arguments.job, arguments.poll))


def run_logs(arguments):
    logs.print_logs(
        client("sagemaker", arguments.region),
        client("logs", arguments.region),
        arguments.job,
        arguments.follow,
        arguments.poll,
    )
    return 0


def run_metrics(arguments):
    found = jobs.describe(client("sagemaker", arguments.region), arguments.job)
    if arguments.series:
        given = found["AlgorithmSpecification"].get("MetricDefinitions", [])
        logs.print_series(client("logs", arguments.region), arguments.job, given)
    else:
        print("\n".join(logs.final_metrics(found) or [f"{arguments.job} has no metrics yet"]))
    return 0


def run_stop(arguments):
    sagemaker = client("sagemaker", arguments.region)
    jobs.stop(sagemaker, arguments.job)
    if arguments.wait:
        print(jobs.outcome(jobs.wait(sagemaker, arguments.job, arguments.poll))[1])
    return 0


def run_download(arguments):
    found = jobs.describe(client("sagemaker", arguments.region), arguments.job)
    address = jobs.result_address(found, arguments.what)
    count = download(client("s3", arguments.region), address, arguments.folder)
    print(f"{address} → {arguments.folder}: {count} files")
    return 0


def run_search(arguments):
    found = jobs.search(
        client("sagemaker", arguments.region), jobs.search_filters(arguments), arguments.limit
    )
    for one in found:
        print(jobs.summary_line(one))
    return 0


def add_settings(parser, job):
    parser.add_argument("file", nargs="?", help="settings as YAML or JSON; options override them")
    for row in rows(job):
        if row.kind == "switch":
            parser.add_argument(
                row.option, dest=row.name, help=row.help, action=argparse.BooleanOptionalAction
            )
        elif row.is_map:
            parser.add_argument(
                row.option, dest=row.name, help=row.help, action="append", metavar="NAME=VALUE"
            )
        else:
            parser.add_argument(row.option, dest=row.name, help=row.help, metavar=row.kind.upper())
    parser.add_argument("--dry-run", action="store_true", help="only print the request")


def parser_of(command):
    parser = argparse.ArgumentParser(prog=f"launch.py {command}", allow_abbrev=False)
    if command in ("train", "process"):
        add_settings(parser, command)
    else:
        if command != "search":
            parser.add_argument("job")
        parser.add_argument("--region", help="AWS region")
    if command in ("train", "wait", "logs", "stop"):
        parser.add_argument(
            "--poll",
            type=float,
            default=30,
            metavar="SECONDS",
            help="interval between status checks [default: 30]",
        )
    if command == "train":
        parser.add_argument(
            "--after",
            metavar="JOB",
            help="wait until JOB has completed; its model becomes the channel pretrained",
        )
    if command in ("train", "stop"):
        parser.add_argument("--wait", action="store_true", help="wait until the job has ended")
    if command == "logs":
        parser.add_argument(
            "-f", "--follow", action="store_true", help="print new lines until the job has ended"
        )
    if command == "metrics":
        parser.add_argument(
            "--series",
            action="store_true",
            help="print every value in the logs as CSV instead of the last values",
        )
    if command == "download":
        parser.add_argument("folder")
        parser.add_argument("--what", default="model", choices=("model", "output", "checkpoints"))
    if command == "search":
        parser.add_argument("--tag", action="append", metavar="NAME=VALUE")
        parser.add_argument("--experiment")
        parser.add_argument("--name", help="part of the job's name")
        parser.add_argument("--status", choices=("InProgress", "Completed", "Failed", "Stopped"))
        parser.add_argument("--limit", type=int, default=20, metavar="N")
    return parser


def main(words):
    if not words or words[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 0
    command = words[0] if words[0] in COMMANDS else "train"
    arguments = parser_of(command).parse_args(words[1:] if command == words[0] else words)
    try:
        return globals()[f"run_{command}"](arguments)
    except UserError as error:
        for sentence in error.sentences:
            print(f"launch: error: {sentence}", file=sys.stderr)
        return 2
    except ClientError as error:
        answer = error.response["Error"]
        print(
            f"launch: error: {error.operation_name}: {answer['Message']} ({answer['Code']})",
            file=sys.stderr,
        )
        return 1
    except BotoCoreError as error:
        print(f"launch: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
