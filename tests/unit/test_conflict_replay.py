"""The steps of gates around a conflict: none is added to what an older Hookline recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hookline.domain.runs.model import Run
from hookline.pipeline.merge import merge
from hookline.pipeline.submit import submit
from tests.replaying import Journal

if TYPE_CHECKING:
    from hookline.flows.context import Context

INPUT = {
    "taskId": "T-1",
    "worktree": "/place",
    "branch": "hookline/T-1",
    "base": "main",
    "agent": "bot",
}
PREPARED = {"goal": "a part", "taskPath": "t.md", "commits": 1, "head": "a" * 40}
CONFLICT = {
    "status": "failure",
    "hook": "rebase_on_main",
    "message": "conflict with main in log",
    "remediationPrompt": "Run `git rebase`.",
    "context": {"conflicts": ["log"]},
}
TURN = {"text": "done", "error": None, "conversation": None}


async def submitting(ctx: Context) -> Any:
    return await submit(ctx, Run(run_id="R-1", flow="submit", status="running", input=INPUT))


async def merging(ctx: Context) -> Any:
    pins = {"submitted": PREPARED["head"]}
    run = Run(run_id="R-1", flow="merge", status="running", input=INPUT, pins=pins)
    return await merge(ctx, run)


def steps(journal: Journal, *values: Any) -> list[str]:
    """The effects that a flow asks for, each answered in turn."""
    for value in values:
        (effect,) = journal.pending
        journal.resolve(effect, value)
    (effect,) = journal.pending
    return [each.args.get("verb") or each.kind for each in journal.effects.values()]


def test_a_conflict_that_an_older_gate_found_goes_to_the_agent_as_before() -> None:
    journal = Journal(submitting)
    found = steps(journal, PREPARED, PREPARED, CONFLICT)
    assert found == ["prepare", "prepare", "hook", "agent"]
    asked = next(each for each in journal.effects.values() if each.kind == "agent")
    assert str(asked.args["prompt"]).startswith("Run `git rebase`.")
    assert steps(journal, TURN)[-1] == "prepare"
    journal.replay(submitting, by_older_code=True)
    assert steps(journal)[-1] == "prepare"


def test_a_conflict_is_opened_before_the_turn_and_dropped_before_the_work_goes_back() -> None:
    journal = Journal(submitting)
    context = {"conflictWith": "b" * 40}
    opened = {"open": True, "prompt": "Edit log."}
    left = {**PREPARED, "refused": "markers", "remediationPrompt": "Edit log.", "conflict": True}
    turns = [value for _ in range(3) for value in (TURN, left)]
    found = steps(journal, PREPARED, PREPARED, {**CONFLICT, "context": context}, opened, *turns)
    assert found[3:] == ["open_conflict", *(["agent", "prepare"] * 3), "drop_conflict"]
    assert steps(journal, {"kept": "refs/x"})[-1] == "send_back"
    (sent,) = (e for e in journal.effects.values() if e.args.get("verb") == "send_back")
    assert sent.args["reason"] == "rebase_on_main: markers (attempts to fix it: 3)"
    assert sent.args["output"].endswith("in the git ref `refs/x`: reuse them if they help.")


def test_a_merge_in_conflict_is_opened_only_where_it_can_be() -> None:
    passed = {"status": "success", "context": {}}
    before = [PREPARED, passed, PREPARED, {"mine": True}]
    merged = {"status": "conflict", "message": "conflict", "remediationPrompt": "Rebase."}
    older = steps(Journal(merging), *before, merged, {})
    assert older[-1] == "agent"
    newer = Journal(merging)
    assert steps(newer, *before, {**merged, "onto": "b" * 40}, {})[-1] == "open_conflict"
    # Where it fits by now, nobody is asked.
    assert steps(newer, {"open": False})[-1] == "prepare"


@pytest.mark.parametrize(
    ("turn", "answered"),
    [
        (TURN, True),
        ({**TURN, "error": "exit code 3"}, False),
        ({"interrupted": True, "conversation": None}, False),
        ({"interrupted": True, "by": "person", "conversation": "c"}, False),
    ],
)
def test_only_a_turn_that_ended_well_answers_a_conflict(
    turn: dict[str, Any], answered: bool
) -> None:
    journal = Journal(submitting)
    found = {**CONFLICT, "context": {"conflictWith": "b" * 40}}
    opened = {"open": True, "prompt": "Edit log."}
    assert steps(journal, PREPARED, PREPARED, found, opened, turn)[-1] == "prepare"
    (looks,) = journal.pending
    assert journal.effects[looks].args["answered"] is answered
