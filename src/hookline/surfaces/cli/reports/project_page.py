"""The page of a project, or of one task: what waits, what was done, what proves it, the diffs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.text.terminal import took
from hookline.surfaces.cli.live.lines import money
from hookline.surfaces.cli.reports import page, phrases
from hookline.surfaces.cli.reports.diff_html import diff_html
from hookline.surfaces.cli.reports.page import COUNTED, NAME, NUMBER, SHORT, WIDE, Column, Markup
from hookline.surfaces.cli.reports.session_tables import costs_html
from hookline.surfaces.cli.work.costs import computed_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookline.queries.reports.project import ProjectReport, ReportedSession, ReportedTask
    from hookline.queries.reports.proofs import Proof
    from hookline.queries.waiting.item import Item

_OVERVIEW = (
    Column("task", SHORT),
    Column("outcome", SHORT),
    Column("goal", WIDE),
    Column("merged as", SHORT),
    Column("changes", SHORT),
    Column("time", NUMBER),
    Column("money", NUMBER),
)
_PROOFS = (
    Column("", SHORT),
    Column("check", NAME),
    Column("at", SHORT),
    Column("commit", SHORT),
    Column("when", SHORT),
    Column("what was said", WIDE),
)
_SESSIONS = (
    Column("session"),
    Column("", SHORT),
    Column("run", SHORT),
    Column("task", SHORT),
    Column("agent"),
    Column("iterations", COUNTED),
    Column("why", WIDE),
)


def parts(found: ProjectReport) -> Iterator[str]:
    """The page, part by part."""
    yield page.head(f"{found.project}: report · Hookline")
    yield f"<header>\n<h1>{page.text(found.project)}</h1>\n"
    yield f"<p>{page.text(phrases.period(found))}</p>\n"
    yield f"<p>{page.text(phrases.headline(found))}</p>\n</header>\n"
    yield page.section("Waits for you", "".join(_item(each, found.until) for each in found.waiting))
    yield page.section(
        "Tasks", page.table(_OVERVIEW, [_line(each) for each in found.tasks], "lines")
    )
    if found.left_out:
        yield f"<p>{found.left_out} earlier tasks are not listed.</p>\n"
    sessions = page.table(_SESSIONS, [_session(each) for each in found.sessions], "lines")
    yield page.section("Sessions", sessions)
    yield page.section("What was done", "".join(_task(each, found) for each in found.tasks))
    yield page.section("What it cost", costs_html(found.cost))
    yield page.foot(found.until)


def _item(item: Item, now: str) -> str:
    said = page.text(phrases.item_text(item, now))
    return (
        f'<div class="waits"><p><b>{page.text(item.id)}</b>{said}</p>'
        f"<code>{page.words(item.command)}</code></div>\n"
    )


def _line(task: ReportedTask) -> Sequence[object]:
    name = page.text(task.task_id)
    cost = task.cost
    return (
        Markup(f'<a href="#{name}">{name}</a>'),
        _badge(task),
        task.goal,
        _commit(task.merged.sha if task.merged else None),
        "" if task.change and task.change.unknown else phrases.change_text(task.change),
        took(cost.seconds) if cost.turns else "",
        f"{money(cost.usd)}{computed_text(cost)}" if cost.usd is not None else "",
    )


def _commit(commit: str | None) -> Markup:
    return page.code(commit, phrases.short(commit)) if commit else Markup("")


def _badge(task: ReportedTask) -> Markup:
    return page.badge(phrases.outcome_text(task.outcome), page.class_of(task.outcome))


def _session_badge(session: ReportedSession) -> Markup:
    is_open = phrases.session_mark(session) == phrases.OTHER_MARK
    kind = page.OTHER if is_open else page.class_of(session.status)
    return page.badge(phrases.outcome_text(session.status), kind)


def _session(session: ReportedSession) -> Sequence[object]:
    return (
        session.name,
        _session_badge(session),
        session.run_id,
        session.task_id,
        session.agent,
        session.iterations,
        session.why,
    )


def _task(task: ReportedTask, found: ProjectReport) -> str:
    name = page.text(task.task_id)
    is_bad = page.class_of(task.outcome) == "bad"
    facts = [(phrases.merge_text(task, found.until), ""), (task.why, _kind_of_why(task))]
    said = "".join(f'<p class="{kind}">{page.text(each)}</p>\n' for each, kind in facts if each)
    diff = diff_html(task.change, "Changes") if task.change is not None else ""
    return (
        f'<article class="card{" bad" if is_bad else ""}" id="{name}">\n'
        f"<h3>{name} {page.text(task.goal)} {_badge(task)}</h3>\n{said}"
        f"{page.table(_PROOFS, [_proof(each) for each in task.proofs])}"
        f"{costs_html(task.cost)}{diff}</article>\n"
    )


def _kind_of_why(task: ReportedTask) -> str:
    return "failed" if task.outcome in phrases.LOUD else ""


def _proof(proof: Proof) -> Sequence[object]:
    return (
        page.badge(proof.status),
        page.words(proof.check),
        proof.point,
        _commit(proof.commit),
        page.time(proof.at),
        proof.message,
    )
