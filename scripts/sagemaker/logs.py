"""A job's log lines from CloudWatch, and the metrics in them."""

import re
import sys
import time

from botocore.exceptions import ClientError

from errors import printable
from jobs import ENDED, describe, kind_of, status_of


def readable(message):
    """Restores the printed line: CloudWatch stores a tab as #011. Escapes control characters."""
    return printable(message.replace("#011", "\t").rstrip("\n"))


class Reader:
    """Reads each log event of a job once, in the order of the timestamps.

    Each instance has its own log stream.
    """

    def __init__(self, logs, job, kind="Training"):
        self.logs, self.job, self.group = logs, job, f"/aws/sagemaker/{kind}Jobs"
        self.since, self.seen = 0, set()

    def new_events(self):
        """Returns the events since the last call as [(milliseconds, host, line)]."""
        found = []
        try:
            pages = self.logs.get_paginator("filter_log_events").paginate(
                logGroupName=self.group, logStreamNamePrefix=self.job + "/", startTime=self.since
            )
            for page in pages:
                for event in page["events"]:
                    own = event["logStreamName"].startswith(self.job + "/")
                    if own and event["eventId"] not in self.seen:
                        self.seen.add(event["eventId"])
                        host = event["logStreamName"].removeprefix(self.job + "/")
                        host = re.sub(r"-\d{5,}$", "", host)
                        found.append((event["timestamp"], host, readable(event["message"])))
        except ClientError as error:
            if error.response["Error"]["Code"] != "ResourceNotFoundException":
                raise
        if found:  # reads the last minute again, because events of other hosts may arrive late
            self.since = max(self.since, max(event[0] for event in found) - 60000)
        return sorted(found, key=lambda event: event[0])


def show(events):
    hosts = {host for _, host, _ in events}
    for _, host, line in events:
        print(f"{host} | {line}" if len(hosts) > 1 or host != "algo-1" else line, flush=True)


def print_logs(sagemaker, logs, job, follow, poll_seconds, sleep=time.sleep):
    """Prints all lines so far; with `follow`, also new lines until the job has ended."""
    found = describe(sagemaker, job)
    reader = Reader(logs, job, kind_of(found))
    while True:
        show(reader.new_events())
        if not follow or status_of(found) in ENDED:
            break
        sleep(poll_seconds)
        found = describe(sagemaker, job)
    if not reader.seen:
        print(f"{job} has printed nothing yet", file=sys.stderr)


def final_metrics(found):
    """Returns one line per metric with the last value that SageMaker recorded."""
    return [
        f"{metric['MetricName']} {metric['Value']:.7g}"
        for metric in found.get("FinalMetricDataList", [])
    ]


def series(events, definitions):
    """Returns all values that the definitions capture as [(milliseconds, name, text)]."""
    compiled = [(entry["Name"], re.compile(entry["Regex"])) for entry in definitions]
    return [
        (when, name, match[1])
        for when, _, line in events
        for name, regex in compiled
        for match in regex.finditer(line)
    ]


def print_series(logs, job, definitions):
    print("time_ms,name,value")
    for when, name, value in series(Reader(logs, job).new_events(), definitions):
        print(f"{when},{name},{value}")
