"""Runs that runs call: one effect starts each, and its end is the effect's result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.runs.model import (
    COMPLETED,
    ERROR,
    FAILED,
    OK,
    PENDING,
    TERMINAL,
    Resolution,
    Run,
)
from hookline.flows import journal

if TYPE_CHECKING:
    from hookline.ports.store import Blobs, Transaction, View


def resolve_caller(tx: Transaction, run: Run, blobs: Blobs) -> None:
    """Give the end of a run to its caller, as a result."""
    caller = tx.runs.caller_of(run.run_id)
    parent = tx.runs.find(caller.run_id) if caller is not None else None
    if caller is None or parent is None or parent.status in TERMINAL:
        return
    # A person's result came first.
    is_open = parent.chapter == caller.chapter
    if is_open and tx.runs.effect(parent, caller.effect_id).status == PENDING:
        journal.resolve(tx, parent, caller.effect_id, _resolution(run), blobs)


def _resolution(run: Run) -> Resolution:
    if run.status == COMPLETED:
        return Resolution(OK, run.value)
    how = "failed" if run.status == FAILED else "was cancelled"
    return Resolution(ERROR, error=f"{run.run_id} ({run.flow}) {how}: {run.error}")


def open_called(view: View, run_id: str) -> list[Run]:
    """The open runs that a run called."""
    called = (view.runs.find(each) for each in view.runs.called_by(run_id))
    return [run for run in called if run.status not in TERMINAL]


def all_open_called(view: View, run_id: str) -> list[Run]:
    """The open runs that a run called, directly or not."""
    found = open_called(view, run_id)
    return [*found, *(each for run in found for each in all_open_called(view, run.run_id))]


def callers(view: View, run_id: str) -> list[Run]:
    """The caller of a run, its caller, and so on up to the first."""
    caller = view.runs.caller_of(run_id)
    if caller is None:
        return []
    return [view.runs.find(caller.run_id), *callers(view, caller.run_id)]


def first_caller(view: View, run: Run) -> Run:
    """The first caller of a run, started by a person or a hook; the run itself if it has none."""
    return [run, *callers(view, run.run_id)][-1]
