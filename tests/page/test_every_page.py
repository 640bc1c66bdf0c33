"""Every page with the data of a night: no error, no foreign request, no objection of axe."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from tests.page.conftest import Server
from tests.page.night import Night

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.conftest import Cli
    from tests.page.conftest import Window

AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"
# A route, and what must be on its page once it is read.
ROUTES = {
    "/attention": "Change how discounts add up",
    "/sessions": "shipping-costs",
    "/sessions?start=1": "Plan first",
    "/sessions/R-7": "Orders over 50 ship for free",
    "/sessions/R-7?scale=turns": "style-guide",
    "/sessions/R-7?scale=turns&only=problems": "exit 1",
    "/sessions/R-7?scale=all": "session_iteration_ended",
    "/sessions/R-7/1": "What it changed",
    "/tasks": "Step 3 of the new checkout",
    "/tasks?view=graph": "dependencies",
    "/tasks/T-2": "From idea to merge",
    "/tasks?new=1": "Depends on",
    "/pipeline": "Merge queue",
    "/runs": "ship",
    "/runs/R-16": "Ship 1.4 to everyone?",
    "/hooks": "never called",
    "/hooks/tests": "Try a condition",
    "/events/200": "Data",
    "/search?q=price": "Write a page with all prices",
    "/insights": "First time right",
    "/insights/gates": "The statement that yields the table",
}
SIZES: list[tuple[int, int, Literal["light", "dark"]]] = [
    (390, 844, "dark"),
    (1280, 800, "light"),
]


@pytest.fixture
def night(cli: Cli) -> Night:
    """A project after a night of twelve sessions, one of which goes on."""
    made = Night(cli)
    made.pass_by()
    made.live()
    return made


def objections(page: Page) -> list[Any]:
    """What axe finds wrong with what is shown: the rule, and where."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed (`npm ci` in web/ does that)")
    page.evaluate(AXE.read_text())
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        (each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found["violations"]
    ]


@pytest.mark.examples(1)
@pytest.mark.parametrize(("width", "height", "scheme"), SIZES)
def test_every_page_has_its_data(
    cli: Cli,
    night: Night,
    window: Window,
    width: int,
    height: int,
    scheme: Literal["light", "dark"],
) -> None:
    assert len(cli.json("session", "list")) == 12
    tab = window.tab(Server(cli), window.context(width, height, scheme))
    page = tab.open()
    for route, text in ROUTES.items():
        tab.go(route)
        page.get_by_text(text).first.wait_for(state="attached")
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width, route
        assert objections(page) == [], route
    night.go()


@pytest.mark.torture
def test_the_keyboard_leads_everywhere(cli: Cli, night: Night, window: Window) -> None:
    page = window.tab(Server(cli)).open("/sessions")
    page.get_by_text("shipping-costs").wait_for()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="watch", exact=True).wait_for()
    page.keyboard.press("[")
    page.get_by_role("heading", name="dead-code").wait_for()
    page.keyboard.press("g")
    page.keyboard.press("h")
    page.get_by_role("heading", name="Hooks").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("currency")
    page.get_by_text("Show prices in the visitor's currency").first.wait_for()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("pipel")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Pipeline").wait_for()
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keys").wait_for()
    page.keyboard.press("Escape")
    night.go()


# What was typed is there before another key can come: no frame is painted between the two.
PRESSES = """async key => {
  dispatchEvent(new KeyboardEvent('keydown', key));
  for (let turn = 0; turn < 20; turn += 1) await null;
  return document.activeElement.tagName;
}"""


@pytest.mark.examples(1)
@pytest.mark.parametrize("key", [{"key": "/"}, {"key": "k", "ctrlKey": True}])
def test_a_word_can_be_typed_right_after_its_key(
    cli: Cli, window: Window, key: dict[str, Any]
) -> None:
    cli.configure("agents: {}\n")
    page = window.tab(Server(cli)).open("/tasks")
    page.get_by_text("No task here").wait_for()
    page.get_by_text("Live").wait_for()
    assert page.evaluate(PRESSES, key) == "INPUT"


@pytest.mark.torture
def test_times_are_local_and_utc(cli: Cli, window: Window) -> None:
    cli.configure("hooks: {}\n")
    task = cli.task(cli.add("write"))
    page = window.tab(Server(cli)).open("/tasks/T-1")
    shown = page.locator(f"time[datetime='{task['createdAt']}']").first
    shown.wait_for()
    assert shown.inner_text().endswith(("GMT+1", "CET", "GMT+2", "CEST"))
    stamp = task["createdAt"][:19].replace("T", " ")
    assert shown.get_attribute("title") == f"{stamp} UTC"


@pytest.mark.torture
def test_an_empty_project_teaches(cli: Cli, window: Window) -> None:
    cli.configure("agents: {}\n")
    tab = window.tab(Server(cli))
    page = tab.open()
    commands = {
        "/attention": "hookline run",
        "/sessions": "hookline run",
        "/tasks": "hookline task add",
        "/tasks?view=graph": "hookline task add",
        "/pipeline": "hookline work",
        "/runs": "hookline flow start",
    }
    for route, command in commands.items():
        tab.go(route)
        page.locator(".empty .command", has_text=command).wait_for()


def test_nothing_without_the_token(cli: Cli, window: Window) -> None:
    cli.configure("agents: {}\n")
    cli.add("secret goal")
    server = Server(cli)
    tab = window.tab(server)
    tab.page.goto(f"{server.base}/#/tasks")
    tab.page.get_by_label("Address or token").fill(server.url)
    tab.page.get_by_role("button", name="Open").click()
    tab.page.get_by_text("secret goal").wait_for()
    assert tab.page.evaluate("() => document.cookie") == ""
    stored = tab.page.evaluate("() => JSON.stringify(localStorage)")
    assert server.token not in stored
