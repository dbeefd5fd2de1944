"""Tests searching with botocore's Stubber, because moto ignores most filters."""

import unittest
from unittest import mock

import boto3
from botocore.stub import Stubber

from support import TIME, description, launch
import search


class Searching(unittest.TestCase):
    def setUp(self):
        self.sagemaker = boto3.client("sagemaker")
        self.stub = Stubber(self.sagemaker)
        self.stub.activate()
        self.addCleanup(self.stub.assert_no_pending_responses)

    def test_search_joins_pages_and_passes_filters_on(self):
        filters = [("Tags.project", "Equals", "imagenet"), ("TrainingJobName", "Contains", "b0")]
        request = {
            "Resource": "TrainingJob",
            "SortBy": "CreationTime",
            "SortOrder": "Descending",
            "MaxResults": 3,
            "SearchExpression": {
                "Filters": [
                    {"Name": "Tags.project", "Operator": "Equals", "Value": "imagenet"},
                    {"Name": "TrainingJobName", "Operator": "Contains", "Value": "b0"},
                ]
            },
        }

        def results(*names):
            return [{"TrainingJob": {"TrainingJobName": name}} for name in names]

        self.stub.add_response("search", {"Results": results("a", "b"), "NextToken": "x"}, request)
        self.stub.add_response(
            "search", {"Results": results("c", "d")}, request | {"NextToken": "x"}
        )
        found = search.search(self.sagemaker, search.search_request(filters, 3), 3)
        self.assertEqual([one["TrainingJobName"] for one in found], ["a", "b", "c"])

    def test_metrics_and_hyperparameters_are_conditions_and_columns(self):
        wanted = [
            {"Name": "Metrics.train:loss", "Operator": "LessThan", "Value": "1.5"},
            {"Name": "Metrics.valid:acc1", "Operator": "GreaterThanOrEqualTo", "Value": "76"},
            {"Name": "HyperParameters.lr", "Operator": "LessThanOrEqualTo", "Value": "0.5"},
            {"Name": "HyperParameters.arch", "Operator": "NotEquals", "Value": "resnet50"},
        ]
        metrics = [("train:loss", 1.25), ("train:lr", 0.1), ("valid:acc1", 77.25)]
        found = description(
            "Completed",
            HyperParameters={"lr": "0.1", "epochs": "9", "arch": "b0"},
            FinalMetricDataList=[
                {"MetricName": name, "Value": value, "Timestamp": TIME} for name, value in metrics
            ],
        )
        self.stub.add_response(
            "search",
            {"Results": [{"TrainingJob": found}]},
            {
                "Resource": "TrainingJob",
                "SortBy": "Metrics.train:loss",
                "SortOrder": "Ascending",
                "MaxResults": 20,
                "SearchExpression": {"Filters": wanted},
            },
        )
        with mock.patch("boto3.client", return_value=self.sagemaker):
            code, out, err = launch(
                "search",
                *("--metric", "train:loss<1.5", "--metric", "valid:acc1 >= 76"),
                *("--hyperparameter", "lr<=0.5", "--hyperparameter", "arch!=resnet50"),
                *("--sort", "train:loss", "--ascending"),
            )
        self.assertEqual(code, 0, err)
        self.assertEqual(
            out,
            "2026-01-02 03:04  Completed  job-1  2 x ml.c5.xlarge  "
            "train:loss=1.25 valid:acc1=77.25 lr=0.1 arch=b0\n",
        )

    def test_a_wrong_condition_is_one_sentence_and_nothing_is_asked(self):
        many = [word for i in range(21) for word in ("--hyperparameter", f"h{i}=1")]
        cases = [
            (("--metric", "valid:acc1"), "--metric is 'valid:acc1'; it must be NAME"),
            (("--metric", "valid:acc1>high"), "'high' is not a number"),
            (("--hyperparameter", "=3"), "--hyperparameter is '=3'"),
            (
                ("--hyperparameter", "a" * 250 + "=3"),
                "Filters[0].Name: 266 characters; at most 255",
            ),
            (many, "SearchExpression.Filters: 21 entries; at most 20"),
            (("--limit", "0"), "MaxResults: 0; at least 1"),
        ]
        with mock.patch("boto3.client", side_effect=AssertionError("asked")):
            for words, expected in cases:
                with self.subTest(words):
                    code, _, err = launch("search", *words)
                    self.assertEqual((code, len(err.splitlines())), (2, 1), err)
                    self.assertIn(expected, err)

    def test_the_summary_line_has_time_status_instances_and_accuracy(self):
        found = description(
            "Completed",
            FinalMetricDataList=[
                {"MetricName": "valid:acc1", "Value": 77.25, "Timestamp": TIME},
                {"MetricName": "train:loss", "Value": 1.0, "Timestamp": TIME},
            ],
        )
        self.assertEqual(
            search.summary_line(found),
            "2026-01-02 03:04  Completed  job-1  2 x ml.c5.xlarge  valid:acc1=77.25",
        )


if __name__ == "__main__":
    unittest.main()
