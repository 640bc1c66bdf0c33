"""What people are told about what waits for them, how sessions end, and limits that are near.

Each is the data of an event: a whole sentence, and what to type.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from hookline import typed
from hookline.domain.announcements import NEEDED, near
from hookline.domain.payloads import AttentionNeeded, AttentionOver
from hookline.domain.runs import model as runs
from hookline.domain.sessions import model as sessions
from hookline.domain.sessions.limits import BUDGETS
from hookline.domain.text.display import untrusted
from hookline.queries.sessions import facts, next_command
from hookline.queries.waiting.item import clause
from hookline.queries.waiting.sessions import session_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookline.domain.events import Event
    from hookline.domain.runs.model import Run
    from hookline.ports.store import View
    from hookline.queries.waiting.item import Item

LONGEST, LONGEST_GOAL = 500, 120
LIMIT = "limit"
# Kinds whose ids need a word before them; all others are those of tasks.
_SUBJECTS = {
    "session": "The session {}",
    LIMIT: "The session {}",
    "run": "The run {}",
    "breakpoint": "The run {}",
    "hook": "The hook {}",
    "dead_call": "The hook {}",
    "hooks": "The hooks {}",
}
_WAITS = {
    "breakpoint": "waits for your answer",
    "hooks": "wait for you",
    "hook": "fails",
    "dead_call": "was given up",
    "merged": "was merged and needs a look",
    "after_merge": "was merged and needs a look",
}
_OVER = {"hooks": "no longer wait for you", "hook": "works again"}
_ENDS = {
    sessions.COMPLETED: "is completed",
    sessions.ESCALATED: "needs a person",
    sessions.LIMIT: "reached a limit",
    sessions.STOPPED: "was stopped",
    sessions.FAILED: "failed",
    runs.CANCELLED: "was cancelled",
}
_AMOUNTS = {
    "iterations": "{used:g} of {allowed:g} iterations",
    "minutes": "{used:.0f} of {allowed:g} minutes",
    "usd": "${used:.2f} of ${allowed:.2f}",
    "tokens": "{used:,.0f} of {allowed:,.0f} tokens",
}


def waiting(item: Item, now: str) -> AttentionNeeded:
    """Something that begins to wait."""
    kind = item.kind.replace(" ", "_")  # a word, so that it can be anywhere in a command
    does = _WAITS.get(kind, "waits for you")
    return AttentionNeeded(
        kind=kind,
        id=item.id,
        since=item.since or now,
        message=_sentence(f"{_about(kind, item)} {does}: {clause(item.message)}"),
        command=item.command,
        key=item.key,
        waits=True,
        outcome=item.outcome,
        reason=item.reason,
    )


def _about(kind: str, item: Item) -> str:
    """What waits, and what it is about."""
    goal = f" ({untrusted(item.goal, LONGEST_GOAL)})" if item.goal else ""
    return f"{_subject(kind, item.id)}{goal}"


def over(announced: Mapping[str, Any]) -> AttentionOver:
    """Something that no longer waits, as it was announced."""
    before = typed.convert(announced, AttentionNeeded)
    subject = _subject(before.kind, before.id)
    return AttentionOver(
        kind=before.kind,
        id=before.id,
        since=before.since,
        message=_sentence(f"{subject} {_OVER.get(before.kind, 'no longer waits for you')}"),
        command="hookline attention",
        key=before.key,
    )


def ended(view: View, run: Run, event: Event, items: Mapping[str, Item]) -> AttentionNeeded:
    """How a session ended, which may be that it waits."""
    outcome, reason, message = _ending(event, run)
    failed = session_key(run.run_id, runs.FAILED)
    key = failed if event.type == "run_failed" else session_key(run.run_id, event.timestamp)
    name = run.input["name"]
    told = sessions.outcome_word(outcome, reason)
    waits = items.get(key)
    return AttentionNeeded(
        kind="session",
        id=name,
        since=event.timestamp,
        message=_sentence(f"{_subject('session', name)} {_ENDS[told]}: {message}"),
        command=waits.command if waits is not None else next_command(facts(view, run)),
        key=key,
        waits=waits is not None,
        outcome=outcome,
        reason=reason,
    )


def _ending(event: Event, run: Run) -> tuple[str, str, str]:
    """The outcome, the reason, and the reason as people read it."""
    data = event.data
    if event.type == "session_ended":
        return data["outcome"], data["reason"], data.get("message") or data["reason"]
    if event.type == "run_failed":
        return sessions.FAILED, run.error or "", run.error or "its run failed"
    return runs.CANCELLED, run.reason or "", run.reason or "by a person"


def near_limits(view: View, run: Run, event: Event) -> Iterator[AttentionNeeded]:
    """The limits of which a session has used most, and that nobody was told about."""
    told = {
        each.data["key"]
        for each in view.log.events(node_id=run.run_id, types=(NEEDED,))
        if each.data["kind"] == LIMIT
    }
    for each in near(event.data.get("countdown", []), BUDGETS):
        key = f"limit {run.run_id} {each['name']} {each['allowed']:g}"
        if key not in told:
            yield _near(run, event, each, key)


def _near(run: Run, event: Event, used: Mapping[str, Any], key: str) -> AttentionNeeded:
    name, amount = run.input["name"], _AMOUNTS[used["name"]].format(**used)
    return AttentionNeeded(
        kind=LIMIT,
        id=name,
        since=event.timestamp,
        message=_sentence(f"{_subject(LIMIT, name)} has used {amount}"),
        command=f"hookline session attach {shlex.quote(name)}",
        key=key,
        waits=False,
        reason=used["name"],
    )


def _subject(kind: str, name: str) -> str:
    about = name.partition(" ")[0] if kind == "breakpoint" else name  # the run, without its step
    return _SUBJECTS.get(kind, "{}").format(about)


def _sentence(text: str) -> str:
    """One line that ends like a sentence, however long and odd its parts are."""
    line = untrusted(text, LONGEST)
    return line if line.endswith((".", "!", "?", "…")) else f"{line}."
