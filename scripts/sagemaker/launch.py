#!/usr/bin/env python3
"""Starts and manages shoal's jobs on SageMaker. Needs Python 3.11 and boto3; PyYAML for .yaml.

  launch.py [train] FILE [options]    start a training job, or the tasks in the file
  launch.py process FILE [options]    start a processing job that makes training data
  launch.py wait JOB | logs [-f] JOB | metrics JOB | stop JOB | download JOB DIR | search

--dry-run only prints the requests. See `launch.py COMMAND --help` for the options and
docs/sagemaker.md for examples. Exit status: 0 success; 1 the job failed, or AWS refused the
request; 2 a wrong setting; 3 the job was stopped; 130 interrupted.
"""

import os
import sys
from pathlib import Path
from tarfile import TarError

sys.path.insert(0, str(Path(__file__).resolve().parent))

import aws  # noqa: E402
from boto3.exceptions import Boto3Error  # noqa: E402
from botocore.exceptions import BotoCoreError, ClientError  # noqa: E402

import jobs  # noqa: E402
import logs  # noqa: E402
import search  # noqa: E402
import submission  # noqa: E402
from chain import Chain  # noqa: E402
from errors import UserError, printable  # noqa: E402
from options import COMMANDS, joined, parser_of  # noqa: E402
from settings import merge, read_file, rows  # noqa: E402
from tasks import read_chain  # noqa: E402
from upload import download  # noqa: E402


def given_options(arguments, job):
    """Returns the options given on the command line as {setting name: value}."""
    found = {row.name: getattr(arguments, row.name) for row in rows(job)}
    return {name: value for name, value in found.items() if value is not None}


def add_previous(settings, job):
    """--after JOB: adds JOB's model as channel pretrained, unless a channel already uses JOB."""
    channels = settings.setdefault("channels", {})
    if not any(c["source"].partition("/")[0] == f"job:{job}" for c in channels.values()):
        if "pretrained" in channels:
            raise UserError(
                "--after: the channel pretrained exists already. To use the model of "
                f"{job}, set a channel's source to job:{job}/model"
            )
        channels["pretrained"] = {"source": f"job:{job}/model"}


def run_one(arguments, kind, settings, after=None, clean=False):
    """Starts one job. Returns the exit code."""
    if "project" in settings:
        raise UserError("project has no effect without tasks; remove it, or set name")
    made = submission.build(kind, settings)
    if clean:
        submission.check_clean(made)
    submission.notes(made)
    if arguments.dry_run:
        submission.show(made, clean)
        return 0
    region = settings.get("region")
    if after:
        jobs.require_completed(aws.client("sagemaker", region), after, arguments.poll)
        # The model's address is known only now. Keeps the job name that notes() has printed.
        made = submission.build(kind, settings | {"job_name": made.job})
    submission.start(made, settings, arguments.create, clean)
    print(made.job, flush=True)
    if arguments.wait:
        sagemaker = aws.client("sagemaker", region)
        return print_outcome(jobs.wait(sagemaker, made.job, arguments.poll, kind=kind))
    return 0


def run_train(arguments):
    values = read_file(arguments.file) if arguments.file else {}
    given = given_options(arguments, "train")
    if "tasks" in values:
        if arguments.after:
            raise UserError("--after has no effect with tasks; use a source task:NAME/model")
        return Chain(read_chain(arguments.file, values, given), arguments).run()
    for option in ("task", "force", "keep_state"):
        if getattr(arguments, option):
            raise UserError(f"--{option.replace('_', '-')} needs a file with tasks")
    settings = merge("train", arguments.file, values, given)
    if arguments.after:
        add_previous(settings, arguments.after)
    return run_one(arguments, "Training", settings, arguments.after, arguments.clean_state)


def run_process(arguments):
    values = read_file(arguments.file) if arguments.file else {}
    settings = merge("process", arguments.file, values, given_options(arguments, "process"))
    return run_one(arguments, "Processing", settings)


def print_outcome(found):
    code, text = jobs.outcome(found)
    print(text)
    return code


def run_wait(arguments):
    sagemaker = aws.client("sagemaker", arguments.region)
    return print_outcome(jobs.wait(sagemaker, arguments.job, arguments.poll))


def run_logs(arguments):
    logs.print_logs(
        aws.client("sagemaker", arguments.region),
        aws.client("logs", arguments.region),
        arguments.job,
        arguments.follow,
        arguments.poll,
    )
    return 0


def run_metrics(arguments):
    found = jobs.describe(aws.client("sagemaker", arguments.region), arguments.job)
    if arguments.series:
        given = found.get("AlgorithmSpecification", {}).get("MetricDefinitions", [])
        logs.print_series(aws.client("logs", arguments.region), arguments.job, given)
    else:
        print("\n".join(logs.final_metrics(found) or [f"{arguments.job} has no metrics yet"]))
    return 0


def run_stop(arguments):
    sagemaker = aws.client("sagemaker", arguments.region)
    jobs.stop(sagemaker, arguments.job)
    if arguments.wait:
        print(jobs.outcome(jobs.wait(sagemaker, arguments.job, arguments.poll))[1])
    return 0


def run_download(arguments):
    found = jobs.describe(aws.client("sagemaker", arguments.region), arguments.job)
    address = jobs.result_address(found, arguments.what)
    count = download(aws.client("s3", arguments.region), address, arguments.folder)
    print(f"{address} → {arguments.folder}: {count} files")
    return 0


def run_search(arguments):
    filters = search.search_filters(arguments)
    request = search.search_request(filters, arguments.limit, arguments.sort, arguments.ascending)
    sagemaker = aws.client("sagemaker", arguments.region)
    for one in search.search(sagemaker, request, arguments.limit):
        print(search.summary_line(one, filters, arguments.sort))
    return 0


def main(words, program="launch.py"):
    if not words or words[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 0
    name = program.removesuffix(".py")  # for messages
    command = words[0] if words[0] in COMMANDS else "train"
    words = words[1:] if command == words[0] else words
    arguments = parser_of(command, program).parse_args(joined(words))
    try:
        return globals()[f"run_{command}"](arguments)
    except UserError as error:
        for sentence in error.sentences:
            print(f"{name}: error: {printable(sentence)}", file=sys.stderr)
        return 2
    except ClientError as error:
        answer = error.response["Error"]
        print(
            f"{name}: error: {error.operation_name}: {answer['Message']} ({answer['Code']})",
            file=sys.stderr,
        )
        return 1
    except BrokenPipeError:  # for example `logs JOB | head`
        sys.stdout = open(os.devnull, "w")
        return 0
    except (BotoCoreError, Boto3Error, OSError, TarError, UnicodeDecodeError) as error:
        print(f"{name}: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        if program != "launch.py":
            raise
        print(f"{name}: interrupted; started jobs keep running", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
