"""What gates and merges say about the tasks of a worker, each reported once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypedDict

from msgspec import UNSET

from hookline.hooks.gates.verdicts import GateVerdict, merge_wait, verdicts, verdicts_of
from hookline.pipeline.gate_reviews import comments, trouble_of
from hookline.pipeline.gate_verbs import wait_of
from hookline.queries.waiting.gates import asked_help
from hookline.worker.records import AskedAgain, AsksPerson, GateSpoke, Trouble, WorkRecord, record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.domain.events import Event
    from hookline.domain.runs.model import Run
    from hookline.ports.feeds import FeedReader
    from hookline.ports.store import Blobs, View


class About(TypedDict):
    """What every record about a run tells."""

    task_id: str
    run_id: str
    agent: str | None


class RunUnderWay(NamedTuple):
    """A run that is under way for one of the tasks, and its reports."""

    run: Run
    task_id: str
    since: str
    reader: FeedReader

    @property
    def about(self) -> About:
        """What every record about it tells."""
        run = self.run
        return {"task_id": self.task_id, "run_id": run.run_id, "agent": run.input.get("agent")}


class GateNews:
    """What gates and merges say about tasks, each reported once."""

    def __init__(self, after: int, blobs: Blobs) -> None:
        self.begun, self._blobs = after, blobs
        # Where in the log reporting starts for tasks whose gates another process was asking.
        self._since: dict[str, int] = {}
        self._told: set[object] = set()

    def is_new(self, key: object) -> bool:
        """Whether nothing was reported under this key yet."""
        is_new = key not in self._told
        self._told.add(key)
        return is_new

    def take_over(self, view: View, run: Run) -> None:
        """Report the gates that another process asked for a run, if they are not done yet."""
        asked = (e for e in view.runs.pending(run) if e.kind == "hook")
        began = min((e.requested_seq for e in asked), default=self.begun)
        self._since[run.input["taskId"]] = min(began, self.begun)

    def verdicts(self, view: View, task_id: str) -> Iterator[WorkRecord]:
        """The verdicts on a task that were not reported yet."""
        for each in verdicts(view, task_id, after=self._since.get(task_id, self.begun)):
            if not each.is_under_way and self.is_new(each.news):
                yield record(_spoke(task_id, each), each.started_at)

    def troubles(self, view: View, strand: RunUnderWay) -> Iterator[WorkRecord]:
        """Why work is not merged, if no gate says so."""
        for effect in view.runs.effects(view.runs.find(strand.run.run_id)):
            if effect.resolved_at is None or not self.is_new((strand.run.run_id, effect.effect_id)):
                continue
            trouble = trouble_of(effect, self._blobs)
            if trouble is not None and (effect.resolved_seq or 0) > self.begun:
                name, reason = trouble
                yield record(Trouble(**strand.about, name=name, reason=reason), effect.resolved_at)

    def asks_person(self, view: View, strand: RunUnderWay, event: Event) -> Iterator[WorkRecord]:
        """A merge that waits for a person's trust or decision, which no gate reports."""
        merge = merge_wait(view, strand.run)
        if merge is None or not merge.waits_for_person:
            return
        if self.is_new(("asks", strand.run.run_id, merge.message)):
            hint, command = asked_help(strand.run, merge)
            asks = AsksPerson(**strand.about, reason=hint, command=command)
            yield record(asks, event.timestamp)

    def asked_again(self, view: View, strand: RunUnderWay, event: Event) -> Iterator[WorkRecord]:
        """When gates that wait for no person are asked again; reported once, as their answer is."""
        if "until" not in event.data or wait_of(view, strand.run) is None:
            return
        merge = merge_wait(view, strand.run)
        said = [*verdicts_of(view, strand.run), *([merge] if merge is not None else [])]
        if self.is_new(("again", said[-1].news if said else None)):
            again = AskedAgain(
                **strand.about,
                hook=said[-1].hook if said else None,
                at=event.data["until"],
                message=merge.message if merge is not None else UNSET,
            )
            yield record(again, event.timestamp)


def _spoke(task_id: str, verdict: GateVerdict) -> GateSpoke:
    return GateSpoke(
        task_id=task_id,
        run_id=verdict.run,
        point=verdict.point,
        hook=verdict.hook,
        status=verdict.status,
        message=verdict.message,
        duration_ms=verdict.duration_ms,
        remediation_prompt=verdict.remediation_prompt,
        waits_for_person=verdict.waits_for_person,
        comments=comments(verdict),
    )
