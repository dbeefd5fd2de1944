"""Creates a job's bucket and IAM role (--create), and deletes its checkpoints (--clean-state)."""

import json
import sys

from botocore.exceptions import ClientError

from errors import UserError
from request import UNKNOWN_ACCOUNT
from upload import listing, split_uri

MADE_BY_SHOAL = {"Key": "created-by", "Value": "shoal"}
TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"Service": "sagemaker.amazonaws.com"},
            "Action": "sts:AssumeRole",
        }
    ],
}
# Permissions of every job: pull images, write logs and metrics, join a VPC, and open shells with
# remote_debug. Each bucket has its own policy for S3.
ALWAYS = (
    "cloudwatch:PutMetricData",
    "ec2:CreateNetworkInterface",
    "ec2:CreateNetworkInterfacePermission",
    "ec2:DeleteNetworkInterface",
    "ec2:DeleteNetworkInterfacePermission",
    "ec2:DescribeDhcpOptions",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcs",
    "ecr:BatchCheckLayerAvailability",
    "ecr:BatchGetImage",
    "ecr:GetAuthorizationToken",
    "ecr:GetDownloadUrlForLayer",
    "logs:CreateLogGroup",
    "logs:CreateLogStream",
    "logs:DescribeLogStreams",
    "logs:PutLogEvents",
    "ssmmessages:CreateControlChannel",
    "ssmmessages:CreateDataChannel",
    "ssmmessages:OpenControlChannel",
    "ssmmessages:OpenDataChannel",
)
READ = ("s3:GetObject", "s3:ListBucket")
WRITE = (*READ, "s3:AbortMultipartUpload", "s3:DeleteObject", "s3:PutObject")
# Parts of a request that contain the S3 addresses that a job reads (INPUTS) and writes (OUTPUTS).
INPUTS = ("InputDataConfig", "ProcessingInputs")
OUTPUTS = (
    "OutputDataConfig",
    "CheckpointConfig",
    "TensorBoardOutputConfig",
    "ProcessingOutputConfig",
)


def say(text):
    print(text, file=sys.stderr)


def code_of(error):
    return error.response["Error"]["Code"]


def addresses(value):
    """Yields all S3 addresses in a part of a request."""
    if isinstance(value, str):
        if value.startswith("s3://"):
            yield value
    elif isinstance(value, (dict, list)):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from addresses(entry)


def buckets_of(request):
    """Returns {bucket: whether the job writes to it}."""
    read = {split_uri(address)[0] for part in INPUTS for address in addresses(request.get(part))}
    written = {split_uri(place)[0] for part in OUTPUTS for place in addresses(request.get(part))}
    return {bucket: bucket in written for bucket in sorted(read | written)}


def ensure_bucket(s3, bucket):
    """Creates the bucket in the client's region, unless it exists."""
    try:
        s3.head_bucket(Bucket=bucket)
        return
    except ClientError as error:
        if code_of(error) in ("301", "403"):
            raise UserError(
                f"--create: the bucket {bucket} exists, but you have no access to it "
                f"({code_of(error)}); choose another name"
            ) from None
        if code_of(error) not in ("404", "NoSuchBucket"):
            raise
    region = s3.meta.region_name
    place = {} if region == "us-east-1" else {"LocationConstraint": region}
    s3.create_bucket(Bucket=bucket, **({"CreateBucketConfiguration": place} if place else {}))
    s3.get_waiter("bucket_exists").wait(Bucket=bucket)
    say(f"created the bucket {bucket}")


def statement(actions, *resources):
    return {"Effect": "Allow", "Action": list(actions), "Resource": list(resources)}


def put_policies(iam, name, partition, buckets):
    policies = {"shoal": statement(ALWAYS, "*")}
    for bucket, writes in buckets.items():
        place = f"arn:{partition}:s3:::{bucket}"
        # Separate names: a job that only reads must not replace another job's write permission.
        kind, actions = ("write", WRITE) if writes else ("read", READ)
        policies[f"shoal-s3-{kind}-{bucket}"] = statement(actions, place, place + "/*")
    for policy, rule in policies.items():
        iam.put_role_policy(
            RoleName=name,
            PolicyName=policy,
            PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [rule]}),
        )


def ensure_role(iam, name, buckets, create):
    """Returns the ARN of the role. Raises UserError if it does not exist and `create` is false.

    With `create`, creates a missing role, and gives a role created by shoal access to the buckets.
    """
    try:
        role = iam.get_role(RoleName=name)["Role"]
    except ClientError as error:
        if code_of(error) != "NoSuchEntity":
            raise
        if not create:
            raise UserError(
                f"role: there is no IAM role '{name}'; --create creates it, with access to the "
                "job's buckets"
            ) from None
        role = iam.create_role(
            RoleName=name, AssumeRolePolicyDocument=json.dumps(TRUST), Tags=[MADE_BY_SHOAL]
        )["Role"]
        role["Tags"] = [MADE_BY_SHOAL]
        iam.get_waiter("role_exists").wait(RoleName=name)
        say(f"created the role {role['Arn']}")
    if create and MADE_BY_SHOAL in role.get("Tags", []):
        put_policies(iam, name, role["Arn"].split(":")[1], buckets)
    return role["Arn"]


def prepare(client, request, uploads, create):
    """Returns the request with the role's name replaced by its ARN.

    With `create`, first creates missing buckets and the role. `client(service)` returns an AWS
    client. `uploads`: [(folder, S3 address)].
    """
    buckets = buckets_of(request)
    if create:
        written = [bucket for bucket, writes in buckets.items() if writes]
        for bucket in dict.fromkeys(written + [split_uri(place)[0] for _, place in uploads]):
            ensure_bucket(client("s3"), bucket)
    role = request["RoleArn"]
    if role.startswith(UNKNOWN_ACCOUNT):
        name = role.removeprefix(UNKNOWN_ACCOUNT)
        role = ensure_role(client("iam"), name, buckets, create)
    return request | {"RoleArn": role}


def clean_state(s3, request):
    """Deletes the checkpoints in S3 that the job would continue from."""
    address = request["CheckpointConfig"]["S3Uri"]
    bucket, key = split_uri(address)
    if not key.strip("/"):
        raise UserError(f"checkpoints is the whole bucket {address}; --clean-state needs a folder")
    names = list(listing(s3, bucket, key.rstrip("/") + "/"))
    for start in range(0, len(names), 1000):  # the API's limit
        answer = s3.delete_objects(
            Bucket=bucket,
            Delete={"Objects": [{"Key": name} for name in names[start : start + 1000]]},
        )
        for failure in answer.get("Errors", []):
            raise UserError(
                f"--clean-state: cannot delete s3://{bucket}/{failure['Key']}: {failure['Message']}"
            )
    say(f"{address}: deleted {len(names)} files of earlier jobs")
