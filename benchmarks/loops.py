"""Loops that run the same agent again and again: a session of Hookline, and a bare shell.

An agent leaves two marks, made by the shell itself without another process: the moments when it
was first and last started. So every loop is timed alike, from outside and without its own start.
The time of the processors is taken as well: it hardly depends on what else the machine does.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.stores import environment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.commands import Installed

MARK = '[ -e "$MARKS/first" ] || : > "$MARKS/first"; : > "$MARKS/last"'
INSTANT = f"{MARK}; cat > /dev/null; echo ok"
INTERPRETED = f"""{MARK}; "$PYTHON" -c 'import sys; sys.stdin.read(); print("ok")'"""
HOOK = "echo checked"
GOAL = "measure how fast this is"
LIMIT = 5
_FILES = 100
_WARM_UP = 2
_ENOUGH = 8
_CALL = 'said=$(/bin/sh -c "$HOOK" < /dev/null)\n'
_SHELL_LOOP = """\
i=0
while [ $i -lt "$COUNT" ]; do
i=$((i + 1))
{before}said=$(/bin/sh -c "$AGENT" < "$PROMPT")
{after}done
"""


class Took(NamedTuple):
    """What a loop took: seconds from one start of its agent to the next, and of all processors."""

    each: float
    cpu: float


class Times(NamedTuple):
    """What a loop took per iteration: by the clock in each round, and of the processors.

    After few iterations the processors' time is mostly that of the loop's own start: None.
    """

    rounds: list[float]
    cpu: float | None

    @property
    def typical(self) -> float:
        """The median of the rounds."""
        return median(self.rounds)


class Case(NamedTuple):
    """What a loop runs: the agent's line, hooks before and after it, and whether git watches."""

    name: str
    agent: str
    hooks: int = 0
    git: bool = True


class Project(NamedTuple):
    """A folder in which a case is looped by Hookline and by a shell."""

    case: Case
    folder: str
    installed: Installed

    @property
    def root(self) -> str:
        """Where the agent works."""
        return os.path.join(self.folder, "project")

    @property
    def marks(self) -> str:
        """Where the agent leaves its marks and the prompt that it was given."""
        return os.path.join(self.folder, "marks")

    def session(self, count: int) -> Took:
        """What so many iterations take of a session that ends at its limit."""
        run = os.path.join(self.installed.bin, "hookline")
        words = (run, "run", GOAL, "--iterations", str(count))
        return timed(words, self.root, self.installed.env, self.marks, count, exits=LIMIT)

    def shell(self, count: int) -> Took:
        """What so many iterations take of a bare loop over the same lines, with the same prompt."""
        calls = _CALL * (self.case.hooks // 2)
        loop = _SHELL_LOOP.format(before=calls, after=calls)
        values = {
            "AGENT": self.case.agent,
            "HOOK": HOOK,
            "COUNT": str(count),
            "PROMPT": os.path.join(self.marks, "prompt"),
        }
        env = {**environment(self.folder), **_variables(self.marks), **values}
        return timed(("/bin/sh", "-c", loop), self.root, env, self.marks, count)


def new_project(case: Case, folder: str, installed: Installed) -> Project:
    """A project whose agent never ends by itself; one session has shown what its prompt is."""
    project = Project(case, folder, installed)
    os.makedirs(os.path.join(project.root, ".hookline"))
    os.makedirs(project.marks)
    for number in range(_FILES):
        _write(os.path.join(project.root, f"file{number}.txt"), f"{number}\n")
    _configure(project, f'cat > "$MARKS/prompt"; {MARK}; echo ok')
    if case.git:
        _commit(project.root)
    project.session(2)
    _configure(project, case.agent)
    return project


def timed(
    words: Sequence[str], cwd: str, env: dict[str, str], marks: str, count: int, exits: int = 0
) -> Took:
    """Run a loop to its end."""
    first, last = (os.path.join(marks, name) for name in ("first", "last"))
    if os.path.exists(first):
        os.unlink(first)
    before = _cpu()
    done = subprocess.run(
        words,
        cwd=cwd,
        env=env,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    if done.returncode != exits:
        raise RuntimeError(f"{words[0]} exited {done.returncode}: {done.stderr}")
    took = os.stat(last).st_mtime - os.stat(first).st_mtime
    return Took(took / (count - 1), _cpu() - before)


def take_turns(loops: Sequence[Callable[[int], Took]], count: int, rounds: int) -> list[Times]:
    """What each loop takes per iteration; a loop follows another one each time."""
    starts = [loop(_WARM_UP) for loop in loops]
    found: list[list[Took]] = [[] for _ in loops]
    for turn in range(rounds):
        for position in range(len(loops)):
            place = (position + turn) % len(loops)
            found[place].append(loops[place](count))
    return [
        Times([took.each for took in each], _cpu_each(start, each, count))
        for start, each in zip(starts, found, strict=True)
    ]


def told(ours: Times, floor: Times) -> str:
    """How far the rounds disagree about the ratio, and the ratio of the processors' time."""
    ratios = sorted(a / b for a, b in zip(ours.rounds, floor.rounds, strict=True))
    shown = f"rounds {ratios[0]:.3g} to {ratios[-1]:.3g}"
    return f"{shown}, CPU {ours.cpu / floor.cpu:.3g}" if ours.cpu and floor.cpu else shown


def _cpu_each(start: Took, each: list[Took], count: int) -> float | None:
    if count < _ENOUGH:
        return None
    return (median(took.cpu for took in each) - start.cpu) / (count - _WARM_UP)


def _cpu() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def _configure(project: Project, agent: str) -> None:
    hook = f"    - {{command: {json.dumps(HOOK)}, pipe_output: true}}\n"
    half = project.case.hooks // 2
    hooks = f"hooks:\n  pre_iteration:\n{hook * half}  post_iteration:\n{hook * half}"
    text = (
        "version: 1\n"
        "session: {guards: {identical_output: 0, no_change: 0}}\n"
        f"agents:\n  looped: {{driver: command, command: {json.dumps(agent)},"
        f" env: {json.dumps(_variables(project.marks))}}}\n"
    )
    _write(os.path.join(project.root, "hookline.yaml"), text + (hooks if half else ""))
    project.installed.run("hookline", "trust", "--yes", cwd=project.root)


def _variables(marks: str) -> dict[str, str]:
    return {"MARKS": marks, "PYTHON": sys.executable}


def _commit(root: str) -> None:
    who = ("-c", "user.name=bench", "-c", "user.email=bench@example.com")
    for words in (("init", "-q"), ("add", "-A"), (*who, "commit", "-q", "-m", "files")):
        subprocess.run(("git", *words), cwd=root, check=True)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
