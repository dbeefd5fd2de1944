import io
import os
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
    """A tar.gz of {name: bytes, or None for a link out of the folder}."""
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

    def test_a_folder_is_sent_once_and_then_only_what_has_changed(self):
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

    def test_an_older_object_of_the_same_size_is_replaced(self):
        self.write("train/a", "one")
        upload_folder(self.s3, self.folder / "train", "s3://bucket/t/")
        (self.folder / "train/a").write_text("two")
        os.utime(self.folder / "train/a", (4e9, 4e9))
        upload_folder(self.s3, self.folder / "train", "s3://bucket/t/")
        self.assertEqual(self.s3.get_object(Bucket="bucket", Key="t/a")["Body"].read(), b"two")

    def test_objects_the_folder_has_not_are_an_error(self):
        self.write("train/a", "one")
        self.s3.put_object(Bucket="bucket", Key="t/old/b", Body=b"")
        with self.assertRaisesRegex(UserError, "1 objects that .* has not, such as t/old/b"):
            upload_folder(self.s3, self.folder / "train", "s3://bucket/t/")
        self.assertEqual(self.keys(), ["t/old/b"])

    def test_local_folders_get_addresses_and_the_rest_stays(self):
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
        with self.assertRaisesRegex(UserError, "channels: t: absent is no folder here"):
            plan_uploads({"t": {"source": "absent"}}, None, "s3://bucket/jobs")
        (self.folder / "empty").mkdir()
        with self.assertRaisesRegex(UserError, "holds no file"):
            upload_folder(self.s3, self.folder / "empty", "s3://bucket/e/")

    def test_a_result_is_fetched_and_archives_are_unpacked(self):
        self.s3.put_object(
            Bucket="bucket",
            Key="jobs/j/output/model.tar.gz",
            Body=archive({"model.safetensors": b"weights", "a/b": b"deep"}),
        )
        self.s3.put_object(Bucket="bucket", Key="jobs/j/output/data/history.jsonl", Body=b"{}")
        self.s3.put_object(Bucket="bucket", Key="jobs/j/outputs", Body=b"another")
        self.assertEqual(download(self.s3, "s3://bucket/jobs/j/output", self.folder / "all"), 2)
        self.assertEqual((self.folder / "all/data/history.jsonl").read_text(), "{}")
        download(self.s3, "s3://bucket/jobs/j/output/model.tar.gz", self.folder / "one")
        for place in ("all", "one"):
            self.assertEqual((self.folder / place / "model.safetensors").read_text(), "weights")
            self.assertEqual((self.folder / place / "a/b").read_text(), "deep")
        self.assertEqual(
            sorted(p.name for p in (self.folder / "one").iterdir()), ["a", "model.safetensors"]
        )

    def test_nothing_is_written_outside_of_the_folder(self):
        for members in ({"../evil": b"x"}, {"/evil": b"x"}, {"link": None}):
            self.s3.put_object(Bucket="bucket", Key="o/model.tar.gz", Body=archive(members))
            with self.subTest(members), self.assertRaisesRegex(
                UserError, "is no file or folder below"
            ):
                download(self.s3, "s3://bucket/o/model.tar.gz", self.folder / "in")
        self.s3.put_object(Bucket="bucket", Key="p/../../evil", Body=b"x")
        with self.assertRaisesRegex(UserError, "would lie outside of"):
            download(self.s3, "s3://bucket/p", self.folder / "in")
        self.assertFalse((self.folder / "evil").exists())
        with self.assertRaisesRegex(UserError, "s3://bucket/nothing holds nothing"):
            download(self.s3, "s3://bucket/nothing", self.folder)

    def test_an_address_is_a_bucket_and_a_key(self):
        self.assertEqual(split_uri("s3://b/c/d/"), ("b", "c/d/"))
        self.assertEqual(split_uri("s3://b"), ("b", ""))
        for bad in ("b/c", "s3:///c", "https://b/c"):
            with self.subTest(bad), self.assertRaisesRegex(UserError, "is no S3 address"):
                split_uri(bad)


if __name__ == "__main__":
    unittest.main()
