"""Command line of launch.py and emulate."""

import argparse

from settings import rows

# Options whose values can begin with '-', which argparse takes for the next option.
DASHED = ("--arguments", "--entrypoint", "--pack-options")
COMMANDS = ("train", "process", "wait", "logs", "metrics", "stop", "download", "search")


def joined(words):
    """Returns the words with OPTION=VALUE in place of the options in DASHED and their values."""
    found = []
    for word in words:
        if found and found[-1] in DASHED:
            found[-1] += f"={word}"
        else:
            found.append(word)
    return found


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
    parser.add_argument(
        "--create", action="store_true", help="create the bucket and the role if they are missing"
    )
    parser.add_argument("--wait", action="store_true", help="wait until the job has ended")


def add_train_options(parser):
    parser.add_argument(
        "--after",
        metavar="JOB",
        help="wait until JOB has completed; its model becomes the channel pretrained",
    )
    parser.add_argument(
        "--task",
        action="append",
        metavar="NAME",
        help="run only this task of the file's tasks; can be repeated",
    )
    parser.add_argument("--force", action="store_true", help="also run tasks that are complete")
    parser.add_argument(
        "--clean-state",
        action="store_true",
        help="delete the checkpoints in S3 first, so that training starts from the beginning",
    )
    parser.add_argument(
        "--keep-state",
        action="store_true",
        help="with tasks: continue from checkpoints even if the inputs have changed",
    )


def add_search_options(parser):
    parser.add_argument("--tag", action="append", metavar="NAME=VALUE")
    for name, example in (("metric", "'valid:acc1>=76'"), ("hyperparameter", "'lr<0.5'")):
        parser.add_argument(
            f"--{name}",
            action="append",
            metavar="CONDITION",
            help=f"such as {example}, with =, !=, <, <=, > or >=; can be repeated",
        )
    parser.add_argument("--sort", metavar="METRIC", help="highest value first [default: newest]")
    parser.add_argument("--ascending", action="store_true", help="lowest value or oldest first")
    parser.add_argument("--experiment")
    parser.add_argument("--name", help="part of the job's name")
    parser.add_argument("--status", choices=("InProgress", "Completed", "Failed", "Stopped"))
    parser.add_argument("--limit", type=int, default=20, metavar="N")


def parser_of(command, program="launch.py"):
    parser = argparse.ArgumentParser(prog=f"{program} {command}", allow_abbrev=False)
    if command in ("train", "process"):
        add_settings(parser, command)
    else:
        if command != "search":
            parser.add_argument("job")
        parser.add_argument("--region", help="AWS region")
    if command in ("train", "process", "wait", "logs", "stop"):
        parser.add_argument(
            "--poll",
            type=float,
            default=30,
            metavar="SECONDS",
            help="interval between status checks [default: 30]",
        )
    if command == "train":
        add_train_options(parser)
    if command == "stop":
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
        add_search_options(parser)
    return parser
