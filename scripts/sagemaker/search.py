"""Searches training jobs by tags, metrics, hyperparameters and more."""

import re

from errors import UserError
from limits import model_violations

OPERATORS = {
    ">=": "GreaterThanOrEqualTo",
    "<=": "LessThanOrEqualTo",
    "!=": "NotEquals",
    "=": "Equals",
    ">": "GreaterThan",
    "<": "LessThan",
}


def search_request(filters, limit, sort=None, ascending=False):
    """Returns a request for jobs that match all filters. `filters`: [(name, operator, value)].

    `sort`: name of the metric to sort by; None sorts by creation time. Descending by default.
    """
    request = {
        "Resource": "TrainingJob",
        "SortBy": f"Metrics.{sort}" if sort else "CreationTime",
        "SortOrder": "Ascending" if ascending else "Descending",
        "MaxResults": min(limit, 100),
    }
    if filters:
        request["SearchExpression"] = {
            "Filters": [
                {"Name": name, "Operator": operator, "Value": value}
                for name, operator, value in filters
            ]
        }
    violations = model_violations("Search", request)
    if violations:
        raise UserError(*violations)
    return request


def search(sagemaker, request, limit):
    """Returns descriptions of at most `limit` jobs."""
    found = []
    while len(found) < limit:
        answer = sagemaker.search(**request)
        found += [result["TrainingJob"] for result in answer["Results"]]
        if not answer.get("NextToken"):
            break
        request = request | {"NextToken": answer["NextToken"]}
    return found[:limit]


def parse_condition(option, text):
    """Parses 'valid:acc1>=76' as ("valid:acc1", "GreaterThanOrEqualTo", "76")."""
    found = re.fullmatch(r"([^<>=!]+)(>=|<=|!=|=|>|<)([^<>=!]+)", text)
    if not found:
        raise UserError(
            f"{option} is '{text}'; it must be NAME, one of {' '.join(OPERATORS)}, and a value, "
            "such as 'valid:acc1>=76'"
        )
    return found[1].strip(), OPERATORS[found[2]], found[3].strip()


def search_filters(arguments):
    filters = []
    for tag in arguments.tag or []:
        name, equals, value = tag.partition("=")
        if not equals:
            raise UserError(f"--tag is '{tag}'; it must be NAME=VALUE")
        filters.append((f"Tags.{name}", "Equals", value))
    for option, place, texts in (
        ("--metric", "Metrics", arguments.metric),
        ("--hyperparameter", "HyperParameters", arguments.hyperparameter),
    ):
        for text in texts or []:
            name, operator, value = parse_condition(option, text)
            if option == "--metric" and not re.fullmatch(r"[-+]?\d+(\.\d*)?([eE][-+]?\d+)?", value):
                raise UserError(f"--metric is '{text}'; '{value}' is not a number")
            filters.append((f"{place}.{name}", operator, value))
    if arguments.experiment:
        filters.append(("ExperimentConfig.ExperimentName", "Equals", arguments.experiment))
    if arguments.name:
        filters.append(("TrainingJobName", "Contains", arguments.name))
    if arguments.status:
        filters.append(("TrainingJobStatus", "Equals", arguments.status))
    return filters


def summary_line(found, filters=(), sort=None):
    """Returns a job's time, status, name, instances, accuracy and searched values as one line."""
    resources = found.get("ResourceConfig", {})
    instances = " + ".join(
        f"{place.get('InstanceCount')} x {place.get('InstanceType')}"
        for place in resources.get("InstanceGroups") or [resources]
    )
    searched = {name for name, _, _ in filters} | {f"Metrics.{sort}"}
    metrics = [
        f"{metric['MetricName']}={metric['Value']:g}"
        for metric in found.get("FinalMetricDataList", [])
        if metric["MetricName"].startswith("valid:acc")
        or f"Metrics.{metric['MetricName']}" in searched
    ]
    parameters = [
        f"{name}={value}"
        for name, value in found.get("HyperParameters", {}).items()
        if f"HyperParameters.{name}" in searched
    ]
    created = found["CreationTime"].strftime("%Y-%m-%d %H:%M")
    return "  ".join(
        filter(
            None,
            (
                created,
                found["TrainingJobStatus"],
                found["TrainingJobName"],
                instances,
                " ".join(metrics + parameters),
            ),
        )
    )
