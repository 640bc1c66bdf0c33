"""The driver `codex` with the real Codex and a model that answers by a script."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookline.config.types import Agent
from hookline.domain.sessions.turns import ModelWait, Usage
from hookline.ports.agents import ToolServer
from tests.agents import problems
from tests.agents.model import Call, Reply
from tests.agents.rig import (
    SECRET,
    TOOLS,
    WORD,
    Desk,
    cancelled_once_at_work,
    need_namespaces,
    program,
)

if TYPE_CHECKING:
    from tests.agents.conftest import Script
    from tests.agents.model import ScriptedModel

DONE = Reply(text="all done")
SHOUT = Call("shout", {"text": "hey"}, "mcp__hookline")


def sit(folder: Path, model: ScriptedModel, /, **profile: Any) -> Desk:
    """A desk for Codex; whoever tests its sandbox says what it permits."""
    given = {"permissions": "full", "command": program("codex"), **profile}
    desk = Desk(folder, Agent(driver="codex", **given))
    desk.env = model.codex_home(desk.home)
    return desk


def shell(line: str) -> Call:
    return Call("exec_command", {"cmd": line})


def add_file(name: str, line: str) -> Call:
    return Call("apply_patch", f"*** Begin Patch\n*** Add File: {name}\n+{line}\n*** End Patch\n")


def test_a_turn_is_told_while_it_happens_and_its_conversation_goes_on_later(
    tmp_path: Path, scripted: Script
) -> None:
    """With our tools, the project's own instructions and a prompt too long for an argument."""
    model = scripted(
        Reply(text="I write a file. COMPLETE", calls=(add_file("hello.txt", "hello"),)),
        Reply(calls=(shell("cat 'hello.txt'; exit 3"),)),
        Reply(calls=(SHOUT,)),
        Reply(text="all done", usage=(1000, 50)),
        Reply(text="it was 42", usage=(300, 7)),
        DONE,
    )
    desk = sit(tmp_path, model)
    desk.instruct()
    prompt = "remember 42 " + "x" * 200_000 + " end"
    turn = desk.turn(prompt, tools=TOOLS)
    assert prompt in model.requests[0].newest
    assert WORD in json.dumps(model.requests[0].body)
    assert desk.read("hello.txt") == "hello\n"
    assert (turn.error, turn.wait, turn.stop_reason) == (None, None, "end_turn")
    assert turn.text == "all done"
    assert turn.tools == 3
    assert turn.usage == Usage(input_tokens=1300, output_tokens=110, usd=None)
    assert desk.conversations == [turn.conversation]
    assert desk.heard("text") == [("I write a file. COMPLETE", ""), ("all done", "")]
    assert desk.heard("tool") == [
        ("edit", "hello.txt"),
        ("shell", "cat 'hello.txt'; exit 3"),
        ("hookline.shout", '{"text":"hey"}'),
    ]
    results = [(event.name, event.ok) for event in desk.events if event.type == "tool_result"]
    assert results == [("edit", True), ("shell", False), ("hookline.shout", True)]
    assert f"HEY {SECRET}" in model.requests[3].newest

    second = desk.turn("what was it?", conversation=turn.conversation)
    third = desk.turn("thanks", conversation=second.conversation)
    assert (second.conversation, second.text) == (turn.conversation, "it was 42")
    assert "remember 42" in model.requests[4].history
    # Only what is new counts.
    used = [(each.usage.input_tokens, each.usage.output_tokens) for each in (second, third)]
    assert used == [(300, 7), (100, 20)]


def test_a_judge_answers_by_a_schema_whatever_the_project_says(
    tmp_path: Path, scripted: Script
) -> None:
    """It has our tools, and the model of its profile; what Codex warns of is told."""
    properties = {"ok": {"type": "boolean"}}
    schema = {"type": "object", "properties": properties, "required": ["ok"]}
    model = scripted(Reply(calls=(SHOUT,)), Reply(text='{"ok": true}'))
    desk = sit(tmp_path, model, model="of-mine")
    desk.instruct()
    closed = {**schema, "additionalProperties": False}
    turn = desk.turn(schema=closed, read_only=True, tools=TOOLS)
    assert (turn.error, json.loads(turn.text)) == (None, {"ok": True})
    assert f"HEY {SECRET}" in model.requests[1].newest
    first = model.requests[0].body
    assert first["text"]["format"]["schema"]["properties"] == properties
    assert first["model"] == "of-mine"
    assert WORD not in json.dumps(first)
    [(notice, _)] = desk.heard("notice")
    assert notice.startswith("Model metadata for `of-mine` not found.")


def test_what_was_said_before_the_last_tool_is_not_the_last_word(
    tmp_path: Path, scripted: Script
) -> None:
    model = scripted(Reply(text="COMPLETE", calls=(shell("true"),)), Reply(status=503))
    turn = sit(tmp_path, model).turn()
    assert (turn.text, turn.tools) == ("", 1)
    assert turn.wait == ModelWait(kind="overloaded")


@pytest.mark.parametrize(
    "conversation",
    ["01a1dff1-0514-7402-8f40-6ad227316c9b", "--dangerously-bypass-approvals-and-sandbox"],
)
def test_an_unknown_conversation_gives_way_to_a_new_one(
    tmp_path: Path, scripted: Script, conversation: str
) -> None:
    desk = sit(tmp_path, scripted(DONE))
    turn = desk.turn(conversation=conversation)
    assert (turn.error, turn.text) == (None, "all done")
    assert turn.conversation != conversation
    assert desk.conversations[-1] == turn.conversation
    [(notice, _)] = desk.heard("notice")
    assert notice == f"conversation {conversation} is unknown here; the agent starts a new one"


def test_tools_that_do_not_start_fail_the_turn(tmp_path: Path, scripted: Script) -> None:
    turn = sit(tmp_path, scripted(DONE)).turn(tools=ToolServer(("false",), {}))
    assert turn.error
    assert "MCP servers failed to initialize: hookline" in turn.error
    assert len(turn.error) < 400


def test_work_means_its_sandbox_around_the_project(tmp_path: Path, scripted: Script) -> None:
    need_namespaces()
    outside = Path.home() / f".hookline-test-{tmp_path.name}"
    line = f"echo x > inside; echo y > {outside}"
    model = scripted(Reply(calls=(shell(line),)), Reply(calls=(SHOUT,)), DONE)
    desk = sit(tmp_path, model, permissions="work")
    assert desk.turn(tools=TOOLS).error is None
    assert f"HEY {SECRET}" in model.requests[2].newest
    assert desk.read("inside") == "x\n"
    assert not outside.exists()


@pytest.mark.parametrize(
    ("permissions", "read_only"),
    [("read", False), pytest.param("work", True, marks=pytest.mark.torture), ("full", True)],
)
def test_who_may_only_look_cannot_change_anything(
    tmp_path: Path, scripted: Script, permissions: str, read_only: bool
) -> None:
    need_namespaces()
    (tmp_path / "seen.txt").write_text("what it may see")
    model = scripted(
        Reply(calls=(add_file("w", "x"),)),
        Reply(calls=(shell(f"echo x > w; cat {tmp_path}/seen.txt"),)),
        DONE,
    )
    desk = sit(tmp_path, model, permissions=permissions)
    turn = desk.turn(read_only=read_only)
    assert turn.text == "all done"
    assert not (desk.root / "w").exists()
    assert "what it may see" in model.requests[2].newest


def test_a_resumed_conversation_is_held_to_the_permissions_of_its_turn(
    tmp_path: Path, scripted: Script
) -> None:
    need_namespaces()
    model = scripted(DONE, Reply(calls=(shell("echo x > w"),)), DONE)
    desk = sit(tmp_path, model)
    first = desk.turn()
    assert desk.turn(conversation=first.conversation, read_only=True).text == "all done"
    assert not (desk.root / "w").exists()


def test_a_sandbox_that_cannot_work_is_an_error_that_says_so(
    tmp_path: Path, scripted: Script
) -> None:
    need_namespaces()
    starter = tmp_path / "starter"
    starter.write_text('#!/bin/sh\necho 0 > /proc/sys/user/max_user_namespaces\nexec "$@"\n')
    starter.chmod(0o755)
    model = scripted(Reply(calls=(shell("echo x > w"),)), DONE)
    command = f"unshare -Ur {starter} {program('codex')}"
    turn = sit(tmp_path, model, permissions="work", command=command).turn()
    assert turn.error
    assert turn.error.startswith(
        "The sandbox of Codex cannot work here, so no command of it runs ("
    )
    assert "`permissions: full`" in turn.error
    assert turn.problem
    assert turn.problem.kind == "sandbox"


@pytest.mark.torture
@pytest.mark.parametrize("status", [529, 503, 500, 429])
def test_an_overloaded_model_is_to_be_waited_for(
    tmp_path: Path, scripted: Script, status: int
) -> None:
    turn = sit(tmp_path, scripted(Reply(status=status))).turn()
    assert turn.wait == ModelWait(kind="overloaded")
    assert turn.error


def test_a_usage_limit_says_until_when(tmp_path: Path, scripted: Script) -> None:
    until = int(time.time()) + 7200
    problem = {"type": "usage_limit_reached", "message": "The usage limit has been reached"}
    error = {"error": {**problem, "plan_type": "plus", "resets_at": until}}
    turn = sit(tmp_path, scripted(Reply(status=429, error=error))).turn()
    assert turn.error
    assert "usage limit" in turn.error
    assert turn.wait
    assert turn.wait.kind == "usage_limit"
    assert turn.wait.until == pytest.approx(until, abs=60)


@pytest.mark.parametrize(("problem", "kind"), [(problems.KEY, "key"), (problems.CREDIT, "credit")])
def test_what_waiting_does_not_cure_is_left_to_a_person(
    tmp_path: Path, scripted: Script, problem: str, kind: str
) -> None:
    turn = sit(tmp_path, scripted(Reply(problem=problem))).turn()
    assert turn.problem
    assert (turn.problem.kind, turn.wait, turn.error) == (kind, None, turn.problem.told)


def test_a_model_that_says_nothing_is_ended_by_the_deadline(
    tmp_path: Path, scripted: Script
) -> None:
    turn = sit(tmp_path, scripted(Reply(hold=True))).turn(timeout=2)
    assert turn.error == "the agent timed out after 2 s"
    assert (turn.stop_reason, turn.wait, turn.usage) == ("timeout", None, Usage())


def test_nothing_is_left_of_a_turn_that_is_cancelled_and_it_can_be_resumed(
    tmp_path: Path, scripted: Script
) -> None:
    model = scripted(Reply(calls=(shell("echo $$ > pid; exec sleep 300"),)), DONE)
    desk = sit(tmp_path, model)
    asyncio.run(cancelled_once_at_work(desk, desk.root / "pid", kept=True))
    [conversation] = desk.conversations
    turn = desk.turn("go on", conversation=conversation)
    assert (turn.error, turn.conversation) == (None, conversation)
    assert "do it" in model.requests[-1].history
    assert "go on" in model.requests[-1].newest
