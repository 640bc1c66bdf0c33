"""Whole commands, as a user types them: the console script of an installed wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.measure import Plan, Result, by_turns
from benchmarks.stores import environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

AIM = 5.0
FLOOR = "python -c pass"
TASKS = 30
CONFIGURATION = """\
version: 1
hooks:
  task_blocked:
    - {command: "true"}
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
    _prepare(installed, plain)
    _prepare(installed, configured, CONFIGURATION)

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


def _prepare(installed: Installed, root: str, configuration: str = "") -> None:
    os.makedirs(os.path.join(root, ".hookline"))
    if configuration:
        with open(os.path.join(root, "hookline.yaml"), "w", encoding="utf-8") as file:
            file.write(configuration)
        installed.run("hookline", "trust", "--yes", cwd=root)
    lines = os.path.join(root, "tasks.md")
    with open(lines, "w", encoding="utf-8") as file:
        file.writelines(f"- [ ] task {number}\n" for number in range(TASKS))
    installed.run("hookline", "task", "add", "--from", lines, cwd=root)
