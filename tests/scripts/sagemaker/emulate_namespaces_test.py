"""Tests `emulate` where it may make mount and network namespaces (emulate_test.py: elsewhere).

Environment: SHOAL_PROGRAM is the built program.
"""

import unittest

from emulated import Shoal, StandIn


class Namespaces(StandIn):
    def test_hosts_find_one_another_by_name(self):
        text, err = self.text_from_second_host()
        self.assertEqual(text, "algo-2 eth0", err)

    def test_fastfile_channels_are_read_only(self):
        code = """
path = base / "input/data/train/a/1"
text = path.read_text()
try:
    path.write_text("changed")
except OSError as error:
    text += f" {error.strerror}"
(base / "model/m").write_text(text)
"""
        channels = {"train": {"source": "s3://bucket/train/", "mode": "FastFile"}}
        code, _, err = self.job(code, channels=channels)
        self.assertEqual((code, self.result("model/m")), (0, "one Read-only file system"), err)
        self.assertEqual((self.bucket / "train/a/1").read_text(), "one")


class Training(Shoal):
    def test_two_hosts_train_the_weights_of_two_processes_on_one_host(self):
        err = self.check_two_hosts("algo-1")
        self.assertNotIn("namespaces", err)  # emulate names those it cannot make


if __name__ == "__main__":
    unittest.main()
