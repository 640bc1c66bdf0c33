"""The gate human: a person's word counts for one commit and for one gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hookline.errors import HookFailure
from tests.integration.gates_rig import Desk
from tests.integration.repository_rig import Place

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    place = Place(tmp_path)
    place.begin()
    made = Desk(place)
    made.work()
    return made


def decided(decision: str, head: str, **more: Any) -> dict[str, Any]:
    return {"hook": "human", "decision": decision, "by": "grace", "head": head, **more}


def test_it_waits_for_a_person(desk: Desk) -> None:
    answer = desk.ask("human", "Does the page look right?")
    assert answer.status == "pending"
    assert "Does the page look right?" in answer.message
    assert answer.context == {"waitsFor": "person", "asksAbout": desk.head}
    assert answer.retry_after is None


def test_an_approval_opens_it(desk: Desk) -> None:
    desk.extra = {"approvals": [decided("approve", desk.head, comment="nice")]}
    answer = desk.ask("human")
    assert (answer.status, answer.message) == ("success", "approved by grace: nice")
    assert answer.context == {"approvedBy": "grace", "approvedHead": desk.head}


def test_an_approval_of_earlier_work_or_of_another_gate_does_not(desk: Desk) -> None:
    desk.extra = {"approvals": [decided("approve", desk.head)]}
    desk.work("more", "x\n")
    answer = desk.ask("human")
    assert answer.status == "pending"
    assert "changed since the last decision" in answer.message
    desk.extra = {"approvals": [{**decided("approve", desk.head), "hook": "other"}]}
    assert desk.ask("human").status == "pending"
    desk.extra = {"approvals": [{**decided("approve", desk.head), "head": None}]}
    assert desk.ask("human").status == "pending"


def test_a_rejection_goes_to_the_agent_with_its_comment(desk: Desk) -> None:
    desk.extra = {"approvals": [decided("reject", desk.head, comment="The button is gone.")]}
    answer = desk.ask("human")
    assert answer.status == "failure"
    assert "The button is gone." in (answer.remediation_prompt or "")


def test_a_rejection_without_a_word_goes_to_nobody(desk: Desk) -> None:
    desk.extra = {"approvals": [decided("reject", desk.head, comment=" ")]}
    answer = desk.ask("human")
    assert (answer.status, answer.remediation_prompt) == ("failure", None)


def test_the_last_word_about_a_commit_counts(desk: Desk) -> None:
    words = [decided("reject", desk.head, comment="no"), decided("approve", desk.head)]
    desk.extra = {"approvals": words}
    assert desk.ask("human").status == "success"
    desk.extra = {"approvals": words[::-1]}
    assert desk.ask("human").status == "failure"


@pytest.mark.parametrize("approvals", [{"a": 1}, ["yes"], [{"hook": "human", "decision": "maybe"}]])
def test_decisions_that_cannot_be_read_open_nothing(desk: Desk, approvals: Any) -> None:
    desk.extra = {"approvals": approvals}
    with pytest.raises(HookFailure, match="cannot be read"):
        desk.ask("human")
