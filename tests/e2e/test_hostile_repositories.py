"""Hostile repositories, looked at and worked in by somebody who did not trust them.

Nothing that they bring runs, and nothing is written outside of them and the user's own folder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookline.surfaces.cli.main import COMMANDS, GROUPS
from hookline.surfaces.cli.project import doctor
from tests.e2e.hostile_repositories import (
    AFTER_TRUST,
    FULLY,
    OTHERS,
    Place,
    git_file_monitor,
    hooks_at_every_point,
    shadowed_library,
    shadowed_packages,
    start_files,
)
from tests.e2e.mcp_rig import Agent
from tests.git_rig import CONFIG

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.e2e.conftest import Cli

SHORT = (
    *("task add", "task list", "task complete", "work", "flow resume", "orchestrate"),
    *("submit", "attention", "doctor", "check", "hook test", "init"),
)
# What each command is given; the order is that of a day, so that there is something to act on.
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "task add": ("one", "--type", "feature"),
    "task list": ("--all",),
    "task show": ("T-1",),
    "task ready": (),
    "task next": (),
    "task claim": ("T-1", "--agent", "ada"),
    "task release": ("T-1",),
    "task start": ("T-1",),
    "task block": ("T-1", "--reason", "x"),
    "task unblock": ("T-1",),
    "task update": ("T-1", "--priority", "1"),
    "task complete": ("T-1",),
    "task graph": (),
    "dep add": ("T-2", "T-1"),
    "dep list": (),
    "dep remove": ("T-2", "T-1"),
    "note add": ("mind the gap",),
    "note list": (),
    "checkpoint create": ("T-1", "--phase", "begun"),
    "checkpoint list": (),
    "checkpoint get": ("CP-1",),
    "checkpoint resume": ("CP-1",),
    "emit": ("x", "--data", "{}"),
    "events": ("--all",),
    "why": ("1",),
    "points": (),
    "check": (),
    "config show": (),
    "schema": (),
    "hook list": (),
    "hook show": ("evil",),
    "hook test": ("evil",),
    "hook replay": ("1",),
    "hook dispatch": ("task_created",),
    "hook enable": ("evil",),
    "hook disable": ("evil",),
    "hook stats": (),
    "hook log": (),
    "flow list": (),
    "flow show": ("ship",),
    "flow graph": ("ship",),
    "flow start": ("ship",),
    "flow status": (),
    "flow resume": ("R-1",),
    "flow pause": ("R-1",),
    "flow stop": ("R-1",),
    "flow signal": ("R-1", "go"),
    "flow value": ("R-1",),
    "flow journal": ("R-1",),
    "flow rerun": ("R-1", "--from", "go"),
    "effect list": ("R-1",),
    "effect run": ("R-1", "go"),
    "effect post": ("R-1", "go", "--value", "1"),
    "answer": ("R-1", "go", "yes"),
    "orchestrate": ("R-1",),
    "flow cancel": ("R-1",),
    "report": ("--html", "--since", "9w"),
    "prune": ("--older", "0s"),
    "session list": (),
    "session show": ("s",),
    "session attach": ("s",),
    "session message": ("s", "hello"),
    "session pause": ("s",),
    "session stop": ("s",),
    "session resume": ("s",),
    "session report": ("s",),
    "session logs": ("s",),
    "status": (),
    "attach": ("s",),
    "logs": ("s",),
    "stop": ("s",),
    "resume": ("s",),
    "stats": (),
    "help": ("run",),
    "version": (),
    "completion": ("bash",),
    "run": ("do it", "--iterations", "1"),
    "work": ("--once",),
    "validate": (),
    "gate list": ("T-1",),
    "gate explain": ("T-1",),
    "gate run": ("T-1", "before_submit"),
    "gate approve": ("T-1", "human"),
    "gate reject": ("T-1", "human", "--reason", "no"),
    "gate override": ("T-1", "human", "--reason", "x"),
    "submit": ("T-1",),
    "merge": ("T-1",),
    "worktree list": (),
    "worktree clean": ("T-1",),
    "attention": (),
    "mcp": (),
    "serve": ("--host", "192.0.2.1"),
    "insights": (),
    "metrics": (),
    "telemetry send": (),
    "telemetry status": (),
    "trust": ("--show",),
    "hosts list": (),
    "hosts drain": ("one",),
    "hosts undrain": ("one",),
    "hosts remove": ("one",),
    "hosts want": (),
    "store copy": ("embedded", "postgresql://nobody@127.0.0.1:1/none"),
    "store reconcile": ("--dry-run",),
    "doctor": (),
    "task fail": ("T-1",),
    "task cancel": ("T-1",),
    "task delete": ("T-1",),
    "demo": ("--help",),
    "init": ("--yes",),
}


def leaves() -> set[str]:
    """Every command, with its group."""
    found = set()
    for name, (module, table, _) in COMMANDS.items():
        commands = getattr(import_module(f"hookline.surfaces.cli.{module}"), table)
        found |= {f"{name} {verb}" for verb in commands} if name in GROUPS else {name}
    return found


def test_no_command_is_left_out() -> None:
    assert leaves() <= set(ARGUMENTS)
    assert len(FULLY) == 6
    assert len(FULLY) + len(OTHERS) >= 40


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a commit, to be copied."""
    root = tmp_path_factory.mktemp("template") / "project"
    root.mkdir()
    (root / "readme").write_text("hello\n")
    config = root.parent / "gitconfig"
    config.write_text(CONFIG)
    env = {**os.environ, "GIT_CONFIG_GLOBAL": str(config), "GIT_CONFIG_NOSYSTEM": "1"}
    for words in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "-m", "begin")):
        subprocess.run(("git", *words), cwd=root, env=env, check=True)
    return root


@pytest.fixture
def place(cli: Cli, tmp_path: Path, template: Path) -> Iterator[Place]:
    shutil.rmtree(cli.root)
    shutil.copytree(template, cli.root)
    made = Place(cli.root, tmp_path / "canary", tmp_path / "outside")
    for folder in (made.canary, made.outside, made.outside / "folder", tmp_path / "scratch"):
        folder.mkdir()
    (made.outside / "precious").write_text("version: 1\n")
    config = tmp_path / "gitconfig"
    config.write_text(CONFIG)
    cli.env |= {
        "HOME": str(tmp_path / "user"),
        "TMPDIR": str(tmp_path / "scratch"),
        "GIT_CONFIG_GLOBAL": str(config),
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    yield made
    assert os.listdir(made.canary) == []


def seen(place: Place) -> dict[str, tuple[object, ...]]:
    """All that lies beside the project: its kind, mode, size, time and content."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(place.root.parent.rglob("*")):
        name = path.relative_to(place.root.parent).as_posix()
        if name.partition("/")[0] in ("project", "home", "scratch", "canary"):
            continue
        state = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        found[name] = (state.st_mode, state.st_mtime_ns, state.st_ino, content)
    return found


def prepare(cli: Cli, place: Place, hostile: Callable[[Place], None]) -> None:
    if hostile in AFTER_TRUST:
        place.put("hookline.yaml", "version: 1\ntask_types: {feature: {}}\n")
        cli.json("trust", "--yes")
    hostile(place)
    place.mark()


def endure(cli: Cli, place: Place, hostile: Callable[[Place], None], *names: str) -> None:
    """Every one of these commands in one hostile repository."""
    prepare(cli, place, hostile)
    before = seen(place)
    for name in names:
        if name == "mcp":
            with Agent.in_process(cli) as agent:
                agent.call("task_create", {"goal": "one"})
                agent.call("task_list", {})
        else:
            cli(*name.split(), *ARGUMENTS[name])
        ran = os.listdir(place.canary)
        assert ran == [], f"`hookline {name}` let something run"
        assert seen(place) == before, f"`hookline {name}` wrote outside"


def program(cli: Cli, *words: str) -> int:
    """Run the installed program there; its exit code."""
    installed = str(Path(sys.executable).with_name("hookline"))
    done = subprocess.run(
        (installed, *words), cwd=cli.root, env=cli.env, input=b"", capture_output=True
    )
    assert b"Traceback" not in done.stderr
    return done.returncode


def named(hostile: Callable[[Place], None]) -> str:
    return hostile.__name__


def test_the_trap_works(cli: Cli, place: Place) -> None:
    hooks_at_every_point(place)
    git_file_monitor(place)
    cli("trust", "--yes")
    cli("task", "add", "one")
    trace = place.canary / "ran"
    trace.unlink()
    place.git("status")
    trace.unlink()


EVERYTHING = tuple(name for name in ARGUMENTS if name in leaves())


@pytest.mark.examples(2)
@pytest.mark.parametrize("hostile", FULLY, ids=named)
def test_no_command_runs_or_writes_what_it_should_not(
    cli: Cli, place: Place, hostile: Callable[[Place], None]
) -> None:
    endure(cli, place, hostile, *EVERYTHING)


@pytest.fixture
def without_controls(monkeypatch: pytest.MonkeyPatch) -> None:
    """`doctor` tries its controls in a folder of their own, which takes most of its time.

    Those of `FULLY` are there when it does.
    """
    monkeypatch.setattr(doctor, "control_checks", lambda: iter(()))


@pytest.mark.examples(6)
@pytest.mark.usefixtures("without_controls")
@pytest.mark.parametrize("hostile", OTHERS, ids=named)
def test_the_commands_of_a_day_run_and_write_nothing_of_that(
    cli: Cli, place: Place, hostile: Callable[[Place], None]
) -> None:
    endure(cli, place, hostile, *SHORT)


@pytest.mark.torture
@pytest.mark.parametrize("hostile", [*FULLY, *OTHERS], ids=named)
def test_every_command_in_every_hostile_repository(
    cli: Cli, place: Place, hostile: Callable[[Place], None]
) -> None:
    endure(cli, place, hostile, *EVERYTHING)


@pytest.mark.examples(1)
@pytest.mark.parametrize("hostile", [shadowed_library, shadowed_packages, start_files], ids=named)
def test_a_program_imports_nothing_from_the_folder_it_is_started_in(
    cli: Cli, place: Place, hostile: Callable[[Place], None]
) -> None:
    prepare(cli, place, hostile)
    programs = [("task", "add", "one"), ("doctor",)]
    if hostile is shadowed_library:  # it takes as long as all the others
        programs.append(("mcp",))
    for words in programs:
        assert program(cli, *words) in (0, 4)
        assert os.listdir(place.canary) == [], words
