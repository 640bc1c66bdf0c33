"""What a point declares about itself is all that there is: no table elsewhere names it again."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from hookline.points import (
    ANSWER,
    FEED,
    GATE,
    HELD,
    HELD_OR_NOW,
    JUDGED,
    POINTS,
    PROMPT,
    START,
    VALIDATION,
)
from tests.e2e.session_rig import Rig, hook

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

SOURCE = Path(__file__).parents[2] / "src" / "hookline"


def test_output_that_cannot_be_told_at_once_waits_for_the_next_prompt(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure({"session_start": [hook("echo FIRST", deliver="now")]})
    rig.run(iterations=2)
    assert [each.text.count("FIRST") for each in rig.prompts()] == [1, 0]


@pytest.mark.examples(4)
@pytest.mark.parametrize("delivery", [ANSWER, HELD, HELD_OR_NOW])
@pytest.mark.parametrize("stage", [START, PROMPT, VALIDATION, JUDGED])
def test_a_point_declared_anywhere_in_a_session_reaches_the_agent(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, stage: str, delivery: str
) -> None:
    known = POINTS["pre_iteration"]
    monkeypatch.setitem(
        POINTS,
        "of_ours",
        msgspec.structs.replace(known, name="of_ours", stage=stage, delivery=delivery),
    )
    rig = Rig(cli)
    rule = {"name": "fine", "type": "command", "command": "echo checked >> order"}
    rig.configure(
        {
            "of_ours": [hook("echo fired >> order; echo TOLD", deliver="now")],
            "stop": ["default"],
        },
        validation=[rule],
    )
    rig.run(iterations=2)
    order = (cli.root / "order").read_text().split()
    assert order.index("checked") == (0 if stage == JUDGED else 1)
    told = sum(each.text.count("TOLD") for each in rig.prompts())
    # What is told once the work is done leads to another validation, and so on: twice at most.
    assert told == (2 if stage == VALIDATION else order.count("fired"))


def test_a_point_before_validation_fires_where_nothing_validates(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = POINTS["pre_iteration"]
    declared = msgspec.structs.replace(
        known, name="pre_validation", stage=VALIDATION, delivery=HELD
    )
    monkeypatch.setitem(POINTS, "pre_validation", declared)
    rig = Rig(cli)
    rig.configure({"pre_validation": [hook("echo fired >> order")], "stop": ["default"]})
    rig.run(iterations=1)
    assert (cli.root / "order").read_text().split() == ["fired"]


def test_no_other_module_lists_the_points_of_sessions_and_gates() -> None:
    names = {name for name, point in POINTS.items() if point.rule in (FEED, GATE)}
    found = []
    for path in SOURCE.rglob("*.py"):
        if path.name == "points.py":
            continue
        text = path.read_text(encoding="utf-8")
        if sum(name in text for name in names) < 2:
            continue
        for node in ast.walk(ast.parse(text)):
            parts = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", ())
            words = {str(each.value) for each in parts if isinstance(each, ast.Constant)}
            if len(words & names) > 1:
                found.append(f"{path.relative_to(SOURCE)}: {sorted(words & names)}")
    assert found == []
