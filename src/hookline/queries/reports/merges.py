"""What was merged since a position in the log, as which commit, and what tested it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline import typed
from hookline.domain.work.submissions import MERGE
from hookline.pipeline.gated_work import PINS
from hookline.pipeline.repository.requests import MergeResult

if TYPE_CHECKING:
    from hookline.domain.runs.model import Run
    from hookline.ports.store import View

MERGED = "merged"
# What asks git or a forge for a merge.
_VERBS = ("merge", "ask_people")


class MergedWork(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A task's work in the base branch; `untested` is why nothing tested what it was merged as.

    `steps` is how many commits of the base came of it.
    """

    task_id: str
    run_id: str
    sha: str
    base: str
    at: str
    tested_by: list[str] = []
    untested: str | None = None
    steps: int = 1

    @property
    def before(self) -> str:
        """The commit of the base below it, as git is told it."""
        return f"{self.sha}~{self.steps}"


def merges_since(view: View, place: int) -> list[Run]:
    """The runs that merged something and ended after a position in the log, in order."""
    ended = view.log.events(types=("run_completed",), after=place)
    values = ((event.node_id, event.data.get("value")) for event in ended)
    found = [run for run, value in values if isinstance(value, dict) and "sha" in value]
    runs = (view.runs.find(run_id) for run_id in found)
    return [run for run in runs if run.flow == MERGE and run.value["outcome"] == MERGED]


def merged_by(view: View, run: Run) -> MergedWork | None:
    """What a run merged, also one whose hooks after that are not over; None if it has not."""
    for effect in reversed(view.runs.effects(run)):
        is_merge = effect.kind == "repo" and effect.args.get("verb") in _VERBS
        value = effect.value if is_merge and isinstance(effect.value, dict) else {}
        if value.get("status") != MERGED:
            continue
        made = typed.convert(value, MergeResult)
        is_rebased = run.pins.get(PINS, {}).get("method") == "rebase"
        return MergedWork(
            task_id=run.input["taskId"],
            run_id=run.run_id,
            sha=str(made.sha),
            base=run.input["base"],
            at=effect.resolved_at or effect.requested_at,
            tested_by=made.tested_by,
            untested=made.untested,
            steps=(made.commits or 1) if is_rebased else 1,
        )
    return None
