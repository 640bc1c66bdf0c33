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


@pytest.mark.examples(1)
@each
def test_an_agent_that_goes_on_for_ever_is_stopped_and_can_go_on_later(
    tmp_path: Path, scripted: Script, agent: str
) -> None:
    """Later it needs all its steps, and may take them."""
    worker = WORKERS[agent]
    again = Reply(text="Once more.", calls=(worker.shell("echo again >> steps"),))
    work = Reply(text="I work.", calls=(worker.shell("echo work >> later"),))
    model = scripted(
        *(Rule("enough now", each, anywhere=True, times=1) for each in (work, work, DONE)),
        # The step that is too many may begin; however late it is noticed, there is none after it.
        *[again] * 4,
        Reply(hold=True),
    )
    is_exact = worker is WORKERS["claude-code"]
    # The limit of a turn beats that of the profile.
    desk = sit(tmp_path, worker, model, *(("--max-turns", "9") if is_exact else ()))
    turn = desk.turn(max_turns=3)
    assert turn.error == "the agent was stopped after 3 steps, the limit of a turn"
    assert (turn.stop_reason, turn.wait) == ("max_turns", None)
    assert none_left(desk.groups[-1].pgid)
    assert len(desk.read("steps").split()) in ((3,) if is_exact else (3, 4))

    later = desk.turn("enough now", conversation=turn.conversation, max_turns=3)
    assert (later.text, later.error, later.stop_reason) == ("all done", None, "end_turn")
    assert desk.read("later") == "work\nwork\n"
    assert later.conversation == turn.conversation
    assert "do it" in model.requests[-1].history


def test_the_limit_of_a_profile_counts_where_a_turn_has_none(
    tmp_path: Path, scripted: Script
) -> None:
    claude = WORKERS["claude-code"]
    model = scripted(Rule("", Reply(calls=(claude.shell("true"),))))
    turn = sit(tmp_path, claude, model, "--max-turns", "2").turn()
    assert (turn.error, turn.stop_reason) == ("Reached maximum number of turns (2)", "max_turns")
    assert len(model.requests) == 2
