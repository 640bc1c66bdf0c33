"""What a report is about, and where the next one begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookline.domain.sessions.model import FLOW as SESSION
from hookline.domain.text.display import untrusted
from hookline.domain.work.submissions import MERGE, SUBMIT
from hookline.errors import BadInput
from hookline.project import user_folder
from hookline.queries.references import is_run, is_task
from hookline.sessions.names import find
from hookline.trust.people import under_agent
from hookline.wiring.project.looks import last_look, remember_look

if TYPE_CHECKING:
    from hookline.app import App
    from hookline.domain.runs.model import Run
    from hookline.queries.reports.project import ProjectReport

_SINCE, _UNTIL = "report-since", "report"


class LastReport(NamedTuple):
    """From when to when the last report was; None if there was none."""

    since: str | None
    until: str | None


def last_report(app: App) -> LastReport:
    """The last report that a person asked for."""
    home, store = user_folder(app.environ), app.store.id
    return LastReport(last_look(home, store, _SINCE), last_look(home, store, _UNTIL))


def remember_report(app: App, found: ProjectReport) -> None:
    """The next report begins where this one ends, if a person asked for it."""
    if not under_agent(app.environ):
        for at, moment in ((_SINCE, found.since), (_UNTIL, found.until)):
            remember_look(user_folder(app.environ), app.store.id, at, moment)


def run_about(app: App, subject: str) -> Run | None:
    """The session of a name, or a run that is about a task; None for the task itself."""
    if is_task(subject):
        return None
    with app.read() as view:
        if not is_run(subject):
            return find(view, subject)
        run = view.runs.find(subject)
    if run.flow not in (SESSION, SUBMIT, MERGE):
        help = f"`hookline flow show {run.run_id}` shows it"
        raise BadInput(f"{run.run_id} ({untrusted(run.flow)}) is not about a task", help=help)
    return run
