"""The process of the reaper (`reaper.py`), started by the path of this file.

It loads nothing before there is something to end: it starts with every command that runs agents.
Only leases on a server are watched from the start on (`lease_watch.py`).
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookline.adapters.processes.lease_watch import LeaseWatch

GRACE, LOOK_AGAIN = 2.0, 0.05


def main() -> None:
    """Listen for what runs until the sender is gone; then end what still runs."""
    running: dict[str, list[str]] = {}
    expected: set[str] = set()
    leases: LeaseWatch | None = None
    for line in sys.stdin:
        sign, _, rest = line.rstrip("\n").partition(" ")
        pgid, *more = rest.split() or [""]
        if sign == "?":
            expected.add(rest)
        elif sign == "!":
            expected.discard(rest)
        elif sign == "+":
            running[pgid] = more
        elif sign == "-":
            running.pop(pgid, None)
        elif sign == "=":
            leases = leases or _watched(rest, running, expected)
        elif sign == "~" and leases is not None:
            leases.renewed(float(rest))
        elif sign == "/" and leases is not None:
            leases.rest()
        elif sign == ".":
            _leave()
    if running or expected:
        _end(running, expected)
    if leases is not None:
        leases.give_back()
        _leave()


def _leave() -> None:
    """Never returns: nothing is left to do, though a thread may be waiting for a server."""
    import os

    os._exit(0)


def _watched(terms: str, running: dict[str, list[str]], expected: set[str]) -> LeaseWatch:
    sys.path.extend(sys.argv[1:])
    from hookline import typed
    from hookline.adapters.processes.lease_watch import LeaseTerms, LeaseWatch

    def end() -> None:
        _end(dict(running), set(expected))

    return LeaseWatch(typed.decode(terms, LeaseTerms), end)


def _end(running: dict[str, list[str]], expected: set[str]) -> None:
    """Tell every group to end, and kill what does not; one whose number is another's is left."""
    # Most often nothing is left, and this process costs next to nothing until then.
    sys.path.extend(path for path in sys.argv[1:] if path not in sys.path)
    import time

    from hookline.adapters.processes.identity import (
        SIGKILL,
        SIGTERM,
        group_is_left,
        kill_group,
        kill_marked,
        marked,
    )
    from hookline.ports.processes import ProcessGroup

    known = ((int(pgid), int(start), boot) for pgid, (start, boot, *_) in running.items())
    groups = [ProcessGroup(*each) for each in known]
    marks = [mark.encode() for _, _, *found in running.values() for mark in found]
    marks += [mark.encode() for mark in expected]

    def send(signal: int) -> None:
        for group in groups:
            kill_group(group, signal)
        for mark in marks:
            kill_marked(mark, signal=signal)

    def wait() -> None:
        until = time.monotonic() + GRACE
        while time.monotonic() < until and (
            any(map(group_is_left, groups)) or any(map(marked, marks))
        ):
            time.sleep(LOOK_AGAIN)

    send(SIGTERM)
    wait()
    send(SIGKILL)
    wait()


if __name__ == "__main__":
    main()
