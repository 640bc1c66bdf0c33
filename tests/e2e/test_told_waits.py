"""What a command waits for, or leaves to others, is told: moments, people, other processes."""

from __future__ import annotations

import re
import signal
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from hookline.errors import NEEDS_PERSON
from tests.e2e.conftest import eventually, freeze

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

FLOWS = """
flows:
  naps: {steps: [{id: nap, sleep: 1h}]}
  blinks: {steps: [{id: blink, sleep: 1s}, {id: out, run: "echo out"}]}
  slow: {steps: [{id: wait, run: "touch ../begun; while [ ! -e ../go ]; do sleep 0.02; done"}]}
"""
MOMENT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


# A moment


def test_a_run_that_sleeps_says_for_what_and_until_when(cli: Cli) -> None:
    cli.configure(FLOWS)
    started = cli("flow", "start", "blinks")
    assert started.code == 0
    first, *others = started.stderr.splitlines()
    found = re.fullmatch(rf"R-1 is parked until ({MOMENT}): waits for sleep 'blink'", first)
    assert found
    assert [line.split()[1:3] for line in others] == [["sleep", "blink"], ["node", "out"]]
    # It is told before it is waited for, and once.
    began = datetime.now(UTC)
    process = cli.start("flow", "start", "naps")
    assert process.stderr is not None
    line = process.stderr.readline()
    found = re.fullmatch(rf"R-2 is parked until ({MOMENT}): waits for sleep 'nap'\n", line)
    assert found
    assert datetime.fromisoformat(found[1]) >= began + timedelta(hours=1) - timedelta(seconds=1)
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=100)
    assert rest.splitlines() == ["R-2 is parked; resume it with `hookline orchestrate R-2`"]
    assert cli("orchestrate", "R-1", "--json").stderr == ""


# A person


def test_serving_ends_with_4_beside_a_run_that_was_interrupted(cli: Cli) -> None:
    cli.configure(FLOWS)
    process = cli.start("flow", "start", "slow")
    eventually((cli.root.parent / "begun").exists, "the step")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=100)
    assert process.returncode == 130
    assert [item["id"] for item in cli("attention", "--json").json] == ["R-1"]
    served = cli("work", "--flows", "--once")
    assert (served.code, served.stdout) == (
        NEEDS_PERSON,
        "nothing is due; 0 advanced; 1 waiting for a person (R-1)\n",
    )
    (cli.root.parent / "go").touch()
    assert cli("flow", "resume", "R-1", "--json").code == 0
    served = cli("work", "--flows", "--once", "--json")
    assert (served.code, served.json["forPerson"]) == (0, [])


def test_serving_ends_with_4_beside_a_session_that_needs_a_person(cli: Cli) -> None:
    turn = '[{"text": "<promise>BLOCKED</promise>"}]'
    cli.put("script.json", turn)
    cli.configure("agents:\n  ada: {driver: scripted, script: script.json}\n")
    assert cli("run", "try").code == NEEDS_PERSON
    served = cli("work", "--flows", "--once", "--json")
    assert (served.code, served.json["forPerson"]) == (NEEDS_PERSON, ["R-1"])
    cli.json("task", "cancel", "T-1")
    assert cli("attention", "--json").json == []
    served = cli("work", "--flows", "--once", "--json")
    assert (served.code, served.json["forPerson"]) == (0, [])


# Another process

SLOW = """
hooks:
  task_updated:
    - name: slow
      command: "echo $HOOKLINE_TASK_ID >> ../called; while [ -e ../wait ]; do sleep 0.02; done"
"""


def test_calls_that_another_process_holds_are_told(cli: Cli) -> None:
    (cli.root.parent / "wait").touch()
    called = cli.root.parent / "called"
    cli.configure(SLOW)
    cli.add("first")
    cli.add("second")
    other = cli.start("task", "update", "T-1", "--note", "one")
    eventually(called.exists, "the call")
    told = cli("task", "update", "T-1", "--note", "two")
    assert told.code == 0
    # Its own, and the one that is being made.
    assert told.stderr == f"2 calls wait for process {other.pid}, which makes them\n"
    freeze(other)
    told = cli("task", "update", "T-1", "--note", "three")
    stopped = f"process {other.pid}, which is suspended: `kill -CONT {other.pid}` resumes it"
    assert told.stderr == f"3 calls wait for {stopped}\n"
    served = cli("work", "--flows", "--once")
    assert served.code == 0
    assert served.stderr == f"3 calls wait for {stopped}\n"
    # Other tasks do not wait for it.
    (cli.root.parent / "wait").unlink()
    assert cli("task", "update", "T-2", "--note", "four").stderr == ""
    other.send_signal(signal.SIGCONT)
    other.communicate(timeout=100)
    assert cli("work", "--flows", "--once").stderr == ""
    assert called.read_text().split() == ["T-1", "T-2", "T-1", "T-1"]
