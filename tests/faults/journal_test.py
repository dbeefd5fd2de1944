#!/usr/bin/env python3
"""Tests of the model of a disk that loses power, and of the checks of runs."""

import dataclasses
import errno
import os
import tempfile
import unittest
from pathlib import Path

import injected
import trial
from jobs import SHARDS, Writing
from journal import VARIANTS, Call, Disk, content_after_loss, failed_flushes, saved_step

CREATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


def call(kind, path, descriptor=3, place=0, source="", content=b""):
    return Call("rank0", 1, kind, path, descriptor, place, source, 0, "", content, path, 1, False)


def whole_file(name, content, aside="."):
    """Returns the calls of shoal::write_whole() for place/NAME, with its part in `aside`."""
    part, path = f"{aside}/.{name}.part", f"place/{name}"
    return [
        call("open", part, place=CREATE),
        call("write", part, content=content),
        call("fsync", part),
        call("rename", path, source=part),
        call("open", "place", place=os.O_DIRECTORY),
        call("fsync", "place"),
    ]


class DiskTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.start = Path(folder.name)
        for name in ("place", "aside"):
            (self.start / name).mkdir()

    def left(self, calls):
        """Returns, for every kind of power loss, the files in the folder `place`."""
        disk = Disk(self.start)
        for one in calls:
            disk.apply(one)
        return {
            variant: {
                os.path.basename(name): content_after_loss(file, keep)
                for name, (file, keep) in disk.left(variant).items()
                if file and name.startswith("place/")
            }
            for variant in VARIANTS
        }

    def test_a_flushed_file_survives(self):
        for files in self.left(whole_file("a", b"one", "aside")).values():
            self.assertEqual(files, {"a": b"one"})

    def test_a_file_in_place_does_not_change_when_its_temporary_name_is_used_again(self):
        first, again = whole_file("a", b"one", "aside"), whole_file("a", b"second", "aside")
        for count in range(4):  # up to the rename
            for files in self.left(first + again[:count]).values():
                self.assertEqual(files, {"a": b"one"})

    def test_a_file_that_was_not_flushed_may_be_empty(self):
        calls = [one for one in whole_file("a", b"one") if one.kind != "fsync"]
        left = self.left(calls)
        self.assertEqual(left["names only"], {"a": b""})
        self.assertEqual(left["nothing"], {})

    def test_the_second_of_two_removals_may_reach_the_disk_alone(self):
        for name in "ab":
            (self.start / "place" / name).write_bytes(b"x")
        removals = [call("unlink", "place/a"), call("unlink", "place/b")]
        self.assertEqual(self.left(removals)["the last name only"], {"a": b"x"})
        flush = [call("open", "place", place=os.O_DIRECTORY), call("fsync", "place")]
        for files in self.left([removals[0], *flush, removals[1]]).values():
            self.assertNotIn("a", files)


def failing(one, code=errno.EIO):
    return dataclasses.replace(one, result=-1, error=str(code))


class FailedFlushesTest(unittest.TestCase):
    path = ".a.part"
    opened = call("open", path, place=CREATE)
    written = call("write", path, content=b"one")

    def test_a_failed_close_or_fsync_of_a_written_file_is_found(self):
        for kind in ("close", "fsync"):
            failed = failing(call(kind, self.path))
            self.assertEqual(failed_flushes([self.opened, self.written, failed]), [failed])

    def test_calls_that_succeed_or_end_with_a_kill_are_not_found(self):
        killed = dataclasses.replace(call("close", self.path), result=-1, error="kill")
        for last in (call("close", self.path), killed):
            self.assertEqual(failed_flushes([self.opened, self.written, last]), [])

    def test_a_descriptor_that_wrote_nothing_is_not_found(self):
        failed = failing(call("close", self.path))
        self.assertEqual(failed_flushes([self.opened, failed]), [])
        reopened = [self.opened, self.written, call("close", self.path), self.opened]
        self.assertEqual(failed_flushes([*reopened, failed]), [])

    def test_a_file_that_is_removed_before_its_rename_is_not_found(self):
        failed, removal = failing(call("close", self.path)), call("unlink", self.path)
        rename = call("rename", "a", source=self.path)
        calls = [self.opened, self.written, failed]
        self.assertEqual(failed_flushes([*calls, removal]), [])
        self.assertEqual(failed_flushes([*calls[:2], removal, failed]), [])
        self.assertEqual(failed_flushes([*calls, removal, *calls[:2], rename]), [])
        self.assertEqual(failed_flushes([*calls, rename, removal]), [failed])
        self.assertEqual(failed_flushes([*calls, failing(removal)]), [failed])

    def test_a_folder_that_cannot_be_flushed_is_not_found(self):
        flush = dataclasses.replace(call("fsync", "place"), is_folder=True)
        self.assertEqual(failed_flushes([failing(flush, errno.EINVAL)]), [])
        self.assertEqual(failed_flushes([failing(flush)]), [failing(flush)])

    def test_a_folder_that_is_flushed_again_is_found_unless_the_command_may_repeat_it(self):
        flush = dataclasses.replace(call("fsync", "place"), is_folder=True)
        calls = [failing(flush), flush]
        self.assertEqual(failed_flushes(calls), [failing(flush)])
        self.assertEqual(failed_flushes(calls, repeats=True), [])
        self.assertEqual(failed_flushes(calls[:1], repeats=True), [failing(flush)])

    def test_a_folder_must_be_flushed_before_the_next_marker(self):
        flush = dataclasses.replace(call("fsync", "place"), is_folder=True)
        for name, found in (("epoch-2.pt", []), ("epoch-2.json", [failing(flush)])):
            renamed = call("rename", f"place/{name}", source="part")
            self.assertEqual(failed_flushes([failing(flush), renamed, flush], repeats=True), found)
        removed = call("unlink", "place/epoch-1.json")
        calls = [failing(flush), removed, flush]
        self.assertEqual(failed_flushes(calls, repeats=True), [failing(flush)])

    def test_older_checkpoints_may_go_while_the_newest_has_no_marker(self):
        flush = dataclasses.replace(call("fsync", "place"), is_folder=True)
        placed = call("rename", "place/epoch-2.pt", source="part")
        marked = call("rename", "place/epoch-2.json", source="part")
        removed = call("unlink", "place/epoch-1.json")
        for first, then, found in (
            ([placed], removed, []),
            ([placed], marked, [failing(flush)]),
            ([placed, marked], removed, [failing(flush)]),
        ):
            calls = [*first, failing(flush), then, flush]
            self.assertEqual(failed_flushes(calls, repeats=True), found)


class SavedStepTest(unittest.TestCase):
    rename = call("rename", "checkpoints/epoch-0001-step-00000002.json")
    flush = call("fsync", "checkpoints")

    def test_a_checkpoint_is_saved_when_the_folder_is_flushed_after_the_rename(self):
        self.assertEqual(saved_step([self.rename, self.flush]), 2)
        self.assertEqual(saved_step([self.flush, self.rename]), 0)

    def test_calls_that_fail_save_nothing(self):
        self.assertEqual(saved_step([failing(self.rename), self.flush]), 0)
        self.assertEqual(saved_step([self.rename, failing(self.flush)]), 0)


class DamageTest(unittest.TestCase):
    """What Writing.damage() says about the files that a disturbed `shoal pack` leaves."""

    old = {"00000.pack": "old 0", "00001.pack": "old 1", SHARDS: "old\n5\n9\nwhole\n"}
    new = {"00000.pack": "new 0", "00001.pack": "new 1", SHARDS: "new\n4\n9\nwhole\n"}

    def damage(self, left, old=None):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            lane = Writing(None, folder / "lane", "pack")
            for name, files in {"old": old or {}, "new": self.new, "lane/out": left}.items():
                for file, text in files.items():
                    path = folder / name / "set" / file
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(text)
            lane.learn(folder / "old", folder / "new")
            return lane.damage()

    def test_the_old_and_the_new_pack_are_good(self):
        self.assertEqual(self.damage(self.old, self.old), [])
        self.assertEqual(self.damage(self.new, self.old), [])

    def test_without_an_old_pack_an_unfinished_one_is_good(self):
        self.assertEqual(self.damage({}), [])
        left = {"00000.pack": "new 0", "00001.pack.partial": "ne", SHARDS: "new\n4\n"}
        self.assertEqual(self.damage(left), [])

    def test_damaged_and_removed_files_are_found(self):
        self.assertTrue(self.damage(self.new | {"00000.pack": "ne"}, self.old))
        self.assertTrue(self.damage({"00000.pack": "old 0", SHARDS: self.old[SHARDS]}, self.old))
        self.assertTrue(self.damage({"00000.pack": "new 0", "00001.pack": "new 1"}, self.old))
        self.assertTrue(self.damage(self.new | {SHARDS: "new\n4\n9"}))

    def test_files_that_do_not_fit_to_the_list_are_found(self):
        self.assertTrue(self.damage(self.old | {"00000.pack": "new 0"}, self.old))
        self.assertTrue(self.damage(self.new | {"00000.pack": "old 0"}, self.old))
        self.assertTrue(self.damage({SHARDS: "new\n4\n"}))

    def test_while_files_are_replaced_the_new_pack_is_whole(self):
        left = self.old | {
            SHARDS: "old, being replaced\n5\n9\n",
            "00000.pack": "new 0",
            ".replacement/00001.pack": "new 1",
            f".replacement/{SHARDS}": self.new[SHARDS],
        }
        self.assertEqual(self.damage(left, self.old), [])
        del left[".replacement/00001.pack"]
        self.assertTrue(self.damage(left, self.old))


class EndTest(unittest.TestCase):
    def problems(self, code, lines, world=1, killed=False):
        err = "".join(f"shoal: error: {line}\n" for line in lines)
        return trial.problems_of_end(trial.Outcome(code, err, [], world=world), killed)

    def test_a_process_prints_one_error(self):
        self.assertEqual(self.problems(1, ["disk full"]), [])
        self.assertTrue(self.problems(1, []))
        self.assertTrue(self.problems(1, ["disk full", "disk full"]))

    def test_each_of_several_processes_and_the_launcher_may_print_one_error(self):
        lines = ["rank 0: disk full", "rank 1: peer lost", "rank 0 failed"]
        self.assertEqual(self.problems(1, lines, world=2), [])
        self.assertTrue(self.problems(1, [*lines, "again"], world=2))
        self.assertTrue(self.problems(2, lines, world=2))


class SitesTest(unittest.TestCase):
    def test_only_every_call_leaves_out_nothing(self):
        calls = [call("open", "a")]
        for number in range(1, 101):
            calls.append(dataclasses.replace(call("write", "a"), number=number))
        self.assertLess(len(injected.sites(calls)), 12)
        self.assertEqual(injected.sites(calls, every_call=True), calls)

    def test_a_part_of_the_faults_has_every_kind(self):
        calls = [dataclasses.replace(call("write", "a"), number=n) for n in range(1, 9)]
        part = injected.part_of(list(injected.faults_of(calls, 1)), 7)
        self.assertEqual(len({fault.action for fault in part}), 7)

    def test_a_small_part_has_faults_to_survive_and_others(self):
        calls = [call("write", "a"), call("read", "a"), call("open", "a", place=CREATE)]
        part = injected.part_of(list(injected.faults_of(calls, 1)), 4)
        self.assertEqual([injected.must_go_on(fault) for fault in part], [True, False] * 2)


if __name__ == "__main__":
    unittest.main()
