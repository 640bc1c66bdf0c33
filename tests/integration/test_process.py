"""Real programs: deadlines, floods, pipes that nobody reads, and what is left behind (nothing)."""

from __future__ import annotations

import asyncio
import hashlib
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from hookline.adapters.processes.identity import (
    boot_id,
    is_alive,
    kill_group,
    process_identity,
    this_process,
)
from hookline.adapters.processes.process import LocalProcesses
from hookline.ports.processes import CannotStart, Finished, ProcessGroup

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KIB = 1024
MIB = 1024 * KIB
# Less than what the programs here sleep, and more than a busy machine needs for anything else.
HANGING = 100

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


def run(
    folder: Path,
    *argv: str,
    timeout: float = 30,
    stdin: bytes = b"",
    on_start: Callable[[ProcessGroup], None] | None = None,
    env: dict[str, str] | None = None,
    cwd: str | None = None,
) -> Finished:
    processes = LocalProcesses(str(folder / "blobs"))
    return asyncio.run(
        processes.run(
            argv,
            cwd=cwd or str(folder),
            env={"PATH": os.environ["PATH"], **(env or {})},
            timeout=timeout,
            stdin=stdin,
            on_start=on_start,
        )
    )


def sh(folder: Path, line: str, *, timeout: float = 30, stdin: bytes = b"") -> Finished:
    return run(folder, "/bin/sh", "-c", line, timeout=timeout, stdin=stdin)


def living(mark: str) -> list[int]:
    """Processes that are not zombies and have this mark in their environment."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                marked = mark.encode() in file.read()
        except OSError:
            continue
        if marked and int(name) != os.getpid():
            found.append(int(name))
    return found


def none_left(mark: str) -> bool:
    """A killed process takes a moment to go; one that was missed stays."""
    end = time.monotonic() + 60
    while living(mark):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def zombies() -> list[str]:
    """Children of this process that nobody reaped."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                state, parent = file.read().rsplit(")", 1)[1].split()[:2]
        except OSError:
            continue
        if state == "Z" and int(parent) == os.getpid():
            found.append(name)
    return found


@pytest.fixture
def mark(tmp_path: Path) -> str:
    return f"HOOKLINE_TEST_MARK={hashlib.sha256(str(tmp_path).encode()).hexdigest()}"


def marked(mark: str) -> dict[str, str]:
    name, value = mark.split("=")
    return {name: value}


def test_a_program_runs_to_its_end(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        *("/bin/sh", "-c", 'cat; echo "$GREETING" >&2; pwd; exit 3'),
        stdin=b"payload\n",
        env={"GREETING": "hello"},
    )
    assert done.exit_code == 3
    assert done.stdout == f"payload\n{tmp_path}\n"
    assert done.stderr == "hello\n"
    assert done.stdout_bytes == len(done.stdout)
    assert (done.timed_out, done.blob) == (False, None)
    assert done.argv[:2] == ("/bin/sh", "-c")
    assert 0 < done.duration < 30
    assert zombies() == []


def test_the_environment_is_the_one_given(tmp_path: Path) -> None:
    assert run(tmp_path, "env", env={"A": "b c"}).stdout.splitlines() == [
        f"PATH={os.environ['PATH']}",
        "A=b c",
    ]


def test_stdin_is_a_pipe_that_can_be_opened_by_name(tmp_path: Path) -> None:
    assert sh(tmp_path, "cat /dev/stdin", stdin=b"{}").stdout == "{}"


def test_without_a_payload_stdin_is_at_its_end(tmp_path: Path) -> None:
    assert sh(tmp_path, "cat; echo end").stdout == "end\n"


def test_the_deadline_kills_the_whole_group(tmp_path: Path, mark: str) -> None:
    started = time.monotonic()
    done = run(
        tmp_path,
        *("/bin/sh", "-c", "echo out; echo err >&2; sleep 300 & sleep 300"),
        timeout=2,
        env=marked(mark),
    )
    assert time.monotonic() - started < HANGING
    assert done.timed_out
    assert done.exit_code == -signal.SIGKILL
    assert (done.stdout, done.stderr) == ("out\n", "err\n")
    assert none_left(mark)
    assert zombies() == []


def test_a_program_that_ignores_signals_is_killed_too(tmp_path: Path, mark: str) -> None:
    line = "trap '' TERM INT HUP; echo ready; while :; do sleep 1; done"
    done = run(tmp_path, "/bin/sh", "-c", line, timeout=2, env=marked(mark))
    assert done.timed_out
    assert done.stdout == "ready\n"
    assert none_left(mark)


def test_children_in_the_background_end_with_their_program(tmp_path: Path, mark: str) -> None:
    started = time.monotonic()
    done = run(tmp_path, "/bin/sh", "-c", "sleep 300 & echo done", env=marked(mark))
    assert time.monotonic() - started < HANGING
    assert (done.exit_code, done.timed_out, done.stdout) == (0, False, "done\n")
    assert none_left(mark)


def test_a_process_that_left_the_group_does_not_hold_us_up(tmp_path: Path, mark: str) -> None:
    started = time.monotonic()
    line = "setsid sh -c 'echo $$ > escaped; exec sleep 300' & while ! [ -s escaped ]; do :; done"
    done = run(tmp_path, "/bin/sh", "-c", f"{line}; echo done", env=marked(mark))
    escaped = int((tmp_path / "escaped").read_text())
    try:
        assert time.monotonic() - started < HANGING
        assert (done.exit_code, done.stdout) == (0, "done\n")
        assert living(mark) == [escaped]
    finally:
        os.kill(escaped, signal.SIGKILL)


def test_a_process_that_left_the_group_does_not_outlast_the_deadline(
    tmp_path: Path, mark: str
) -> None:
    started = time.monotonic()
    line = "echo early; setsid sh -c 'echo $$ > escaped; exec sleep 300' & sleep 300"
    done = run(tmp_path, "/bin/sh", "-c", line, timeout=2, env=marked(mark))
    escaped = int((tmp_path / "escaped").read_text())
    try:
        assert time.monotonic() - started < HANGING
        assert (done.timed_out, done.stdout) == (True, "early\n")
    finally:
        with suppress(ProcessLookupError):  # on Linux it has ended with the others
            os.kill(escaped, signal.SIGKILL)


def test_a_fork_and_hang(tmp_path: Path, mark: str) -> None:
    line = "for i in 1 2 3 4 5 6 7 8; do (while :; do sleep 9; done) & done; wait"
    assert run(tmp_path, "/bin/sh", "-c", line, timeout=0.5, env=marked(mark)).timed_out
    assert none_left(mark)
    assert zombies() == []


def test_cancelling_kills_the_group(tmp_path: Path, mark: str) -> None:
    async def cancel() -> None:
        started = asyncio.Event()
        task = asyncio.create_task(
            LocalProcesses(str(tmp_path)).run(
                ("/bin/sh", "-c", "sleep 30 & sleep 30"),
                cwd=str(tmp_path),
                env={"PATH": os.environ["PATH"], **marked(mark)},
                timeout=30,
                on_start=lambda group: started.set(),
            )
        )
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert zombies() == []

    asyncio.run(cancel())
    assert none_left(mark)


def test_a_signal_is_a_negative_code(tmp_path: Path) -> None:
    assert sh(tmp_path, "kill -KILL $$").exit_code == -9
    assert sh(tmp_path, "kill -TERM $$").exit_code == -15


def test_a_flood_is_bounded_in_memory_and_on_disk(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = sh(tmp_path, "echo first; yes | head -c 200000000; echo last", timeout=60)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 32 * KIB  # KiB
    assert (done.exit_code, done.stdout_bytes) == (0, 200_000_011)
    assert done.stdout.startswith("first\ny\ny\n")
    assert done.stdout.endswith("y\nlast\n")
    assert f"\n… {200_000_011 - 32 * KIB} bytes left out …\n" in done.stdout
    assert len(done.stdout) < 33 * KIB
    assert done.blob is not None
    assert os.path.getsize(done.blob) == 64 * MIB


def test_a_long_output_is_whole_in_its_blob(tmp_path: Path) -> None:
    done = sh(tmp_path, "seq 1 20000")
    whole = "".join(f"{number}\n" for number in range(1, 20001)).encode()
    name = hashlib.sha256(whole).hexdigest()
    assert done.blob == str(tmp_path / "blobs" / name[:2] / name)
    with open(done.blob, "rb") as file:
        assert file.read() == whole
    head, cut, tail = done.stdout.partition(f"\n… {len(whole) - 32 * KIB} bytes left out …\n")
    assert cut
    assert head.encode() == whole[: 16 * KIB]
    assert tail.encode() == whole[-16 * KIB :]
    assert [each.name for each in (tmp_path / "blobs").iterdir()] == [name[:2]]


@pytest.mark.parametrize(("size", "kept"), [(32 * KIB, True), (32 * KIB + 1, False)])
def test_the_cap_is_exact(tmp_path: Path, size: int, kept: bool) -> None:
    done = sh(tmp_path, f"head -c {size} /dev/zero | tr '\\0' a")
    assert (done.stdout == "a" * size) is kept
    assert (done.blob is None) is kept


def test_a_long_stderr_is_cut_without_a_blob(tmp_path: Path) -> None:
    done = sh(tmp_path, "head -c 1048576 /dev/zero | tr '\\0' e >&2")
    assert done.stderr == "e" * 16 * KIB + f"\n… {MIB - 32 * KIB} bytes left out …\n" + "e" * (
        16 * KIB
    )
    assert (done.stdout, done.blob) == ("", None)


def test_a_cut_does_not_split_a_character(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("x" + "€" * 30000, encoding="utf-8")
    done = run(tmp_path, "cat", "text")
    assert "\ufffd" not in done.stdout
    assert done.stdout.startswith("x€€")
    assert done.stdout.endswith("€€")


def test_output_that_is_no_text_is_kept_readable(tmp_path: Path) -> None:
    done = sh(tmp_path, r"printf 'a\377\000b'; printf '\200' >&2")
    assert (done.stdout, done.stderr) == ("a\ufffd\x00b", "\ufffd")
    assert done.stdout_bytes == 4
    assert sh(tmp_path, "head -c 100000 /dev/urandom").stdout_bytes == 100_000


def test_an_unwritable_blob_folder_costs_the_blob_alone(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("a file where a folder should be")
    done = sh(tmp_path, "seq 1 20000")
    assert (done.exit_code, done.blob) == (0, None)
    assert done.stdout.endswith("19999\n20000\n")


def test_a_large_payload_in_and_out(tmp_path: Path) -> None:
    payload = b"0123456789abcdef" * (10 * MIB // 16)
    done = run(tmp_path, "cat", stdin=payload)
    assert done.stdout_bytes == len(payload)
    assert done.blob is not None
    with open(done.blob, "rb") as file:
        assert file.read() == payload


@pytest.mark.parametrize("line", ["echo done", "exec <&-; sleep 0.1; echo done"])
def test_a_program_need_not_read_its_payload(tmp_path: Path, line: str) -> None:
    done = sh(tmp_path, line, stdin=b"x" * 10 * MIB)
    assert (done.exit_code, done.stdout) == (0, "done\n")


def test_a_payload_that_is_never_read_does_not_stop_the_deadline(tmp_path: Path) -> None:
    started = time.monotonic()
    assert sh(tmp_path, "sleep 300", stdin=b"x" * 10 * MIB, timeout=0.5).timed_out
    assert time.monotonic() - started < HANGING


def test_a_system_without_pidfd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    assert sh(tmp_path, "cat; sleep 0.05; exit 4", stdin=b"x").exit_code == 4
    assert sh(tmp_path, "echo early; sleep 300", timeout=2).stdout == "early\n"
    assert zombies() == []


def test_many_at_once(tmp_path: Path) -> None:
    async def all_of_them() -> list[Finished]:
        processes = LocalProcesses(str(tmp_path))
        env = {"PATH": os.environ["PATH"]}
        return await asyncio.gather(
            *(
                processes.run(
                    ("/bin/sh", "-c", f"cat; exit {number}"),
                    cwd=str(tmp_path),
                    env=env,
                    timeout=30,
                    stdin=str(number).encode(),
                )
                for number in range(30)
            )
        )

    done = asyncio.run(all_of_them())
    assert [(each.exit_code, each.stdout) for each in done] == [(n, str(n)) for n in range(30)]
    assert zombies() == []


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    async def twice() -> tuple[set[str], set[str]]:
        processes = LocalProcesses(str(tmp_path))

        async def once() -> None:
            for line, seconds in (("cat; seq 1 20000", 30.0), ("sleep 30", 0.1)):
                await processes.run(
                    ("/bin/sh", "-c", line),
                    cwd="/",
                    env={"PATH": os.environ["PATH"]},
                    timeout=seconds,
                    stdin=b"x",
                )

        await once()
        before = set(os.listdir("/proc/self/fd"))
        await once()
        return before, set(os.listdir("/proc/self/fd"))

    before, after = asyncio.run(twice())
    assert len(after) == len(before)


def script(path: Path, text: str, mode: int) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_what_cannot_be_started_says_why(tmp_path: Path) -> None:
    plain = script(tmp_path / "plain", "#!/bin/sh\n", 0o644)
    headless = script(tmp_path / "headless", "echo hi\n", 0o755)
    orphan = script(tmp_path / "orphan", "#!/no/such/interpreter\n", 0o755)
    for program, reason in {
        "no-such-program": "program not found",
        plain: "chmod +x",
        headless: "#!/bin/sh",
        orphan: "interpreter",
        "nul\0byte": "null byte",
    }.items():
        with pytest.raises(CannotStart) as caught:
            run(tmp_path, program)
        assert reason in str(caught.value)
        assert program in str(caught.value)
    with pytest.raises(CannotStart, match="/no/such/folder"):
        run(tmp_path, "true", cwd="/no/such/folder")
    with pytest.raises(CannotStart, match="too long"):
        run(tmp_path, "true", "x" * 4 * MIB)


def test_the_group_is_told_before_the_payload_is_read(tmp_path: Path) -> None:
    seen: list[tuple[ProcessGroup, bool, bool]] = []

    def note(group: ProcessGroup) -> None:
        seen.append((group, is_alive(group), (tmp_path / "read").exists()))

    done = run(
        tmp_path, "/bin/sh", "-c", "read x; touch read; echo $$", stdin=b"x\n", on_start=note
    )
    [(group, alive, already_read)] = seen
    assert group.pgid == int(done.stdout)
    assert group.start_time > 0
    assert group.boot_id == boot_id() != ""
    assert (alive, already_read) == (True, False)
    assert not is_alive(group)


def test_a_failing_callback_leaves_no_process(tmp_path: Path, mark: str) -> None:
    def refuse(group: ProcessGroup) -> None:
        raise RuntimeError("the lease is gone")

    with pytest.raises(RuntimeError, match="the lease is gone"):
        run(tmp_path, "sleep", "30", on_start=refuse, env=marked(mark))
    assert none_left(mark)
    assert zombies() == []


def test_who_is_alive() -> None:
    me = this_process()
    assert me.pgid == os.getpid()
    assert is_alive(me)
    assert process_identity(os.getpid()) == me
    assert not is_alive(ProcessGroup(me.pgid, me.start_time + 1, me.boot_id))
    assert not is_alive(ProcessGroup(me.pgid, me.start_time, "another boot"))
    assert process_identity(2**22 + 1) is None
    assert process_identity(0) is None


def test_a_zombie_has_an_identity_but_no_life() -> None:
    child = subprocess.Popen(("true",))
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    group = process_identity(child.pid)
    assert group is not None
    assert not is_alive(group)
    child.wait()
    assert process_identity(child.pid) is None


def test_killing_a_recorded_group() -> None:
    child = subprocess.Popen(("sleep", "30"), start_new_session=True)
    group = process_identity(child.pid)
    assert group is not None
    for other in (
        ProcessGroup(group.pgid, group.start_time + 1, group.boot_id),
        ProcessGroup(group.pgid, group.start_time, "another boot"),
        ProcessGroup(group.pgid, 0, group.boot_id),
        ProcessGroup(0, group.start_time, group.boot_id),
        ProcessGroup(1, group.start_time, group.boot_id),
    ):
        assert not kill_group(other)
    assert child.poll() is None
    assert kill_group(group)
    assert child.wait() == -9
    assert not kill_group(group)


def test_killing_what_a_dead_leader_left(mark: str) -> None:
    child = subprocess.Popen(
        ("/bin/sh", "-c", "sleep 30 & read go"),
        stdin=subprocess.PIPE,
        start_new_session=True,
        env={"PATH": os.environ["PATH"], **marked(mark)},
    )
    group = process_identity(child.pid)
    assert group is not None
    child.communicate(b"go\n")
    assert len(living(mark)) == 1
    assert not is_alive(group)
    assert kill_group(group)
    assert none_left(mark)
