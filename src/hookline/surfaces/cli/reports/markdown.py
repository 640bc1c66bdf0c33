"""The report of a project as Markdown, for a pull request or a chat. Foreign text stays text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hookline.domain.text.display import untrusted
from hookline.surfaces.cli.reports import phrases
from hookline.surfaces.cli.work.costs import cost_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.queries.reports.project import ProjectReport, ReportedSession, ReportedTask
    from hookline.queries.waiting.item import Item

# What could become a link, a tag, an image, a table, code, a formula or another character; and, at
# the beginning, a structure.
_SPECIAL = re.compile(r"([\\`*\[\]<>|&~$]|:(?=//)|(?<=www)\.)")
_LEADING = re.compile(r"^(|\d+(?=[.)](?:\s|$)))([#+=.)-])")
# What a forge takes for a person or an issue: a space without width parts it, by its number, as
# the character itself would be spelled out for terminals.
_REFERENCE, _PARTED = re.compile(r"([@#])(?=\w)"), r"\1&#8203;"
_MARKS = {phrases.GOOD_MARK: "✅", phrases.BAD_MARK: "❌", phrases.OTHER_MARK: "🟡"}
_LONGEST = 500


def lines(found: ProjectReport) -> Iterator[str]:
    """The report, line by line."""
    yield f"## {text(found.project)}: {phrases.period(found)}"
    yield ""
    yield text(phrases.headline(found))
    if found.waiting:
        yield from ("", "### Waits for you", "")
        for item in found.waiting:
            yield from _item(item, found.until)
    if found.tasks:
        yield from ("", "### Tasks", "")
        for task in found.tasks:
            yield from _task(task, found)
    if found.left_out:
        yield f"- and {found.left_out} earlier tasks"
    if found.sessions:
        yield from ("", "### Sessions", "")
        yield from (_session(each) for each in found.sessions)


def text(value: str) -> str:
    """Foreign text as one line that no renderer takes for anything else."""
    shown = _SPECIAL.sub(r"\\\1", untrusted(value, _LONGEST))
    return _REFERENCE.sub(_PARTED, _LEADING.sub(r"\1\\\2", shown))


def code(value: str) -> str:
    """A command or a name, exactly as it is."""
    shown = untrusted(value)
    longest = max((len(each) for each in re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {shown} {fence}" if longest else f"`{shown}`"


def _task(task: ReportedTask, found: ProjectReport) -> Iterator[str]:
    outcome = f"**{phrases.outcome_text(task.outcome)}**"
    yield f"- {_mark(task.outcome)} **{task.task_id}** {text(task.goal)}: {outcome}"
    if why := phrases.why_text(task, found):
        yield f"  - {text(why)}"
    facts = (phrases.merge_text(task, found.until), phrases.change_text(task.change))
    if any(facts):
        yield f"  - {text(' · '.join(each for each in facts if each))}"
    for _, proof in phrases.proof_texts(task):
        yield f"  - {text(proof)}"
    if task.cost.turns:
        yield f"  - {text(cost_text(task.cost))}"
        roles = phrases.role_texts(task.cost)
        yield from (f"    - {text(each)}" for each in roles if len(roles) > 1)


def _session(session: ReportedSession) -> str:
    how = f"{phrases.outcome_text(session.status)} {phrases.iterations_text(session.iterations)}"
    why = f": {session.why}" if session.why else ""
    name = f"{_MARKS[phrases.session_mark(session)]} **{text(session.name)}** ({session.run_id})"
    return f"- {name} {text(how + why)}"


def _item(item: Item, now: str) -> Iterator[str]:
    yield f"- **{text(item.id)}** {text(phrases.item_text(item, now))}"
    yield f"  - {code(item.command)}"


def _mark(outcome: str) -> str:
    return _MARKS[phrases.mark_of(outcome)]
