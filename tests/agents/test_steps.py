"""How far an agent may go in one turn: the real agents, and a model that never ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookline.config.types import Agent
from tests.agents.model import Reply, Rule
from tests.agents.rig import Desk
from tests.agents.session_desk import LIGHT, WORKERS
from tests.groups import none_left

if TYPE_CHECKING:
    from pathlib import Path

    from tests.agents.conftest import Script
    from tests.agents.model import ScriptedModel
    from tests.agents.session_desk import Worker

each = pytest.mark.parametrize("agent", LIGHT)
DONE = Reply(text="all done")


def sit(folder: Path, worker: Worker, model: ScriptedModel, *args: str) -> Desk:
    """A desk for an agent, which may have arguments of its own."""
    desk = Desk(folder, Agent(**worker.profile(), args=list(args)))
    desk.env = worker.environment(model, desk.home)
    return desk


@each
def test_an_agent_that_goes_on_for_ever_is_stopped_and_can_go_on_later(
    tmp_path: Path, scripted: Script, agent: str
) -> None:
    worker = WORKERS[agent]
    again = Reply(text="Once more.", calls=(worker.shell("echo again >> steps"),))
    # The step that is too many may begin; however late it is noticed, there is none after it.
    model = scripted(Rule("enough now", DONE), *[again] * 4, Reply(hold=True))
    desk = sit(tmp_path, worker, model)
    turn = desk.turn(max_turns=3)
    assert turn.error == "the agent was stopped after 3 steps, the most of a turn"
    assert (turn.stop_reason, turn.wait) == ("max_turns", None)
    assert none_left(desk.groups[-1].pgid)
    is_exact = worker is WORKERS["claude-code"]
    assert len(desk.read("steps").split()) in ((3,) if is_exact else (3, 4))

    later = desk.turn("enough now", conversation=turn.conversation, max_turns=3)
    assert (later.text, later.error, later.stop_reason) == ("all done", None, "end_turn")
    assert later.conversation == turn.conversation
    assert "do it" in model.requests[-1].history


@each
def test_an_agent_that_needs_all_its_steps_may_take_them(
    tmp_path: Path, scripted: Script, agent: str
) -> None:
    worker = WORKERS[agent]
    work = Reply(text="I work.", calls=(worker.shell("echo again >> steps"),))
    desk = sit(tmp_path, worker, scripted(work, work, DONE))
    turn = desk.turn(max_turns=3)
    assert (turn.text, turn.error, turn.stop_reason) == ("all done", None, "end_turn")
    assert desk.read("steps") == "again\nagain\n"


def test_the_limit_of_a_turn_beats_that_of_the_profile(tmp_path: Path, scripted: Script) -> None:
    claude = WORKERS["claude-code"]
    model = scripted(Rule("", Reply(calls=(claude.shell("true"),))))
    desk = sit(tmp_path, claude, model, "--max-turns", "4")
    assert desk.turn(max_turns=2).stop_reason == "max_turns"
    assert len(model.requests) == 2
    own = desk.turn()
    assert (own.error, own.stop_reason) == ("Reached maximum number of turns (4)", "max_turns")
