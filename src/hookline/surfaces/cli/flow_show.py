"""How runs and effects look, in a terminal and as JSON. Used by every command about flows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.domain import runs
from hookline.surfaces.cli.output import next_step, paint, say, say_json, untrusted

if TYPE_CHECKING:
    from argparse import Namespace

    from hookline.app import App
    from hookline.domain.runs import JournalEffect, Run

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
    told = effect.error or effect.args.get("question") or effect.command
    told = paint(untrusted(str(told), 80), "dim")
    return f"{status} {effect.kind:11} {untrusted(effect.effect_id)}  {told}".rstrip()


def effect_json(effect: JournalEffect) -> dict[str, Any]:
    """An effect as `--json` shows it."""
    return {
        "effectId": effect.effect_id,
        "step": effect.step,
        "kind": effect.kind,
        "status": effect.status,
        "metadata": effect.metadata,
        "requestedAt": effect.requested_at,
        "resolvedAt": effect.resolved_at,
        "args": effect.args,
        "value": effect.value,
        "error": effect.error,
        "attempts": effect.attempts,
    }


def run_json(run: Run) -> dict[str, Any]:
    """How a run stands, as the commands that change it show it."""
    return {
        "runId": run.run_id,
        "status": run.status,
        "value": run.value,
        "error": run.error,
        "reason": run.reason,
    }


def tell(args: Namespace, app: App, run_id: str) -> Run:
    """Say how a run stands now, and what to do about it; the run."""
    with app.read() as view:
        run = view.runs.find(run_id)
        waiting = [e for e in view.runs.pending(run) if e.kind == "breakpoint"]
    if args.json:
        say_json(run_json(run))
        return run
    say(run_line(run))
    if run.status in runs.TERMINAL:
        return run
    for effect in waiting:
        say(f"  {untrusted(str(effect.args['question']), 200)}")
        say(f"  answer it: {answer_command(run, effect)}")
    if run.status == runs.PAUSED:
        next_step(f"hookline flow resume {run.run_id}")
    elif not waiting:
        next_step(f"hookline orchestrate {run.run_id}")
    return run


def answer_command(run: Run, effect: JournalEffect) -> str:
    """What a person types to answer a breakpoint."""
    return f"hookline answer {run.run_id} {untrusted(effect.effect_id)} yes (or: no)"
