import contextlib
import io
import time
import unittest
from unittest import mock

import boto3
from moto import mock_aws

import support  # noqa: F401  (sets the module path)
import logs

NOW = int(time.time() * 1000) - 60_000  # CloudWatch drops old events


@mock_aws
class Logs(unittest.TestCase):
    def setUp(self):
        self.logs = boto3.client("logs")
        self.kind, self.group = "Training", "/aws/sagemaker/TrainingJobs"
        self.logs.create_log_group(logGroupName=self.group)
        self.states = iter(())
        describing = mock.patch.object(
            logs,
            "describe",
            lambda *_: {f"{self.kind}JobName": "job-1", f"{self.kind}JobStatus": next(self.states)},
        )
        describing.start()
        self.addCleanup(describing.stop)

    def put(self, stream, *events):
        with contextlib.suppress(self.logs.exceptions.ResourceAlreadyExistsException):
            self.logs.create_log_stream(logGroupName=self.group, logStreamName=stream)
        self.logs.put_log_events(
            logGroupName=self.group,
            logStreamName=stream,
            logEvents=[{"timestamp": NOW + when, "message": text} for when, text in events],
        )

    def printed(self, states, follow, between=()):
        self.states = iter(states)
        steps = iter(between)
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            logs.print_logs(None, self.logs, "job-1", follow, 0, lambda _: next(steps)())
        return out.getvalue().splitlines()

    def test_lines_of_all_hosts_are_printed_in_order_with_tabs_restored(self):
        self.put("job-1/algo-1-1700000000", (0, "Epoch: [0][1/2]#011Time"), (2, "end"))
        self.put("job-1/algo-2-1700000001", (1, "second"))
        self.put("job-10/algo-1-1700000000", (1, "another job"))
        self.assertEqual(
            self.printed(["InProgress"], False),
            ["algo-1 | Epoch: [0][1/2]\tTime", "algo-2 | second", "algo-1 | end"],
        )

    def test_control_characters_are_escaped(self):
        self.put("job-1/algo-1-1700000000", (0, "\x1b[31mred é"))
        self.assertEqual(self.printed(["Completed"], False), ["\\x1b[31mred é"])

    def test_follow_prints_each_line_once_until_the_job_has_ended(self):
        name = "job-1/algo-1-1700000000"
        self.put(name, (0, "one"))
        between = [lambda: self.put(name, (5, "two")), lambda: self.put(name, (5, "three"))]
        self.assertEqual(
            self.printed(["InProgress", "InProgress", "Completed"], True, between),
            ["one", "two", "three"],
        )

    def test_processing_jobs_have_a_group_of_their_own(self):
        self.put("job-1/algo-1-1700000000", (0, "of a training job"))
        self.kind, self.group = "Processing", "/aws/sagemaker/ProcessingJobs"
        self.logs.create_log_group(logGroupName=self.group)
        self.put("job-1/algo-1-1700000000", (0, "packed"))
        self.assertEqual(self.printed(["Completed"], False), ["packed"])

    def test_a_job_without_output_is_reported(self):
        self.assertEqual(self.printed(["Completed"], False), ["job-1 has printed nothing yet"])

    def test_series_prints_the_captured_values(self):
        self.put(
            "job-1/algo-1-1700000000",
            (0, "train:loss=1.5; train:acc1=2.0;"),
            (9, "train:loss=1.25;"),
        )
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            logs.print_series(self.logs, "job-1", [{"Name": "loss", "Regex": "train:loss=(.*?);"}])
        self.assertEqual(
            out.getvalue().splitlines(),
            ["time_ms,name,value", f"{NOW},loss,1.5", f"{NOW + 9},loss,1.25"],
        )


if __name__ == "__main__":
    unittest.main()
