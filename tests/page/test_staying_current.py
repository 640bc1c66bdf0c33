"""Tabs stay current: one stream for all of them, also when the server goes away and comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import eventually
from tests.page.conftest import Server

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

    from tests.e2e.conftest import Cli
    from tests.page.conftest import Window

SHOWN = "() => [...document.querySelectorAll('.list li')].map(row => row.dataset.key)"


def rows(page: Page) -> list[str]:
    """The keys of the rows in the list, from top to bottom."""
    found: list[str] = page.evaluate(SHOWN)
    return found


def shows(page: Page, expected: list[str]) -> None:
    """Wait until the list has exactly these rows."""
    eventually(lambda: rows(page) == expected, f"the rows {expected}")


@pytest.mark.examples(1)
@pytest.mark.parametrize("count", [4, 12])
def test_many_tabs_share_one_stream(cli: Cli, window: Window, count: int) -> None:
    cli.configure("agents: {}\n")
    server = Server(cli)
    context = window.context()
    tabs = [window.tab(server, context) for _ in range(count)]
    for tab in tabs:
        tab.open("/tasks")
    for number in range(1, 4):
        cli.add(f"task {number}")
    for tab in tabs:
        tab.page.bring_to_front()
        shows(tab.page, ["T-1", "T-2", "T-3"])
    streams = [url for tab in tabs for url in tab.requests if "/api/stream" in url]
    assert len(streams) == 1

    # The tab that reads the stream is closed: another one continues after its own last event.
    reader = next(tab for tab in tabs if any("/api/stream" in url for url in tab.requests))
    reader.page.close()
    tabs.remove(reader)
    window.tabs.remove(reader)
    cli.add("task 4")
    for tab in tabs:
        tab.page.bring_to_front()
        shows(tab.page, ["T-1", "T-2", "T-3", "T-4"])


@pytest.mark.torture
def test_a_link_opens_in_a_tab_that_has_no_token(cli: Cli, window: Window) -> None:
    cli.configure("agents: {}\n")
    cli.add("a goal")
    server = Server(cli)
    context = window.context()
    window.tab(server, context).open("/tasks")
    other = window.tab(server, context)
    other.page.goto(f"{server.base}/#/tasks/T-1")
    other.page.get_by_role("region", name="Task T-1").get_by_text("a goal").first.wait_for()


def test_a_restart_under_the_page_loses_and_doubles_nothing(cli: Cli, window: Window) -> None:
    cli.configure("agents: {}\n")
    server = Server(cli)
    page = window.tab(server).open("/tasks")
    page.get_by_text("Live").wait_for()
    expected = []
    for restart in range(3):
        expected.append(cli.add(f"before restart {restart}"))
        server.stop()
        page.get_by_text("Connection lost").wait_for()
        expected.append(cli.add(f"while it is away {restart}"))
        server.again()
        expected.append(cli.add(f"after restart {restart}"))
        page.get_by_text("Live").wait_for()
        shows(page, expected)


@pytest.mark.torture
def test_a_question_that_fails_is_asked_again(cli: Cli, window: Window) -> None:
    cli.configure("agents: {}\n")
    page = window.tab(Server(cli)).open("/tasks")
    page.get_by_text("Live").wait_for()
    failed: list[str] = []

    def fail_once(route: Route) -> None:
        failed.append(route.request.url)
        route.abort() if len(failed) == 1 else route.continue_()

    page.route("**/api/tasks?*ids=*", fail_once)
    shows(page, [])
    added = cli.add("while the page could not ask")
    shows(page, [added])
    assert len(failed) > 1
    page.get_by_text("The server does not answer").wait_for(state="detached")


@pytest.mark.torture
def test_the_log_of_a_run_has_each_event_once(cli: Cli, window: Window) -> None:
    cli.configure(
        "flows:\n  count: {steps: [{id: a, run: 'true'}, {id: ok, breakpoint: 'On?'},"
        " {id: b, run: 'true'}, {id: again, breakpoint: 'Still?'}]}\n"
    )
    cli("flow", "start", "count")
    server = Server(cli)
    page = window.tab(server).open("/runs/R-1?view=events")
    page.get_by_text("effect_requested").first.wait_for()
    server.stop()
    cli("answer", "R-1", "ok", "yes")
    server.again()
    cli("answer", "R-1", "again", "yes")
    cli("work", "--flows", "--once")
    expected = sorted(
        (str(event["seq"]) for event in cli.events() if event["nodeId"] == "R-1"), key=int
    )
    eventually(lambda: sorted(rows(page), key=int) == expected, "each event once")
