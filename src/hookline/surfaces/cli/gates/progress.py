"""What is seen of a submission or a merge: verdicts as they come, and the gates that are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.text.terminal import one_line, padded
from hookline.domain.timestamps import seconds
from hookline.domain.work.submissions import TURN
from hookline.flows.waits import moment_of
from hookline.hooks.gates.verdicts import merge_wait, verdicts
from hookline.pipeline import gate_verbs
from hookline.pipeline.gate_reviews import trouble_of
from hookline.surfaces.cli.gates.show import POINT_COLUMNS, verdict_pieces
from hookline.surfaces.cli.live.lines import BAD, OPEN, Piece, ViewLine, clock
from hookline.surfaces.cli.live.watch import StoreView
from hookline.surfaces.cli.output import untrusted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.app import App
    from hookline.domain.runs.model import JournalEffect
    from hookline.hooks.gates.verdicts import GateVerdict
    from hookline.ports.store import View


class GateProgress(StoreView):
    """One run, as the store knows it; each line once."""

    def __init__(self, app: App, run_id: str) -> None:
        self._blobs = app.blobs
        with app.read() as view:
            self.run = view.runs.find(run_id)
            effects = view.runs.effects(self.run)
            # Verdicts of gates that are under way belong to what is under way.
            open_ = (e for e in effects if e.kind == "hook" and e.resolved_seq is None)
            self._begun = min((e.requested_seq for e in open_), default=view.log.last())
        self.task_id: str = self.run.input["taskId"]
        # What others have done is told by nobody; a turn that they began is not repeated.
        known = (e.effect_id for e in effects if e.resolved_seq is not None or e.attempts)
        self._told: set[object] = set(known)
        self._pending: object = None
        self._asked: list[GateVerdict] = []

    def look(self, view: View) -> Iterator[ViewLine]:
        """What is new."""
        found = [*self._verdicts(view), *self._steps(view)]
        yield from (line for _, line in sorted(found, key=lambda each: each[0]))
        yield from self._waits(view)

    def region(self, now: float, rows: int) -> list[ViewLine]:
        """The gates that are asked now; at most so many rows."""
        begun = ((e, seconds(e.started_at) if e.started_at else now) for e in self._asked)
        return [_line(*verdict_pieces(each, now - since)) for each, since in begun][:rows]

    def _verdicts(self, view: View) -> Iterator[tuple[int, ViewLine]]:
        self._asked = []
        for each in verdicts(view, self.task_id, after=self._begun):
            if each.is_under_way:
                self._asked.append(each)
                continue
            if each.status == "pending":
                self._pending = each.news
            if self._is_new(each.news):
                yield each.seq, _line(*verdict_pieces(each))

    def _steps(self, view: View) -> Iterator[tuple[int, ViewLine]]:
        for effect in view.runs.effects(view.runs.find(self.run.run_id)):
            if effect.effect_id in self._told:
                continue
            trouble = trouble_of(effect, self._blobs)
            line = _named(BAD, *trouble) if trouble else _step(effect)
            if line or effect.resolved_seq is not None:
                self._told.add(effect.effect_id)
            if line:
                yield effect.resolved_seq or effect.requested_seq, line

    def _waits(self, view: View) -> Iterator[ViewLine]:
        """When gates are asked again that wait for no person; told once, as what they say is."""
        run = view.runs.find(self.run.run_id)
        wait = gate_verbs.wait_of(view, run)
        moment = moment_of(wait) if wait is not None else None
        merge = merge_wait(view, run)
        if merge is not None and self._is_new(("merge", merge.message)):
            yield _named(OPEN, "merge", merge.message)
        key = self._pending if merge is None else merge.message
        if moment is not None and self._is_new(("again", key)):
            at_once = f"at once with `hookline {run.flow} {self.task_id}`"
            yield _line(Piece(*OPEN), Piece(f" asked again at {clock(moment)}, or {at_once}"))

    def _is_new(self, key: object) -> bool:
        is_new = key not in self._told
        self._told.add(key)
        return is_new


def _step(effect: JournalEffect) -> ViewLine | None:
    if effect.kind == "agent":
        agent = untrusted(effect.args.get("agent") or "the agent", 80)
        return _line(Piece(*OPEN), Piece(f" {agent} fixes it"))
    if effect.kind == "signal" and effect.args["name"] == TURN:
        return _line(Piece(*OPEN), Piece(" waits for its turn to merge"))
    return None


def _named(mark: tuple[str, str], name: str, said: str) -> ViewLine:
    return _line(Piece(*mark), Piece(f" {padded(name, POINT_COLUMNS)} {one_line(said)}"))


def _line(*pieces: Piece) -> ViewLine:
    return ViewLine((Piece("  "), *pieces), wraps=True, hangs=2)
