"""How runs and effects look, in a terminal and as JSON. Used by every command about flows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.domain.runs import model as runs
from hookline.flows.called_runs import all_open_called
from hookline.surfaces.cli.output import answer, next_step, paint, say, untrusted

if TYPE_CHECKING:
    from argparse import Namespace

    from hookline.app import App
    from hookline.domain.runs.model import JournalEffect, Run

STYLES = {
    runs.RUNNING: "yellow",
    runs.PARKED: "cyan",
    runs.PAUSED: "cyan",
    runs.COMPLETED: "green",
    runs.FAILED: "red",
    runs.CANCELLED: "dim",
}
EFFECT_STYLES = {runs.PENDING: "yellow", runs.OK: "green", runs.ERROR: "red"}


def run_line(run: Run) -> str:
    """A run on one line."""
    why = run.error or run.reason or ""
    return (
        f"{paint(f'{run.run_id:5}', 'bold')} {paint(f'{run.status:9}', STYLES[run.status])} "
        f"{untrusted(run.flow)}  {paint(untrusted(why, 100), 'dim')}".rstrip()
    )


def effect_line(effect: JournalEffect) -> str:
    """An effect on one line."""
    status = paint(f"{effect.status:8}", EFFECT_STYLES[effect.status])
    told = effect.error or effect.args.get("question") or effect.command or effect.called_flow
    told = paint(untrusted(str(told), 80), "dim")
    return f"{status} {effect.kind:11} {untrusted(effect.effect_id)}  {told}".rstrip()


def effect_json(effect: JournalEffect) -> dict[str, Any]:
    """An effect as `--json` shows it."""
    same = ("step", "kind", "status", "metadata", "args", "value", "error", "attempts")
    return {
        "effectId": effect.effect_id,
        "requestedAt": effect.requested_at,
        "resolvedAt": effect.resolved_at,
        **{name: getattr(effect, name) for name in same},
        **({"calledRun": effect.called_run} if effect.called else {}),
    }


def run_json(run: Run) -> dict[str, Any]:
    """The status of a run, as the commands that change it show it."""
    same = ("status", "value", "error", "reason")
    return {"runId": run.run_id, **{name: getattr(run, name) for name in same}}


def tell(args: Namespace, app: App, run_id: str) -> Run:
    """Say what the run's status is now, and what to do about it; the run."""
    with app.read() as view:
        run = view.runs.find(run_id)
        open_runs = [run, *all_open_called(view, run.run_id)]
        pending = [(each, effect) for each in open_runs for effect in view.runs.pending(each)]
    waiting = [(each, effect) for each, effect in pending if effect.kind == "breakpoint"]
    if not answer(args, run_json(run), run_line(run)) or run.status in runs.TERMINAL:
        return run
    for called in open_runs[1:]:
        say(f"  {run_line(called)}")
    for asks, effect in waiting:
        say(f"  {untrusted(str(effect.args['question']), 200)}")
        command = f"hookline answer {asks.run_id} {untrusted(effect.effect_id)} yes (or: no)"
        say(f"  answer it: {command}")
    if run.status == runs.PAUSED:
        next_step(f"hookline flow resume {run.run_id}")
    elif not waiting:
        next_step(f"hookline orchestrate {run.run_id}")
    return run
