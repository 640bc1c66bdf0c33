"""What is left of a process group."""

from __future__ import annotations

import os
import time
from pathlib import Path


def group_members(pgid: int) -> list[str]:
    """Living processes of a group."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path(f"/proc/{name}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[2]) == pgid and fields[0] not in "ZX":
            found.append(name)
    return found


def none_left(pgid: int) -> bool:
    """A killed process takes a moment to go; one that was missed stays."""
    end = time.monotonic() + 60
    while group_members(pgid):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True
