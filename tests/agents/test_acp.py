"""The driver `acp`, with an agent that speaks the protocol by its own library, well or badly."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookline.adapters.agents.local_agents import LocalAgents
from hookline.adapters.processes.identity import is_alive
from hookline.adapters.processes.process import LocalProcesses
from hookline.config.types import Agent
from hookline.domain.sessions.turns import AgentEvent, Usage
from hookline.flows.effects import Gated
from hookline.ports.agents import ToolServer, TurnRequest
from tests.groups import none_left

if TYPE_CHECKING:
    from hookline.domain.sessions.turns import AgentTurn
    from hookline.ports.processes import ProcessGroup

FAKE = Path(__file__).with_name("fake_acp.py")


class Desk:
    """One agent, and everything that it and its driver tell."""

    def __init__(self, folder: Path, behaviour: str = "works", **profile: Any) -> None:
        self.folder = folder
        command = f"{sys.executable} {FAKE}"
        agent = Agent(**{"driver": "acp", "command": command, "args": [behaviour], **profile})
        processes = Gated(LocalProcesses(str(folder / "blobs")))
        self._agents = LocalAgents({"ada": agent}, None, str(folder), processes)
        self.groups: list[ProcessGroup] = []
        self.events: list[AgentEvent] = []
        self.conversations: list[str] = []

    def turn(self, prompt: str = "fix it", **more: Any) -> AgentTurn:
        return asyncio.run(self.ask(prompt, **more))

    async def ask(self, prompt: str = "fix it", **more: Any) -> AgentTurn:
        request = TurnRequest(
            prompt=prompt,
            env={"PATH": os.environ["PATH"]},
            on_start=self.groups.append,
            on_event=self.events.append,
            on_conversation=self._began,
            **{"timeout": 60, **more},
        )
        return await self._agents.turn("ada", request)

    def _began(self, conversation: str) -> None:
        # The prompt must not be on its way before the conversation can be stored.
        assert self.methods()[-1:] != ["prompt"]
        self.conversations.append(conversation)

    def told(self) -> list[dict[str, Any]]:
        """What the agent was told, in order."""
        path = self.folder / "told.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def methods(self) -> list[str]:
        return [told["method"] for told in self.told()]

    def notices(self) -> list[str]:
        return [event.text for event in self.events if event.type == "notice"]


def test_a_turn_gives_the_final_words_the_tools_and_the_cost(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    turn = desk.turn('fix "it"\nnow ü')
    assert (turn.text, turn.error, turn.stop_reason) == ("It is done.", None, "end_turn")
    assert turn.conversation == "conversation-1"
    assert desk.conversations == ["conversation-1"]
    assert turn.tools == 2
    assert turn.usage == Usage(input_tokens=37, output_tokens=9, cached_tokens=7, usd=1.75)
    assert desk.told()[-1]["text"] == 'fix "it"\nnow ü'
    assert desk.events == [
        AgentEvent(type="text", text="I look at it. "),
        AgentEvent(type="tool", name="write", detail="make it", id="t1"),
        AgentEvent(type="tool_result", name="write", detail="make it", id="t1"),
        AgentEvent(type="tool", name="test", id="t2"),
        AgentEvent(type="tool_result", name="test", ok=False, id="t2"),
        AgentEvent(type="text", text="It is "),
        AgentEvent(type="text", text="done."),
    ]


def test_the_agent_works_in_its_folder_with_our_tools(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    desk = Desk(tmp_path)
    tools = ToolServer(("/bin/hookline", "mcp", "--tools", "core"), {"HOOKLINE_RUN_ID": "R-1"})
    assert desk.turn(cwd=str(tmp_path / "tree"), tools=tools).error is None
    desk.folder = tmp_path / "tree"
    new = next(told for told in desk.told() if told["method"] == "new")
    assert new["cwd"] == str(tmp_path / "tree")
    (server,) = new["servers"]
    assert (server["name"], server["command"]) == ("hookline", "/bin/hookline")
    assert server["args"] == ["mcp", "--tools", "core"]
    given = {one["name"]: one["value"] for one in server["env"]}
    assert (given["HOOKLINE_RUN_ID"], given["HOOKLINE_AGENT"]) == ("R-1", "ada")


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("/tmp/a.py is broken", "The task: /tmp/a.py is broken"),
        ("/review the diff", "/review the diff"),
        ("lone \udc80 surrogate", "lone ? surrogate"),
    ],
)
def test_a_path_is_no_command_of_the_agent(tmp_path: Path, prompt: str, told: str) -> None:
    desk = Desk(tmp_path)
    desk.turn(prompt)
    assert desk.told()[-1]["text"] == told


# Conversations that go on


def test_a_loaded_conversation_does_not_repeat_itself(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "loads")
    turn = desk.turn(conversation="old-7")
    assert desk.methods() == ["initialize", "load", "prompt"]
    assert (turn.conversation, turn.text, turn.tools) == ("old-7", "It is done.", 2)
    assert turn.usage.usd == 0.25
    assert "old words" not in "".join(event.text for event in desk.events)


def test_a_conversation_is_resumed_without_its_history_where_that_is_possible(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path, "resumes")
    turn = desk.turn(conversation="old-7")
    assert desk.methods() == ["initialize", "resume", "prompt"]
    assert (turn.conversation, turn.text) == ("old-7", "It is done.")
    assert turn.usage.usd is None  # it tells the cost of all turns, and not what the last was


@pytest.mark.parametrize(
    ("behaviour", "notice"),
    [("works", "the agent cannot resume a conversation"), ("forgets", "Resource not found")],
)
def test_a_lost_conversation_is_told_and_a_new_one_begins(
    tmp_path: Path, behaviour: str, notice: str
) -> None:
    desk = Desk(tmp_path, behaviour)
    turn = desk.turn(conversation="old-7")
    assert (turn.conversation, turn.text, turn.error) == ("conversation-1", "It is done.", None)
    assert desk.conversations == ["conversation-1"]
    (told,) = desk.notices()
    assert notice in told


# What the agent may do

NO = "edit=no execute=no delete=no other=no switch_mode=no"


@pytest.mark.parametrize(
    ("permissions", "read_only", "heard"),
    [
        ("read", False, f"read=once search=once {NO}"),
        ("full", True, f"read=once search=once {NO}"),
        (
            "work",
            False,
            "read=once search=once edit=once execute=once delete=once other=once switch_mode=once",
        ),
        (
            "full",
            False,
            "read=always search=always edit=always execute=always delete=always other=always"
            " switch_mode=always",
        ),
    ],
)
def test_questions_are_answered_by_the_permissions(
    tmp_path: Path, permissions: str, read_only: bool, heard: str
) -> None:
    desk = Desk(tmp_path, "asks", permissions=permissions)
    assert desk.turn(read_only=read_only).text == heard
    refused = [notice for notice in desk.notices() if notice.startswith("refused")]
    assert len(refused) == heard.count("=no")


def test_without_a_way_to_say_no_nothing_is_allowed(tmp_path: Path) -> None:
    assert Desk(tmp_path, "allows_only").turn(read_only=True).text == "cancelled"


def test_a_read_only_agent_is_put_into_its_read_only_mode(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "modes")
    desk.turn(read_only=True)
    assert desk.methods() == ["initialize", "new", "mode", "prompt"]
    assert desk.told()[2]["mode"] == "read-only"


def test_a_model_that_cannot_be_chosen_is_told(tmp_path: Path) -> None:
    desk = Desk(tmp_path, model="large")
    assert desk.turn().error is None
    assert desk.notices() == [
        "the agent does not let Hookline choose its model; try `args` or `env`"
    ]


def test_a_model_is_chosen_among_those_that_the_agent_has(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "models", model="large")
    assert desk.turn().error is None
    chosen = next(told for told in desk.told() if told["method"] == "option")
    assert (chosen["option"], chosen["value"]) == ("m", "large")
    (tmp_path / "told.jsonl").unlink()
    problem = Desk(tmp_path, "models", model="huge").turn().problem
    assert problem
    assert problem.kind == "model"
    assert "(there is no 'huge'; there is small, large)" in problem.message


def test_our_files_are_not_offered(tmp_path: Path) -> None:
    turn = Desk(tmp_path, "wants_files").turn()
    assert (turn.text, turn.stop_reason, turn.error) == ("Method not found", "max_tokens", None)


# Endings


def test_a_refusal_is_an_answer(tmp_path: Path) -> None:
    turn = Desk(tmp_path, "refuses").turn()
    assert (turn.text, turn.stop_reason, turn.error) == ("I will not.", "refusal", None)


@pytest.mark.parametrize(
    ("behaviour", "reason", "error"),
    [
        ("stops", "cancelled", "the agent ended its turn: cancelled"),
        ("silent", "end_turn", "the agent ended its turn without saying anything or using a tool"),
        ("broken", "error", "the agent reports: Internal error (no such file)"),
        ("dies", "error", "the agent exited 3: a bad end"),
        ("newer", "error", "the agent speaks version 2 of the protocol, not 1"),
        (
            "locked",
            "error",
            "The agent is not logged in (Authentication required: no account)."
            " Log in to it: Run `fake login`.",
        ),
    ],
)
def test_what_went_wrong_is_told(tmp_path: Path, behaviour: str, reason: str, error: str) -> None:
    turn = Desk(tmp_path, behaviour).turn()
    assert (turn.stop_reason, turn.error, turn.wait) == (reason, error, None)
    assert turn.text == ("half" if behaviour == "dies" else "")


@pytest.mark.parametrize(
    ("behaviour", "kind", "words"),
    [
        ("limited", "usage_limit", "You have reached your usage limit"),
        ("overloaded", "overloaded", "Internal error (529 Overloaded)"),
        ("throttled", "overloaded", "Slow down"),
    ],
)
def test_a_model_that_takes_no_more_is_waited_for(
    tmp_path: Path, behaviour: str, kind: str, words: str
) -> None:
    turn = Desk(tmp_path, behaviour).turn()
    assert turn.wait is not None
    assert turn.wait.kind == kind
    assert words in str(turn.error)


@pytest.mark.parametrize(
    ("profile", "error"),
    [
        (
            {"command": "no-such-program acp"},
            "The agent cannot be started (cannot start no-such-program: ",
        ),
        ({"command": None}, "`driver: acp` needs a `command`"),
        ({"command": "sh -c 'echo oh dear >&2; exit 4'"}, "the agent exited 4: oh dear"),
        ({"command": "true", "args": []}, "the agent exited 0"),
        ({"command": "an 'open quote"}, "the agent cannot be started: No closing quotation"),
        ({"command": "cat", "args": []}, "the agent reports: Method not found"),
    ],
)
def test_a_program_that_is_no_agent_is_told(
    tmp_path: Path, profile: dict[str, Any], error: str
) -> None:
    turn = Desk(tmp_path, **profile).turn()
    assert str(turn.error).startswith(error)


def test_what_is_no_message_is_told_once_and_passed_over(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "garbles")
    turn = desk.turn()
    assert (turn.text, turn.error, turn.tools) == ("It is done.", None, 2)
    assert desk.notices() == ["the agent printed something that is not a message: loading..."]


@pytest.mark.parametrize(
    ("behaviour", "problem"),
    [("floods", "1000 lines that are not messages"), ("endless", "a line longer than 16 MiB")],
)
def test_floods_end_the_turn(tmp_path: Path, behaviour: str, problem: str) -> None:
    desk = Desk(tmp_path, behaviour)
    turn = desk.turn()
    assert problem in str(turn.error)
    assert not is_alive(desk.groups[0])


def test_an_agent_that_takes_too_many_steps_is_cancelled_in_order(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "toils")
    turn = desk.turn(max_turns=3)
    assert turn.error == "the agent was stopped after 3 steps, the limit of a turn"
    assert (turn.stop_reason, turn.wait) == ("max_turns", None)
    assert desk.methods()[-1] == "cancel"
    assert none_left(desk.groups[0].pgid)
    # Two tools at once are one step.
    assert [event.name for event in desk.events if event.type == "tool_result"][:6] == [
        f"dig {number}{half}" for number in (1, 2, 3) for half in "ab"
    ]


def test_steps_of_the_past_are_not_counted(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "loads")
    assert desk.turn(conversation="old-7", max_turns=3).error is None
    # The last words are a step too.
    turn = desk.turn(conversation="old-7", max_turns=2)
    assert (turn.stop_reason, turn.tools) == ("max_turns", 2)


def test_a_hanging_agent_is_killed_with_its_children(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "hangs")
    turn = desk.turn(timeout=2)
    assert turn.error == "the agent timed out after 2 s"
    assert none_left(desk.groups[0].pgid)


@pytest.mark.parametrize("behaviour", ["waits", "hangs"])
def test_a_cancelled_turn_is_cancelled_in_order_if_the_agent_obeys(
    tmp_path: Path, behaviour: str
) -> None:
    desk = Desk(tmp_path, behaviour)

    async def cancel_when_it_speaks() -> None:
        turn = asyncio.create_task(desk.ask())
        while not desk.events and not turn.done():
            await asyncio.sleep(0.01)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn

    asyncio.run(cancel_when_it_speaks())
    assert desk.methods()[-1] == "cancel"
    assert none_left(desk.groups[0].pgid)


def test_a_turn_can_be_cancelled_before_the_agent_speaks(tmp_path: Path) -> None:
    desk = Desk(tmp_path, command="sleep 600", args=[])

    async def cancel_when_it_started() -> None:
        turn = asyncio.create_task(desk.ask())
        while not desk.groups and not turn.done():
            await asyncio.sleep(0.01)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn

    asyncio.run(cancel_when_it_started())
    assert none_left(desk.groups[0].pgid)
