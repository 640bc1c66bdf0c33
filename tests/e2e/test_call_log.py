"""The log of calls, `logs/hooks.log`: it makes room in time, whoever writes to it."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

from tests.e2e.conftest import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Cli

FULL = 10 * 1024 * 1024 + 1
HOOK = 'hooks: {task_created: [{name: mine, command: "true"}]}\n'


def logs(cli: Cli) -> Path:
    return cli.root / ".hookline" / "logs"


def fill(cli: Cli, mark: str) -> None:
    """Let the log have grown to its limit."""
    path = logs(cli) / "hooks.log"
    path.parent.mkdir(exist_ok=True)
    line = f"{mark} {'x' * 100}\n"
    path.write_text(line * (FULL // len(line) + 1))


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


def events_told(path: Path) -> list[int]:
    return [int(found[1]) for line in lines(path) if (found := re.search(r" event=(\d+) ", line))]


def test_a_log_that_is_full_makes_room_and_three_are_kept(cli: Cli) -> None:
    cli.configure(HOOK)
    for mark in ("one", "two", "three", "four", "five"):
        fill(cli, mark)
        cli.add(mark)
    names = sorted(path.name for path in logs(cli).iterdir())
    assert names == ["hooks.log", "hooks.log.1", "hooks.log.2", "hooks.log.3"]
    firsts = [lines(logs(cli) / name)[0].split()[0] for name in names[1:]]
    assert firsts == ["five", "four", "three"]
    assert all(" hook=" in line for line in lines(logs(cli) / "hooks.log"))


def test_many_processes_make_room_once_and_lose_no_line(cli: Cli) -> None:
    cli.configure(HOOK)
    cli.add("first")
    fill(cli, "old")
    adding = [cli.start("task", "add", f"task {n}", "--json") for n in range(6)]
    assert [each.wait(60) for each in adding] == [0] * 6
    assert not (logs(cli) / "hooks.log.2").exists()
    told = [*events_told(logs(cli) / "hooks.log.1"), *events_told(logs(cli) / "hooks.log")]
    called = cli.rows("SELECT event_seq FROM deliveries ORDER BY event_seq")
    first = cli.rows("SELECT max(seq) FROM events WHERE node_id = 'T-1'")[0][0]
    assert sorted(told) == [seq for (seq,) in called if seq > first]


def test_a_log_that_is_not_full_stays(cli: Cli) -> None:
    cli.configure(HOOK)
    cli.add("one")
    cli.add("two")
    assert [path.name for path in logs(cli).iterdir()] == ["hooks.log"]


def test_what_is_shown_goes_back_into_the_log_before(cli: Cli) -> None:
    cli.configure(HOOK)
    fill(cli, "older")
    cli.add("new")
    shown = cli.json("hook", "log")["lines"]
    assert len(shown) == 50
    assert shown[0].startswith("older ")
    assert " hook=mine status=ok" in shown[-1]


def test_who_follows_sees_the_new_log_too(cli: Cli) -> None:
    cli.configure(HOOK)
    cli.add("before")
    following = cli.start("hook", "log", "--follow")
    assert following.stdout is not None
    seen: list[str] = []
    reader = threading.Thread(target=seen.extend, args=(following.stdout,), daemon=True)
    reader.start()

    def is_told(task: str) -> bool:
        (found,) = cli.rows("SELECT seq FROM events WHERE node_id = ? ORDER BY seq LIMIT 1", task)
        return any(f" event={found[0]} " in line and " hook=mine " in line for line in seen)

    eventually(lambda: is_told("T-1"), "what was told before")
    cli.add("in the old one")
    eventually(lambda: is_told("T-2"), "what is told in the old log")
    with (logs(cli) / "hooks.log").open("a") as file:
        file.write("z" * FULL + "\n")
    cli.add("in the new one")
    assert (logs(cli) / "hooks.log.1").exists()
    eventually(lambda: is_told("T-3"), "what is told in the new log")
