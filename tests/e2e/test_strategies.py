"""The example strategies: a run of effects under each, each effect really carried out.

What the commands wrote tells which of them ran side by side, the journal tells in which order.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.e2e.conftest import Cli

EXAMPLE = Path(__file__).parents[2] / "examples" / "orchestration"
HOOKS = Path(".hookline/hooks/on-iteration-start")
PARTS = [f"part-{number:02}" for number in range(1, 13)]
PRIORITY = dict(zip(PARTS, (3, 1, 9, 4, 1, 5, 9, 2, 6, 5, 3, 8), strict=True))
RATE = 0.5

CLOCK = "import time; print(time.time())"
# Ends when as many have begun as the arguments say, so that whoever runs them one by one fails.
MEET = """\
import sys, time
deadline = time.time() + 100
while open("trace.txt").read().count("begin") < int(sys.argv[1]):
    if time.time() > deadline:
        sys.exit("the others did not begin")
    time.sleep(0.02)
"""


class Line(NamedTuple):
    """What a command wrote when it began or ended."""

    what: str
    part: str
    at: float


class Orchestra:
    """The example in a copy of its folder, with hooks and a run."""

    def __init__(self, cli: Cli) -> None:
        self.cli = cli
        self.parts = PARTS
        shutil.copytree(EXAMPLE, cli.root, dirs_exist_ok=True)
        cli.env["PATH"] = f"{Path(sys.executable).parent}:{cli.env['PATH']}"
        cli.put("meet.py", MEET)
        self.work()

    def work(self, between: str = ":", clock: str = "echo 0") -> None:
        """What each part does."""
        note = 'echo "{} $1 $(' + clock + ')" >> trace.txt'
        steps = ("set -e", note.format("begin"), between, note.format("end"))
        self.cli.put("work.sh", "\n".join(steps) + "\n")

    def keep(self, parts: int) -> None:
        """Leave only the first parts: what one of them costs is the start of five processes."""
        config = self.cli.root / "hookline.yaml"
        lines = config.read_text().splitlines(keepends=True)
        config.write_text("".join(lines[: parts - len(PARTS)]))
        self.parts = PARTS[:parts]

    def use(self, *scripts: str) -> None:
        """Put scripts into the hook folder, and trust the whole."""
        folder = self.cli.root / HOOKS
        folder.mkdir(parents=True, exist_ok=True)
        for script in scripts:
            shutil.copy(self.cli.root / script, folder)
        self.cli.json("trust", "--yes")

    def run(self, metadata: str = "{}", **env: str) -> list[Line]:
        """Run to the end; the trace, after checking it against the journal."""
        started = self.cli("flow", "start", "build", "--metadata", metadata, "--json", env=env)
        assert started.code == 0, started.stderr
        assert started.json["status"] == "completed", started.json
        assert self.cli.events("hook_error") == []
        lines = (self.cli.root / "trace.txt").read_text().splitlines()
        trace = [Line(what, part, float(at)) for what, part, at in map(str.split, lines)]
        assert sorted(line.part for line in trace if line.what == "begin") == self.parts
        assert sorted(line.part for line in trace if line.what == "end") == self.parts
        return trace

    def answers(self, hook: str) -> list[dict[str, Any]]:
        """What a hook of the folder answered, tick by tick."""
        calls = self.cli.json("hook", "show", f"on-iteration-start/{hook}")["calls"]
        return [call["answer"] for call in reversed(calls)]

    def resolved(self) -> list[str]:
        """The parts in the order of the journal, with times that never go back."""
        events = self.cli.events("effect_resolved")
        times = [event["timestamp"] for event in events]
        assert times == sorted(times)
        assert {event["data"]["status"] for event in events} == {"ok"}
        return [event["data"]["effectId"].removeprefix("parts/") for event in events]


@pytest.fixture
def orchestra(cli: Cli) -> Orchestra:
    return Orchestra(cli)


def most_at_once(trace: list[Line]) -> int:
    """How many commands ran side by side at the most."""
    now = most = 0
    for line in trace:
        now += 1 if line.what == "begin" else -1
        most = max(most, now)
    return most


def order(trace: list[Line]) -> list[str]:
    """The parts in the order in which they began."""
    return [line.part for line in trace if line.what == "begin"]


@pytest.mark.torture
def test_sequential_takes_one_at_a_time_in_order(orchestra: Orchestra) -> None:
    orchestra.keep(3)
    orchestra.use("sequential.sh")
    trace = orchestra.run()
    assert most_at_once(trace) == 1
    assert order(trace) == orchestra.resolved() == orchestra.parts
    answer = orchestra.answers("sequential.sh")[-1]
    assert answer == {"action": "executed-tasks", "count": 1, "tasks": ["parts/part-03"]}


@pytest.mark.torture
def test_parallel_takes_batches_of_five(orchestra: Orchestra) -> None:
    orchestra.work('case "$1" in part-0[1-5]) all=5 ;; *) all=7 ;; esac; python3 meet.py "$all"')
    orchestra.keep(7)
    orchestra.use("parallel.sh")
    trace = orchestra.run()
    assert most_at_once(trace) == 5
    assert [answer["count"] for answer in orchestra.answers("parallel.sh")] == [5, 2]
    assert set(orchestra.resolved()[:5]) == set(order(trace)[:5]) == set(PARTS[:5])


def test_priority_takes_the_highest_first(orchestra: Orchestra) -> None:
    orchestra.keep(4)
    orchestra.use("priority.sh")
    trace = orchestra.run()
    assert most_at_once(trace) == 1
    assert order(trace) == orchestra.resolved()
    assert order(trace) == sorted(orchestra.parts, key=lambda part: -PRIORITY[part])


@pytest.mark.torture
def test_rate_limited_leaves_time_between(orchestra: Orchestra) -> None:
    orchestra.work(clock=f"python3 -c '{CLOCK}'")
    orchestra.keep(3)
    orchestra.use("rate-limited.sh")
    trace = orchestra.run(RATE_SECONDS=str(RATE))
    assert order(trace) == orchestra.resolved() == orchestra.parts
    ends = [line.at for line in trace if line.what == "end"]
    begins = [line.at for line in trace if line.what == "begin"]
    assert min(b - e for e, b in zip(ends, begins[1:], strict=False)) >= RATE
    kept = orchestra.cli.root / ".hookline" / "runs" / "R-1" / "rate-limit"
    assert kept.is_file()
    waits = [a for a in orchestra.answers("rate-limited.sh") if a["action"] == "waiting"]
    assert waits
    assert all(0 < each["waitSeconds"] <= RATE for each in waits)


def by_priority(trace: list[Line]) -> bool:
    return order(trace) == sorted(sorted(order(trace)), key=lambda part: -PRIORITY[part])


ADAPTED: dict[str, Callable[[list[Line]], bool]] = {
    '{"orchestrationStrategy": "parallel"}': lambda trace: most_at_once(trace) > 1,
    '{"orchestrationStrategy": "priority"}': by_priority,
    "{}": lambda trace: order(trace) == PARTS[: len(order(trace))] and most_at_once(trace) == 1,
}


@pytest.mark.torture
@pytest.mark.examples(1)
@pytest.mark.parametrize("metadata", ADAPTED)
def test_adaptive_follows_the_runs_metadata(orchestra: Orchestra, metadata: str) -> None:
    if "parallel" in metadata:
        orchestra.work("python3 meet.py 2")
    orchestra.keep(3)
    orchestra.use("adaptive.sh", "parallel.sh", "priority.sh", "sequential.sh")
    assert ADAPTED[metadata](orchestra.run(metadata))
    counts = [answer["count"] for answer in orchestra.answers("adaptive.sh") if "count" in answer]
    assert sum(counts) == 3


@pytest.mark.torture
def test_filter_sort_execute_make_one_strategy_of_three_hooks(orchestra: Orchestra) -> None:
    orchestra.keep(4)
    orchestra.use("compose/10-filter.py", "compose/20-sort.py", "compose/30-execute.py")
    trace = orchestra.run()
    assert by_priority(trace)
    assert orchestra.resolved() == order(trace)
    assert [answer["count"] for answer in orchestra.answers("30-execute.py")] == [3, 1]


def test_a_hook_that_only_filters_leaves_the_rest_to_the_native_one(orchestra: Orchestra) -> None:
    config = orchestra.cli.root / "hookline.yaml"
    held = config.read_text().replace("{priority: 1}", "{priority: 1, hold: true}")
    config.write_text(held)
    orchestra.use("compose/10-filter.py")
    code = orchestra.cli("flow", "start", "build", "--json")
    assert code.json["status"] == "parked"
    pending = orchestra.cli.json("effect", "list", "R-1", "--pending")
    assert [effect["effectId"] for effect in pending] == ["parts/part-02", "parts/part-05"]
