"""Hooks whose call is cut by ^C or a kill: `why` says so, and what called them calls them again."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.conftest import eventually, kill
from tests.e2e.gate_rig import Repo
from tests.e2e.session_rig import PROMISE, Rig

if TYPE_CHECKING:
    from pathlib import Path
    from subprocess import Popen

    from tests.e2e.conftest import Cli

ASKS = """\
flows:
  asks:
    steps: [{{id: ask, hook: {{point: pre_iteration, payload: {{session: s, iteration: 1}}}}}}]
hooks:
  pre_iteration: [{{name: slow, command: "{}"}}]
"""
HOWS = pytest.mark.parametrize("how", ["interrupt", "kill"])


def slow_once(place: Path, end: str = "true") -> str:
    """A shell line that takes for ever the first time, and then notes under which key it runs."""
    first = f"touch {place}; sleep 100"
    return (
        f"echo $HOOKLINE_IDEMPOTENCY_KEY >> {place}.keys; [ -e {place} ] || {{ {first}; }}; {end}"
    )


def keys(place: Path) -> list[str]:
    """The keys under which such a line was called."""
    return place.with_name(f"{place.name}.keys").read_text().split()


def cut(cli: Cli, process: Popen[str], how: str, hook: str) -> dict[str, Any]:
    """End a command whose hook is being called; what `why` says of the hook then."""
    eventually(lambda: bool(cli.calls(hook)), "the call is in the record")
    assert cli.json("why", hook)["verdict"].startswith(f"{hook} is being called at event ")
    if how == "kill":
        kill(process)
    else:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 130
    told: dict[str, Any] = cli.json("why", hook)
    assert told["verdict"].startswith(f"{hook} was interrupted at event ")
    event = told["verdict"].split("event ")[1].split()[0]
    assert f"{hook} was interrupted" in cli("why", hook).stdout
    assert "was interrupted" in [each["result"] for each in cli.json("why", event)["steps"]]
    return told


def is_called_again(cli: Cli, hook: str, place: Path) -> None:
    """The same call is in the record once, with both attempts, under one key."""
    assert cli.calls(hook, "status, attempts") == [("ok", 2)]
    first, second = keys(place)
    assert first == second
    told = cli.json("why", hook)
    assert told["verdict"].startswith(f"{hook} ran at event ")
    assert any("attempt 2" in each["detail"] for each in told["steps"])
    assert cli.events("hook_error") == []


@pytest.mark.parametrize("how", ["interrupts", "kill"])
def test_a_stop_hook_that_is_cut_is_not_called_never_called(cli: Cli, how: str) -> None:
    rig = Rig(cli)
    judging = rig.file("judging")
    judge = {"name": "judge", "command": slow_once(judging, "false"), "when": "iteration == 1"}
    rig.configure({"stop": [judge, "promise"]})
    rig.turns(rest=PROMISE)
    session = rig.start(iterations=5)
    eventually(judging.exists, "the stop hook")
    if how == "kill":
        told = cut(cli, session, how, "judge")
        assert "when its session resumes" in told["hint"]
    else:
        for wanted in (1, 2):
            session.send_signal(signal.SIGINT)
            eventually(lambda: len(cli.events("run_signalled")) >= wanted, "the wish")  # noqa: B023
        session.communicate(timeout=60)
        told = cli.json("why", "judge")
        assert told["verdict"].startswith("judge was interrupted at event ")
        assert cli.calls("judge") == ["cut"]
        assert "status=cut" in cli("hook", "log").stdout
        assert cli.json("hook", "stats")["hooks"][0]["failed"] == 0
    assert {"where": "hookline.yaml:3", "what": "when iteration == 1"}.items() <= next(
        each for each in told["steps"] if each["result"] == "true"
    ).items()
    assert rig.resume().said[:2] == (0, "completed")
    if how == "kill":
        is_called_again(cli, "judge", judging)
    else:
        assert cli.calls("judge") == ["cut", "ok"]
    assert cli("attention").stdout.count("judge") == 0


@HOWS
def test_a_hook_of_a_flow_is_called_again_under_its_key(cli: Cli, how: str) -> None:
    place = cli.root.parent / "place"
    cli.configure(ASKS.format(slow_once(place)))
    process = cli.start("flow", "start", "asks")
    eventually(place.exists, "the hook")
    told = cut(cli, process, how, "slow")
    assert "when R-1 resumes" in told["hint"]
    assert cli("orchestrate", "R-1").code == 0
    is_called_again(cli, "slow", place)


@HOWS
def test_effect_run_calls_it_again_as_well(cli: Cli, how: str) -> None:
    place = cli.root.parent / "place"
    cli.configure(ASKS.format(slow_once(place)))
    cli("flow", "start", "asks", "--detach", "--json")
    process = cli.start("effect", "run", "R-1", "ask")
    eventually(place.exists, "the hook")
    cut(cli, process, how, "slow")
    assert cli("effect", "run", "R-1", "ask").code == 0
    is_called_again(cli, "slow", place)


@pytest.mark.examples(1)
@HOWS
def test_a_gate_is_called_again_and_waits_meanwhile(cli: Cli, how: str) -> None:
    repo, place = Repo(cli), cli.root.parent / "place"
    repo.begin(f'hooks: {{before_submit: [{{name: keeper, command: "{slow_once(place)}"}}]}}\n')
    cli.add("do it")
    repo.work("part")
    process = cli.start("submit", "T-1")
    eventually(place.exists, "the gate")
    told = cut(cli, process, how, "keeper")
    assert "resumes" in told["hint"]
    waits = "has not answered" if how == "kill" else "was interrupted"
    assert waits in cli("gate", "list", "T-1").stdout
    assert cli("submit", "T-1").code == 0
    is_called_again(cli, "keeper", place)


@HOWS
def test_a_hook_of_an_event_is_called_again_by_the_next_command(cli: Cli, how: str) -> None:
    place = cli.root.parent / "place"
    cli.configure(f'hooks: {{task_created: [{{name: slow, command: "{slow_once(place)}"}}]}}\n')
    process = cli.start("task", "add", "one")
    eventually(place.exists, "the hook")
    told = cut(cli, process, how, "slow")
    assert "the next command that writes" in told["hint"]
    cli("task", "update", "T-1", "--priority", "3")
    status, attempts = cli.calls("slow", "status, attempts")[0]
    # What a person ended is no attempt; a hook that kills its process is not called for ever.
    assert (status, attempts) == ("ok", 1 if how == "interrupt" else 2)
    assert len(set(keys(place)[:2])) == 1


@HOWS
def test_a_hook_that_steers_is_cut_and_asked_anew(cli: Cli, how: str) -> None:
    place = cli.root.parent / "place"
    cli.put(
        ".hookline/hooks/on-iteration-start/slow.sh",
        f"#!/bin/sh\n{slow_once(place)}\n",
        0o755,
    )
    cli.configure("flows: {one: {steps: [{id: a, run: 'true'}]}}\n")
    process = cli.start("flow", "start", "one")
    eventually(place.exists, "the hook")
    hook = cli.rows("SELECT hook FROM deliveries")[0][0]
    cut(cli, process, how, hook)
    assert cli("orchestrate", "R-1").code == 0
    assert cli.calls(hook)[:2] == ["cut", "ok"]
    assert cli.events("hook_error") == []
