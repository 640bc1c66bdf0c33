"""Calls of hooks across processes: who makes them, in which order, and what a kill leaves."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import PROGRAM, eventually, is_running, kill
from tests.e2e.crash_rig import orphans

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Cli

HOOKLINE = " ".join(PROGRAM)


def hooks(*lines: str, point: str = "task_created") -> str:
    return f"hooks:\n  {point}:\n" + "".join(f"    - {line}\n" for line in lines)


def pids(path: Path) -> list[int]:
    """The process ids that a hook noted, one on each line."""
    return [int(word) for word in path.read_text().split()] if path.exists() else []


# Hooks that run Hookline


def test_a_hook_that_adds_tasks_neither_deadlocks_nor_multiplies(cli: Cli) -> None:
    cli.configure(hooks(f'{{name: again, command: "{HOOKLINE} task add another"}}'))
    cli.add("the first")
    tasks = cli.json("task", "list")
    assert [task["goal"] for task in tasks] == ["the first"] + ["another"] * 9
    depths = [event["metadata"].get("depth", 0) for event in cli.events("task_created")]
    assert depths == list(range(10))
    (limit,) = cli.events("cascade_limit")
    assert limit["nodeId"] == tasks[-1]["id"]
    assert limit["data"]["limit"] == 8
    assert "again" in limit["data"]["hooks"]
    assert cli.calls("again") == ["ok"] * 9


def test_a_hook_that_asks_for_tasks_is_bounded_as_well(cli: Cli) -> None:
    answer = json.dumps({"actions": [{"type": "create_task", "payload": {"goal": "another"}}]})
    cli.put("answer.json", answer)
    cli.configure(hooks('{name: again, command: "cat answer.json"}'))
    done = cli("task", "add", "the first")
    assert (done.code, done.stderr.count("a chain of hooks was cut at depth 8")) == (0, 1)
    assert len(cli.json("task", "list")) == 10
    assert len(cli.events("cascade_limit")) == 1


def test_a_command_under_a_hook_only_enqueues(cli: Cli) -> None:
    cli.configure(
        "events: [inner]\nhooks:\n  task_created:\n"
        f'    - {{name: outer, command: "{HOOKLINE} emit inner; echo outer >> order"}}\n'
        "  inner:\n    - {name: inner-hook, command: 'echo inner >> order'}\n"
    )
    cli.add("one")
    assert (cli.root / "order").read_text().split() == ["outer", "inner"]
    (inner,) = cli.events("inner")
    (created,) = cli.events("task_created")
    assert inner["metadata"]["cause"] == created["seq"]
    assert inner["metadata"]["hook"] == "outer"
    assert inner["metadata"]["depth"] == 1


# Order


def test_the_hooks_of_a_task_see_its_events_in_order(cli: Cli) -> None:
    line = 'command: "echo $HOOKLINE_TASK_ID $HOOKLINE_EVENT_SEQ >> order"'
    cli.configure(
        "hooks:\n"
        f"  task_created:\n    - &note {{name: note, {line}}}\n"
        "  task_started: [*note]\n  task_updated: [*note]\n  task_completed: [*note]\n"
    )
    tasks = [cli.add(f"task {number}") for number in range(3)]
    for verb, *options in (("start",), ("update", "--note", "n"), ("complete",)):
        for process in [cli.start("task", verb, task, *options) for task in tasks]:
            process.communicate()
    seen = [line.split() for line in (cli.root / "order").read_text().splitlines()]
    assert len(seen) == 12
    for task in tasks:
        of_task = [int(seq) for name, seq in seen if name == task]
        assert of_task == sorted(of_task)
        assert len(of_task) == 4


def test_read_commands_never_call_hooks(cli: Cli) -> None:
    cli.configure(hooks('{name: slow, command: "echo $$ > pid; exec sleep 300"}'))
    cli.json("emit", "first")
    writer = cli.start("task", "add", "one")
    eventually(lambda: bool(pids(cli.root / "pid")), "the start of the hook")
    kill(writer)
    before = cli.rows("SELECT * FROM deliveries")
    for words in (
        *(("task", verb) for verb in ("list", "ready", "next", "graph")),
        *(("task", "show", "T-1"), ("dep", "list"), ("events",), ("hook", "list"), ("why", "2")),
    ):
        assert cli(*words).code == 0
    assert cli.rows("SELECT * FROM deliveries") == before
    assert pids(cli.root / "pid")
    for pid in pids(cli.root / "pid"):
        assert is_running(pid)
    cli.put("hookline.yaml", "version: 1\n")
    cli.json("emit", "clean.up", quiet=False)


# Timeouts and kills


def test_a_hook_without_an_end_is_killed_with_its_group(cli: Cli) -> None:
    cli.configure(
        hooks(
            "{name: hanging, timeout: 1, command: 'echo begun; echo $$ > pids; "
            "sleep 300 & echo $! >> pids; wait'}"
        )
    )
    result = cli("task", "add", "one")
    assert result.code == 0
    assert "hanging" in result.stderr
    assert cli.calls("hanging", "status, stdout") == [("timeout", "begun\n")]
    (error,) = cli.events("hook_error")
    assert error["data"]["hookName"] == "hanging"
    assert len(pids(cli.root / "pids")) == 2
    assert not any(is_running(pid) for pid in pids(cli.root / "pids"))


def test_a_hook_that_forks_and_hangs(cli: Cli) -> None:
    cli.configure(
        "hooks:\n  task_created:\n"
        "    - {name: forks, timeout: 1, command: 'for i in 1 2 3; do sleep 300 & done; wait'}\n"
        "    - {name: leaves, command: 'sleep 300 & exit 0'}\n"
        "    - {name: after, command: 'true'}\n"
    )
    assert cli("task", "add", "one").code == 0
    assert [cli.calls(name) for name in ("forks", "leaves", "after")] == [
        ["timeout"],
        ["ok"],
        ["ok"],
    ]
    assert orphans(cli.root) == []


def test_a_kill_leaves_the_call_to_the_next_writing_command(cli: Cli) -> None:
    line = "echo $$ >> pids; sleep 300 & echo $! >> pids; test -e go || wait"
    cli.configure(hooks(f"{{name: slow, command: '{line}'}}"))
    cli.json("emit", "first")
    writer = cli.start("task", "add", "one")
    eventually(lambda: len(pids(cli.root / "pids")) == 2, "the start of the hook")
    eventually(
        lambda: cli.calls("slow", "child") not in ([], [None]), "the record of the hook's process"
    )
    kill(writer)
    first = pids(cli.root / "pids")
    assert all(is_running(pid) for pid in first)
    assert cli.calls("slow", "status, attempts") == [("pending", 1)]

    (cli.root / "go").touch()
    cli.json("emit", "anything")
    assert cli.calls("slow", "status, attempts") == [("ok", 2)]
    assert not any(is_running(pid) for pid in first)
    assert orphans(cli.root) == []
    assert cli.rows("SELECT * FROM dispatches") == []


def test_a_kill_before_the_process_was_recorded_leaves_nothing_behind(cli: Cli) -> None:
    line = "echo $$ >> pids; sleep 300 & echo $! >> pids; test -e go || wait"
    cli.configure(hooks(f"{{name: slow, command: '{line}'}}"))
    cli.json("emit", "first")
    writer = cli.start("task", "add", "one")
    with closing(sqlite3.connect(cli.database, timeout=30, isolation_level=None)) as store:
        # The attempt is stored, then the process is started, then the process is stored.
        attempts = "SELECT sum(attempts) FROM deliveries WHERE hook = 'slow'"
        eventually(lambda: store.execute(attempts).fetchone() == (1,), "the attempt", pause=0)
        store.execute("BEGIN IMMEDIATE")
        eventually(lambda: len(pids(cli.root / "pids")) == 2, "the start of the hook")
        kill(writer)
        store.execute("ROLLBACK")
    (cli.root / "go").touch()
    cli.json("emit", "anything")
    assert cli.calls("slow") == ["ok"]
    assert orphans(cli.root) == []


def test_the_old_group_is_killed_before_the_next_attempt_begins(cli: Cli) -> None:
    # A process that is dead but not yet buried by its new parent does not count.
    line = "grep -qs ^State:.[^ZX] /proc/$(cat pid)/status && touch overlap; echo $$ > pid; "
    cli.configure(hooks(f"{{name: slow, command: '{line} test -e go || exec sleep 300'}}"))
    cli.json("emit", "first")
    writer = cli.start("task", "add", "one")
    eventually(
        lambda: cli.calls("slow", "child") not in ([], [None]), "the record of the hook's process"
    )
    eventually(lambda: bool(pids(cli.root / "pid")), "the start of the hook")
    kill(writer)
    (cli.root / "go").touch()
    cli.json("emit", "anything")
    assert cli.calls("slow") == ["ok"]
    assert not (cli.root / "overlap").exists()


def test_a_call_is_given_up_after_three_attempts(cli: Cli) -> None:
    cli.configure(hooks('{name: deadly, command: "echo $$ >> pids; exec sleep 300"}'))
    cli.json("emit", "first")
    words: tuple[str, ...] = ("task", "add", "one")
    for attempt in (1, 2, 3):
        writer = cli.start(*words)
        words = ("emit", "anything")

        def begun(attempt: int = attempt) -> bool:
            rows = cli.calls("deadly", "attempts, child")
            return bool(rows) and rows[0][0] == attempt and rows[0][1] is not None

        eventually(begun, f"attempt {attempt}")
        kill(writer)
    result = cli("emit", "anything", "--json")
    assert result.code == 0
    assert "deadly" in result.stderr
    ((status, attempts, error),) = cli.calls("deadly", "status, attempts, error")
    assert (status, attempts) == ("dead", 3)
    assert "3 attempts" in error
    assert cli.events("hook_error")[0]["data"]["hookName"] == "deadly"
    assert not any(is_running(pid) for pid in pids(cli.root / "pids"))
    assert cli.rows("SELECT * FROM dispatches") == []


def test_a_kill_between_answer_and_actions_loses_none_and_doubles_none(cli: Cli) -> None:
    answer = {
        "actions": [
            {"type": "create_task", "payload": {"goal": f"part {number}"}} for number in range(3)
        ]
    }
    cli.put("answer.json", json.dumps(answer))
    cli.configure(
        "events: [go]\n"
        + hooks("{name: asks, command: 'cat answer.json'}", point="go")
        + "    - {name: slow, command: 'test -e go || exec sleep 300'}\n"
    )
    cli.json("emit", "first")
    writer = cli.start("emit", "go")

    def first_is_over() -> bool:
        return cli.calls("slow", "child") not in ([], [None])

    eventually(first_is_over, "the start of the second hook")
    kill(writer)
    assert cli.calls("asks") == ["ok"]
    assert cli.json("task", "list") == []
    (cli.root / "go").touch()
    cli.json("emit", "anything")
    assert [task["goal"] for task in cli.json("task", "list")] == ["part 0", "part 1", "part 2"]


# Hooks that do not run


def test_a_disabled_hook_is_not_called_and_leaves_no_record(cli: Cli) -> None:
    cli.configure(hooks("{name: off, enabled: false, command: 'touch ran'}"))
    cli.add("one")
    assert not (cli.root / "ran").exists()
    assert cli.calls("off") == []


def test_a_condition_that_is_false_is_recorded_with_its_values(cli: Cli) -> None:
    cli.configure(
        hooks("{name: picky, when: \"'urgent' in task.labels\", command: 'echo x >> ran'}")
    )
    cli.add("one", "--label", "calm")
    cli.add("two", "--label", "urgent")
    skipped, ran = cli.calls("picky", "status, condition, condition_values")
    assert skipped[:2] == ("skipped", "'urgent' in task.labels")
    assert json.loads(skipped[2])["task.labels"] == ["calm"]
    assert ran[0] == "ok"
    assert (cli.root / "ran").read_text() == "x\n"


def test_a_condition_that_cannot_be_told_is_a_failure(cli: Cli) -> None:
    cli.configure(hooks("{name: odd, when: \"task.priority < 'a'\", command: 'touch ran'}"))
    result = cli("task", "add", "one")
    assert result.code == 0
    assert "odd" in result.stderr
    assert cli.calls("odd") == ["failed"]
    assert cli.events("hook_error")[0]["data"]["hookName"] == "odd"
    assert not (cli.root / "ran").exists()


def test_what_was_not_trusted_is_skipped_and_never_made_up_for(cli: Cli) -> None:
    cli.configure(hooks("{name: theirs, command: 'echo $HOOKLINE_TASK_ID >> ran'}"), trust=False)
    result = cli("task", "add", "one", "--label", "agent", "--json")
    assert result.code == 0
    assert "hookline trust" in result.stderr
    assert cli.calls("theirs") == ["skipped"]
    assert cli.calls("track-agent-task-lifecycle") == ["ok"]
    cli.json("trust", "--yes")
    cli.add("two")
    assert cli.calls("theirs") == ["skipped", "ok"]
    assert (cli.root / "ran").read_text().split() == ["T-2"]


@pytest.mark.parametrize(
    "broken",
    [
        "{name: good, command: 'touch ran'}\n    - {name: bad, comand: 'touch ran'}",
        "{name: bad, comand: 'touch ran'}",
        "{name: bad, command: 'touch {{no_such_thing}}'}",
    ],
)
def test_a_broken_configuration_holds_its_hooks_back_and_says_so(cli: Cli, broken: str) -> None:
    cli.configure(hooks(broken), trust=False)
    cli.json("trust", "--yes")
    result = cli("task", "add", "one", "--label", "agent", "--json")
    assert result.code == 0
    assert result.json["state"] == "ready"
    assert "hookline check" in result.stderr
    assert not (cli.root / "ran").exists()
    assert cli.calls("track-agent-task-lifecycle") == ["ok"]
    assert set(cli.calls("good")) <= {"skipped"}
    assert cli("check").code == 2


def test_an_unknown_point_is_told_by_every_writing_command(cli: Cli) -> None:
    cli.configure(hooks("{name: bad, command: 'touch ran'}", point="task_craeted"), trust=False)
    result = cli("task", "add", "one", "--json")
    assert result.code == 0
    assert "hookline check" in result.stderr


# Answers that make no sense


@pytest.mark.parametrize("answer", ['{"actions": 5}', '{"actions": {"type": "log"}}'])
def test_a_hook_whose_answer_cannot_be_read(cli: Cli, answer: str) -> None:
    cli.put("answer.json", answer)
    cli.configure("hooks:\n  task_created:\n    - {name: odd, command: 'cat answer.json'}\n")
    assert cli("task", "add", "one").code == 0
    assert cli.calls("odd") == ["failed"]
    assert len(cli.events("hook_error")) == 1


@pytest.mark.parametrize(
    "action",
    [
        {"type": "log", "payload": {"type": "task_completed", "nodeId": "T-1"}},
        {"type": "log", "payload": {"type": "fine", "data": 5}},
        {"type": "log", "payload": {}},
        {"type": "create_task", "payload": {"goal": 5}},
        {"type": "create_task", "payload": {"goal": "x", "labels": {"a": 1}}},
        {"type": "create_task", "payload": {"goal": "x", "priority": "high"}},
        {"type": "create_task", "payload": {"goal": "x", "dependsOn": ["T-99"]}},
        {"type": "create_task", "payload": {"goal": "x", "dependsOn": [["T-1"]]}},
        {"type": "update_task", "payload": {"taskId": 5, "action": "start"}},
        {"type": "update_task", "payload": {"taskId": "T-1", "action": "explode"}},
        {"type": "update_task", "payload": {"taskId": "T-1", "action": ["start"]}},
        {"type": "update_task", "payload": {"taskId": "T-1", "action": "claim", "payload": {}}},
        {
            "type": "update_task",
            "payload": {"taskId": "T-1", "action": "add_dependency", "payload": {"toId": 5}},
        },
        {
            "type": "update_task",
            "payload": {"taskId": "T-1", "action": "fail", "payload": {"error": {"a": [1]}}},
        },
        {
            "type": "update_task",
            "payload": {"taskId": "T-1", "action": "cancel", "payload": {"reason": 5}},
        },
    ],
)
def test_an_action_that_makes_no_sense(cli: Cli, action: dict[str, object]) -> None:
    cli.put("answer.json", json.dumps({"actions": [action]}))
    cli.configure("hooks:\n  task_created:\n    - {name: odd, command: 'cat answer.json'}\n")
    assert cli("task", "add", "one").code == 0
    assert len(cli.events("action_error")) == 1
    assert cli.task("T-1")["state"] == "ready"
    assert len(cli.json("task", "list")) == 1
    assert cli.rows("SELECT * FROM dispatches") == []


def test_a_secret_of_a_hook_is_written_down_nowhere(cli: Cli) -> None:
    cli.put(
        "act.sh",
        "#!/bin/sh\n"
        'echo "using $DEPLOY_TOKEN" >&2\n'
        'echo "{\\"actions\\": [{\\"type\\": \\"create_task\\",'
        ' \\"payload\\": {\\"goal\\": \\"use $DEPLOY_TOKEN\\"}}]}"\n',
        0o755,
    )
    cli.configure("hooks: {task_completed: [{name: act, script: act.sh}]}\n")
    cli.add("one")
    cli.json("task", "complete", "T-1", env={"DEPLOY_TOKEN": "s3cr3t-value"})
    assert cli.task("T-2")["goal"] == "use [redacted DEPLOY_TOKEN]"
    ((answer, stdout, stderr),) = cli.calls("act", "answer, stdout, stderr")
    for text in (answer, stdout, stderr):
        assert "s3cr3t-value" not in text
        assert "[redacted DEPLOY_TOKEN]" in text
