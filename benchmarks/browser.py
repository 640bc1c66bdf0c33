"""The page in a real Chromium: its size, its first paint, and what staying current costs it."""

from __future__ import annotations

import gzip
import shutil
import time
from contextlib import closing
from importlib import resources
from typing import TYPE_CHECKING

from benchmarks.history import long_session
from benchmarks.measure import Plan, Result
from benchmarks.page import ITERATIONS, RATE, TASKS, add_tasks, served
from hookline.app import App
from hookline.tasks import verbs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page

    from benchmarks.history import Made

# What the page may take: bytes, seconds, and a share of the browser's main thread.
SIZE, PAINT, SHARE = 60_000, 1.0, 0.20
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run"]
ALL_LOADED = f"""async () => {{
  const list = document.querySelector('.list');
  const wanted = {TASKS} * list.querySelector('li').clientHeight;
  while (list.scrollHeight < wanted) {{
    list.scrollTop = list.scrollHeight;
    await new Promise(done => setTimeout(done, 20));
  }}
  list.scrollTop = 0;
}}"""


def measure(plan: Plan) -> Iterator[Result]:
    """The size of the page's script; in Chromium, if there is one, a long session and many rows."""
    script = resources.files("hookline.surfaces.web").joinpath("static/app.js").read_bytes()
    size = len(gzip.compress(script, 9))
    yield Result("browser: JavaScript", 0, None, "", None, f"{size:,} of {SIZE:,} bytes gzipped")
    chromium = shutil.which("chromium")
    if chromium is None:
        yield Result("browser: left out", 0, None, "", None, "there is no chromium")
        return
    from playwright.sync_api import sync_playwright  # it is loaded where there is a browser only

    made = long_session(plan.folder, ITERATIONS)
    add_tasks(made)
    with served(made) as (_, base, token), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield _first_paint(browser, f"{base}/#token={token}&to=/sessions/R-1", plan.rounds(5, 2))
        yield _main_thread(browser, f"{base}/#token={token}&to=/tasks?state=all", made, plan)
        browser.close()


def _first_paint(browser: Browser, address: str, rounds: int) -> Result:
    """From an empty profile to the first rows of a long session."""
    taken = []
    for _ in range(rounds):
        with closing(browser.new_context()) as context:
            page = context.new_page()
            started = time.perf_counter()
            page.goto(address)
            page.wait_for_selector(".list li")
            taken.append(time.perf_counter() - started)
    name = f"browser: a session of {ITERATIONS} iterations, painted"
    return Result(name, sorted(taken)[len(taken) // 2], None, "", PAINT)


def _main_thread(browser: Browser, address: str, made: Made, plan: Plan) -> Result:
    """The share of the main thread that a list of many tasks takes while they change."""
    with closing(browser.new_context()) as context:
        page = context.new_page()
        page.goto(address)
        page.wait_for_selector(".list li")
        page.evaluate(ALL_LOADED)
        seconds = plan.rounds(20, 5)
        busy = _busy(page)
        before = busy()
        started = time.monotonic()
        with closing(App.open(made.root, environ=made.env)) as app:
            for number in range(seconds * RATE):
                task = f"T-{1 + number * 37 % TASKS}"
                app.change(verbs.update, task, {"priority": number % 4})
                time.sleep(max(0, started + (number + 1) / RATE - time.monotonic()))
        share = (busy() - before) / (time.monotonic() - started)
    name = f"browser: {TASKS:,} rows, {RATE} events/s: main thread per second"
    return Result(name, share, None, "", SHARE)


def _busy(page: Page) -> Callable[[], float]:
    """What tells for how many seconds the main thread of a page has had something to do."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def busy() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(next(each["value"] for each in metrics if each["name"] == "TaskDuration"))

    return busy
