"""The process of the reaper (`reaper.py`), started by the path of this file.

It loads nothing before there is something to end: it starts with every command that runs agents.
"""

from __future__ import annotations

import sys

GRACE, LOOK_AGAIN = 2.0, 0.05


def main() -> None:
    """Listen for what runs until the sender is gone; then end what still runs."""
    running: dict[str, list[str]] = {}
    expected: set[str] = set()
    for line in sys.stdin:
        sign, _, rest = line.rstrip("\n").partition(" ")
        pgid, *more = rest.split()
        if sign == "?":
            expected.add(rest)
        elif sign == "!":
            expected.discard(rest)
        elif sign == "+":
            running[pgid] = more
        else:
            running.pop(pgid, None)
    if running or expected:
        sys.path.extend(sys.argv[1:])
        _end(running, expected)


def _end(running: dict[str, list[str]], expected: set[str]) -> None:
    """Tell every group to end, and kill what does not; one whose number is another's is left."""
    # Most often nothing is left, and this process costs next to nothing until then.
    import time

    from hookline.adapters.processes.identity import SIGKILL, SIGTERM, kill_group, kill_marked
    from hookline.ports.processes import ProcessGroup

    known = ((int(pgid), int(start), boot) for pgid, (start, boot, *_) in running.items())
    groups = [ProcessGroup(*each) for each in known]
    marks = [mark.encode() for _, _, *found in running.values() for mark in found]
    marks += [mark.encode() for mark in expected]

    def send(signal: int) -> bool:
        sent = [kill_group(group, signal) for group in groups]
        return any(sent + [kill_marked(mark, signal=signal) > 0 for mark in marks])

    until = time.monotonic() + GRACE
    send(SIGTERM)
    while send(0) and time.monotonic() < until:
        time.sleep(LOOK_AGAIN)
    send(SIGKILL)


if __name__ == "__main__":
    main()
