"""The same agent in other loop runners, where they are installed.

`ralphy-cli` from npm, looked for where `benchmarks.peers` looks, and `ralph-orchestrator` 1.x from
PyPI, by its program `ralph` on the PATH. Neither takes an arbitrary command: the agent is put in
the place of the one that they would start.
"""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

from benchmarks import peers
from benchmarks.commands import install
from benchmarks.loops import MARK, Case, new_project, take_turns, timed, told
from benchmarks.measure import Plan, Result
from benchmarks.stores import environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.loops import Took

RALPHY = "ralphy-cli"
ORCHESTRATOR = "ralph-orchestrator"
# It never says the same twice: a runner would take that for being stuck.
AGENT = (
    f"{MARK}; cat > /dev/null; read -r id < /proc/sys/kernel/random/uuid;"
    """ echo '{"type":"result","subtype":"success","result":"'"$id"'"}'"""
)


class Runner(NamedTuple):
    """Another program that loops the agent, and how often it is let."""

    name: str
    loop: Callable[[int], Took]
    iterations: int
    rounds: int


def measure(plan: Plan) -> Iterator[Result]:
    """An iteration of ours beside one of theirs."""
    runners = [each for each in (_ralphy(plan), _orchestrator(plan)) if each is not None]
    if not runners:
        return
    installed = install(os.path.join(plan.folder, "installed"))
    case = Case("instant agent", AGENT)
    project = new_project(case, os.path.join(plan.folder, "ours"), installed)
    for runner in runners:
        loops = (project.session, runner.loop)
        ours, theirs = take_turns(loops, runner.iterations, runner.rounds)
        name, note = f"session: {case.name}, 0 hooks", told(ours, theirs)
        yield Result(name, ours.typical, theirs.typical, runner.name, None, note)


def _ralphy(plan: Plan) -> Runner | None:
    package = peers.find(RALPHY, "ralphy")
    if package is None:
        _missing(RALPHY, f"npm install -g {RALPHY}")
        return None
    env = _place(os.path.join(plan.folder, RALPHY), "claude")
    words = ("node", os.path.join(package, "bin.js"), "--fast", "--no-commit")
    subprocess.run(("git", "init", "-q"), cwd=env["HOME"], check=True)

    def loop(count: int) -> Took:
        with open(os.path.join(env["HOME"], "PRD.md"), "w", encoding="utf-8") as file:
            file.writelines(f"- [ ] task {number}\n" for number in range(count))
        return timed(words, env["HOME"], env, env["MARKS"], count)

    name = f"{RALPHY} {peers.version(package)}"
    return Runner(name, loop, plan.rounds(40, 8), plan.rounds(5, 2))


def _orchestrator(plan: Plan) -> Runner | None:
    program = shutil.which("ralph") or ""
    folder = os.path.dirname(os.path.dirname(os.path.realpath(program)))
    about = f"{folder}/lib/python*/site-packages/ralph_orchestrator-1.*.dist-info"
    found = glob.glob(about)
    if not (program and found):
        _missing(ORCHESTRATOR, f"pipx install '{ORCHESTRATOR}<2'")
        return None
    env = _place(os.path.join(plan.folder, ORCHESTRATOR), "kiro")
    env["RALPH_KIRO_COMMAND"] = os.path.join(env["HOME"], "bin", "kiro")
    words = (program, "run", "-a", "kiro", "--no-git", "--no-archive", "--no-metrics")
    with open(os.path.join(env["HOME"], "PROMPT.md"), "w", encoding="utf-8") as file:
        file.write("Go on.\n")

    def loop(count: int) -> Took:
        limited = (*words, "-i", str(count))
        return timed(limited, env["HOME"], env, env["MARKS"], count)

    version = os.path.basename(found[0]).split("-")[1].removesuffix(".dist")
    # It sleeps for two seconds after each iteration.
    return Runner(f"{ORCHESTRATOR} {version}", loop, 3, plan.rounds(2, 1))


def _place(folder: str, program: str) -> dict[str, str]:
    """A home with the agent under a name that the runner starts; the environment for it."""
    marks, programs = os.path.join(folder, "marks"), os.path.join(folder, "bin")
    os.makedirs(marks)
    os.makedirs(programs)
    path = os.path.join(programs, program)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n{AGENT}\n")
    os.chmod(path, 0o755)
    env = environment(folder)
    return {**env, "HOME": folder, "MARKS": marks, "PATH": f"{programs}:{env['PATH']}"}


def _missing(package: str, how: str) -> None:
    told = f"{package} is not installed: `{how}` makes this comparison work"
    print(told, file=sys.stderr)
