"""Drivers that read JSON lines, with programs that print anything but what they should."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from hookline.adapters.agents.lines import LINE_LIMIT, OutputLines
from hookline.config.types import Agent
from hookline.domain.sessions.turns import Usage
from hookline.ports.agents import ToolServer
from tests.agents.rig import Desk, cancelled_once_at_work, until_gone
from tests.groups import none_left

if TYPE_CHECKING:
    from pathlib import Path

DRIVERS = ("claude-code", "codex")
both = pytest.mark.parametrize("driver", DRIVERS)

THREAD = "01a1dff1-0514-7402-8f40-6ad227316c9b"
GOOD = {
    "claude-code": (
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "fine"}]}},
        {"type": "result", "subtype": "success", "result": "fine", "future": {"field": []}},
    ),
    "codex": (
        {"type": "thread.started", "thread_id": THREAD},
        {"type": "item.completed", "item": {"type": "agent_message", "text": "fine"}},
        {"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 2}},
    ),
}


def fake(folder: Path, driver: Any, script: str) -> Desk:
    """An agent whose program is a shell script; it is given $GOOD, a whole and good turn."""
    folder.mkdir(exist_ok=True)
    path = folder / "fake-agent"
    path.write_text(f"#!/bin/sh\ncat > prompt\n{script}\n")
    path.chmod(0o755)
    desk = Desk(folder, Agent(driver=driver, command=str(path)))
    desk.env = {"GOOD": "\n".join(map(json.dumps, GOOD[driver]))}
    return desk


@both
def test_lines_that_are_no_messages_are_skipped_and_told(tmp_path: Path, driver: str) -> None:
    noise = """
echo 'Welcome to the agent!'; echo '{"half": '; echo '[1, 2]'; echo; printf '\\377\\376\\n'
echo '{"type": "assistant", "message": 7}'; echo '{"type": "item.completed", "item": []}'
echo '{"type": "of the future"}'
printf '%s' "$GOOD"
"""
    desk = fake(tmp_path, driver, noise)
    turn = desk.turn("do it ü")
    assert (turn.error, turn.text) == (None, "fine")
    assert desk.read("prompt") == "do it ü"
    [(notice, _)] = desk.heard("notice")
    assert notice == "skipped 5 lines of unreadable agent output: Welcome to the agent!"


@both
@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("exit 0", "the agent ended without a result"),
        ('printf \'{"type": "resu\'', "the agent ended without a result"),
        ("echo out of luck >&2; exit 3", "the agent exited 3: out of luck"),
        ('echo "$GOOD"; exit 3', "the agent exited 3"),
        ("kill -9 $$", "the agent was killed by signal 9"),
    ],
)
def test_a_turn_without_its_end_is_an_error(
    tmp_path: Path, driver: str, script: str, error: str
) -> None:
    turn = fake(tmp_path, driver, script).turn()
    assert (turn.error, turn.stop_reason, turn.wait) == (error, "error", None)


@both
def test_errors_are_bounded(tmp_path: Path, driver: str) -> None:
    script = "head -c 100000 /dev/zero | tr '\\0' x >&2; exit 1"
    error = fake(tmp_path, driver, script).turn().error
    assert error
    assert error.startswith("the agent exited 1: xxx")
    assert len(error) < 400


@both
def test_a_program_that_is_missing_is_an_error(tmp_path: Path, driver: Any) -> None:
    turn = Desk(tmp_path, Agent(driver=driver, command="no-such-agent")).turn()
    assert turn.problem
    assert "cannot start no-such-agent: program not found" in turn.problem.message
    assert (turn.problem.kind, turn.error) == ("missing", turn.problem.told)
    assert turn.problem.command.startswith("npm install -g @")


@both
@pytest.mark.parametrize("code", [126, 127])
def test_a_program_that_a_shell_cannot_start_needs_a_person(
    tmp_path: Path, driver: str, code: int
) -> None:
    turn = fake(tmp_path, driver, f"echo not there >&2; exit {code}").turn()
    assert turn.problem
    assert (turn.problem.kind, turn.wait) == ("missing", None)
    assert f"the agent exited {code}: not there" in turn.problem.message
    began = fake(tmp_path / "later", driver, f'echo "$GOOD"; exit {code}').turn()
    assert (began.error, began.problem) == (f"the agent exited {code}", None)


@both
def test_a_program_that_hangs_is_ended_by_the_deadline(tmp_path: Path, driver: str) -> None:
    turn = fake(tmp_path, driver, "sleep 300").turn(timeout=0.5)
    assert turn.error == "the agent timed out after 0.5 s"


@both
def test_a_turn_that_is_cancelled_takes_along_who_left_the_group(
    tmp_path: Path, driver: str
) -> None:
    desk = fake(tmp_path, driver, "setsid sh -c 'echo $$ > pid; exec sleep 300' & wait")
    asyncio.run(cancelled_once_at_work(desk, desk.root / "pid"))


@both
def test_who_is_left_behind_by_a_turn_that_ended_is_killed(tmp_path: Path, driver: str) -> None:
    script = """
setsid sh -c 'echo $$ > pid; exec sleep 300' > left 2>&1 &
while ! [ -s pid ]; do :; done
echo "$GOOD"
"""
    desk = fake(tmp_path, driver, script)
    assert desk.turn().error is None
    asyncio.run(until_gone(int(desk.read("pid"))))


def test_arguments_of_the_profile_come_last_and_are_no_shell_text(tmp_path: Path) -> None:
    desk = fake(tmp_path, "claude-code", 'printf "%s\\n" "$@" > arguments; echo "$GOOD"')
    desk = Desk(
        tmp_path / "b",
        Agent(
            driver="claude-code",
            command=f"{tmp_path}/fake-agent",
            args=["--effort", "$(touch pwned) high"],
        ),
    )
    desk.env = {"GOOD": json.dumps(GOOD["claude-code"][1])}
    assert desk.turn().error is None
    assert desk.read("arguments").splitlines()[-2:] == ["--effort", "$(touch pwned) high"]
    assert not (desk.root / "pwned").exists()


@both
def test_a_servers_secrets_stand_on_no_command_line(tmp_path: Path, driver: str) -> None:
    desk = fake(tmp_path, driver, 'printf "%s\\n" "$@" > arguments; echo "$GOOD"')
    desk.turn(tools=ToolServer(("hookline", "mcp"), {"HOOKLINE_KEY": "hush-hush"}))
    assert "hush-hush" not in desk.read("arguments")
    assert "hookline" in desk.read("arguments")


def test_a_thread_that_is_no_name_is_not_taken_for_one(tmp_path: Path) -> None:
    line = json.dumps({"type": "thread.started", "thread_id": "../../../etc/passwd"})
    desk = fake(tmp_path, "codex", f"echo '{line}'; echo \"$GOOD\" | tail -n 2")
    turn = desk.turn()
    assert (turn.error, turn.conversation, desk.conversations) == (None, None, [])
    assert turn.usage == Usage(input_tokens=1, output_tokens=2)


def test_tools_that_run_beside_each_other_are_one_step(tmp_path: Path) -> None:
    def told(what: str, name: str) -> str:
        item = {"id": name, "type": "command_execution", "command": name}
        return f"echo '{json.dumps({'type': f'item.{what}', 'item': item})}'"

    order = ("started a", "started b", "completed a", "completed b", "started c", "completed c")
    script = "\n".join(told(*each.split()) for each in order)
    turn = fake(tmp_path / "fits", "codex", f'{script}\necho "$GOOD"').turn(max_turns=3)
    assert (turn.text, turn.error, turn.tools) == ("fine", None, 3)
    # It is stopped while it still works, or has ended by then: both are too many.
    for number, end in enumerate(("exec sleep 300", "exit 0", 'echo "$GOOD"')):
        desk = fake(tmp_path / f"over-{number}", "codex", f"{script}\n{end}")
        turn = desk.turn(max_turns=1)
        assert turn.error == "the agent was stopped after 1 step, the limit of a turn"
        assert (turn.stop_reason, turn.wait) == ("max_turns", None)
        assert none_left(desk.groups[-1].pgid)


def test_claudes_steps_are_counted_also_where_it_counts_anew(tmp_path: Path) -> None:
    def said(name: str, **more: Any) -> dict[str, Any]:
        content = [{"type": "text", "text": name}]
        return {"type": "assistant", "message": {"id": name, "content": content}, **more}

    ended = {"type": "result", "subtype": "success", "num_turns": 1}
    lines = [said("a"), said("of a subagent", parent_tool_use_id="t"), said("a"), ended]
    lines += [said("b"), ended]
    given = "\n".join(map(json.dumps, lines))
    desk = fake(tmp_path, "claude-code", 'echo "$LINES_OF_IT"; [ -z "$HANGS" ] || exec sleep 300')
    desk.env = {"LINES_OF_IT": given}
    assert desk.turn(max_turns=2).error is None
    desk.env["HANGS"] = "yes"
    turn = desk.turn(max_turns=1)
    assert turn.error == "the agent was stopped after 1 step, the limit of a turn"
    assert (turn.stop_reason, turn.wait) == ("max_turns", None)
    assert none_left(desk.groups[-1].pgid)


def test_a_complaint_about_the_model_does_not_excuse_too_many_steps(tmp_path: Path) -> None:
    complaint = json.dumps({"type": "error", "message": "exceeded rate limit, retrying"})
    words = json.dumps(GOOD["codex"][1])
    tool = json.dumps({"type": "item.completed", "item": {"id": "a", "type": "web_search"}})
    desk = fake(tmp_path, "codex", f"echo '{complaint}\n{tool}\n{words}'; exec sleep 300")
    turn = desk.turn(max_turns=1)
    assert (turn.stop_reason, turn.wait) == ("max_turns", None)


def test_words_of_a_subagent_or_of_the_program_are_not_the_agents(tmp_path: Path) -> None:
    def said(text: str, **more: Any) -> str:
        content = [{"type": "text", "text": text}]
        message = {"id": "m1", "content": content}
        return json.dumps({"type": "assistant", "message": message, **more})

    lines = [
        said("half of it"),
        said("COMPLETE", parent_tool_use_id="toolu_1"),
        said("COMPLETE", is_api_error_message=True),
        said("the rest"),
        json.dumps({"type": "user", "message": {"content": "COMPLETE"}}),
        json.dumps({"type": "result", "subtype": "success"}),
    ]
    desk = fake(tmp_path, "claude-code", 'echo "$LINES_OF_IT"')
    desk.env = {"LINES_OF_IT": "\n".join(lines)}
    assert desk.turn().text == "half of it\nthe rest"


def test_lines_are_cut_wherever_the_pieces_end_and_bounded() -> None:
    heard: list[bytes] = []
    lines = OutputLines(heard.append)
    for piece in (b"a", b"b\nc", b"\n\n  \nd\n", b"x" * LINE_LIMIT, b"x" * 9, b"\ne", b"f"):
        lines.feed(piece)
    assert heard == [b"ab", b"c", b"d"]
    lines.end()
    assert heard == [b"ab", b"c", b"d", b"ef"]
    assert (lines.skipped, lines.first_skipped) == (1, "x" * 200)
