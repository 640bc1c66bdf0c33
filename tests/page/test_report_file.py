"""Reports in one file, opened as files: the page's components, alone and without the network."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.e2e.session_rig import Rig
from tests.page.night import Night
from tests.page.test_every_page import SIZES, objections
from tests.page.test_hostile_texts import PAYLOADS

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

    from tests.e2e.conftest import Cli
    from tests.page.conftest import LateBrowser

# What a report is about, and what has to be in it.
REPORTS = {
    ("--since", "1h"): ("1 merged", "Waits for you", "docs/T-1.md", "hookline gate approve T-2"),
    ("T-2",): ("Change how discounts add up", "at its gates", "compiles", "src/prices.txt"),
    ("shipping-costs",): ("Not proven", "Iteration 3", "What it changed", "style-guide", "exit 1"),
}


class Opened:
    """Reports in a browser, with all that was said on the console and asked of the network."""

    def __init__(self, browser: LateBrowser) -> None:
        self._browser = browser
        self.problems: list[str] = []

    def open(self, file: Path, size: tuple[int, int] = (1280, 800)) -> Page:
        """A report as somebody who was sent the file opens it."""
        context = self._browser.new_context(viewport={"width": size[0], "height": size[1]})
        page = context.new_page()
        page.on("console", lambda message: self.problems.append(message.text))
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("request", lambda asked: self._asked(asked.url))
        page.goto(file.as_uri())
        return page

    def _asked(self, url: str) -> None:
        if not url.startswith("file:"):
            self.problems.append(url)


@pytest.fixture
def opened(browser: LateBrowser) -> Opened:
    return Opened(browser)


def made(cli: Cli, *words: str) -> Path:
    """The file of a report."""
    name = f"report-{words[-1]}.html"
    assert cli("report", *words, "--html", name).code == 0
    return cli.root / name


@pytest.mark.examples(1)
@pytest.mark.parametrize("size", [each[:2] for each in SIZES])
def test_each_report_is_whole_and_alone(cli: Cli, opened: Opened, size: tuple[int, int]) -> None:
    Night(cli).pass_by()
    files = {words: made(cli, *words) for words in REPORTS}
    for words, expected in REPORTS.items():
        page = opened.open(files[words], size)
        for text in expected:
            page.get_by_text(text).first.wait_for(state="attached")
        assert page.evaluate("() => document.documentElement.scrollWidth") <= size[0]
        assert opened.problems == []
        assert objections(page) == [], words


@pytest.mark.torture
def test_what_is_unproven_is_as_loud_as_a_failure_and_links_lead_somewhere(
    cli: Cli, opened: Opened
) -> None:
    Night(cli).pass_by()
    page = opened.open(made(cli, "--since", "1h"))
    assert page.locator(".overview .status.bad", has_text="completed unproven").count() > 0
    page.locator(".overview a", has_text="T-27").click()
    page.locator("[id='/tasks/T-27']").wait_for()
    dead = "() => [...document.querySelectorAll('a[href]')].filter("
    dead += "a => !document.getElementById(a.hash.slice(1))).length"
    assert page.evaluate(dead) == 0


def test_text_stays_text_in_a_report(cli: Cli, opened: Opened) -> None:
    cli.configure("agents: {}\n")
    lines = "\n".join(json.dumps({"goal": each, "notes": [each]}) for each in PAYLOADS)
    cli.json("task", "add", "--from", "-", stdin=lines, quiet=False)
    for number, payload in enumerate(PAYLOADS, 1):
        assert cli("task", "complete", f"T-{number}", f"--result={payload}").code == 0
    page = opened.open(made(cli, "--since", "1h"))
    assert page.locator("article").count() == len(PAYLOADS)
    assert page.evaluate("() => window.hacked") is None
    assert page.locator("main img, main iframe, main object, main script, main style").count() == 0
    assert opened.problems == []


@pytest.mark.torture
def test_an_iteration_takes_little_room_on_a_phone(cli: Cli, opened: Opened) -> None:
    rig = Rig(cli)
    long = {"name": "noisy", "type": "command", "command": "seq 1000 1300; exit 1"}
    rig.configure({"stop": ["evidence"]}, validation=[long])
    rig.repository()
    rig.run(iterations=3)
    rows = opened.open(made(cli, "s"), (390, 844)).locator(".overview .row")
    rows.nth(2).wait_for()
    for row in rows.all():
        assert row.get_by_text("Not proven yet").count() == 1
        assert row.get_by_text("decided by evidence").count() == 1  # not stop[0]:evidence
        box = row.bounding_box()
        assert box is not None
        assert box["height"] < 110  # four lines of text


@pytest.mark.torture
def test_what_a_check_printed_keeps_its_columns(cli: Cli, opened: Opened) -> None:
    rig = Rig(cli)
    prints = "printf 'one\\n    at column four\\n'; exit 1"
    rig.configure({}, validation=[{"name": "shown", "type": "command", "command": prints}])
    rig.run(iterations=1)
    page = opened.open(made(cli, "s"))
    assert "one\n    at column four" in page.locator(".rule").inner_text()
