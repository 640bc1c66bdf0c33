"""Clocks of machines that are wrong, by libfaketime."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

from tests.e2e.test_session_faults import FAKETIME

if TYPE_CHECKING:
    from pathlib import Path

# libfaketime 0.9.10 takes every absolute time for one of the clock that it fakes. So a sleep of
# Python, which ends at a time of a clock that nobody fakes, would fail.
SLEEP = """\
#define _GNU_SOURCE
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *until, struct timespec *left)
{
    return syscall(SYS_clock_nanosleep, clock, flags, until, left) ? errno : 0;
}
"""


def missing() -> str:
    """What is missing for wrong clocks; empty if nothing is."""
    if FAKETIME is None:
        return "needs libfaketime, such as Debian's package"
    return "" if shutil.which("cc") else "needs cc"


def skewed(seconds: int, folder: Path) -> dict[str, str]:
    """What to start a program with, whose clock is ahead by so much; the others go right."""
    assert FAKETIME is not None
    sleep = folder / "sleep.so"
    compiler = ("cc", "-shared", "-fPIC", "-x", "c", "-o", str(sleep), "-")
    subprocess.run(compiler, input=SLEEP.encode(), check=True)
    return {
        "LD_PRELOAD": f"{sleep} {FAKETIME.with_name('libfaketimeMT.so.1')}",
        "FAKETIME": f"{seconds:+d}s",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
