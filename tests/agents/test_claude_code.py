"""The driver `claude-code` with the real Claude Code and a model that answers by a script."""

from __future__ import annotations

import asyncio
import json
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from hookline.config.types import Agent
from hookline.domain.sessions.turns import ModelWait, Usage
from hookline.ports.agents import ToolServer
from tests.agents import problems
from tests.agents.model import Call, Reply, Rule
from tests.agents.rig import SECRET, TOOLS, WORD, Desk, cancelled_once_at_work, program

if TYPE_CHECKING:
    from pathlib import Path

    from tests.agents.conftest import Script
    from tests.agents.model import ScriptedModel

DONE = Reply(text="all done")
SHOUT = Call("mcp__hookline__shout", {"text": "hey"})
ANSWER = Call("StructuredOutput", {"ok": True})


def sit(folder: Path, model: ScriptedModel, /, **profile: Any) -> Desk:
    """A desk for Claude Code."""
    desk = Desk(folder, Agent(driver="claude-code", command=program("claude"), **profile))
    desk.env = model.claude_env(desk.home)
    return desk


def bash(line: str) -> Call:
    return Call("Bash", {"command": line, "description": "a command"})


def test_a_turn_is_told_while_it_happens_and_its_conversation_goes_on_later(
    tmp_path: Path, scripted: Script
) -> None:
    """With our tools, the project's own instructions and a prompt too long for an argument."""
    path = str(tmp_path / "project" / "hello.txt")
    written = Call("Write", {"file_path": path, "content": "hello\n"})
    model = scripted(
        Reply(text="I write a file. COMPLETE", calls=(written,)),
        Reply(calls=(bash("cat hello.txt; exit 3"),)),
        Reply(calls=(SHOUT,)),
        Reply(text="all done", usage=(1000, 50)),
        Reply(text="it was 42"),
    )
    desk = sit(tmp_path, model, model="sonnet")
    ran = desk.instruct()
    prompt = "remember 42 " + "x" * 200_000 + " end"
    turn = desk.turn(prompt, tools=TOOLS)
    assert prompt in model.requests[0].newest
    assert WORD in json.dumps(model.requests[0].body)
    assert ran.exists()
    assert desk.read("hello.txt") == "hello\n"
    assert (turn.error, turn.wait, turn.stop_reason) == (None, None, "end_turn")
    assert turn.text == "all done"
    assert turn.tools == 3
    assert (turn.usage.input_tokens, turn.usage.output_tokens) == (1300, 110)
    assert desk.conversations == [turn.conversation]
    assert desk.heard("text") == [("I write a file. COMPLETE", ""), ("all done", "")]
    assert desk.heard("tool") == [
        ("Write", "hello.txt"),
        ("Bash", "cat hello.txt; exit 3"),
        ("mcp__hookline__shout", '{"text":"hey"}'),
    ]
    results = [(event.name, event.ok) for event in desk.events if event.type == "tool_result"]
    assert results == [("Write", True), ("Bash", False), ("mcp__hookline__shout", True)]
    assert f"HEY {SECRET}" in model.requests[3].newest
    assert "sonnet" in model.requests[0].body["model"]

    again = desk.turn("what was it?", conversation=turn.conversation)
    assert (again.conversation, again.text) == (turn.conversation, "it was 42")
    assert "remember 42" in model.requests[4].history
    # It costs only what is new.
    assert (again.usage.input_tokens, again.usage.output_tokens) == (100, 20)
    assert turn.usage.usd
    assert again.usage.usd
    assert 0 < again.usage.usd < turn.usage.usd / 2


@pytest.mark.parametrize(
    "conversation", ["5e0e6f6c-6ff0-4f4e-8f0f-0d5c7d3c1c11", "--dangerously-skip-permissions"]
)
def test_an_unknown_conversation_gives_way_to_a_new_one(
    tmp_path: Path, scripted: Script, conversation: str
) -> None:
    """As it goes on without tools whose server does not start: both are told."""
    desk = sit(tmp_path, scripted(DONE))
    turn = desk.turn(conversation=conversation, tools=ToolServer(("false",), {}))
    assert (turn.error, turn.text) == (None, "all done")
    assert turn.conversation != conversation
    assert desk.conversations[-1] == turn.conversation
    assert [notice for notice, _ in desk.heard("notice")] == [
        f"conversation {conversation} is unknown here; the agent starts a new one",
        "the agent could not start Hookline's tools",
    ]


def test_a_judge_looks_and_answers_by_a_schema_whatever_the_project_says(
    tmp_path: Path, scripted: Script
) -> None:
    """It has our tools, and changes nothing, although its profile may do everything."""
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    model = scripted(*tries(tmp_path), Reply(calls=(SHOUT,)), Reply(calls=(ANSWER,)))
    desk = sit(tmp_path, model, permissions="full")
    ran = desk.instruct()
    turn = desk.turn(read_only=True, tools=TOOLS, schema=schema)
    assert (turn.error, json.loads(turn.text), turn.tools) == (None, {"ok": True}, 4)
    assert not (tmp_path / "w").exists()
    assert "what it may see" in model.requests[3].newest
    assert f"HEY {SECRET}" in model.requests[4].newest
    assert WORD not in json.dumps(model.requests[0].body)
    assert not ran.exists()


def tries(folder: Path) -> list[Reply]:
    """What an agent that may only look tries, and a file that it may see."""
    (folder / "seen.txt").write_text("what it may see")
    return [
        Reply(calls=(Call("Write", {"file_path": str(folder / "w"), "content": "x"}),)),
        Reply(calls=(bash(f"echo x > {folder}/w"),)),
        Reply(calls=(Call("Read", {"file_path": str(folder / "seen.txt")}),)),
    ]


@pytest.mark.parametrize(
    ("permissions", "read_only"),
    [("read", False), pytest.param("work", True, marks=pytest.mark.torture)],
)
def test_who_may_only_look_cannot_change_anything(
    tmp_path: Path, scripted: Script, permissions: str, read_only: bool
) -> None:
    model = scripted(*tries(tmp_path), DONE)
    desk = sit(tmp_path, model, permissions=permissions)
    desk.instruct()
    turn = desk.turn(read_only=read_only)
    assert turn.text == "all done"
    assert not (tmp_path / "w").exists()
    assert "what it may see" in model.requests[3].newest


def test_full_permissions_as_root_name_what_is_missing(tmp_path: Path, scripted: Script) -> None:
    if os.geteuid():
        pytest.skip("only root is refused")
    model = scripted(Reply(calls=(bash("echo x > w"),)), DONE)
    refused = sit(tmp_path / "a", model, permissions="full").turn()
    assert refused.problem
    assert 'IS_SANDBOX: "1"' in refused.problem.help
    desk = sit(tmp_path / "b", model, permissions="full", env={"IS_SANDBOX": "1"})
    assert desk.turn().error is None
    assert desk.read("w") == "x\n"


@pytest.mark.torture
@pytest.mark.parametrize("status", [529, 503, 429])
def test_an_overloaded_model_is_to_be_waited_for(
    tmp_path: Path, scripted: Script, status: int
) -> None:
    turn = sit(tmp_path, scripted(Reply(status=status))).turn()
    assert turn.wait == ModelWait(kind="overloaded")
    assert turn.error
    assert str(status) in turn.error
    assert (turn.text, turn.usage.tokens) == ("", 0)


def test_a_usage_limit_says_until_when(tmp_path: Path, scripted: Script) -> None:
    until = int(time.time()) + 3600
    limit = "anthropic-ratelimit-unified"
    headers = (
        (f"{limit}-status", "rejected"),
        (f"{limit}-reset", str(until)),
        (f"{limit}-representative-claim", "five_hour"),
    )
    desk = sit(tmp_path, scripted(Reply(status=429, headers=headers)))
    # Only those with a subscription have such limits.
    desk.env |= {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "of-nobody"}
    turn = desk.turn()
    assert turn.wait == ModelWait(kind="usage_limit", until=float(until))
    assert turn.error
    assert "5-hour limit" in turn.error


def test_a_refused_key_says_how_to_log_in(tmp_path: Path, scripted: Script) -> None:
    turn = sit(tmp_path, scripted(Reply(problem=problems.KEY))).turn()
    assert turn.problem
    assert (turn.problem.kind, turn.problem.command) == ("key", "claude auth login")
    assert (turn.error, turn.wait) == (turn.problem.told, None)


def test_retries_of_its_own_are_told(tmp_path: Path, scripted: Script) -> None:
    busy = Rule("", Reply(problem=problems.BUSY), times=1)
    desk = sit(tmp_path, scripted(busy, Rule("", DONE)))
    desk.env["CLAUDE_CODE_MAX_RETRIES"] = "2"
    assert desk.turn().text == "all done"
    [(notice, _)] = desk.heard("notice")
    told = "a request to the model failed: overloaded (529); attempt 1 of 2 follows in "
    assert notice.startswith(told)


def test_what_was_said_before_an_error_is_kept(tmp_path: Path, scripted: Script) -> None:
    model = scripted(Reply(text="I look", calls=(bash("true"),)), Reply(status=529))
    turn = sit(tmp_path, model).turn()
    assert (turn.text, turn.tools) == ("I look", 1)
    assert turn.wait == ModelWait(kind="overloaded")
    assert "529" in str(turn.error)


def test_a_model_that_says_nothing_is_ended_by_the_deadline(
    tmp_path: Path, scripted: Script
) -> None:
    turn = sit(tmp_path, scripted(Reply(hold=True))).turn(timeout=2)
    assert turn.error == "the agent timed out after 2 s"
    assert (turn.stop_reason, turn.wait, turn.usage) == ("timeout", None, Usage())


def test_nothing_is_left_of_a_turn_that_is_cancelled_and_it_can_be_resumed(
    tmp_path: Path, scripted: Script
) -> None:
    model = scripted(Reply(calls=(bash("echo $$ > pid; exec sleep 300"),)), DONE)
    desk = sit(tmp_path, model)
    asyncio.run(cancelled_once_at_work(desk, desk.root / "pid", kept=True))
    [conversation] = desk.conversations
    turn = desk.turn("go on", conversation=conversation)
    assert (turn.error, turn.conversation) == (None, conversation)
    assert "do it" in model.requests[-1].history
    assert "go on" in model.requests[-1].newest
