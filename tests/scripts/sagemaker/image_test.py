"""Tests image/train.py, image/inspect_layers.py, the Dockerfile's pins and .dockerignore."""

import contextlib
import io
import json
import os
import re
import stat
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from cryptography.hazmat.primitives.serialization import load_ssh_private_key

from support import ROOT, SCRIPTS

sys.path.insert(0, str(SCRIPTS / "image"))
import inspect_layers  # noqa: E402
import train  # noqa: E402

SECRET = "0123456789abcdef" * 4
KEYS = (".ssh/id_ed25519", ".ssh/authorized_keys", ".ssh/known_hosts", "etc/ssh_host_ed25519_key")


class Start(unittest.TestCase):
    def host(self, secret, user=0):
        """Starts `train` in a new home. Returns ({file: text}, its environment, stderr)."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        home, started, err = Path(folder.name), [], io.StringIO()
        environment = {"PATH": "/bin"} | ({train.VARIABLE: secret} if secret else {})
        with mock.patch("os.geteuid", return_value=user), contextlib.redirect_stderr(err):
            self.code = train.main(
                environment, home, home / "etc", lambda *arguments: started.append(arguments)
            )
        for path in home.rglob("*"):
            if path.is_file():
                self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600, path)
        files = {name: (home / name).read_text() for name in KEYS if (home / name).exists()}
        return files, started[0][2] if started else None, err.getvalue()

    def test_hosts_with_the_same_secret_have_the_same_keys(self):
        first, second, other = self.host(SECRET)[0], self.host(SECRET)[0], self.host(SECRET[1:])[0]
        self.assertEqual(set(first), set(KEYS))
        for name in (".ssh/authorized_keys", ".ssh/known_hosts"):  # private keys: the next test
            self.assertEqual(first[name], second[name])
            self.assertNotEqual(first[name], other[name])

    def test_only_the_jobs_own_keys_are_accepted_in_both_directions(self):
        files = self.host(SECRET)[0]
        public = {}
        for name in (".ssh/id_ed25519", "etc/ssh_host_ed25519_key"):
            key = load_ssh_private_key(files[name].encode(), password=None)
            public[name] = train.public_text(key)
        self.assertNotEqual(*public.values())
        accepted = files[".ssh/authorized_keys"].splitlines()
        self.assertEqual(accepted, ["restrict " + public[".ssh/id_ed25519"]])
        known = files[".ssh/known_hosts"].splitlines()
        self.assertEqual(known, ["* " + public["etc/ssh_host_ed25519_key"]])

    def test_without_a_secret_each_host_has_random_keys(self):
        (first, _, err), (second, _, _) = self.host(""), self.host("")
        self.assertNotEqual(first[".ssh/authorized_keys"], second[".ssh/authorized_keys"])
        self.assertIn("SHOAL_JOB_SECRET is not set", err)

    def test_neither_the_toolkit_nor_the_log_sees_the_secret(self):
        _, environment, err = self.host(SECRET)
        self.assertEqual(environment, {"PATH": "/bin"})
        self.assertEqual(err, "")

    def test_a_short_secret_is_refused_and_not_printed(self):
        files, environment, err = self.host("hunter2")
        self.assertEqual((files, environment, self.code), ({}, None, 2))
        self.assertIn("at least 32", err)
        self.assertNotIn("hunter2", err)

    def test_another_user_trains_without_keys(self):
        files, environment, err = self.host(SECRET, user=1000)
        self.assertEqual((files, environment), ({}, {"PATH": "/bin"}))
        self.assertIn("not root", err)


class Layers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def inspect(self, *layers, words=()):
        """Writes an image whose layers have the files {name: text}. Returns (exit code, stdout)."""
        digests = []
        for number, files in enumerate(layers):
            digests.append({"digest": f"sha256:{number:064x}"})
            with tarfile.open(self.folder / f"{number:064x}", "w") as tar:
                for name, text in files.items():
                    member = tarfile.TarInfo(name)
                    member.size = len(text)
                    tar.addfile(member, io.BytesIO(text.encode()))
        (self.folder / "manifest.json").write_text(json.dumps({"layers": digests}))
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            return inspect_layers.main(self.folder, *words), out.getvalue()

    def test_a_key_is_found_in_a_layer_below_one_that_removes_it(self):
        key = train.private_text(train.derive_key(SECRET, "test"))
        removed = {"root/.ssh/.wh.id_ed25519": ""}
        code, out = self.inspect({"a": "text"}, {"root/.ssh/id_ed25519": key}, removed)
        self.assertEqual(code, 1)
        self.assertIn("/root/.ssh/id_ed25519 contains a private key", out)
        for head in ("RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY"):
            body = f"-----BEGIN {head}-----\nProc-Type: 4,ENCRYPTED\n\n{'MIIE' * 16}\n"
            self.assertEqual(self.inspect({"k": body})[0], 1, head)

    def test_a_library_that_reads_keys_is_no_key(self):
        text = "-----BEGIN PRIVATE KEY-----\0-----END PRIVATE KEY-----\n"
        files = {"lib.py": text, "note": "-----BEGIN CERTIFICATE-----"}
        self.assertEqual(self.inspect(files)[0], 0)
        key = train.private_text(train.derive_key(SECRET, "test"))
        self.assertEqual(self.inspect({"lib.so": "\x7fELF self-test " + key})[0], 0)

    def test_words_are_found_and_named(self):
        code, out = self.inspect({"./src/.env": "password=hunter2"}, words=["hunter2"])
        self.assertEqual((code, "/src/.env contains hunter2" in out), (1, True), out)


class Pins(unittest.TestCase):
    dockerfile = (ROOT / "Dockerfile").read_text()
    pins = sorted((SCRIPTS / "image").glob("*.txt"))

    def test_the_base_image_has_a_digest(self):
        self.assertRegex(self.dockerfile, r"(?m)^ARG BASE=\S+@sha256:[0-9a-f]{64}$")
        bases = set(re.findall(r"(?m)^FROM (\S+)", self.dockerfile))
        self.assertEqual(bases, {"$BASE", "runtime"})

    def test_the_image_has_a_user_without_privileges(self):
        self.assertRegex(self.dockerfile, r"useradd --uid 1000 --gid 1000 --create-home shoal")

    def test_every_python_package_has_a_hash(self):
        self.assertIn("toolkit-5.1.4.txt", [path.name for path in self.pins])
        for path in self.pins:
            for line in path.read_text().splitlines()[1:]:
                self.assertRegex(line, r"^[\w.-]+==[\w.]+ --hash=sha256:[0-9a-f]{64}$")
        for line in re.findall(r"pip install.*", self.dockerfile):
            self.assertIn("--require-hashes", line)

    def test_a_download_is_checked_before_it_is_unpacked(self):
        self.assertNotRegex(self.dockerfile, r"curl[^&]*\|")
        order = [self.dockerfile.index(word) for word in ("curl -f", "sha256sum -c", "tar xzf")]
        self.assertEqual(order, sorted(order))


class Context(unittest.TestCase):
    lines = [
        line
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    secrets = (".env", "id_rsa", ".aws/credentials", ".git/config", "tests/key.cpp",
               "app/.env", "app/.curlrc", "app/key.pem", "app/key.crt", "app/password.html",
               "data/train/a.jpg", "scripts/setup/.netrc", "data/id_rsa", "app/credentials",
               "base/notes.txt", "dist/key.pem", "models/net.onnx", "ops/.env",
               "train/weights/net.pth")  # fmt: skip

    @staticmethod
    def contains(path, lines):
        """Returns whether a file is in the build context: the last matching line decides."""
        included = True
        for line in lines:
            pattern = line.lstrip("!").replace(".", r"\.").replace("?", "[^/]")
            pattern = re.sub(r"\*\*/|\*", lambda s: "(.*/)?" if s[0] == "**/" else "[^/]*", pattern)
            names = [path, *map(str, Path(path).parents[:-1])]  # the last one is "."
            if any(re.fullmatch(pattern, name) for name in names):
                included = line.startswith("!")
        return included

    def test_it_has_every_file_that_is_installed(self):
        for place in (*ROOT.glob("*/CMakeLists.txt"), *ROOT.glob("cmake/*.cmake")):
            for name in re.findall(r"\$\{PROJECT_SOURCE_DIR\}/([\w./-]+)", place.read_text()):
                if (ROOT / name).is_file() and not place.parent.name in ("tests", "bench"):
                    self.assertTrue(self.contains(name, self.lines), f"{name}, in {place}")

    def test_it_is_an_allow_list(self):
        self.assertEqual(self.lines[0], "*")

    def test_it_has_all_sources(self):
        for folder in ("app", "base", "data", "dist", "models", "ops", "train"):
            for path in (ROOT / folder).rglob("*"):
                if path.is_file() and not path.name.startswith("."):
                    name = path.relative_to(ROOT).as_posix()
                    self.assertTrue(self.contains(name, self.lines), name)
                    # buildah searches only folders that are allowed themselves.
                    for parent in path.relative_to(ROOT).parents[:-1]:
                        self.assertTrue(self.contains(parent.as_posix(), self.lines), parent)

    def test_it_has_no_secrets_and_needs_each_of_its_lines_for_that(self):
        for name in self.secrets:
            self.assertFalse(self.contains(name, self.lines), name)
        for line in self.lines:
            others = [other for other in self.lines if other != line]
            kept_out_by_it = [name for name in self.secrets if self.contains(name, others)]
            self.assertEqual(bool(kept_out_by_it), not line.startswith("!"), line)


if __name__ == "__main__":
    unittest.main()
