"""Several workers at once on one repository, whose tasks all edit the same file."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import FULL, Pipeline, finish, work_ended

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.e2e.conftest import Cli


class Load(Pipeline):
    """Diamonds of tasks in a row, and workers that race for them."""

    def __init__(self, cli: Cli) -> None:
        super().__init__(cli)
        self.depends: dict[str, list[str]] = {}

    def add_diamonds(self, number: int) -> None:
        """Each diamond: one task, two that need it, one that needs both; they form a chain of
        two, so that some diamonds are free and others wait."""
        ends: list[str] = []
        for place in range(number):
            before = ends[place - 2 :][:1] if place >= 2 else []
            top = self._add(f"top {place}", before)
            sides = [self._add(f"{side} {place}", [top]) for side in ("left", "right")]
            ends.append(self._add(f"bottom {place}", sides))

    def _add(self, goal: str, depends: Sequence[str]) -> str:
        options = [word for each in depends for word in ("--depends-on", each)]
        task = self.cli.add(goal, *options)
        self.depends[task] = list(depends)
        return task

    def race(self, workers: int, seconds: float) -> None:
        """So many workers until each finds nothing left to do."""
        words = ("work", "--once", "--json", "--agents", "2")
        racing = [self.cli.start(*words) for _ in range(workers)]
        for process in racing:
            work_ended(finish(process, seconds))

    def check(self) -> None:
        """Every task was merged once, in order, and main was whole at every moment."""
        states = Counter(self.cli.task(task)["state"] for task in self.depends)
        assert states == {"completed": len(self.depends)}, self._told()
        assert Counter(self.merges()) == Counter(dict.fromkeys(self.depends, 1))
        pulls = Counter(each["branch"] for each in self.pulls())
        assert pulls == Counter({f"hookline/{task}": 1 for task in self.depends})
        for task, depends in self.depends.items():
            self.check_order(task, *depends)
        assert self.parts() == set(self.depends)
        self.check_main()
        self.check_claims()
        self.check_quiet()

    def check_claims(self) -> None:
        """Each task was begun once, by one worker: nobody took what another had."""
        begun = Counter(event["data"]["taskId"] for event in self.cli.events("session_started"))
        assert begun == Counter(dict.fromkeys(self.depends, 1))
        assert self.cli.json("worktree", "list") == []

    def _told(self) -> list[tuple[str, str, str]]:
        tasks = [self.cli.task(task) for task in self.depends]
        return [
            (task["id"], task["state"], str(task.get("blockReason")))
            for task in tasks
            if task["state"] != "completed"
        ]


@pytest.fixture
def load(cli: Cli) -> Load:
    return Load(cli)


@pytest.mark.torture
def test_two_workers_on_four_tasks(load: Load) -> None:
    load.begin(FULL + "gates: {tries: 20}\n")
    load.add_diamonds(1)
    load.race(2, 100)
    load.check()


@pytest.mark.torture
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("remote", [True, False])
def test_four_workers_on_forty_tasks(load: Load, remote: bool) -> None:
    load.begin(FULL + "gates: {tries: 20}\n", remote=remote)
    load.add_diamonds(10)
    load.race(4, 2400)
    load.check()
