"""Several workers at once on tasks that all edit one file, and of which pairs break each other.

Each task of a pair passes the project's test alone; with its partner on main it fails there, until
its agent gives way. So whoever comes second is told, mends it, and main passes at every commit.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline, finish, work_ended

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

# A pair is broken while both of its halves claim the same seat.
PAIRS = """\
sh check.sh || exit 1
for first in pairs/*.first; do
  second="${first%.first}.second"
  [ -e "$first" ] && [ -e "$second" ] || continue
  cmp -s "$first" "$second" || continue
  echo "FAILED: ${first%.first} is taken twice"
  exit 1
done
"""
# The agent takes a seat as its task says; told that it is taken, it takes another one.
TURN = """\
number=${HOOKLINE_TASK_ID#T-}
half=first; [ $((number % 2)) = 0 ] && half=second
own="pairs/$(((number + 1) / 2)).$half"
if grep -q 'Leave no marker line' "$box/$n"; then resolve; fi
if grep -q 'is taken twice' "$box/$n"; then echo "gives way" > "$own"; fi
if [ ! -e "parts/$HOOKLINE_TASK_ID" ]; then work; echo "seat" > "$own"; fi
"""
CONFIGURATION = """\
hooks: {before_submit: [{run_tests: sh pairs.sh}, create_pr]}
gates: {tries: 20}
"""


class Pairs(Pipeline):
    """The project, its workers, and what must hold in the end."""

    def race(self, tasks: int, workers: int, seconds: float, *, remote: bool) -> None:
        """Let workers race for so many tasks, the two of a pair one after the other."""
        self.cli.put("pairs.sh", PAIRS)
        self.cli.put("pairs/.keep", "")
        self.begin(CONFIGURATION)
        self.cli.put("Makefile", "test:\n\t@sh pairs.sh\n")
        self.commit("its test")
        self.git("push", "--quiet", "origin", "main")
        if not remote:
            self.leave_remote()
        self.turn(TURN)
        self.together(2)  # some pair is begun before either half is merged
        self.tasks = [self.cli.add(f"part {number}") for number in range(tasks)]
        words = ("work", "--once", "--json", "--agents", "2")
        racing = [self.cli.start(*words) for _ in range(workers)]
        for process in racing:
            work_ended(finish(process, seconds))

    def check(self) -> None:
        """Each task is merged once, tested, and main passes its test at every commit."""
        assert Counter(self.merges()) == Counter(dict.fromkeys(self.tasks, 1))
        assert self.parts() == set(self.tasks)
        assert self.cli.events("merged_untested") == []
        told = [prompt for task in self.tasks for prompt in self.prompts(task)[1:]]
        assert any("is taken twice" in prompt for prompt in told)
        self.check_main()
        self.check_quiet()


@pytest.fixture
def pairs(cli: Cli) -> Pairs:
    return Pairs(cli)


@pytest.mark.torture
def test_two_workers_on_a_pair(pairs: Pairs) -> None:
    pairs.race(2, 2, 100, remote=True)
    pairs.check()


@pytest.mark.torture
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("remote", [True, False])
def test_four_workers_on_twenty_pairs(pairs: Pairs, remote: bool) -> None:
    pairs.race(40, 4, 2400, remote=remote)
    pairs.check()
