"""`hookline why`: explain an event, a hook, a task or a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.text.excerpts import both_ends, excerpt
from hookline.queries.why import why
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import answer, paint, printable, say, say_row, untrusted

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.hooks.history.explain import Explanation

_STYLES = {
    **dict.fromkeys(("matched", "true", "met", "ran", "done"), "green"),
    **dict.fromkeys(
        ("false", "did not run", "unmet", "was interrupted", "has not been sent yet"), "yellow"
    ),
    **dict.fromkeys(("failed", "timed out", "was given up"), "red"),
}


def _arguments(p: ArgumentParser) -> None:
    p.add_argument(
        "subject", metavar="EVENT|HOOK|TASK|RUN", help="such as 417, a hook's name, T-12 or R-3"
    )
    p.add_argument("-v", "--verbose", action="store_true", help="show the whole recorded output")


def _why(args: Namespace) -> None:
    with reading() as app, app.read() as view:
        found = why(app, view, args.subject)
    if answer(args, found):
        print_explanation(found, verbose=args.verbose)


def print_explanation(found: Explanation, *, verbose: bool = False) -> None:
    """An explanation as aligned lines."""
    say_row(untrusted(found.verdict), 2)
    where = max((len(untrusted(step.where)) for step in found.steps), default=0)
    what = min(60, max((len(untrusted(step.what)) for step in found.steps), default=0))
    for step in found.steps:
        padded = f"{untrusted(step.result):11}" if step.detail else untrusted(step.result)
        result = paint(padded, _STYLES.get(step.result, "bold"))
        # What a check said last is at the end of a long reason, and how it ended at its beginning.
        detail = f"  {both_ends(untrusted(step.detail), 160)}" if step.detail else ""
        text = untrusted(step.what) if not step.what.startswith("  ") else f"  {step.what.strip()}"
        place = paint(f"{untrusted(step.where):{where}}", "dim")
        say_row(f"  {place}  {text:{what}}  {result}{detail}", 4)
    for check in found.failed_checks:
        first, _, more = (check.message or "").partition("\n")
        say(f"  {paint('✗', 'red')} {untrusted(check.rule_name)}  {untrusted(first)}".rstrip())
        for line in more.splitlines():
            say(f"      {paint('│', 'dim')} {printable(line)}")
    whole = found.output.strip()
    shown = whole if verbose else excerpt(whole)
    for line in shown.splitlines():
        say(f"      {paint('│', 'dim')} {printable(line)}")
    if shown != whole:
        say(paint("      -v shows the whole output", "dim"))
    if found.hint:
        say(untrusted(found.hint))
    if found.next:
        say(f"Try: {untrusted(found.next)}")


COMMANDS = {"why": Command("explain an event, a hook, a task or a run", _arguments, _why)}
