"""Whole commands, as a user types them: the console script of an installed wheel."""

from __future__ import annotations

import os
import sqlite3
import struct
import subprocess
import sys
import sysconfig
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.measure import Plan, Result, by_turns
from benchmarks.stores import environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

AIM = 5.0
WITH_A_HOOK, WITH_FALSE_CONDITIONS = 8.0, 6.0
MOST_PER_SKIP = 100e-6
FLOOR = "python -c pass"
TASKS = 30
IMPORTED = 1000
CONFIGURATION = """\
version: 1
hooks:
  task_blocked:
    - {command: "true"}
"""
ONE_HOOK = """\
version: 1
hooks:
  task_created:
    - {name: one, command: "true"}
"""
_CHECKOUT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Installed(NamedTuple):
    """A virtual environment with Hookline installed in it, not linked to the checkout."""

    bin: str
    env: dict[str, str]

    def run(self, program: str, *arguments: str, cwd: str) -> None:
        """Run a program of the environment to its end."""
        subprocess.run(
            (os.path.join(self.bin, program), *arguments),
            cwd=cwd,
            env=self.env,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )


def measure(plan: Plan) -> Iterator[Result]:
    """`task add` and `task ready`, without and with a configuration."""
    installed = install(os.path.join(plan.folder, "installed"))
    plain = os.path.join(plan.folder, "plain")
    configured = os.path.join(plan.folder, "configured")
    prepare(installed, plain)
    prepare(installed, configured, CONFIGURATION)

    def python() -> None:
        installed.run("python", "-c", "pass", cwd=plain)

    def command(cwd: str, *words: str) -> Callable[[], None]:
        return lambda: installed.run("hookline", "task", *words, cwd=cwd)

    add = ("add", "measure how fast this is")
    acts = {
        "hookline task add": command(plain, *add),
        "hookline task ready": command(plain, "ready"),
        "hookline task add, with a hookline.yaml": command(configured, *add),
        "hookline task ready, with a hookline.yaml": command(configured, "ready"),
    }
    floor, *ours = by_turns((python, *acts.values()), plan.rounds(60, 12))
    for name, took in zip(acts, ours, strict=True):
        yield Result(name, took, floor, FLOOR, AIM)
    yield from _hooks(plan, installed, python, command, add)


def _hooks(
    plan: Plan,
    installed: Installed,
    python: Callable[[], None],
    command: Callable[..., Callable[[], None]],
    add: Sequence[str],
) -> Iterator[Result]:
    """`task add` with a hook to call, and with hooks whose condition is false."""
    folders = {
        name: os.path.join(plan.folder, name)
        for name in ("unhooked", "hooked", "conditional", "unhooked-import", "conditional-import")
    }
    prepare(installed, folders["unhooked"])
    prepare(installed, folders["hooked"], ONE_HOOK)
    prepare(installed, folders["conditional"], false_conditions(100))
    prepare(installed, folders["unhooked-import"])
    prepare(installed, folders["conditional-import"], false_conditions(10))
    acts = (python, command(folders["hooked"], *add), command(folders["conditional"], *add))
    floor, hooked, conditional = by_turns(acts, plan.rounds(60, 12))
    yield Result("hookline task add, one command hook", hooked, floor, FLOOR, WITH_A_HOOK)
    name = "hookline task add, 100 false conditions"
    yield Result(name, conditional, floor, FLOOR, WITH_FALSE_CONDITIONS)
    synced = [
        _commits(os.path.join(folders[each], ".hookline"), command(folders[each], *add))
        for each in ("conditional", "unhooked")
    ]
    name = "commits of task add, 100 false conditions"
    yield Result(name, float(synced[0]), float(synced[1]), "without hooks", 1.0)
    many = os.path.join(plan.folder, "many.md")
    with open(many, "w", encoding="utf-8") as file:
        file.writelines(f"- [ ] task {number}\n" for number in range(IMPORTED))
    imports = (
        command(folders["unhooked-import"], "add", "--from", many),
        command(folders["conditional-import"], "add", "--from", many),
    )
    without, with_hooks = by_turns(imports, plan.rounds(9, 3))
    each_skip = (with_hooks - without) / (10 * IMPORTED)
    yield Result("a false condition, in an import", each_skip, None, "", MOST_PER_SKIP)


def false_conditions(count: int) -> str:
    """A configuration with so many hooks that do not match."""
    hooks = "".join(
        f"    - {{name: h{n}, command: 'true', when: \"'urgent' in task.labels\"}}\n"
        for n in range(count)
    )
    return f"version: 1\nhooks:\n  task_created:\n{hooks}"


def _commits(folder: str, act: Callable[[], None]) -> int:
    """How many commits an act makes, counted in the write-ahead log of the project's store."""
    path = os.path.join(folder, "hookline.db")
    with closing(sqlite3.connect(path)) as reader:  # who looks on keeps the log from being removed
        reader.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        reader.execute("SELECT count(*) FROM events").fetchone()
        act()
        with open(f"{path}-wal", "rb") as file:
            data = file.read()
    (page,) = struct.unpack(">I", data[8:12])
    frames = range(32, len(data), 24 + page)
    # The second word of a frame is the size of the store after it, for the last one of a commit.
    return sum(struct.unpack(">I", data[at + 4 : at + 8])[0] > 0 for at in frames)


def install(folder: str) -> Installed:
    """Build the wheel and install it; what it depends on is taken from this environment."""
    env = environment(folder)
    packages = sysconfig.get_path("purelib")
    venv = os.path.join(folder, "venv")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
    offline = ("--no-index", "--no-deps")
    steps: tuple[tuple[str, ...], ...] = (
        (*pip, "wheel", *offline, "--no-build-isolation", "-w", folder, _CHECKOUT),
        (sys.executable, "-m", "venv", "--without-pip", venv),
    )
    for step in steps:
        subprocess.run(step, env=env, check=True)
    (wheel,) = (name for name in os.listdir(folder) if name.endswith(".whl"))
    target = ("--python", os.path.join(venv, "bin", "python"))
    path = os.path.join(folder, wheel)
    subprocess.run((*pip, *target, "install", *offline, path), env=env, check=True)
    with open(_site(venv, packages), "w", encoding="utf-8") as file:
        file.write(packages + "\n")
    return Installed(os.path.join(venv, "bin"), env)


def _site(venv: str, packages: str) -> str:
    below = os.path.relpath(packages, sys.prefix)
    return os.path.join(venv, below, "dependencies.pth")


def prepare(installed: Installed, root: str, configuration: str = "") -> None:
    """A project with some tasks."""
    os.makedirs(os.path.join(root, ".hookline"))
    if configuration:
        with open(os.path.join(root, "hookline.yaml"), "w", encoding="utf-8") as file:
            file.write(configuration)
        installed.run("hookline", "trust", "--yes", cwd=root)
    lines = os.path.join(root, "tasks.md")
    with open(lines, "w", encoding="utf-8") as file:
        file.writelines(f"- [ ] task {number}\n" for number in range(TASKS))
    installed.run("hookline", "task", "add", "--from", lines, cwd=root)
