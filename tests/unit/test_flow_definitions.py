"""Where flows are found, what they are pinned to, and what is said about broken ones."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import py_compile
import sys
from typing import TYPE_CHECKING, Any

import pytest

from hookline.config.types import Flow, Step
from hookline.domain.runs.model import FlowMistake, Run, UnknownFlow
from hookline.errors import BadInput, Untrusted
from hookline.flows.context import Context
from hookline.flows.definitions.files import load_file, names_in
from hookline.flows.definitions.finder import FlowFinder, flow
from hookline.flows.replay import Stepper

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hookline.flows.definitions.finder import FlowDefinition

RELEASE = '''
from __future__ import annotations

from dataclasses import dataclass

from hookline import flow


@dataclass
class Target:
    name: str


def helper():
    return 1


@flow(name="release")
async def ship(ctx, what="all"):
    """Ship it.

    To everyone.
    """
    return Target(what).name


@flow
async def calls(ctx):
    await ctx.call(helper)
'''


@pytest.fixture(autouse=True)
def imports(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Whatever is imported here is forgotten afterwards."""
    monkeypatch.setenv("HOOKLINE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "pycache_prefix", None)
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if not name.startswith("hookline."):
            del sys.modules[name]


def nothing() -> None:
    """Everything is allowed."""


def finder(root: Path, configured: dict[str, Any] | None = None, **given: Any) -> FlowFinder:
    (root / ".hookline" / "flows").mkdir(parents=True, exist_ok=True)
    options = {"allowed": nothing, "plugins": dict, **given}
    return FlowFinder(str(root), str(root / ".hookline"), configured or {}, **options)


def put(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def begun(found: FlowDefinition, **run: Any) -> Stepper:
    """A stepper in which a flow has begun."""
    stepper = Stepper(())
    start = Run(**{"run_id": "R-1", "flow": found.name, "status": "running", **run})
    stepper.start(found.begin(Context(stepper, start), start))
    return stepper


def end_of(stepper: Stepper) -> tuple[Any, BaseException | None]:
    assert stepper.root is not None
    assert stepper.finished
    return stepper.root.result, stepper.root.error


def known_digest(flows: FlowFinder, name: str) -> str | None:
    found = flows.known(name)
    return None if found is None else found.digest


def test_a_file_of_the_project_is_searched_for_its_flows(tmp_path: Path) -> None:
    path = put(tmp_path, ".hookline/flows/release.py", RELEASE)
    found = finder(tmp_path).find("release")
    assert (found.name, found.origin, found.doc) == (
        "release",
        str(path),
        "Ship it.\n\nTo everyone.",
    )
    assert end_of(begun(found, input={"what": "docs"})) == ("docs", None)
    assert known_digest(finder(tmp_path), "release") == found.digest != ""
    assert names_in(str(path)) == {"release", "calls"}


def test_functions_of_the_file_are_named_by_a_path_that_may_move_with_the_project(
    tmp_path: Path,
) -> None:
    put(tmp_path, ".hookline/flows/release.py", RELEASE)
    (request,) = begun(finder(tmp_path).find("calls")).requests
    assert request.args["function"] == ".hookline/flows/release.py:helper"
    assert request.effect_id == "helper"


def test_a_module_is_found_by_its_name(tmp_path: Path) -> None:
    put(tmp_path, "myflows.py", "class Nest:\n    async def f(ctx):\n        return 7\n")
    found = finder(tmp_path).find("myflows:Nest.f")
    assert end_of(begun(found)) == (7, None)
    assert found.origin == str(tmp_path / "myflows.py")
    assert not (tmp_path / "__pycache__").exists()


def test_bytecode_that_a_repository_brings_is_not_run(tmp_path: Path) -> None:
    path = put(tmp_path, ".hookline/flows/x.py", RELEASE)
    planted = put(tmp_path, "evil.py", "raise SystemExit('planted')")
    cached = importlib.util.cache_from_source(str(path))
    os.makedirs(os.path.dirname(cached))
    # Bytecode that is never checked against its source would always be taken by an import.
    py_compile.compile(
        str(planted), cached, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )
    assert end_of(begun(finder(tmp_path).find("release"))) == ("all", None)


def steps(*commands: str) -> dict[str, Any]:
    made = [Step(id=f"s{number}", run=command) for number, command in enumerate(commands)]
    return {"build": Flow(steps=made)}


def test_configured_steps_come_first(tmp_path: Path) -> None:
    put(
        tmp_path,
        ".hookline/flows/build.py",
        "from hookline import flow\n@flow\nasync def build(ctx): ...",
    )
    found = finder(tmp_path, steps("make")).find("build")
    assert found.origin == "hookline.yaml"
    assert [request.args["command"] for request in begun(found).requests] == ["make"]


def test_a_run_keeps_the_steps_that_its_chapter_began_with(tmp_path: Path) -> None:
    old = finder(tmp_path, steps("make old")).find("build")
    new = finder(tmp_path, steps("make new", "make more")).find("build")
    assert old.digest != new.digest
    (pinned,) = begun(new, pins=old.pins).requests
    (fresh,) = begun(new, pins=new.pins).requests
    assert (pinned.args["command"], fresh.args["command"]) == ("make old", "make new")
    known = finder(tmp_path, steps("make old")).known("build")
    assert known is not None
    assert (known.digest, known.pins) == (old.digest, old.pins)


def test_a_plugin_brings_flows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    put(site, "shipit/__init__.py", "async def ship(ctx):\n    return 'shipped'\n")
    info = "shipit-1.0.dist-info"
    put(site, f"{info}/METADATA", "Metadata-Version: 2.1\nName: shipit\nVersion: 1.0\n")
    put(site, f"{info}/entry_points.txt", "[hookline.flows]\nship = shipit:ship\nbad = shipit:no\n")
    monkeypatch.syspath_prepend(str(site))

    def plugins() -> dict[str, Any]:
        points = importlib.metadata.entry_points(group="hookline.flows")
        return {point.name: point for point in points}

    flows = finder(tmp_path, plugins=plugins)
    found = flows.find("ship")
    assert end_of(begun(found)) == ("shipped", None)
    assert found.origin == str(site / "shipit" / "__init__.py")
    assert known_digest(flows, "ship") == ""
    with pytest.raises(FlowMistake, match="shipit:no cannot be loaded: AttributeError"):
        flows.find("bad")
    listed = {each.name: each.doc for each in flows.all()}
    assert listed["ship"] == ""
    assert listed["bad"].startswith("broken: shipit:no cannot be loaded")


def test_a_broken_file_hides_no_other(tmp_path: Path) -> None:
    put(tmp_path, ".hookline/flows/a.py", "def (:\n")
    put(
        tmp_path,
        ".hookline/flows/b.py",
        "from hookline import flow\n@flow\nasync def b(ctx): ...\n1/0",
    )
    put(tmp_path, ".hookline/flows/release.py", RELEASE)
    flows = finder(tmp_path)
    assert flows.find("release").name == "release"
    with pytest.raises(FlowMistake, match=r"flows/b.py cannot be loaded: ZeroDivisionError"):
        flows.find("b")
    with pytest.raises(UnknownFlow, match=r"no flow 'a'; .hookline/flows/a.py cannot be read"):
        flows.find("a")
    listed = {each.name: each.doc for each in flows.all()}
    assert listed["release"].startswith("Ship it.")
    assert listed["a"].startswith("broken: ")
    assert "ZeroDivisionError" in listed["b"]


@pytest.mark.parametrize("name", ["gone", "gone:f", "os:gone", "os.path:join.x"])
def test_a_flow_that_is_not_there_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnknownFlow, match=f"there is no flow '{name}'"):
        finder(tmp_path).find(name)


def test_nothing_is_looked_at_without_permission(tmp_path: Path) -> None:
    put(tmp_path, ".hookline/flows/x.py", "raise SystemExit('this ran')")

    def refuse() -> None:
        raise Untrusted

    flows = finder(tmp_path, steps("make"), allowed=refuse)
    for ask in (lambda: flows.find("build"), lambda: flows.find("x"), flows.all):
        with pytest.raises(Untrusted):
            ask()


def test_what_is_known_of_a_flow_runs_none_of_its_code(tmp_path: Path) -> None:
    text = "from hookline import flow\n@flow\nasync def x(ctx): ...\nraise SystemExit('this ran')"
    put(tmp_path, ".hookline/flows/x.py", text)
    flows = finder(tmp_path)
    assert known_digest(flows, "x")
    assert known_digest(flows, "y") is None


def test_input_that_the_function_cannot_take_is_told(tmp_path: Path) -> None:
    put(tmp_path, ".hookline/flows/release.py", RELEASE)
    found = finder(tmp_path).find("release")
    found.check_input({"what": 1})
    with pytest.raises(BadInput, match=r"'release' cannot take this input.*'size'"):
        found.check_input({"size": 1})
    _, error = end_of(begun(found, input={"size": 1}))
    assert isinstance(error, BadInput)


def test_a_function_that_is_not_async_is_told(tmp_path: Path) -> None:
    put(tmp_path, "plain.py", "def f(ctx): return 1\nx = 3\n")
    _, error = end_of(begun(finder(tmp_path).find("plain:f")))
    assert "must be an `async def`" in str(error)
    with pytest.raises(FlowMistake, match="is not a function"):
        finder(tmp_path).find("plain:x")


def test_a_flow_may_import_the_modules_of_its_project(tmp_path: Path) -> None:
    put(tmp_path, "ours.py", "ANSWER = 42\n")
    text = "import ours\nfrom hookline import flow\n@flow\nasync def f(ctx): return ours.ANSWER\n"
    put(tmp_path, ".hookline/flows/f.py", text)
    assert end_of(begun(finder(tmp_path).find("f"))) == (42, None)


def test_the_mark_of_a_flow_carries_its_name() -> None:
    async def one(ctx: Context) -> None: ...

    assert flow(one) is one
    assert flow(name="two")(one).__hookline_flow__ == "two"  # type: ignore[attr-defined]


def test_a_file_that_ends_the_program_is_told(tmp_path: Path) -> None:
    path = put(tmp_path, "x.py", "raise SystemExit(3)")
    with pytest.raises(FlowMistake, match=r"x.py cannot be loaded: SystemExit: 3"):
        load_file(str(path), "x.py")


def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(FlowMistake, match=r"flows/x.py cannot be loaded: FileNotFoundError"):
        load_file(str(tmp_path / "x.py"), "flows/x.py")
    assert names_in(str(tmp_path / "x.py")) is None
