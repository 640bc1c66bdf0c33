"""Processes told apart, ended and waited for without /proc and inotify, as on macOS."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from hookline.adapters.feeds.bus import Waker
from hookline.adapters.processes import identity
from hookline.adapters.processes.identity import NO_PROC, all_processes, is_stopped, kill_marked
from tests.integration.test_gitlock import (
    _at_once,
    test_a_lock_stays_while_a_git_works_there,
    test_a_lock_that_nobody_holds_is_removed,
)
from tests.integration.test_process import (
    mark,
    test_a_failing_callback_leaves_no_process,
    test_a_zombie_has_an_identity_but_no_life,
    test_killing_a_recorded_group,
    test_killing_what_a_dead_leader_left,
    test_the_group_is_told_before_the_payload_is_read,
    test_who_is_alive,
)

if TYPE_CHECKING:
    from pathlib import Path


__all__ = [
    "_at_once",
    "mark",
    "test_a_failing_callback_leaves_no_process",
    "test_a_lock_stays_while_a_git_works_there",
    "test_a_lock_that_nobody_holds_is_removed",
    "test_a_zombie_has_an_identity_but_no_life",
    "test_killing_a_recorded_group",
    "test_killing_what_a_dead_leader_left",
    "test_the_group_is_told_before_the_payload_is_read",
    "test_who_is_alive",
]


@pytest.fixture(autouse=True)
def hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NO_PROC, "1")


def test_another_process_knows_us_by_the_same_name() -> None:
    mine = identity.owner_name(identity.this_process())
    ask = (
        "import sys; from hookline.adapters.processes import identity as host; name = sys.argv[1];"
        " print(host.owner_is_here(name), host.owner_is_gone(name), host.owner_pid(name))"
    )
    said = subprocess.run((sys.executable, "-c", ask, mine), capture_output=True, check=True)
    assert said.stdout.decode().split() == ["True", "False", str(os.getpid())]
    boot, pid, start = mine.rsplit(":", 2)
    assert identity.owner_is_gone(f"{boot}:{pid}:{int(start) + 1}")
    assert not identity.owner_is_here(f"another:{pid}:{start}")


def test_what_is_marked_is_found_and_what_is_stopped_is_seen() -> None:
    before = all_processes()
    child = subprocess.Popen(("sleep", "30"), env={"PATH": os.environ["PATH"], "MARK": "a b=c"})
    assert kill_marked(b"MARK=a b", but=before) == 0
    assert not is_stopped(child.pid)
    child.send_signal(19)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED)
    assert is_stopped(child.pid)
    assert kill_marked(b"MARK=a b=c", but=before) == 1
    assert child.wait() == -9


def test_writes_are_seen_without_inotify(tmp_path: Path) -> None:
    waker = Waker(str(tmp_path))
    assert waker.fileno() is None
    while waker.wait(0.01):
        pass  # until only a write can end so short a wait
    (tmp_path / "hookline.db-wal").write_text("frame")
    assert waker.wait(0.01)
