"""Whatever an agent, a hook, a file or a commit is called or says stays text in a browser.

The texts are markup, scripts, addresses and templates that set `window.hacked` if they run. The
browser tells of everything that the page's policy stopped, and that counts as a failure, too.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e.gate_rig import Repo
from tests.page.conftest import Server

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.conftest import Cli
    from tests.page.conftest import Tab, Window

PAYLOADS: list[str] = json.loads((Path(__file__).parent / "payloads.json").read_text())
ELEMENTS = ("img", "iframe", "object", "embed", "script", "style", "link", "base", "form[action]")
SCRIPT = "<script>window.hacked=1</script>"
IMAGE = "<img src=x onerror=window.hacked=1>"


def label(text: str) -> str:
    """A text as a label may be."""
    return "".join(each for each in text if each.isprintable())[:80]


def unharmed(page: Page) -> None:
    """Nothing ran, and nothing but the page's own elements is in it."""
    page.evaluate(
        "() => { for (const each of document.querySelectorAll('details')) each.open = 1 }"
    )
    assert page.evaluate("() => window.hacked") is None
    for element in ELEMENTS:
        assert page.locator(f"main {element}").count() == 0, (page.url, element)
    links = "() => [...document.querySelectorAll('main a[href]')].map(each => each.protocol)"
    assert set(page.evaluate(links)) <= {"http:"}


def visited(tab: Tab, routes: dict[str, str]) -> None:
    """Look at each route once a text is there."""
    for route, text in routes.items():
        tab.go(route)
        tab.page.get_by_text(text).first.wait_for(state="attached")
        unharmed(tab.page)


@pytest.mark.examples(1)
@pytest.mark.parametrize("step", [8, 1])
def test_goals_notes_and_labels(cli: Cli, window: Window, step: int) -> None:
    assert len(set(PAYLOADS)) >= 60
    cli.configure("agents: {}\n")
    rows = [{"goal": each, "notes": [each], "labels": [label(each)]} for each in PAYLOADS]
    lines = "\n".join(map(json.dumps, rows))
    cli.json("task", "add", "--from", "-", stdin=lines, quiet=False)
    tab = window.tab(Server(cli))
    page = tab.open("/tasks")
    page.get_by_text("T-1", exact=True).wait_for()
    for number in range(1, len(PAYLOADS) + 1, step):
        tab.go(f"/tasks/T-{number}")
        task = page.get_by_role("region", name=f"Task T-{number}", exact=True)
        task.locator(".question").wait_for()
    unharmed(page)
    visited(tab, {"/tasks?view=graph": "dependencies", "/search?q=hacked": "hits"})


@pytest.mark.torture
def test_what_hooks_print(cli: Cli, window: Window) -> None:
    printing = "python3 -c \"print(open('payloads').read())\"; cat payloads >&2; exit 1"
    cli.put("payloads", "\n".join(PAYLOADS))
    cli.configure(
        "flows: {ask: {steps: [{id: ok, breakpoint: " + json.dumps(SCRIPT + IMAGE) + "}]}}\n"
        f"hooks: {{task_created: [{{name: loud, command: {json.dumps(printing)}}}]}}\n"
    )
    cli("task", "add", "one")
    cli("flow", "start", "ask", "--input", json.dumps({"text": PAYLOADS}))
    seq = cli.events("task_created")[0]["seq"]
    tab = window.tab(Server(cli))
    tab.open("/attention")
    routes = {"/attention": SCRIPT, "/hooks": "loud", "/hooks/loud": "Printed on stderr"}
    visited(tab, {**routes, f"/events/{seq}": "Printed", "/runs/R-1": SCRIPT})


@pytest.mark.torture
def test_files_diffs_commits_and_gates(cli: Cli, window: Window) -> None:
    repo = Repo(cli)
    says = json.dumps(f"printf %s {shlex.quote(IMAGE + SCRIPT)}; exit 1")
    repo.begin(f"hooks: {{before_submit: [{{name: strict, command: {says}}}]}}\n")
    refused = cli.add(SCRIPT)
    repo.git("switch", "--quiet", "--create", "work")
    names = [each.replace("/", "-").replace("\n", " ")[:60] for each in PAYLOADS]
    for number, name in enumerate(names):
        cli.put(f"{number} {name}", f"{PAYLOADS[number]}\n")
    repo.commit(f"{SCRIPT} {IMAGE}")
    cli("submit", refused)
    tab = window.tab(Server(cli))
    page = tab.open("/attention")
    tab.go(f"/tasks/{refused}")
    page.locator(".file").nth(len(names) - 1).wait_for(state="attached")
    assert page.locator(".file").count() == len(names)
    unharmed(page)
    visited(tab, {"/pipeline": "Merge queue", "/search?q=hacked": "hit"})


def test_agents_sessions_and_what_they_say(cli: Cli, window: Window) -> None:
    turns = [{"text": "\n".join(PAYLOADS)}, {"text": SCRIPT, "error": IMAGE}]
    cli.put("turns.json", json.dumps(turns))
    agent = f"'{IMAGE}': {{driver: scripted, script: turns.json}}"
    cli.configure(f"agents: {{{agent}}}\nagent: '{IMAGE}'\nsession: {{iterations: 2}}\n")
    cli("run", SCRIPT, "--name", IMAGE, "--json")
    cli("session", "message", IMAGE, "\n".join(PAYLOADS))
    assert cli.json("session", "list")[0]["name"] == IMAGE
    tab = window.tab(Server(cli))
    tab.open("/sessions")
    run = "/sessions/R-1"
    routes = {"/sessions": IMAGE, run: SCRIPT, f"{run}?scale=turns": "agent", f"{run}/1": "said"}
    visited(tab, {**routes, f"{run}?scale=all": "session_ended", "/insights": "Iterations"})
