"""What the processes of tasks said while they ran, and what must hold of it."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def clock() -> float:
    """The time as the trace has it."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass
class Life:
    """A process of a task, from its first word to its last one."""

    task: str
    host: str
    what: str
    begin: float
    last: float
    is_ended: bool = False

    @property
    def is_turn(self) -> bool:
        """Whether it is the agent itself."""
        return self.what.startswith("turn-")


@dataclass
class Trace:
    """All lines so far; `read` takes what has been added."""

    path: Path
    lives: list[Life] = field(default_factory=list)
    _alive: dict[tuple[str, str, str], Life] = field(default_factory=dict)
    _offset: int = 0

    def read(self) -> None:
        """Take the lines that are new and whole."""
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(self._offset)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.decode().splitlines():
            self._take(*line.split())

    def _take(self, moment: str, kind: str, host: str, pid: str, task: str, what: str) -> None:
        now = float(moment)
        if kind == "begin":
            self._alive[host, pid, task] = life = Life(task, host, what, now, now)
            self.lives.append(life)
        else:
            life = self._alive[host, pid, task]
            life.last, life.is_ended = now, kind == "end"

    def under_way(self, host: str) -> set[str]:
        """The tasks of a host whose agents have begun a turn and not ended it."""
        turns = [each for each in self.lives if each.is_turn]
        newest = {each.task: each for each in turns}
        return {t for t, each in newest.items() if each.host == host and not each.is_ended}

    def last_on(self, host: str) -> set[str]:
        """The tasks that were last worked on by a host."""
        newest: dict[str, Life] = {}
        for each in self.lives:
            if each.task not in newest or newest[each.task].begin < each.begin:
                newest[each.task] = each
        return {task for task, each in newest.items() if each.host == host}

    def begun_on(self, host: str, since: float) -> set[str]:
        """The tasks that a host has begun to work on after a moment."""
        return {each.task for each in self.lives if each.begin > since and each.host == host}

    def begun_elsewhere(self, host: str, since: float) -> dict[str, float]:
        """When each task was first worked on by another host after a moment."""
        found: dict[str, float] = {}
        for each in self.lives:
            if each.begin > since and each.host != host:
                found.setdefault(each.task, each.begin)
        return found

    def turns_on(self) -> dict[str, set[str]]:
        """The hosts that each task's agents were on."""
        found = defaultdict[str, set[str]](set)
        for each in self.lives:
            if each.is_turn:
                found[each.task].add(each.host)
        return found

    def cut_short(self) -> list[Life]:
        """What ended without its last word, once nothing is under way any more."""
        return [each for each in self.lives if each.what != "child" and not each.is_ended]

    def repeats(self) -> Counter[str]:
        """How many turns of each task were begun once more than needed."""
        begun = Counter((each.task, each.what) for each in self.lives if each.is_turn)
        found = Counter[str]()
        for (task, _), number in begun.items():
            found[task] += number - 1
        return +found

    def overlaps(self) -> list[tuple[Life, Life]]:
        """Processes of one task on two hosts, of which one began before the other had ended."""
        by_task = defaultdict[str, list[Life]](list)
        for each in self.lives:
            by_task[each.task].append(each)
        found = []
        for lives in by_task.values():
            lives.sort(key=lambda each: each.begin)
            latest: dict[str, Life] = {}
            for each in lives:
                others = (latest[host] for host in latest if host != each.host)
                found += [(other, each) for other in others if other.last > each.begin]
                before = latest.get(each.host)
                if before is None or before.last < each.last:
                    latest[each.host] = each
        return found
