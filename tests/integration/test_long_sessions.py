"""What people look at does not cost more because a session was long, or a store is old."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from benchmarks.history import SESSION, long_session

from hookline.app import App
from hookline.domain.timestamps import iso
from hookline.queries.page.report import session_file
from hookline.queries.reports.project import project_report
from hookline.queries.reports.session import MOST_TOLD, session_report
from hookline.queries.session_details import session_details
from hookline.queries.sessions import facts
from hookline.sessions.names import find

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hookline.ports.store import View

LONG = 400
LOOKS: dict[str, Callable[[App], object]] = {
    "session list": lambda app: _read(app, lambda view: facts(view, find(view, SESSION))),
    "session show": lambda app: _read(
        app, lambda view: session_details(view, find(view, SESSION), app.blobs)
    ),
    "report": lambda app: project_report(app, iso(0.0)),
}


def _read(app: App, look: Callable[[View], object]) -> object:
    with app.read() as view:
        return look(view)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[App, App]:
    """The same session with a few iterations, and with many."""
    few, many = (tmp_path_factory.mktemp(name) for name in ("few", "many"))
    return _opened(few, 4), _opened(many, LONG)


def _opened(folder: Path, iterations: int) -> App:
    made = long_session(str(folder), iterations)
    return App.open(made.root, environ=made.env, read_only=True)


def statements(app: App, look: Callable[[App], object]) -> list[str]:
    """Every statement that a look at a project runs, without its values."""
    asked: list[str] = []
    connection = app.store._database.connection  # type: ignore[attr-defined]
    connection.set_trace_callback(asked.append)
    try:
        look(app)
    finally:
        connection.set_trace_callback(None)
    return asked


@pytest.mark.examples(1)
@pytest.mark.parametrize("name", LOOKS)
def test_a_long_session_is_asked_about_no_more_often(stores: tuple[App, App], name: str) -> None:
    few, many = (len(statements(app, LOOKS[name])) for app in stores)
    assert many <= few + 7  # a hundred times as long: a moment is found after seven more halves


@pytest.mark.parametrize("name", LOOKS)
def test_no_look_reads_the_whole_log_or_journal(stores: tuple[App, App], name: str) -> None:
    connection = stores[1].store._database.connection  # type: ignore[attr-defined]
    for statement in set(statements(stores[1], LOOKS[name])):
        if not statement.startswith("SELECT"):
            continue
        plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
        scans = [step[3] for step in plan if step[3].startswith(("SCAN events", "SCAN effects"))]
        assert scans == [], statement


def test_a_page_tells_the_newest_iterations_and_lists_the_rest(stores: tuple[App, App]) -> None:
    app = stores[1]
    with app.read() as view:
        found = session_report(view, find(view, SESSION), app.blobs)
    assert [each.chapter.iteration for each in found.story] == [
        *range(LONG - MOST_TOLD + 1, LONG + 1)
    ]
    told = session_file(app, found).session
    assert told is not None
    assert (len(told.page.iterations), told.left_out) == (LONG, 0)
    assert [each.page.chapter for each in told.story] == [
        each.chapter for each in told.page.iterations[-MOST_TOLD:]
    ]


def test_the_copies_are_what_a_session_writes(stores: tuple[App, App]) -> None:
    """The doctor finds no fault with a store that was filled like this."""
    app = stores[1]
    checks = subprocess.run(
        (sys.executable, "-m", "hookline", "doctor", "--json"),
        cwd=app.project.root,
        env={**app.environ},
        capture_output=True,
        check=False,
    )
    assert checks.returncode == 0, checks.stdout
