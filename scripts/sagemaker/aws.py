"""Creates clients of AWS services. `emulate` replaces `client`, so that no account is needed."""

import sys

try:
    import boto3
except ImportError:
    sys.exit("launch: error: boto3 is missing; install it with: python3 -m pip install boto3")


def client(service, region=None):
    return boto3.client(service, region_name=region or None)
