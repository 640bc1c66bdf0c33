"""A real Chromium, a real server, and a page without errors and foreign requests."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import pytest

from tests.e2e.conftest import Cli, Result

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# Nothing but this machine can be reached, whatever a page asks for.
ALONE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", ALONE),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--disable-features=OptimizationHints,MediaRouter",
)
# Seconds after which something counts as missing, however busy the machine is.
PATIENCE = 100


class LateBrowser:
    """A browser that starts when the first profile is asked for.

    While Playwright is there this process has its event loop, so commands need processes of their
    own, which cost fifty times as much.
    """

    def __init__(self, open: ExitStack) -> None:
        self._open = open
        self._started: Browser | None = None

    def new_context(self, **options: Any) -> BrowserContext:
        """A profile of its own; closed with the browser."""
        if self._started is None:
            from playwright.sync_api import sync_playwright  # it is loaded where it is needed only

            playwright = self._open.enter_context(sync_playwright())
            self._started = playwright.chromium.launch(
                executable_path=CHROMIUM, args=list(ARGUMENTS)
            )
            self._open.callback(self._started.close)
        return self._started.new_context(**options)


# Not for a session: while Playwright is there, no test of this process can have an event loop.
@pytest.fixture
def browser() -> Iterator[LateBrowser]:
    if CHROMIUM is None:
        if os.environ.get("HOOKLINE_NEED_CHROMIUM") == "1":
            pytest.fail("there is no chromium, and HOOKLINE_NEED_CHROMIUM=1")
        pytest.skip("there is no chromium: the page is not looked at")
    with ExitStack() as open:
        yield LateBrowser(open)


class OtherCli(Cli):
    """Commands in processes of their own once Playwright has an event loop in this one."""

    def __call__(
        self, *args: str | bytes, env: Mapping[str, str] | None = None, stdin: str = ""
    ) -> Result:
        command = self.process if _has_loop() else super().__call__
        return command(*args, env=env, stdin=stdin)


def _has_loop() -> bool:
    try:
        return asyncio.get_running_loop().is_running()
    except RuntimeError:
        return False


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    runner = OtherCli(tmp_path)
    yield runner
    runner.close()


class Server:
    """`hookline serve` for a project, which can be killed and started again at its port."""

    def __init__(self, cli: Cli, *options: str) -> None:
        self._cli, self._options = cli, options
        self.url = self._start(0)
        self.base = self.url.partition("#")[0].rstrip("/")
        self.token = self.url.partition("token=")[2]

    def _start(self, port: int) -> str:
        self.process: subprocess.Popen[str] = self._cli.start(
            "serve", "--port", str(port), *self._options, "--json"
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()[1]
        told = json.loads(line)
        self.viewer = told.get("viewer")
        return str(told["url"])

    def stop(self) -> None:
        """End it as a crash does."""
        self.process.kill()
        self.process.communicate()

    def again(self) -> None:
        """Start it where it was."""
        assert self._start(urlsplit(self.base).port or 0) == self.url


@pytest.fixture
def server(cli: Cli) -> Server:
    """A server for the project as the test has made it; asked for when that is done."""
    return Server(cli)


class Tab:
    """A page in the browser, with all that was said on its console and asked of the network."""

    def __init__(self, context: BrowserContext, server: Server) -> None:
        self.server = server
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.page: Page = context.new_page()
        self.page.set_default_timeout(PATIENCE * 1000)
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", self._asked)

    def _heard(self, message: ConsoleMessage) -> None:
        # The browser says that a server is away; the page has to tell it in its own words.
        is_away = message.text.startswith("Failed to load resource: net::ERR_")
        if message.type in ("error", "warning") and not is_away:
            self.problems.append(message.text)

    def _asked(self, request: Request) -> None:
        self.requests.append(request.url)

    def open(self, route: str = "/attention") -> Page:
        """Show a route, with the token in the address as `serve` prints it."""
        self.page.goto(f"{self.server.url}&to={route}")
        self.page.wait_for_selector("main h1")
        return self.page

    def go(self, route: str) -> Page:
        """Another route in the same page."""
        self.page.evaluate("route => { location.hash = '#' + route }", route)
        return self.page

    def check(self) -> None:
        """Nothing was wrong, and nothing else was asked but this server."""
        assert self.problems == []
        assert [url for url in self.requests if not url.startswith(self.server.base)] == []
        assert self.server.token not in self.page.url


class Window:
    """What opens tabs: a browser with an empty profile."""

    def __init__(self, browser: LateBrowser) -> None:
        self._browser = browser
        self.tabs: list[Tab] = []

    def context(
        self, width: int = 1280, height: int = 800, scheme: Literal["light", "dark"] = "light"
    ) -> BrowserContext:
        """A profile of its own, with a window of a size."""
        return self._browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            timezone_id="Europe/Berlin",
            locale="en-GB",
        )

    def tab(self, server: Server, context: BrowserContext | None = None) -> Tab:
        """A page in that profile, or in one of its own."""
        made = Tab(context or self.context(), server)
        self.tabs.append(made)
        return made


@pytest.fixture
def window(browser: LateBrowser) -> Iterator[Window]:
    made = Window(browser)
    yield made
    for tab in made.tabs:
        tab.check()
