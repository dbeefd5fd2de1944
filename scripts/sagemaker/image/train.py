#!/opt/toolkit/bin/python
"""`train` in an image with sagemaker-training: makes SSH keys, then runs the toolkit's `train`.

The toolkit starts MPI on the job's other hosts by SSH, as root. launch.py sets the secret
SHOAL_JOB_SECRET, from which all hosts derive the same keys, so only these hosts accept one another.
Without the secret, the keys are random, and SSH can connect only to this host. The image contains
no key. The secret and the keys are never printed, and the toolkit does not see the secret.
"""

import os
import pwd
import secrets
import sys
from pathlib import Path

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

VARIABLE = "SHOAL_JOB_SECRET"
LEAST_CHARACTERS = 32
TRAIN = "/opt/toolkit/bin/train"


def say(text):
    print(f"train: {text}", file=sys.stderr, flush=True)


def derive_key(secret, purpose):
    """Derives an Ed25519 key from the secret. Keys for different purposes are independent."""
    kdf = HKDF(hashes.SHA256(), length=32, salt=None, info=f"shoal {purpose}".encode())
    return Ed25519PrivateKey.from_private_bytes(kdf.derive(secret.encode()))


def private_text(key):
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.OpenSSH,
        serialization.NoEncryption(),
    ).decode()


def public_text(key):
    form = serialization.PublicFormat.OpenSSH
    return key.public_key().public_bytes(serialization.Encoding.OpenSSH, form).decode()


def write(path, text):
    """Writes a file that only its owner can read."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)


def write_keys(secret, home, etc):
    """Writes the keys of the user in `home/.ssh`, and those of sshd in `etc`."""
    user, host = derive_key(secret, "ssh user key"), derive_key(secret, "ssh host key")
    write(home / ".ssh/id_ed25519", private_text(user))
    write(home / ".ssh/authorized_keys", f"restrict {public_text(user)}\n")
    write(home / ".ssh/known_hosts", f"* {public_text(host)}\n")
    write(etc / "ssh_host_ed25519_key", private_text(host))


def main(environment, home=None, etc=Path("/etc/ssh"), run=os.execve):
    """Replaces this process with the toolkit's `train`. Returns 2 if the secret is too short."""
    environment = dict(environment)
    secret = environment.pop(VARIABLE, "")
    if secret and len(secret) < LEAST_CHARACTERS:
        say(f"{VARIABLE} is too short; use at least {LEAST_CHARACTERS} random characters")
        return 2
    if os.geteuid() != 0:
        say("not root, so no SSH: MPI can start processes on this host only")
    else:
        if not secret:
            say(f"{VARIABLE} is not set: MPI can start processes on this host only")
        home = home or Path(pwd.getpwuid(0).pw_dir)
        write_keys(secret or secrets.token_hex(32), home, etc)
    return run(TRAIN, [TRAIN, *sys.argv[1:]], environment)


if __name__ == "__main__":
    sys.exit(main(os.environ))
