"""Commands that are told to end: ^C, SIGTERM, a closed terminal; what is left, and what is said."""

from __future__ import annotations

import json
import random
import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import eventually
from tests.e2e.session_rig import HOOKLINE, PROMISE, Rig, finished, hook, in_order
from tests.e2e.terminal_rig import INTERRUPT, Terminal, prepare
from tests.e2e.test_work import Workshop

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.conftest import Cli

CLOSED = "the terminal was closed (SIGHUP)"
ENDED = "terminated (SIGTERM)"
NAMES = {signal.SIGINT: "a person stopped it", signal.SIGHUP: CLOSED, signal.SIGTERM: ENDED}


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for each in opened:
        each.close()


def wishes(cli: Cli) -> int:
    """How often a session was asked for something."""
    return len([e for e in cli.events("run_signalled") if e["data"]["name"] == "session"])


def slow_once(place: Path, word: str) -> str:
    """A shell line that takes for ever the first time that it runs."""
    return f"[ -e {place} ] || {{ touch {place}; sleep 100; }}; echo {word}"


def hail(process: subprocess.Popen[str], *numbers: signal.Signals) -> None:
    """Send signals until the process is gone, as shells and the kernel do it."""
    for number in numbers:
        process.send_signal(number)
        time.sleep(0.03)
    deadline = time.monotonic() + 60
    while process.poll() is None:
        assert time.monotonic() < deadline
        process.send_signal(numbers[-1])
        time.sleep(0.03)


# ^C once


@pytest.mark.examples(2)
@pytest.mark.parametrize("point", ["session_start", "pre_iteration"])
@pytest.mark.parametrize("plan", [False, True])
def test_a_stop_before_the_turn_starts_none(cli: Cli, point: str, plan: bool) -> None:
    rig = Rig(cli)
    begun, go = rig.file("begun"), rig.file("go")
    wait = f"touch {begun}; while [ ! -e {go} ]; do sleep 0.02; done; echo FROM {point}"
    rig.configure({point: [hook(wait)]}, session={"plan": plan and point == "session_start"})
    session = rig.start("--yes", iterations=5)
    eventually(begun.exists, "the hook")
    session.send_signal(signal.SIGINT)
    eventually(lambda: wishes(cli) == 1, "the wish to stop")
    go.touch()
    assert finished(session).said == (130, "stopped", "a person stopped it")
    assert rig.prompts() == []
    assert cli.task("T-1")["state"] == "ready"
    rig.turns(rest=PROMISE)
    assert rig.resume().said[:2] == (0, "completed")
    assert f"FROM {point}" in rig.prompts()[-1].text
    assert cli.task("T-1")["turnsUsed"] == len(rig.prompts())


# ^C twice


def test_a_stop_hook_that_is_cut_decides_once_the_session_goes_on(cli: Cli) -> None:
    rig = Rig(cli)
    judging = rig.file("judging")
    rig.configure(
        {
            "stop": ["promise", {"command": f"{slow_once(judging, 'NOT YET')}; false"}],
            "post_iteration": [
                hook(f"{rig.note('post {{iteration}}')}; echo HELD {{{{iteration}}}}")
            ],
        },
        validation=[{"name": "fine", "type": "command", "command": rig.note("rule")}],
    )
    rig.turns("echo one", PROMISE)
    session = rig.start(iterations=5)
    eventually(judging.exists, "the stop hook")
    session.send_signal(signal.SIGINT)
    eventually(lambda: wishes(cli) == 1, "the wish to stop")
    session.send_signal(signal.SIGINT)
    ended = finished(session)
    assert ended.said == (130, "stopped", "a person stopped it")
    assert rig.trace == ["rule"]
    assert rig.resume().said[:2] == (0, "completed")
    assert rig.trace[:4] == ["rule", "post 1", "rule", "post 2"]
    decided = [
        (each["iteration"], each["decision"]) for each in rig.data("session_iteration_ended")
    ]
    assert decided == [(1, "continue"), (2, "complete")]
    second = rig.prompts()[1]
    assert second.iteration == 2
    assert in_order(second.text, "HELD 1", "do it", "\nNOT YET")


@pytest.mark.parametrize("cut", ["post_iteration", "validation"])
def test_what_else_is_cut_after_a_turn_is_made_again(cli: Cli, cut: str) -> None:
    rig = Rig(cli)
    begun = rig.file("begun")
    slow = f"{rig.note('slow')}; {slow_once(begun, 'SAID')}"
    rule = {"name": "r", "type": "command", "command": slow if cut == "validation" else "true"}
    after = slow if cut == "post_iteration" else rig.note("post")
    rig.configure({"post_iteration": [{"command": after}]}, validation=[rule])
    rig.turns(PROMISE)
    session = rig.start(iterations=5)
    eventually(begun.exists, "what is slow")
    session.send_signal(signal.SIGINT)
    eventually(lambda: wishes(cli) == 1, "the wish to stop")
    session.send_signal(signal.SIGINT)
    assert finished(session).said[:2] == (130, "stopped")
    assert rig.resume().said[:2] == (0, "completed")
    assert rig.trace == ["slow", "slow"] + ["post"] * (cut == "validation")
    assert len(rig.prompts()) == 1


def test_a_second_interrupt_ends_the_hooks_of_session_end(cli: Cli) -> None:
    rig = Rig(cli)
    begun, go, ending = rig.file("begun"), rig.file("go"), rig.file("ending")
    rig.turns(f"touch {begun}; while [ ! -e {go} ]; do sleep 0.02; done")
    rig.configure({"session_end": [{"command": f"touch {ending}; sleep 100", "name": "slow"}]})
    session = rig.start(iterations=5)
    eventually(begun.exists, "the turn")
    session.send_signal(signal.SIGINT)
    eventually(lambda: wishes(cli) == 1, "the wish to stop")
    go.touch()
    eventually(ending.exists, "the hook of session_end")
    session.send_signal(signal.SIGINT)
    assert finished(session).said == (130, "stopped", "a person stopped it")
    assert cli.task("T-1")["state"] == "ready"


def test_both_interrupts_in_a_turn_leave_session_end_alone(
    cli: Cli, terminals: list[Terminal]
) -> None:
    prepare(cli, 'hooks: {session_end: [{name: bye, command: "sleep 0.3; echo bye > ended"}]}\n')
    terminal = Terminal(cli, "run", "do it", "--name", "one", columns=80, rows=24)
    terminals.append(terminal)
    terminal.shows("reading the tests")
    terminal.type(INTERRUPT)
    terminal.shows("stopping after this turn")
    terminal.type(INTERRUPT)
    assert terminal.ends() == 130
    assert (cli.root / "ended").read_text() == "bye\n"
    (line,) = (row for row in terminal.everything if "agent          turn" in row)
    assert line.startswith("  ! agent          turn")
    assert line.endswith("s  interrupted")


def test_who_left_and_goes_on_is_not_stopped_by_the_old_wish(cli: Cli) -> None:
    rig = Rig(cli)
    begun = rig.file("begun")
    rig.turns(f"touch {begun}; sleep 100", rest=PROMISE)
    rig.configure({})
    session = rig.start(iterations=5)
    eventually(begun.exists, "the turn")
    session.send_signal(signal.SIGINT)
    eventually(lambda: wishes(cli) == 1, "the wish to stop")
    session.kill()
    session.communicate()
    assert rig.resume().said[:2] == (0, "completed")


# SIGTERM and a closed terminal


@pytest.mark.parametrize(
    ("numbers", "why"),
    [
        ((signal.SIGTERM,) * 3, ENDED),
        ((signal.SIGHUP,) * 3, CLOSED),
        ((signal.SIGHUP, signal.SIGTERM, signal.SIGHUP), CLOSED),
    ],
)
def test_any_number_of_endings_is_one(
    cli: Cli, numbers: tuple[signal.Signals, ...], why: str
) -> None:
    rig = Rig(cli)
    begun = rig.file("begun")
    rig.turns(f"touch {begun}; sleep 100")
    rig.configure({"session_end": [{"command": f"sleep 0.5; {rig.note('end {{status}}')}"}]})
    session = rig.start(iterations=5)
    eventually(begun.exists, "the turn")
    hail(session, *numbers)
    assert finished(session).said == (130, "stopped", why)
    assert rig.trace == ["end stopped"]
    shown = cli.json("session", "show", "s")
    assert (shown["status"], shown["reason"]) == ("stopped", why)
    assert cli.task("T-1")["state"] == "ready"


@pytest.mark.examples(1)
@pytest.mark.parametrize("seed", range(4))
def test_any_order_of_signals_ends_a_session_by_its_first(cli: Cli, seed: int) -> None:
    chance = random.Random(seed)
    numbers = [signal.SIGHUP, signal.SIGTERM, *chance.choices(list(NAMES), k=4)]
    chance.shuffle(numbers)
    while numbers.count(signal.SIGINT) > 2:  # a third means it
        numbers.remove(signal.SIGINT)
    rig = Rig(cli)
    begun = rig.file("begun")
    rig.turns(f"touch {begun}; sleep 100")
    rig.configure({"session_end": [{"command": rig.note("end {{status}}")}]})
    session = rig.start(iterations=5)
    eventually(begun.exists, "the turn")
    session.send_signal(numbers[0])
    eventually(lambda: wishes(cli) == 1, "the first")
    for number in numbers[1:]:
        session.send_signal(number)
        time.sleep(chance.choice((0.0, 0.01, 0.03)))
    assert finished(session).said == (130, "stopped", NAMES[numbers[0]]), numbers
    assert rig.trace == ["end stopped"]
    assert cli.task("T-1")["state"] == "ready"


def test_a_shell_whose_window_is_closed_leaves_nothing_held(
    cli: Cli, terminals: list[Terminal]
) -> None:
    prepare(cli, 'hooks: {session_end: [{name: bye, command: "sleep 0.3; echo bye >> ended"}]}\n')
    shell = ("bash", "--norc", "--noprofile", "-i")
    terminal = Terminal(cli, columns=80, rows=24, program=shell)
    terminals.append(terminal)
    terminal.type(f"{HOOKLINE} run doing --name one\r".encode())
    terminal.shows("reading the tests")
    terminal.hang_up()
    eventually((cli.root / "ended").exists, "the end")
    eventually(lambda: cli.json("session", "show", "one")["status"] == "stopped", "the stop")
    assert cli.json("session", "show", "one")["reason"] == CLOSED
    assert cli.task("T-1")["state"] == "ready"
    assert (cli.root / "ended").read_text() == "bye\n"


def test_a_session_that_is_told_to_end_as_it_begins_holds_nothing(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(rest="sleep 100")
    rig.configure({})
    cli.add("the store is there")
    session = rig.start(iterations=5)
    eventually(lambda: bool(cli.rows("SELECT 1 FROM runs")), "the session", pause=0.0)
    hail(session, signal.SIGTERM)
    assert finished(session).said == (130, "stopped", ENDED)
    assert cli.task("T-2")["state"] == "ready"


@pytest.mark.parametrize(("number", "why"), [(signal.SIGTERM, ENDED), (signal.SIGHUP, CLOSED)])
def test_a_flow_that_is_told_to_end_is_parked_by_name(
    cli: Cli, number: signal.Signals, why: str
) -> None:
    cli.configure("flows: {long: {steps: [{id: nap, run: 'touch napping; sleep 100'}]}}\n")
    process = cli.start("flow", "start", "long")
    eventually((cli.root / "napping").exists, "the step")
    hail(process, number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "R-1 is parked; resume it with `hookline orchestrate R-1`" in said
    run = cli.json("flow", "status", "R-1")
    assert (run["status"], run["reason"]) == ("parked", f"interrupted: {why}")


def test_a_flow_whose_window_is_closed_is_parked(cli: Cli, terminals: list[Terminal]) -> None:
    cli.configure("flows: {long: {steps: [{id: nap, run: 'touch napping; sleep 100'}]}}\n")
    terminal = Terminal(cli, "flow", "start", "long", columns=80, rows=24)
    terminals.append(terminal)
    eventually((cli.root / "napping").exists, "the step")
    terminal.hang_up()
    assert terminal.process.wait(timeout=60) == 130
    run = cli.json("flow", "status", "R-1")
    assert (run["status"], run["reason"]) == ("parked", f"interrupted: {CLOSED}")


def test_who_serves_flows_ends_by_name(cli: Cli) -> None:
    cli.configure("flows: {long: {steps: [{id: nap, run: 'touch napping; sleep 100'}]}}\n")
    cli("flow", "start", "long", "--detach")
    process = cli.start("work", "--flows")
    eventually((cli.root / "napping").exists, "the step")
    hail(process, signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"interrupted: {ENDED}; everything continues when a worker runs again" in said


def test_a_worker_that_is_told_to_end_stops_its_sessions_by_name(cli: Cli) -> None:
    shop = Workshop(cli)
    shop.configure()
    shop.hold()
    cli.add("first")
    worker = cli.start("work", "--json")
    eventually(lambda: shop.has_begun("T-1"), "the turn")
    hail(worker, signal.SIGHUP, signal.SIGTERM)
    stdout, _ = worker.communicate(timeout=60)
    assert worker.returncode == 130
    ended = json.loads(stdout.splitlines()[-1])["data"]
    assert (ended["outcome"], ended["reason"]) == ("stopped", CLOSED)
    assert cli.json("session", "show", "T-1-ada")["reason"] == CLOSED
    assert shop.state("T-1") == "ready"


def test_a_closed_pipe_does_not_keep_a_session_from_its_end(cli: Cli) -> None:
    rig = Rig(cli)
    begun = rig.file("begun")
    rig.turns(f"touch {begun}; sleep 100")
    rig.configure({})
    session = rig.start(iterations=5)
    eventually(begun.exists, "the turn")
    assert session.stdout is not None
    assert session.stderr is not None
    session.stdout.close()
    session.stderr.close()
    hail(session, signal.SIGTERM)
    assert session.returncode == 130
    shown = cli.json("session", "show", "s")
    assert (shown["status"], shown["reason"]) == ("stopped", ENDED)
