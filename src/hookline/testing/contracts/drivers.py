"""What every driver of agents does: a turn, the next one, one that fails, and what they used."""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING, Literal

import msgspec
import pytest

from hookline.adapters.agents.local_agents import LocalAgents
from hookline.adapters.processes.identity import kill_group
from hookline.adapters.processes.process import LocalProcesses
from hookline.domain.sessions.turns import Usage
from hookline.plugins import DRIVERS
from hookline.ports.agents import TurnRequest

if TYPE_CHECKING:
    from pathlib import Path

    from hookline.config.types import Agent
    from hookline.domain.sessions.turns import AgentEvent, AgentTurn
    from hookline.ports.processes import ProcessGroup

PROMPT = 'fix it; it\'s $(touch pwned) `broken`\nand "quoted" ü'
OPENING = "You are new here."
PATIENCE = 60.0

Behaviour = Literal["answers", "fails", "hangs"]


class Talk:
    """An agent of a driver, and all that is heard of it."""

    def __init__(self, folder: Path, profile: Agent) -> None:
        self._folder, self._asked = folder, 0
        (folder / ".hookline").mkdir(exist_ok=True)
        processes = LocalProcesses(str(folder / "blobs"))
        self._agents = LocalAgents({"it": profile}, None, str(folder), processes)
        self.events: list[AgentEvent] = []
        self.conversations: list[str] = []
        self.groups: list[ProcessGroup] = []

    def turn(self, conversation: str | None = None, timeout: float = PATIENCE) -> AgentTurn:
        """One turn, to its end."""
        self._asked += 1
        request = TurnRequest(
            prompt=PROMPT,
            env={
                "PATH": os.environ["PATH"],
                "LANG": "C.UTF-8",
                "HOOKLINE_RUN_ID": "R-1",
                "HOOKLINE_IDEMPOTENCY_KEY": f"turn-{self._asked}",
            },
            timeout=timeout,
            conversation=conversation,
            opening=OPENING,
            on_event=self.events.append,
            on_conversation=self.conversations.append,
            on_start=self.groups.append,
        )
        return asyncio.run(self._agents.turn("it", request))


class DriverContract:
    """A driver: `name` is that of its entry point, `profile` gives an agent that behaves.

    class TestMine(DriverContract):
        name = "mine"

        def profile(self, folder, behaviour):
            return Agent(driver="mine", command=f"{program} {behaviour}")

    `text` is what the agent that answers says, `usage` what it says that it used. The agent of a
    driver that always begins again has `resumes = False`.
    """

    name: str
    text = "fine"
    usage = Usage()
    resumes = True

    def profile(self, folder: Path, behaviour: Behaviour) -> Agent:
        """An agent that answers each turn, or fails at once, or never ends.

        The one that answers leaves the prompt that it was given in the file `prompt`.
        """
        raise NotImplementedError

    def prompt(self, folder: Path) -> str:
        """The last prompt as the agent has received it."""
        return (folder / "prompt").read_text(encoding="utf-8")

    def test_it_is_found_by_its_name(self, tmp_path: Path) -> None:
        assert callable(DRIVERS.load(self.name).turn)
        assert self.profile(tmp_path, "answers").driver == self.name

    def test_a_turn_is_asked_whole_and_heard_whole(self, tmp_path: Path) -> None:
        talk = Talk(tmp_path, self.profile(tmp_path, "answers"))
        turn = talk.turn()
        assert (turn.error, turn.text, turn.stop_reason) == (None, self.text, "end_turn")
        assert self.text in "".join(each.text for each in talk.events if each.type == "text")
        assert self.prompt(tmp_path) == f"{OPENING}\n{PROMPT}"
        assert not (tmp_path / "pwned").exists()

    def test_what_a_turn_used_is_told(self, tmp_path: Path) -> None:
        assert Talk(tmp_path, self.profile(tmp_path, "answers")).turn().usage == self.usage

    def test_a_conversation_goes_on(self, tmp_path: Path) -> None:
        talk = Talk(tmp_path, self.profile(tmp_path, "answers"))
        first = talk.turn()
        assert talk.conversations, "nobody was told how to continue"
        again = talk.turn(talk.conversations[-1])
        assert again.error is None
        if self.resumes:
            assert again.conversation == first.conversation == talk.conversations[-1]
            assert self.prompt(tmp_path) == PROMPT
        else:
            assert self.prompt(tmp_path) == f"{OPENING}\n{PROMPT}"

    def test_a_failure_is_part_of_the_turn(self, tmp_path: Path) -> None:
        assert Talk(tmp_path, self.profile(tmp_path, "fails")).turn().error

    def test_a_program_that_is_not_there_is_a_failure(self, tmp_path: Path) -> None:
        profile = self.profile(tmp_path, "answers")
        if profile.command is None:
            pytest.skip("its agent is not a program")
        gone = msgspec.structs.replace(profile, command="/no/such/program")
        assert Talk(tmp_path, gone).turn().error

    def test_a_turn_ends_when_its_time_is_over(self, tmp_path: Path) -> None:
        talk = Talk(tmp_path, self.profile(tmp_path, "hangs"))
        assert talk.turn(timeout=0.5).error
        deadline = time.monotonic() + PATIENCE
        while any(kill_group(group, 0) for group in talk.groups):
            assert time.monotonic() < deadline, "a process of the agent was left behind"
            time.sleep(0.01)
