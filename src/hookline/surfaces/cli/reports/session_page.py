"""A session's page: its outcome, a line and a diff for each iteration, and its whole story."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.hooks.names import short_name
from hookline.domain.sessions.model import COMPLETED
from hookline.domain.text.terminal import plural, thousands, took
from hookline.domain.timestamps import seconds
from hookline.queries.pruned import GONE
from hookline.queries.reports.diffs import with_iteration_changes
from hookline.queries.reports.project import UNPROVEN
from hookline.queries.reports.session import session_report
from hookline.queries.reports.story import Checked, Fired, Told, ToldTurn, piped_text, receipts
from hookline.queries.session_details import EndedIteration
from hookline.surfaces.cli.live.lines import money
from hookline.surfaces.cli.output import answer
from hookline.surfaces.cli.reports import page, phrases
from hookline.surfaces.cli.reports.diff_html import diff_html
from hookline.surfaces.cli.reports.files import write_page
from hookline.surfaces.cli.reports.page import COUNTED, NUMBER, SHORT, WIDE, Column, Markup
from hookline.surfaces.cli.reports.session_tables import tables

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from hookline.app import App
    from hookline.domain.hooks.records import Delivery
    from hookline.domain.runs.model import Run
    from hookline.queries.reports.session import IterationLine, SessionReport, ToldIteration
    from hookline.queries.reports.story import Step

COMPLETE = "complete"
# What happened in the last ones is what people look for.
OPEN_AT_END = 1
_UNITS = {"usd": "money", "no_change": "iterations without a change"}


def tell_session(args: Namespace, app: App, run: Run, output: str | None) -> None:
    """Write a session's page, and say where."""
    with app.read() as view:
        found = session_report(view, run, app.blobs)
    found = asyncio.run(with_iteration_changes(app, found))
    path = write_page(app, _parts(found, app.store.now()), f"{run.run_id}.html", output)
    if path is not None:
        told = {"runId": run.run_id, "file": os.path.abspath(path)}
        answer(args, told, os.path.relpath(path))


def _parts(found: SessionReport, now: str) -> Iterator[str]:
    yield page.head(f"{found.known.name} · Hookline")
    yield from _summary(found)
    yield page.section("Limits", _limits(found))
    yield page.section("Overview", _overview(found))
    proofs = [receipt for each in found.story for receipt in receipts(each.chapter)]
    yield page.section("Proof", "".join(receipt_html(each) for each in proofs[-1:]))
    yield page.section("Iterations", "".join(_iterations(found)))
    yield from tables(found)
    held = "".join(
        page.folded(f"{each.point}: {short_name(each.hook)}", each.text) for each in found.held
    )
    yield page.section("Held for the agent", held)
    yield page.foot(now)


def _summary(found: SessionReport) -> Iterator[str]:
    known = found.known
    yield f"<header>\n<h1>{page.text(known.name)} {_status(found)}</h1>\n"
    yield f"<p>{page.text(known.goal)}</p>\n"
    yield page.pairs(
        (
            ("why", found.why),
            ("run", known.run_id),
            ("task", known.task_id),
            ("agent", known.agent),
            ("started", page.time(known.created_at, day=True)),
            ("took", took(found.seconds) if found.seconds is not None else None),
            ("iterations", found.iterations),
            ("money", money(found.usd) if found.usd else None),
            ("tokens", f"{found.tokens:,}" if found.tokens else None),
        )
    )
    if found.pruned is not None:
        when = page.time(found.pruned, day=True)
        yield f'<p class="notice">{page.text(GONE)} were pruned on {when}.</p>\n'
    yield "</header>\n"


def _status(found: SessionReport) -> Markup:
    """Its status; what only its agent says is said so, unless gates look at it."""
    known = found.known
    if known.status != COMPLETED or found.proven:
        return page.badge(known.status)
    if known.branch is not None:
        return page.badge(known.status, page.OTHER)
    return page.badge(phrases.outcome_text(UNPROVEN), page.class_of(UNPROVEN))


def _limits(found: SessionReport) -> str:
    """How much was used of what; a limit that was reached stands out."""
    rows = [
        (
            _UNITS.get(each.name, each.name.replace("_", " ")),
            f"{_amount(each.name, each.used)} of {_amount(each.name, each.allowed)}",
            page.badge("limit") if each.used >= each.allowed else "",
        )
        for each in found.limits
    ]
    return page.table((Column("limit"), Column("used", SHORT), Column("")), rows, "slim")


def _amount(name: str, amount: float) -> str:
    if name == "usd":
        return money(amount)
    return f"{amount:,.1f}".removesuffix(".0")


# The overview

_LINE = (
    Column("", NUMBER),
    Column("decision", SHORT),
    Column("began", SHORT),
    Column("took", NUMBER),
    Column("files", COUNTED),
    Column("checks", COUNTED),
    Column("tokens", COUNTED),
    Column("money", NUMBER),
    Column("why", WIDE),
)


def _overview(found: SessionReport) -> str:
    older = f"{found.left_out:,} older iterations are not listed."
    left_out = f"<p>{older}</p>\n" if found.left_out else ""
    return left_out + page.table(
        _LINE, [_line(each, found) for each in found.overview], "lines overview"
    )


def _line(line: IterationLine, found: SessionReport) -> Sequence[object]:
    ended = line.ended
    duration = took(seconds(ended.timestamp) - seconds(line.began)) if line.began else ""
    checks = f"{ended.passed}/{ended.rules}" if ended.rules else ""
    is_short = ended.rules and ended.passed < ended.rules
    return (
        Markup(f'<a href="#i{int(ended.iteration or 0)}">{int(ended.iteration or 0)}</a>'),
        _decision_badge(ended, found),
        page.time(line.began),
        duration,
        len(ended.files_modified) or "",
        Markup(f'<span class="failed">{checks}</span>') if is_short else checks,
        thousands(ended.tokens) if ended.tokens else "",
        money(ended.usd) if ended.usd else "",
        phrases.first_line(ended.reason or ended.error or ""),
    )


def _decision(ended: EndedIteration) -> str:
    return ended.decision or ended.status or "not over"


def _decision_badge(ended: EndedIteration, found: SessionReport) -> Markup:
    """What was decided; a claim that nothing has proven is not green."""
    decision = _decision(ended)
    is_claim = decision == COMPLETE and not found.proven
    return page.badge(decision, page.OTHER if is_claim else None)


# The story


def _iterations(found: SessionReport) -> Iterator[str]:
    left_out = found.iterations - len(found.story)
    if left_out > 0:
        yield f"<p>Only the newest {len(found.story):,} are told here.</p>\n"
    last = len(found.story) - OPEN_AT_END
    for number, each in enumerate(found.story):
        yield _iteration(each, found, is_open=number >= last)


def _iteration(told: ToldIteration, found: SessionReport, *, is_open: bool) -> str:
    chapter = told.chapter
    ended = chapter.ended or EndedIteration()
    number = chapter.iteration if chapter.iteration is not None else "?"
    why = ended.reason or ended.error or ""
    steps = "".join(_STEPS[type(step)](step) for step in chapter.steps)
    fired = (each.decision for each in chapter.steps if isinstance(each, Fired))
    decided = [each.reason for each in fired if each is not None]
    said = f"<p>{page.text(why)}</p>\n" if why not in decided else ""  # or the decision says it
    badge = _decision_badge(ended, found)
    title = f"Iteration {page.text(number)} {badge} <small>{_cost(ended)}</small>"
    # In a worktree the first files that were kept are those that its branch began with.
    since = " since its branch began" if chapter.base and found.known.branch else ""
    title_of = f"Changes{since}" if chapter.tree else "Committed"
    changed = diff_html(told.change, title_of) if told.change else ""
    names = page.folded("Names of changed files", "\n".join(ended.files_modified))
    has_all = bool(told.change and told.change.files and chapter.tree)
    return (
        f'<details class="card" id="i{page.text(number)}"{" open" if is_open else ""}>'
        f"<summary>{title}</summary>\n{said}"
        f"{changed}{'' if has_all else names}"
        f"<ol>\n{steps}</ol>\n</details>\n"
    )


def _cost(ended: EndedIteration) -> str:
    parts = [plural(len(ended.files_modified), "file")] if ended.files_modified else []
    if ended.usd:
        parts.append(money(ended.usd))
    if ended.tokens:
        parts.append(f"{thousands(ended.tokens)} tokens")
    return page.text(" · ".join(parts))


def _item(mark: str, title: str, more: str, content: str = "") -> str:
    return (
        f'<li class="{page.class_of(mark)}"><span class="step">{page.text(title)}</span>'
        f' <span class="more">{page.text(more)}</span>\n{content}</li>\n'
    )


def _time(at: str, duration: float | None) -> Markup:
    how_long = took(duration) if duration is not None else "not over"
    return Markup(f"{page.time(at)} · {page.text(how_long)}")


def _turn(turn: ToldTurn) -> str:
    details = [_time(turn.at, turn.seconds)]
    if turn.tools:
        details.append(Markup(plural(turn.tools, "tool")))
    if turn.tokens:
        details.append(Markup(f"{thousands(turn.tokens)} tokens"))
    if turn.usd:
        details.append(Markup(money(turn.usd)))
    content = (
        (f'<p class="error">{page.text(turn.error)}</p>\n' if turn.error else "")
        + page.folded("What the agent was told", turn.prompt)
        + page.folded("What it said", turn.text)
    )
    mark = "failed" if turn.error else "ok"
    return _item(mark, f"agent: {turn.step}", Markup(" · ".join(details)), content)


_RULES = (Column("", SHORT), Column("rule"), Column("command"), Column("exit", NUMBER))


def _checked(checked: Checked) -> str:
    rows = [
        (
            page.badge("passed" if e.passed else "failed"),
            e.rule_name,
            _command(e.command),
            e.exit_code,
        )
        for e in checked.results
    ]
    said = "".join(
        _complaint(each.rule_name, each.message)
        for each in checked.results
        if not each.passed and each.message
    )
    content = page.table(_RULES, rows) + said
    mark = "ok" if all(each.passed for each in checked.results) else "failed"
    return _item(mark, "validation", _time(checked.at, checked.seconds), content)


def _complaint(rule: str, message: str) -> str:
    """What a check said: in one line, and what it printed as it printed it."""
    first, _, printed = message.partition("\n")
    shown = f'<pre class="error">{page.text(printed)}</pre>\n' if printed else ""
    return f'<p class="error">{page.text(rule)}: {page.text(first)}</p>\n{shown}'


def _command(line: str | None) -> Markup:
    return Markup(f"<code>{page.words(line)}</code>" if line else "")


def _fired(fired: Fired) -> str:
    calls = "".join(_call(fired.point, call) for call in fired.calls)
    if fired.decision is None:
        return calls
    action = fired.decision.action
    content = f"<p>{page.text(fired.decision.reason)}</p>\n"
    content += page.folded("Next prompt", fired.decision.next_prompt or "")
    mark = action if action != COMPLETE else ""  # its badge says whether that is proven
    return calls + _item(mark, f"decision: {action}", page.time(fired.at), content)


def _call(point: str, call: Delivery) -> str:
    duration = (call.duration_us or 0) / 1_000_000
    details = [call.status, took(duration)]
    if call.exit_code is not None:
        details.append(f"exit {call.exit_code}")
    if call.status == "skipped" and call.condition:
        details = [f"skipped: when {call.condition} is false"]
    content = f'<p class="error">{page.text(call.error)}</p>\n' if call.error else ""
    output = piped_text(call)
    content += page.folded("Output", output)
    content += page.folded("On stderr", _unsaid(call.stderr or "", output, call.error or ""))
    if call.condition_values:
        content += page.folded("Values of the condition", _json(call.condition_values))
    if isinstance(call.answer, dict) and call.answer and "text" not in call.answer:
        content += page.folded("Answer", _json(call.answer))
    where = f" ({call.origin})" if call.origin else ""
    mark = call.status if not call.exit_code else "failed"
    return _item(mark, f"{point}: {short_name(call.hook)}", " · ".join(details) + where, content)


def _unsaid(stderr: str, *others: str) -> str:
    """What a hook printed on stderr, unless it is there already."""
    return "" if any(stderr.strip() in each for each in others) else stderr


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _told(told: Told) -> str:
    return _item("", told.title, page.time(told.at), page.folded("Text", told.text))


_STEPS: dict[type[Step], Callable[[Any], str]] = {
    ToldTurn: _turn,
    Checked: _checked,
    Fired: _fired,
    Told: _told,
}


def receipt_html(receipt: Mapping[str, Any]) -> str:
    """The proof that a stop hook kept: which diff, which checks, and how they ended."""
    checks = receipt.get("checks")
    rows = [
        (each.get("name", ""), _command(each.get("command")), each.get("exitCode", ""))
        for each in (checks if isinstance(checks, list) else ())
        if isinstance(each, dict)
    ]
    diff = str(receipt.get("diffHash") or "")
    facts = (("diff", page.code(diff, diff[:12])), ("files", receipt.get("changedFiles")))
    columns = (Column("check"), Column("command"), Column("exit", NUMBER))
    return page.pairs(facts) + page.table(columns, rows) + _edited_tests(receipt)


def _edited_tests(receipt: Mapping[str, Any]) -> str:
    """The tests that checks follow and that the session edited."""
    edited = receipt.get("editedTests")
    rows = [
        (each.get("path", ""), each.get("added", ""), each.get("removed", ""))
        for each in (edited if isinstance(edited, list) else ())
        if isinstance(each, dict)
    ]
    columns = (Column("edited test"), Column("added", NUMBER), Column("removed", NUMBER))
    return page.table(columns, rows) if rows else ""
