import contextlib
import io
import os
import re
import tarfile
import tempfile
import unittest
from pathlib import Path

import boto3
from moto import mock_aws

import support  # noqa: F401
from errors import UserError
from upload import download, listing, plan_uploads, split_uri, upload_folder


def archive(members):
    """Returns a tar.gz of {name: bytes}. None makes a link that points outside the folder."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            if content is None:
                member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
                tar.addfile(member)
            else:
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return data.getvalue()


@mock_aws
class Transfers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.s3 = boto3.client("s3")
        self.s3.create_bucket(Bucket="bucket")

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (1e9, 1e9))

    def keys(self, prefix=""):
        return sorted(listing(self.s3, "bucket", prefix))

    def test_a_second_upload_sends_only_changed_files(self):
        self.write("train/cat/1.jpg", "one")
        self.write("train/dog/2.jpg", "two")
        upload_folder(self.s3, self.folder / "train", "s3://bucket/up/train/")
        self.assertEqual(self.keys(), ["up/train/cat/1.jpg", "up/train/dog/2.jpg"])
        before = {
            key: self.s3.head_object(Bucket="bucket", Key=key)["LastModified"]
            for key in self.keys()
        }
        self.write("train/dog/2.jpg", "other length")
        upload_folder(self.s3, self.folder / "train", "s3://bucket/up/train/")
        body = self.s3.get_object(Bucket="bucket", Key="up/train/dog/2.jpg")["Body"].read()
        self.assertEqual(body, b"other length")
        after = self.s3.head_object(Bucket="bucket", Key="up/train/cat/1.jpg")["LastModified"]
        self.assertEqual(after, before["up/train/cat/1.jpg"])

    def test_linked_folders_are_uploaded_and_broken_or_circular_links_are_refused(self):
        self.write("real/cat/1.jpg", "one")
        self.write("train/dog/2.jpg", "two")
        (self.folder / "train/cat").symlink_to(self.folder / "real/cat")
        self.s3.put_object(Bucket="bucket", Key="t/", Body=b"")  # as the S3 console does
        self.assertEqual(self.upload()[0], 2)
        self.assertEqual(self.keys("t/"), ["t/", "t/cat/1.jpg", "t/dog/2.jpg"])
        (self.folder / "train/dog/3.jpg").symlink_to(self.folder / "missing")
        with self.assertRaisesRegex(UserError, "3.jpg is a broken link"):
            self.upload()
        (self.folder / "train/dog/3.jpg").unlink()
        (self.folder / "train/dog/up").symlink_to(self.folder / "train")
        with self.assertRaisesRegex(UserError, "link to a folder above it"):
            self.upload()

    def body(self, key):
        return self.s3.get_object(Bucket="bucket", Key=key)["Body"].read()

    def upload(self):
        """Uploads the folder train. Returns (number of uploaded files, stderr)."""
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            upload_folder(self.s3, self.folder / "train", "s3://bucket/t/")
        return int(re.search(r"uploaded (\d+) of", err.getvalue())[1]), err.getvalue()

    def test_content_decides_whether_a_file_is_current_and_times_do_not(self):
        self.write("train/a", "one")
        self.upload()
        for seconds in (0, 4e9):  # long before and long after the upload
            os.utime(self.folder / "train/a", (seconds, seconds))
            self.assertEqual(self.upload()[0], 0)
            text = f"{seconds % 997:03.0f}"  # the size stays the same
            (self.folder / "train/a").write_text(text)
            os.utime(self.folder / "train/a", (seconds, seconds))
            self.assertEqual(self.upload()[0], 1)
            self.assertEqual(self.body("t/a"), text.encode())

    def test_an_object_whose_etag_is_not_its_md5_is_compared_by_its_own_checksum(self):
        self.write("train/large", "x" * (9 << 20))  # uploaded in two parts
        self.upload()
        self.assertIn("-", self.s3.head_object(Bucket="bucket", Key="t/large")["ETag"])
        self.assertEqual(self.upload()[0], 0)
        self.write("train/large", "y" * (9 << 20))
        self.assertEqual(self.upload()[0], 1)
        self.assertEqual(self.body("t/large")[:1], b"y")

    def test_hidden_files_stay_here_unless_asked_for(self):
        self.write("train/a", "one")
        self.write("train/.env", "AWS_SECRET_ACCESS_KEY=1")
        self.write("train/.git/config", "password")
        _, err = self.upload()
        self.assertEqual(self.keys(), ["t/a"])
        self.assertIn("left out 2 hidden files, such as .env", err)
        self.write("train/.\x1b[2J", "")
        self.assertIn("such as .\\x1b[2J;", self.upload()[1])
        (self.folder / "train/.\x1b[2J").unlink()
        upload_folder(self.s3, self.folder / "train", "s3://bucket/t/", hidden=True)
        self.assertEqual(self.keys(), ["t/.env", "t/.git/config", "t/a"])
        with self.assertRaisesRegex(UserError, r"2 objects that are not uploaded .* t/\.env"):
            self.upload()

    def test_a_hidden_folder_can_itself_be_uploaded(self):
        self.write(".cache/train/a", "one")
        upload_folder(self.s3, self.folder / ".cache/train", "s3://bucket/t/")
        self.assertEqual(self.keys(), ["t/a"])

    def test_objects_that_the_folder_lacks_are_an_error(self):
        self.write("train/a", "one")
        self.s3.put_object(Bucket="bucket", Key="t/old/b", Body=b"")
        with self.assertRaisesRegex(UserError, "contains 1 objects .* such as t/old/b"):
            upload_folder(self.s3, self.folder / "train", "s3://bucket/t/")
        self.assertEqual(self.keys(), ["t/old/b"])

    def test_only_local_folders_are_replaced_by_addresses(self):
        self.write("train/a", "one")
        planned, resolved = plan_uploads(
            {
                "train": {"source": str(self.folder / "train"), "mode": "FastFile"},
                "val": {"source": "s3://b/v"},
            },
            None,
            "s3://bucket/jobs/",
        )
        self.assertEqual(planned, [(str(self.folder / "train"), "s3://bucket/jobs/upload/train/")])
        self.assertEqual(
            resolved,
            {
                "train": {"source": "s3://bucket/jobs/upload/train/", "mode": "FastFile"},
                "val": {"source": "s3://b/v"},
            },
        )
        with self.assertRaisesRegex(UserError, "channels: t: absent is not a local folder"):
            plan_uploads({"t": {"source": "absent"}}, None, "s3://bucket/jobs")
        (self.folder / "empty").mkdir()
        with self.assertRaisesRegex(UserError, "contains no files"):
            upload_folder(self.s3, self.folder / "empty", "s3://bucket/e/")

    def test_results_are_downloaded_and_archives_unpacked(self):
        self.s3.put_object(
            Bucket="bucket",
            Key="jobs/j/output/model.tar.gz",
            Body=archive({"model.safetensors": b"weights", "a/b": b"deep"}),
        )
        self.s3.put_object(Bucket="bucket", Key="jobs/j/output/data/history.jsonl", Body=b"{}")
        self.s3.put_object(Bucket="bucket", Key="jobs/j/outputs", Body=b"another")
        logs = archive({"summary.json": b"{}"})
        self.s3.put_object(Bucket="bucket", Key="jobs/j/output/output.tar.gz", Body=logs)
        self.assertEqual(download(self.s3, "s3://bucket/jobs/j/output", self.folder / "all"), 4)
        for name in ("history.jsonl", "summary.json"):
            self.assertEqual((self.folder / "all/data" / name).read_text(), "{}")
        model = "s3://bucket/jobs/j/output/model.tar.gz"
        self.assertEqual(download(self.s3, model, self.folder / "one"), 2)
        for place in ("all/model", "one"):
            self.assertEqual((self.folder / place / "model.safetensors").read_text(), "weights")
            self.assertEqual((self.folder / place / "a/b").read_text(), "deep")
        self.assertEqual(
            sorted(p.name for p in (self.folder / "one").iterdir()), ["a", "model.safetensors"]
        )

    def test_a_whole_bucket_is_downloaded(self):
        for key in ("train.pack", "a/b"):
            self.s3.put_object(Bucket="bucket", Key=key, Body=b"images")
        for uri, place in (("s3://bucket", "one"), ("s3://bucket/", "other")):
            self.assertEqual(download(self.s3, uri, self.folder / place), 2)
            self.assertEqual((self.folder / place / "a/b").read_text(), "images")

    def test_nothing_is_written_outside_the_folder(self):
        for members in ({"../evil": b"x"}, {"/evil": b"x"}, {"link": None}):
            self.s3.put_object(Bucket="bucket", Key="o/model.tar.gz", Body=archive(members))
            with self.subTest(members), self.assertRaisesRegex(
                UserError, "is not a file or folder inside"
            ):
                download(self.s3, "s3://bucket/o/model.tar.gz", self.folder / "in")
        self.s3.put_object(Bucket="bucket", Key="p/../../evil", Body=b"x")
        with self.assertRaisesRegex(UserError, "would be written outside"):
            download(self.s3, "s3://bucket/p", self.folder / "in")
        self.assertFalse((self.folder / "evil").exists())
        with self.assertRaisesRegex(UserError, "s3://bucket/nothing contains no objects"):
            download(self.s3, "s3://bucket/nothing", self.folder)

    def test_addresses_are_split_into_bucket_and_key(self):
        self.assertEqual(split_uri("s3://b/c/d/"), ("b", "c/d/"))
        self.assertEqual(split_uri("s3://b"), ("b", ""))
        for bad in ("b/c", "s3:///c", "https://b/c"):
            with self.subTest(bad), self.assertRaisesRegex(UserError, "is not an S3 address"):
                split_uri(bad)


if __name__ == "__main__":
    unittest.main()
