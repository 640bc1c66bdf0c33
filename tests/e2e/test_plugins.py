"""Hooks of installed plugins: after the project's and the user's own, before the built-in ones."""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from hookline.plugins import KINDS
from tests.e2e.gate_rig import Repo
from tests.e2e.session_rig import Rig

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Cli

MODULE = """
from hookline import hook

@hook("task_created", priority=5)
def greet(event, context):
    return [{"type": "log", "payload": {"type": "greeted", "nodeId": event.node_id}}]

HOOKS = [greet]
"""
SCRIPT = '#!/bin/sh\necho \'{"action": "waiting", "reason": "WHO", "waitSeconds": 60}\'\n'


class Packages:
    """A folder that packages are installed in."""

    def __init__(self, cli: Cli, folder: Path) -> None:
        self.folder = folder / "site-packages"
        self.folder.mkdir()
        cli.env["PYTHONPATH"] = str(self.folder)

    def install(self, name: str, module: str, value: str, group: str = "hooks") -> Path:
        package = self.folder / name
        package.mkdir()
        (package / "__init__.py").write_text(module)
        info = self.folder / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[hookline.{group}]\n{name} = {value}\n")
        return package


@pytest.fixture
def packages(cli: Cli, tmp_path: Path) -> Packages:
    return Packages(cli, tmp_path)


def test_a_plugin_works_without_any_configuration(cli: Cli, packages: Packages) -> None:
    cli.add("before it was installed")
    assert cli.events("greeted") == []
    packages.install("polite", MODULE, "polite:HOOKS")
    cli.add("after")
    assert [event["nodeId"] for event in cli.events("greeted")] == ["T-2"]
    (row,) = [row for row in cli.json("hook", "list") if row["layer"] == "plugin"]
    assert (row["name"], row["kind"], row["priority"]) == ("polite/greet", "python", 5)
    cli.json("hook", "disable", "polite/greet")
    cli.add("switched off")
    assert len(cli.events("greeted")) == 1


def test_layers_in_their_order(cli: Cli, packages: Packages) -> None:
    package = packages.install("pacer", "", "pacer")
    names = {
        "project": cli.root / ".hookline" / "hooks",
        "user": cli.home / "hooks",
        "plugin": package,
    }
    for who, folder in names.items():
        point = folder / "on-iteration-start"
        point.mkdir(parents=True)
        (point / "pace.sh").write_text(SCRIPT.replace("WHO", who))
        (point / "pace.sh").chmod(0o755)
    cli.configure("flows: {one: {steps: [{id: a, run: 'true'}]}}\n")
    cli.json("flow", "start", "one", "--detach")
    payload = '{"runId": "R-1", "iteration": 1, "timestamp": "2026-01-19T18:00:00Z"}'
    for who in ("project", "user", "plugin"):
        answer = cli("hook", "dispatch", "on-iteration-start", stdin=payload).json
        assert answer["reason"] == who
        (names[who] / "on-iteration-start" / "pace.sh").unlink()
        cli("trust", "--yes")
        if who == "plugin":  # its folder is part of what is installed
            (packages.folder / "touched").touch()
    answer = cli("hook", "dispatch", "on-iteration-start", stdin=payload).json
    assert answer == {"action": "executed-tasks", "count": 1, "tasks": ["a"]}


def test_a_broken_plugin_is_told_and_disables_nothing_else(cli: Cli, packages: Packages) -> None:
    packages.install("broken", "raise ValueError('oh no')\n", "broken:HOOKS")
    packages.install("polite", MODULE, "polite:HOOKS")
    cli.add("one")
    assert len(cli.events("greeted")) == 1
    (problem,) = cli.json("check")["problems"]
    assert problem["severity"] == "warning"
    assert "ValueError: oh no" in problem["message"]


KIND = """
import asyncio, os
from hookline.domain.hooks.records import Reply

VALUE = str

async def run(hook, call, world):
    if hook.target == "hang":
        await asyncio.Event().wait()
    return Reply(answer={"actions": []}, text=f"the token is {os.environ['MY_TOKEN']}")
"""


def test_a_kind_of_a_plugin_is_bounded_and_cleaned(cli: Cli, packages: Packages) -> None:
    packages.install("wish", KIND, "wish", "kinds")
    cli.env["MY_TOKEN"] = "correct-horse-battery"
    cli.configure(
        "hooks: {task_created: [{name: a, wish: say}, {name: b, wish: hang, timeout: 1}]}\n"
    )
    cli("task", "add", "one")
    assert cli.calls("a", "status, stdout") == [("ok", "the token is [redacted MY_TOKEN]")]
    assert cli.calls("b", "status, error") == [("timeout", "timed out after 1 s")]
    schema = cli("schema").json
    written = schema["$defs"]["Entry"]["properties"]["wish"]["anyOf"][0]
    assert written == {"type": ["string", "number", "boolean"]}


@pytest.mark.parametrize(
    ("module", "why"),
    [("raise ValueError('oh no')\n", "ValueError: oh no"), ("", "it has no function '{needs}'")],
)
@pytest.mark.parametrize(
    ("group", "needs", "configured"),
    [
        ("kinds", "run", "hooks: {before_submit: [{name: g, broken: x}]}"),
        ("drivers", "turn", "agents: {ada: {driver: broken}}"),
        ("forges", "open_forge", "gates: {forge: broken}"),
    ],
)
def test_what_cannot_be_loaded_is_told_where_it_is_named(
    cli: Cli, packages: Packages, module: str, why: str, group: str, needs: str, configured: str
) -> None:
    packages.install("broken", module, "broken", group)
    cli.configure(f"{configured}\n")
    found = [each for each in cli.json("check")["problems"] if each["code"] == "plugin"]
    assert [(each["severity"], each["line"]) for each in found] == [("warning", 2)]
    assert found[0]["message"].endswith(f"cannot be loaded: {why.format(needs=needs)}")


LEAKY = """
import asyncio
from hookline.domain.hooks.records import Reply
from hookline.errors import HookFailure

VALUE = str

async def run(hook, call, world):
    token = world.environ["DEPLOY_TOKEN"]
    if hook.target == "answers":
        return Reply(text=token, stderr=token)
    if hook.target == "fails":
        raise HookFailure(f"no access with {token}", stdout=token)
    await asyncio.sleep(20)
"""


@pytest.mark.parametrize("in_tree", [True, False])
def test_every_kind_is_cleaned_and_stopped(
    cli: Cli, packages: Packages, monkeypatch: pytest.MonkeyPatch, in_tree: bool
) -> None:
    """A new kind has what the documentation promises, wherever its module is."""
    if in_tree:
        kind = ModuleType("hookline.hooks.kinds.leaky")
        exec(LEAKY, kind.__dict__)
        monkeypatch.setitem(sys.modules, kind.__name__, kind)
        monkeypatch.setattr(KINDS, "own", (*KINDS.own, "leaky"))
    else:
        packages.install("leaky", LEAKY, "leaky", "kinds")
    cli.env["DEPLOY_TOKEN"] = "swordfish-4711"
    hooks = [{"leaky": name, "timeout": 1} for name in ("answers", "fails", "hangs")]
    cli.configure(f"hooks: {{task_created: {json.dumps(hooks)}}}\n")
    cli.add("a part", quiet=False)
    ends = cli.rows("SELECT status, error FROM deliveries WHERE kind = 'leaky' ORDER BY position")
    assert ends == [
        ("ok", None),
        ("failed", "no access with [redacted DEPLOY_TOKEN]"),
        ("timeout", "timed out after 1 s"),
    ]
    shown = cli("why", "1").stdout + cli("why", "1", "--json").stdout
    assert "no access with" in shown
    assert "swordfish" not in shown
    folder = cli.root / ".hookline"
    assert not any(b"swordfish" in path.read_bytes() for path in folder.glob("hookline.db*"))


ORACLE = """
from hookline.domain.hooks.records import Reply
from hookline.errors import BadInput
from hookline.hooks.kinds import REVIEWER

VALUE = str
TOLD_AS = "an oracle is asked"
SPEAKS_AS = REVIEWER

async def run(hook, call, world):
    return Reply(answer={"action": "complete", "reason": "it is fine"})

def look(hook, root, environ):
    if hook.target == "nobody":
        raise BadInput("there is no oracle 'nobody'", help="ask another one")
    return f"asks {hook.target}"
"""


def test_a_kind_says_itself_what_agents_and_people_are_told_of_it(
    cli: Cli, packages: Packages
) -> None:
    packages.install("oracle", ORACLE, "oracle", "kinds")
    rig = Rig(cli)
    rig.configure({"stop": [{"oracle": "delphi"}], "task_created": [{"oracle": "nobody"}]})
    assert rig.run(iterations=1).said[:2] == (0, "completed")
    assert "oracle: an oracle is asked" in rig.prompts()[0].text
    found = {each["message"]: each for each in cli("doctor", "--json").json["checks"]}
    assert found["asks delphi"]["status"] == "ok"
    missing = found["there is no oracle 'nobody'"]
    assert (missing["status"], missing["fix"].startswith("ask another one")) == ("failed", True)


RECORDS = """
import os
from hookline.adapters.forges.local import CHECKS, MERGES, REMOTE, REVIEWS, LocalForge

class Records(LocalForge):
    name = "records"

async def open_forge(site):
    return Records(os.path.join(site.folder, "pulls"), push_remote=site.remote)
"""


def test_a_forge_without_reviewers_and_checks_keeps_nobody_waiting(
    cli: Cli, packages: Packages
) -> None:
    packages.install("records", RECORDS, "records", "forges")
    repo = Repo(cli)
    gates = "before_submit: [create_pr], before_merge: [ci_status, {reviews: 1}]"
    repo.begin(f"gates: {{forge: records}}\nhooks: {{{gates}}}\n")
    task = cli.add("a part")
    repo.work("part")
    assert cli("submit", task).code == 4
    assert cli.json("gate", "approve", task)["by"]
    assert cli("merge", task, "--json").json["outcome"] == "merged"
    assert repo.merged() == ["part"]
    forges = [each for each in cli("doctor", "--json").json["checks"] if each["name"] == "forge"]
    assert forges == [], "there is nothing that could refuse anything, and no agent"


OPTIONS = """
import msgspec

MERGES, REMOTE = False, None

class OPTIONS(msgspec.Struct, forbid_unknown_fields=True):
    size: int

async def open_forge(site): ...
async def turn(profile, talk): ...
"""


@pytest.mark.parametrize(
    ("group", "configured"),
    [
        ("drivers", "agents: {ada: {driver: sized, options: {szie: 3}}}"),
        ("forges", "gates: {forge: sized, options: {szie: 3}}"),
    ],
)
def test_options_are_held_against_the_plugins_own_type(
    cli: Cli, packages: Packages, group: str, configured: str
) -> None:
    packages.install("sized", OPTIONS, "sized", group)
    cli.configure(f"{configured}\n", trust=False)
    found = {each["code"] for each in cli("check", "--json").json["problems"]}
    assert {"missing-key", "unknown-key"} <= found
    cli.configure(configured.replace("szie", "size") + "\n", trust=False)
    found = {each["code"] for each in cli("check", "--json").json["problems"]}
    assert not {"missing-key", "unknown-key"} & found
