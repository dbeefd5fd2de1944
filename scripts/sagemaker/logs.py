"""What a job has printed, and the metrics in it."""

import re
import sys
import time

from botocore.exceptions import ClientError

from jobs import ENDED, describe

GROUP = "/aws/sagemaker/TrainingJobs"


def readable(message):
    """The line as it was printed: the service keeps a tab as # and three octal digits."""
    return message.replace("#011", "\t").rstrip("\n")


class Reader:
    """Reads a job's events, each once, in the order of their times. One stream per instance."""

    def __init__(self, logs, job):
        self.logs, self.job = logs, job
        self.since, self.seen = 0, set()

    def new_events(self):
        """[(milliseconds, host, line)] that have come since the last call."""
        found = []
        try:
            pages = self.logs.get_paginator("filter_log_events").paginate(
                logGroupName=GROUP, logStreamNamePrefix=self.job + "/", startTime=self.since
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
        if found:  # late events of other hosts may be a minute older
            self.since = max(self.since, max(event[0] for event in found) - 60000)
        return sorted(found, key=lambda event: event[0])


def show(events):
    hosts = {host for _, host, _ in events}
    for _, host, line in events:
        print(f"{host} | {line}" if len(hosts) > 1 or host != "algo-1" else line, flush=True)


def print_logs(sagemaker, logs, job, follow, poll_seconds, sleep=time.sleep):
    """All lines so far; with `follow` also those to come until the job has ended."""
    reader = Reader(logs, job)
    while True:
        status = describe(sagemaker, job)["TrainingJobStatus"]
        show(reader.new_events())
        if not follow or status in ENDED:
            break
        sleep(poll_seconds)
    if not reader.seen:
        print(f"{job} has printed nothing yet", file=sys.stderr)


def final_metrics(found):
    """Lines of the last value of each metric, as the platform has kept it."""
    return [
        f"{metric['MetricName']} {metric['Value']:.7g}"
        for metric in found.get("FinalMetricDataList", [])
    ]


def series(events, definitions):
    """[(milliseconds, name, value as printed)]: every value that a definition captures."""
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
