"""Clients of AWS's services. `emulate` replaces `client` with one that needs no account."""

import sys

try:
    import boto3
except ImportError:
    sys.exit("launch: error: boto3 is missing; install it with: python3 -m pip install boto3")


def client(service, region=None):
    return boto3.client(service, region_name=region or None)
