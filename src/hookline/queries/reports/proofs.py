"""What was proven about work, by which check, on which commit: for reports."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import msgspec

from hookline.domain.events import FIRED as POINT_FIRED
from hookline.domain.hooks.answers import RECEIPT, StopDecision, stored_answer
from hookline.domain.hooks.names import shown_hook
from hookline.domain.sessions.model import COMPLETED
from hookline.hooks.gates.reports import JUDGED
from hookline.hooks.gates.verdicts import GateVerdict, verdicts
from hookline.pipeline.gated_work import BEFORE_MERGE, BEFORE_SUBMIT
from hookline.queries.session_details import last_checks, last_iteration
from hookline.queries.sessions import last_beginning

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from hookline.domain.runs.model import Run
    from hookline.ports.store import Blobs, View
    from hookline.queries.reports.merges import MergedWork
    from hookline.queries.sessions import SessionFacts

PASSED, FAILED, WAITS, SKIPPED, NONE = "passed", "failed", "waits", "skipped", "none"
MERGED_RESULT, VALIDATION, STOP = "merged result", "validation", "stop"
_STATUSES = {"success": PASSED, "failure": FAILED, "pending": WAITS, "skip": SKIPPED}


class Proof(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """What a check said last, and about which commit; `none` where a point has no gate."""

    point: str
    check: str
    status: str
    commit: str | None = None
    at: str | None = None
    message: str = ""


def gate_proofs(view: View, task_id: str, runs: Iterable[Run]) -> list[Proof]:
    """What each gate said last about a task's work before it was submitted and merged."""
    last: dict[tuple[str, str | None], GateVerdict] = {}
    for verdict in verdicts(view, task_id):
        if verdict.point in (BEFORE_SUBMIT, BEFORE_MERGE):
            last.pop((verdict.point, verdict.hook), None)
            last[verdict.point, verdict.hook] = verdict
    heads = {run.run_id: _Heads(view, run) for run in runs}
    return [_gate_proof(each, heads.get(each.run or "")) for each in last.values()]


def _gate_proof(verdict: GateVerdict, heads: _Heads | None) -> Proof:
    judged = verdict.context.get(JUDGED) or (heads.at(verdict.seq) if heads else None)
    return Proof(
        point=verdict.point,
        check=shown_hook(verdict.hook) if verdict.hook else "no gate",
        status=NONE if verdict.hook is None else _STATUSES.get(verdict.status, FAILED),
        commit=str(judged) if judged else None,
        at=verdict.started_at,
        message=verdict.message,
    )


_PREPARE = ("repo", "prepare")


class _Heads:
    """Which commit a run's gates were asked about: the one that was prepared before."""

    def __init__(self, view: View, run: Run) -> None:
        asked = [e for e in view.runs.effects(run) if (e.kind, e.args.get("verb")) == _PREPARE]
        values = [(e.resolved_seq, e.value) for e in asked if isinstance(e.value, dict)]
        self._heads = [(seq, value.get("head")) for seq, value in values if seq is not None]

    def at(self, seq: int) -> str | None:
        """The commit that was prepared last before a position in the log."""
        place = bisect_left(self._heads, seq, key=lambda each: each[0])
        return self._heads[place - 1][1] if place else None


def merge_proofs(merged: MergedWork) -> Iterator[Proof]:
    """What tested work as it was merged."""
    for name in merged.tested_by:
        yield Proof(
            point=MERGED_RESULT,
            check=shown_hook(name),
            status=PASSED,
            commit=merged.sha,
            at=merged.at,
        )


def session_proofs(view: View, run: Run, blobs: Blobs) -> list[Proof]:
    """What the validation rules of a session found last, in files that need not be committed."""
    found = last_checks(view, run, blobs)
    return [
        Proof(
            point=VALIDATION,
            check=each["ruleName"],
            status=PASSED if each["passed"] else FAILED,
            at=found.at,
            message=(each.get("message") or "").partition("\n")[0],
        )
        for each in found.results
    ]


def why_unproven(statuses: Collection[str]) -> str | None:
    """Why what an agent says is not proven, by what checks said; None if it is proven."""
    if PASSED in statuses and FAILED not in statuses:
        return None
    checks = "a check failed" if FAILED in statuses else "nothing was checked"
    return f"{checks}: only its agent says that it is done"


def session_unproven(view: View, run: Run) -> str | None:
    """Why the work of a session's last iteration is not proven; None if it is."""
    ended = last_iteration(view, run.run_id)
    if ended is not None and ended.rules:
        return why_unproven({PASSED if ended.passed == ended.rules else FAILED})
    return why_unproven({each.status for each in stop_proofs(view, run)})


def only_claimed(view: View, known: SessionFacts) -> str | None:
    """Why a completed session proves nothing; what gates look at next needs no proof yet."""
    if known.status != COMPLETED or known.branch is not None:
        return None
    return session_unproven(view, view.runs.find(known.run_id))


def stop_proofs(view: View, run: Run) -> list[Proof]:
    """The stop hooks by whose programs or receipts a session's last iteration was complete.

    They are asked again after what the agent is told at the end; what they said last counts.
    """
    began = last_beginning(view, run.run_id)
    fired = view.log.events(
        node_id=run.run_id, types=(POINT_FIRED,), after=began.seq if began else 0
    )
    found: dict[str, Proof] = {}
    for event in fired:
        for call in view.calls.deliveries(event.seq) if event.data["point"] == STOP else ():
            decision = stored_answer(call.answer, StopDecision)
            is_proof = call.exit_code == 0 or (decision and RECEIPT in decision.metadata)
            if decision and decision.action == "complete" and is_proof:
                check = shown_hook(call.hook)
                found[call.hook] = Proof(
                    point=STOP,
                    check=check,
                    status=PASSED,
                    at=call.started_at,
                    message=decision.reason.partition("; ")[2],  # such as the tests it edited
                )
    return list(found.values())
