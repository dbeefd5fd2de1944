"""The secret that all hosts of a training job share.

An image built with TOOLKIT derives the job's SSH keys from it (image/train.py).
"""

import secrets

VARIABLE = "SHOAL_JOB_SECRET"


def add_secret(request):
    """Adds a new random secret to the job's environment, unless the settings contain one."""
    request.setdefault("Environment", {}).setdefault(VARIABLE, secrets.token_hex(32))


def without_secret(request):
    """Returns a copy of the request with the secret masked, for printing."""
    environment = dict(request.get("Environment", {}))
    if VARIABLE in environment:
        environment[VARIABLE] = "***"
    return request | {"Environment": environment} if environment else request
