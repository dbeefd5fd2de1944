"""Chooses the faults to inject into a run, from the calls that an undisturbed run makes."""

import errno
import itertools
import random

from trial import Fault

# Errors to inject into each kind of call. "+": the disk stays full.
ERRORS = {
    "open": ("EIO", "EACCES", "EMFILE", "EINTR"),  # and CREATE_ERRORS
    "list": ("EIO",),
    "read": ("EIO", "EINTR", "short"),
    "write": ("ENOSPC", "ENOSPC+", "EIO", "EDQUOT", "EINTR", "short"),
    "fsync": ("EIO", "ENOSPC", "EINVAL"),
    "rename": ("EIO", "ENOSPC", "EDQUOT", "EROFS"),
    "unlink": ("EIO", "EACCES", "EROFS"),
    "close": ("EIO", "EDQUOT"),
    "flock": ("ENOLCK", "EINTR"),
    "mkdir": ("ENOSPC", "EACCES", "EDQUOT", "EROFS"),
    "truncate": ("EIO", "EROFS"),
}
CREATE_ERRORS = ("ENOSPC", "EDQUOT", "EROFS")  # more errors of an open() that may create a file
MANY = ("read", "write", "list")  # calls that a run makes many times on one file or folder
CHOSEN = 4  # about this many of them fail per file or folder, plus the first two and the last


def sites(calls, every_call=False):
    """Returns the calls to break.

    If there are many reads or writes of one file, or many entries listed in one folder, returns only
    some of them. With `every_call`, returns all calls.
    """
    if every_call:
        return list(calls)
    many = {}
    for call in calls:
        if call.kind in MANY:
            many.setdefault((call.role, call.kind, call.path), []).append(call.site)
    chosen = {call.site for call in calls if call.kind not in MANY}
    for group in many.values():
        chosen.update([*group[:2], *group[:: max(1, len(group) // CHOSEN)], group[-1]])
    return [call for call in calls if call.site in chosen]


def faults_of(calls, world):
    """Yields every fault to inject into these calls of a run with `world` worker processes."""
    for call in calls:
        actions = ["kill"] if world == 1 else ["kill", "killall"]
        for name in ERRORS[call.kind] + CREATE_ERRORS * call.creates:
            if name == "EINVAL" and not call.is_folder:
                continue
            code = str(getattr(errno, name.rstrip("+"), name))
            actions.append(code + "+" * name.endswith("+"))
        for action in actions:
            yield Fault.at(call.site, action)


def part_of(faults, count):
    """Returns `count` faults (None: all): one of each kind and action, then a second of each."""
    faults = sorted(faults, key=str)
    random.Random(1).shuffle(faults)
    groups = {}
    for fault in faults:
        groups.setdefault((fault.kind, fault.action), []).append(fault)
    # Faults that a run must survive alternate with the others.
    survived = [group for group in groups.values() if must_go_on(group[0])]
    others = [group for group in groups.values() if not must_go_on(group[0])]
    ordered = alternating(survived, others)
    return alternating(*ordered)[:count]


def alternating(*lists):
    """Returns the elements of the lists in turn. Skips lists that have no elements left."""
    rounds = itertools.chain.from_iterable(itertools.zip_longest(*lists))
    return [one for one in rounds if one is not None]


def must_go_on(fault):
    """Returns whether the run must continue in spite of this fault."""
    return (fault.kind, fault.action) in (
        ("read", "short"),
        ("read", str(errno.EINTR)),
        ("write", "short"),
        ("write", str(errno.EINTR)),
        ("flock", str(errno.ENOLCK)),
        ("fsync", str(errno.EINVAL)),  # injected only for folders
    )
