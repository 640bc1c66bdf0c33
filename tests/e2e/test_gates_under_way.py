"""A gate that is still being asked has said nothing: the views tell its verdict, and no more."""

from __future__ import annotations

from tests.e2e.test_work import Workshop, of, shop

__all__ = ["shop"]

GATE = "hooks:\n  before_submit: [{name: slow, command: 'sleep 1.5'}]\n"


def test_a_worker_tells_of_a_gate_when_it_has_answered(shop: Workshop) -> None:
    shop.configure(GATE)
    shop.cli.add("first")
    records, ended = shop.work()
    assert ended["merged"] == ["T-1"]
    said = [(each["hook"], each["status"]) for each in of(records, "gate") if each["hook"]]
    assert said == [("slow", "success")]


def test_a_submission_tells_of_a_gate_when_it_has_answered(shop: Workshop) -> None:
    shop.configure(GATE)
    shop.cli.add("first")
    shop.git("switch", "--quiet", "--create", "mine")
    shop.cli.put("file", "x")
    shop.commit()
    told = shop.cli("submit", "T-1", "--no-merge").stderr
    assert "✓ before_submit slow" in told
    assert "●" not in told
