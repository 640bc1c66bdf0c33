"""The driver `codex` with the real Codex and a model that answers by a script."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookline.config.types import Agent
from hookline.domain.turns import ModelWait, Usage
from hookline.ports.agents import ToolServer
from tests.agents.model import Call, Reply
from tests.agents.rig import (
    SECRET,
    TOOLS,
    Desk,
    cancelled_once_at_work,
    need_namespaces,
    program,
)

if TYPE_CHECKING:
    from tests.agents.conftest import Script
    from tests.agents.model import ScriptedModel

DONE = Reply(text="all done")


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


def test_a_turn_is_told_while_it_happens_and_summed_up_at_its_end(
    tmp_path: Path, scripted: Script
) -> None:
    model = scripted(
        Reply(text="I write a file. COMPLETE", calls=(add_file("hello.txt", "hello"),)),
        Reply(calls=(shell("cat 'hello.txt'; exit 3"),)),
        Reply(text="all done", usage=(1000, 50)),
    )
    desk = sit(tmp_path, model)
    turn = desk.turn("say hello")
    assert desk.read("hello.txt") == "hello\n"
    assert (turn.error, turn.wait, turn.stop_reason) == (None, None, "end_turn")
    assert turn.text == "all done"
    assert turn.tools == 2
    assert turn.usage == Usage(input_tokens=1200, output_tokens=90, usd=None)
    assert desk.conversations == [turn.conversation]
    assert desk.heard("text") == [("I write a file. COMPLETE", ""), ("all done", "")]
    assert desk.heard("tool") == [("edit", "hello.txt"), ("shell", "cat 'hello.txt'; exit 3")]
    results = [(event.name, event.ok) for event in desk.events if event.type == "tool_result"]
    assert results == [("edit", True), ("shell", False)]


def test_the_model_is_the_profiles_and_warnings_are_told(tmp_path: Path, scripted: Script) -> None:
    model = scripted(DONE)
    desk = sit(tmp_path, model, model="of-mine")
    assert desk.turn().error is None
    assert model.requests[0].body["model"] == "of-mine"
    [(notice, _)] = desk.heard("notice")
    assert notice.startswith("Model metadata for `of-mine` not found.")


def test_what_was_said_before_the_last_tool_is_not_the_last_word(
    tmp_path: Path, scripted: Script
) -> None:
    model = scripted(Reply(text="COMPLETE", calls=(shell("true"),)), Reply(status=503))
    turn = sit(tmp_path, model).turn()
    assert (turn.text, turn.tools) == ("", 1)
    assert turn.wait == ModelWait(kind="overloaded")


def test_a_prompt_may_be_longer_than_an_argument(tmp_path: Path, scripted: Script) -> None:
    model = scripted(DONE)
    prompt = "begin " + "x" * 200_000 + " end"
    assert sit(tmp_path, model).turn(prompt).error is None
    assert prompt in model.requests[0].newest


def test_a_resumed_conversation_knows_its_past_and_counts_only_what_is_new(
    tmp_path: Path, scripted: Script
) -> None:
    model = scripted(Reply(text="noted"), Reply(text="it was 42", usage=(300, 7)), DONE)
    desk = sit(tmp_path, model)
    first = desk.turn("remember 42")
    second = desk.turn("what was it?", conversation=first.conversation)
    third = desk.turn("thanks", conversation=second.conversation)
    assert second.conversation == first.conversation
    assert second.text == "it was 42"
    assert "remember 42" in model.requests[1].history
    used = [(turn.usage.input_tokens, turn.usage.output_tokens) for turn in (first, second, third)]
    assert used == [(100, 20), (300, 7), (100, 20)]


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
    assert notice == f"conversation {conversation} is not known here; the agent begins a new one"


@pytest.mark.parametrize(
    ("permissions", "read_only"), [("full", False), ("work", False), ("full", True)]
)
def test_tools_of_a_server_are_handed_over(
    tmp_path: Path, scripted: Script, permissions: str, read_only: bool
) -> None:
    model = scripted(Reply(calls=(Call("shout", {"text": "hey"}, "mcp__hookline"),)), DONE)
    desk = sit(tmp_path, model, permissions=permissions)
    turn = desk.turn(tools=TOOLS, read_only=read_only)
    assert turn.error is None
    assert f"HEY {SECRET}" in model.requests[1].newest
    assert desk.heard("tool") == [("hookline.shout", '{"text":"hey"}')]


def test_tools_that_do_not_start_fail_the_turn(tmp_path: Path, scripted: Script) -> None:
    turn = sit(tmp_path, scripted(DONE)).turn(tools=ToolServer(("false",), {}))
    assert turn.error
    assert "MCP servers failed to initialize: hookline" in turn.error
    assert len(turn.error) < 400


def test_work_means_its_sandbox_around_the_project(tmp_path: Path, scripted: Script) -> None:
    need_namespaces()
    outside = Path.home() / f".hookline-test-{tmp_path.name}"
    model = scripted(Reply(calls=(shell(f"echo x > inside; echo y > {outside}"),)), DONE)
    desk = sit(tmp_path, model, permissions="work")
    assert desk.turn().error is None
    assert desk.read("inside") == "x\n"
    assert not outside.exists()


@pytest.mark.parametrize(
    ("permissions", "read_only"), [("read", False), ("work", True), ("full", True)]
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
    assert turn.error.startswith("Codex's sandbox cannot work here (bwrap: ")
    assert "`permissions: full`" in turn.error


def test_an_answer_is_held_to_a_schema(tmp_path: Path, scripted: Script) -> None:
    properties = {"ok": {"type": "boolean"}}
    schema = {"type": "object", "properties": properties, "required": ["ok"]}
    model = scripted(Reply(text='{"ok": true}'))
    turn = sit(tmp_path, model).turn(schema={**schema, "additionalProperties": False})
    assert (turn.error, json.loads(turn.text)) == (None, {"ok": True})
    assert model.requests[0].body["text"]["format"]["schema"]["properties"] == properties


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


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(status=401), "the model refused the agent's key (401): unexpected status 401"),
        (
            Reply(status=429, error={"error": {"code": "insufficient_quota", "message": "none"}}),
            "Quota exceeded. Check your plan and billing details.",
        ),
    ],
)
def test_what_waiting_does_not_cure_is_only_an_error(
    tmp_path: Path, scripted: Script, reply: Reply, error: str
) -> None:
    turn = sit(tmp_path, scripted(reply)).turn()
    assert turn.error
    assert turn.error.startswith(error)
    assert turn.wait is None


def test_a_model_that_says_nothing_is_ended_by_the_deadline(
    tmp_path: Path, scripted: Script
) -> None:
    turn = sit(tmp_path, scripted(Reply(hold=True))).turn(timeout=2)
    assert turn.error == "the agent did not end within 2 s; it was killed"
    assert (turn.stop_reason, turn.wait, turn.usage) == ("timeout", None, Usage())


def test_nothing_is_left_of_a_turn_that_is_cancelled_and_it_can_be_resumed(
    tmp_path: Path, scripted: Script
) -> None:
    model = scripted(Reply(calls=(shell("echo $$ > pid; exec sleep 300"),)), DONE)
    desk = sit(tmp_path, model)
    asyncio.run(cancelled_once_at_work(desk, desk.root / "pid"))
    [conversation] = desk.conversations
    turn = desk.turn("go on", conversation=conversation)
    assert (turn.error, turn.conversation) == (None, conversation)
    assert "do it" in model.requests[-1].history
    assert "go on" in model.requests[-1].newest
