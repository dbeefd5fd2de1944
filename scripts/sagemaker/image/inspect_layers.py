#!/usr/bin/env python3
"""Searches all layers of an image for private keys and for given words, such as secrets.

  inspect_layers.py FOLDER [WORD…]      FOLDER: made by `buildah push -D IMAGE dir:FOLDER`

Prints one line per finding. Exit status: 0 nothing found; 1 something found.
"""

import json
import re
import sys
import tarfile
from pathlib import Path

# Requires 40 characters of Base64, because crypto libraries contain the header line without a key.
PRIVATE_KEY = re.compile(
    rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----\s+(?:[\w-]+: [^\n]*\s+)*[A-Za-z0-9+/=]{40}"
)


def layers(folder):
    """Returns the paths of the layers' tars, the lowest layer first."""
    manifest = json.loads((folder / "manifest.json").read_text())
    return [folder / layer["digest"].partition(":")[2] for layer in manifest["layers"]]


def findings(layer, words):
    """Yields (path in the image, what the file contains)."""
    with tarfile.open(layer) as tar:
        for member in tar:
            if not member.isfile():
                continue
            content = tar.extractfile(member).read()
            # Libraries such as GnuTLS contain published keys for their self-tests.
            if not content.startswith(b"\x7fELF") and PRIVATE_KEY.search(content):
                yield member.name, "a private key"
            for word in words:
                if word.encode() in content:
                    yield member.name, word


def main(folder, *words):
    paths = layers(Path(folder))
    found = [(path.name[:12], *one) for path in paths for one in findings(path, words)]
    for layer, name, what in found:
        print(f"layer {layer}: /{name.removeprefix('./')} contains {what}")
    print(f"{len(paths)} layers: {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    sys.exit(main(*sys.argv[1:]))
