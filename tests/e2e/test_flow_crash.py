"""Flows whose processes are killed, frozen and replaced: nothing is lost, nothing is done twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import PATIENCE, Cli, eventually, freeze, is_running, kill
from tests.e2e.flow_rig import FlowRig, orphans

if TYPE_CHECKING:
    from collections.abc import Iterator

TAKEOVER = 5.0
LONG = """\
flows:
  long:
    steps:
      - {id: work, run: "echo $HOOKLINE_IDEMPOTENCY_KEY $$ >> trace; exec sleep ${PAUSE:-60}"}
      - {id: after, run: "echo after $$ >> trace"}
"""


def survive(cli: Cli, kills: int, seed: int) -> None:
    """So many kills, and every run ends as if there had been none."""
    print(f"seed {seed}")
    rig = FlowRig(cli, seed)
    try:
        runs = rig.torture(kills)
        for run in runs:
            rig.check(run)
    finally:
        rig.close()
    print(f"{dict(rig.kills)} kills, {len(runs)} runs, {rig.repeats()} attempts repeated")
    print(f"turns of agents: {dict(rig.turns)}")
    assert rig.kills.total() >= kills


def test_a_few_kills(cli: Cli) -> None:
    survive(cli, kills=4, seed=random.randrange(1 << 32))


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_two_hundred_kills(cli: Cli) -> None:
    survive(cli, kills=200, seed=random.randrange(1 << 32))


class Relay:
    """A run that one process works on and another waits for."""

    def __init__(self, cli: Cli) -> None:
        self.cli = cli
        cli.configure(LONG)
        self.run_id = cli.json("flow", "start", "long", "--detach", quiet=False)["runId"]

    def drive(self, pause: float) -> subprocess.Popen[str]:
        """A process that advances the run."""
        env = {"PAUSE": str(pause)}
        return self.cli.start("flow", "resume", self.run_id, "--json", env=env)

    def attempts(self) -> list[tuple[str, int]]:
        """(key, process) of each attempt at the long step."""
        path = self.cli.root / "trace"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(line.split()[0], int(line.split()[1])) for line in lines if "after" not in line]

    def wait_for_attempts(self, count: int, seconds: float = PATIENCE) -> None:
        """Wait until the long step was begun so often."""
        eventually(lambda: len(self.attempts()) >= count, f"attempt {count}", seconds)

    def status(self) -> str:
        """How the run stands."""
        return str(self.cli.rows("SELECT status FROM runs")[0][0])

    def results(self) -> list[str]:
        """The effects that have a result, in order."""
        rows = self.cli.rows("SELECT data FROM events WHERE type = 'effect_resolved' ORDER BY seq")
        return [json.loads(data)["effectId"] for (data,) in rows]


@pytest.fixture
def relay(cli: Cli) -> Iterator[Relay]:
    relay = Relay(cli)
    yield relay
    cli.close()
    for _, pid in relay.attempts():
        if is_running(pid):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("within", [PATIENCE, pytest.param(TAKEOVER, marks=pytest.mark.torture)])
def test_a_killed_process_is_followed_by_another(relay: Relay, within: float) -> None:
    first = relay.drive(pause=60)
    relay.wait_for_attempts(1)
    second = relay.drive(pause=0)
    key, child = relay.attempts()[0]
    assert is_running(child)
    begun = time.monotonic()
    kill(first)
    relay.wait_for_attempts(2, within)
    assert not is_running(child)
    print(f"taken over after {time.monotonic() - begun:.2f} s")
    assert second.wait(100) == 0
    assert relay.attempts()[1][0] == key
    assert relay.results() == ["work", "after"]


def test_a_frozen_and_revived_process_changes_nothing(relay: Relay) -> None:
    first = relay.drive(pause=60)
    relay.wait_for_attempts(1)
    child = relay.attempts()[0][1]
    freeze(first)
    second = relay.drive(pause=3)
    try:
        relay.wait_for_attempts(2)
        assert not is_running(child)
    finally:
        first.send_signal(signal.SIGCONT)
    assert second.wait(100) == 0
    assert first.wait(100) == 0
    assert len(relay.attempts()) == 2
    assert relay.results() == ["work", "after"]
    assert (relay.cli.root / "trace").read_text().count("after") == 1
    assert not orphans(relay.cli)


def test_cancelling_kills_the_children(relay: Relay) -> None:
    driver = relay.drive(pause=60)
    relay.wait_for_attempts(1)
    child = relay.attempts()[0][1]
    relay.cli.json("flow", "cancel", relay.run_id, quiet=False)
    assert driver.wait(100) == 1
    assert not is_running(child)
    assert relay.status() == "cancelled"


def test_an_interrupt_leaves_no_child(relay: Relay) -> None:
    driver = relay.drive(pause=60)
    relay.wait_for_attempts(1)
    child = relay.attempts()[0][1]
    driver.send_signal(signal.SIGINT)
    assert driver.wait(100) == 130
    assert not is_running(child)
    again = relay.drive(pause=0)
    assert again.wait(100) == 0
    assert relay.attempts()[0][0] == relay.attempts()[1][0]


POSTER = """\
import sys
from hookline.adapters.store.blobs import FileBlobs
from hookline.app import App
from hookline.domain.runs.model import OK, Resolution
from hookline.flows import journal

app = App.open()
sys.stdin.readline()
blobs = FileBlobs(app.project.blobs)


def post(tx):
    result = Resolution(OK, {"from": int(sys.argv[2])})
    journal.resolve(tx, tx.runs.find("R-1"), sys.argv[1], result, blobs)


app.change(post)
app.close()
print("posted")
"""


@pytest.mark.parametrize("number", [6, pytest.param(40, marks=pytest.mark.torture)])
def test_many_processes_post_at_once(cli: Cli, number: int) -> None:
    steps = ", ".join(f'{{id: q{n}, breakpoint: "{n}?"}}' for n in range(number))
    cli.configure(f"flows: {{ask: {{steps: [{{id: all, parallel: [{steps}]}}]}}}}\n")
    assert cli("flow", "start", "ask", "--json").code == 4
    posters = [
        subprocess.Popen(
            (sys.executable, "-c", POSTER, f"all/q{n}", str(n)),
            cwd=cli.root,
            env=cli.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(number)
    ]
    for poster in posters:
        assert poster.stdin is not None
        poster.stdin.write("go\n")
        poster.stdin.flush()
    answers = [poster.communicate(timeout=100) for poster in posters]
    assert answers == [("posted\n", "")] * number
    assert cli("flow", "resume", "R-1", "--json").json["value"] == {
        "all": {f"q{n}": {"from": n} for n in range(number)},
        **{f"q{n}": {"from": n} for n in range(number)},
    }
