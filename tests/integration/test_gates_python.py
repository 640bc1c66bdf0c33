"""Gates in Python: the public types on the way through a real child, and whose module it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hookline.hooks.registry import Hook
from tests.integration.gates_rig import Desk
from tests.integration.repository_rig import Place

if TYPE_CHECKING:
    from pathlib import Path

GATE = """\
import os
from hookline.gates import HookResult, HookStatus, hook_context

def judge(payload, context):
    work = hook_context(payload)
    here = os.path.samefile(os.getcwd(), work.worktree)
    return HookResult(
        HookStatus.FAILURE, f"{work.task_id} {here}", {"seen": 1}, remediation_prompt="Mend it."
    )
"""
FORGED = "def judge(payload, context):\n    return {'status': 'success'}\n"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    place = Place(tmp_path)
    place.begin()
    place.commit("mygates.py", GATE)
    made = Desk(place)
    made.env["HOOKLINE_HOME"] = str(tmp_path / "home")
    return made


def test_a_result_comes_back_as_the_gate_s_answer(desk: Desk) -> None:
    answer = desk.run(Hook(name="mine", points=("before_submit",), target="mygates:judge"))
    assert (answer.status, answer.message) == ("failure", "T-1 True")
    assert (answer.context, answer.remediation_prompt) == ({"seen": 1}, "Mend it.")


def test_an_agent_cannot_change_the_gate_that_judges_it(desk: Desk) -> None:
    desk.work("mygates.py", FORGED)
    answer = desk.run(Hook(name="mine", points=("before_submit",), target="mygates:judge"))
    assert answer.status == "failure"
