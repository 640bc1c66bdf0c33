"""A process that runs agents is killed by force: what it had started ends soon, by itself."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import eventually, is_running, kill, reapers
from tests.e2e.pipeline_rig import Pipeline
from tests.e2e.session_rig import Rig

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

# A child in the agent's own group, one in a group of its own, and the agent itself; none of them
# ends when its pipes close. The last number is written when all of them are there.
STAYING = """\
trap '' PIPE
sh -c 'while :; do sleep 0.2; done' & child=$!
setsid sh -c 'while :; do sleep 0.2; done' > /dev/null 2>&1 < /dev/null & other=$!
echo $child $other $$ > {file}.part
mv {file}.part {file}
while :; do sleep 0.2; done
"""
# Ends only by force, and says that it was asked to.
STUBBORN = """\
trap '' PIPE
trap 'echo asked >> {file}.asked' TERM
echo $$ > {file}.part
mv {file}.part {file}
while :; do sleep 0.2; done
"""


def _pids(file: Path) -> list[int]:
    eventually(file.exists, "the agent at work")
    return [int(each) for each in file.read_text().split()]


@pytest.mark.parametrize("command", ["run", "work"])
def test_what_a_killed_command_had_started_ends_by_itself(cli: Cli, command: str) -> None:
    file = cli.root.parent / "pids"
    if command == "run":
        rig = Rig(cli)
        rig.turns(STAYING.format(file=file))
        rig.configure({})
        process = rig.start()
    else:
        line = Pipeline(cli)
        line.begin("hooks: {before_submit: []}\n")
        line.turn(STAYING.format(file=file))
        cli.add("a part")
        process = cli.start("work", "--once", "--json")
    pids = _pids(file)
    assert len(pids) == 3
    (reaper,) = reapers(process)
    # Out of reach of the terminal, with nothing of the command's open but the pipe.
    assert os.getsid(reaper) == reaper
    opened = [os.readlink(each) for each in Path(f"/proc/{reaper}/fd").iterdir()]
    kinds = sorted(each.partition(":")[0] for each in opened)
    if "HOOKLINE_STORE" in cli.env:  # it has a connection of its own, or is about to
        kinds = [each for each in kinds if each != "socket"]
    assert kinds == ["/dev/null", "/dev/null", "pipe"]
    kill(process)
    # Nobody else works on this project.
    eventually(lambda: not any(map(is_running, pids)), "the end of what the agent had started")
    eventually(lambda: not is_running(reaper), "the end of the reaper")


def test_a_program_is_asked_to_end_before_it_is_killed(cli: Cli) -> None:
    file = cli.root.parent / "pids"
    rig = Rig(cli)
    stubborn = cli.put("stubborn.sh", STUBBORN.format(file=file))
    rig.turns(f"sh {stubborn}")
    rig.configure({})
    process = rig.start()
    (agent,) = _pids(file)
    kill(process)
    eventually(lambda: not is_running(agent), "the end of the agent")
    assert file.with_name("pids.asked").read_text().startswith("asked\n")


def test_a_hook_that_is_over_may_leave_something_behind(cli: Cli) -> None:
    """Only what was under way ends: what outlived its hook is none of the command's."""
    left, file = cli.root.parent / "left", cli.root.parent / "pids"
    rig = Rig(cli)
    rig.turns(STAYING.format(file=file))
    server = f"setsid sh -c 'echo $$ > {left}; exec sleep 60' > /dev/null 2>&1 < /dev/null &"
    leave = f"{server} until [ -s {left} ]; do sleep 0.01; done"
    rig.configure({"session_start": [{"name": "server", "command": leave}]})
    process = rig.start()
    pids = _pids(file)
    kill(process)
    eventually(lambda: not any(map(is_running, pids)), "the end of what the agent had started")
    assert is_running(int(left.read_text()))
    os.kill(int(left.read_text()), signal.SIGKILL)


def test_a_reaper_ends_with_its_command_and_no_other_command_has_one(cli: Cli) -> None:
    file = cli.root.parent / "pids"
    rig = Rig(cli)
    rig.turns(
        f"echo $$ > {file}.part; mv {file}.part {file}; until [ -e {file}.go ]; do sleep 0.05; done"
    )
    hook = {
        "name": "slow",
        "command": f"touch {file}.hook; until [ -e {file}.go ]; do sleep 0.05; done",
    }
    rig.configure({"task_created": [{**hook, "when": "'slow' in task.labels"}]})
    process = rig.start(iterations=1)
    _pids(file)
    (reaper,) = reapers(process)
    adding = cli.start("task", "add", "a goal", "--label", "slow")
    eventually(file.with_name("pids.hook").exists, "the hook")
    assert reapers(adding) == []
    file.with_name("pids.go").touch()
    process.communicate()
    adding.communicate()
    assert not is_running(reaper)
