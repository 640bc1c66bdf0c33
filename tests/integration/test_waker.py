"""Waiting for news of a store: a write is heard, and a commit that comes late is looked for."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from typing import TYPE_CHECKING

import pytest

from hookline.adapters.feeds import bus
from hookline.adapters.feeds.wakeup import AsyncWaker

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE = 60.0


@pytest.fixture(params=[True, False], ids=["inotify", "polling"])
def waker(request: pytest.FixtureRequest, tmp_path: Path) -> bus.Waker:
    return bus.Waker(str(tmp_path), use_inotify=request.param)


def test_a_write_ends_the_wait(waker: bus.Waker, tmp_path: Path) -> None:
    while waker.wait(0.01):
        pass  # until only a write can end so short a wait
    assert not waker.wait(0.01)
    (tmp_path / "hookline.db-wal").write_text("frame")
    assert waker.wait(0.01)


def test_a_commit_that_its_disk_holds_up_is_seen_at_last(
    waker: bus.Waker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bus, "_LAST_ECHO", 0.004)
    (tmp_path / "hookline.db-wal").write_text("frame")
    looks = 0
    seen = threading.Event()

    def follow() -> None:
        nonlocal looks
        while looks < 40:  # the commit becomes visible here, long after its write
            waker.wait()
            looks += 1
        seen.set()

    threading.Thread(target=follow, daemon=True).start()
    assert seen.wait(PATIENCE), f"nobody looked again after {looks} times"


def test_a_forgotten_waker_keeps_no_handle(tmp_path: Path) -> None:
    async def wait_once() -> None:
        await AsyncWaker(bus.Waker(str(tmp_path))).wait(0.001)

    for _ in range(3):
        asyncio.run(wait_once())
    gc.collect()
    handles = [os.readlink(entry.path) for entry in os.scandir("/proc/self/fd") if _is_open(entry)]
    assert not [handle for handle in handles if "inotify" in handle]


def _is_open(entry: os.DirEntry[str]) -> bool:
    return os.path.lexists(entry.path)
