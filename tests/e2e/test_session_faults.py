"""Agents, hooks, disks, databases and clocks that fail under a session, one fault at a time."""

from __future__ import annotations

import json
import os
import resource
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.conftest import PROGRAM, eventually, is_running, kill
from tests.e2e.session_rig import HOOKLINE, PROMISE, Rig, finished, hook, in_order

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.e2e.conftest import Cli

FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
YEAR = 365 * 24 * 3600


def told_errors(rig: Rig) -> dict[str, list[Any]]:
    """A hook that notes every error it hears of."""
    return {"on_error": [{"command": rig.note('"error {{error}}"')}]}


def check_store(cli: Cli) -> None:
    """The log folds to the tables, and no call of a hook is left open."""
    checks = {each["name"]: each["status"] for each in cli.json("doctor")["checks"]}
    proved = ("store", "log", "tables", "waiting", "pending")
    assert {name: checks[name] for name in proved} == dict.fromkeys(proved, "ok")


# Agents


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV"])
def test_an_agent_that_is_killed_fails_its_turn_and_no_more(cli: Cli, name: str) -> None:
    rig = Rig(cli)
    number = signal.Signals[name].value
    rig.turns(f"echo half > half; kill -{number} $$", PROMISE)
    rig.configure(told_errors(rig))
    assert rig.run().said[:2] == (0, "completed")
    assert rig.trace[0].startswith(
        (f"error the agent exited {128 + number}", f"error the agent exited -{number}")
    )
    assert [each["status"] for each in rig.data("session_iteration_ended")] == ["failed", "ok"]


@pytest.mark.parametrize("last", ["sleep 100", "echo said"])
def test_nothing_that_an_agent_started_outlives_its_turn(cli: Cli, last: str) -> None:
    rig = Rig(cli)
    pids = rig.file("pids")
    child = f"sh -c 'trap \"\" TERM HUP INT; echo $$ >> {pids}; sleep 100'"
    started = f"{child} & setsid {child} & (setsid {child} < /dev/null > /dev/null 2>&1 &)"
    wait = f'while [ "$(grep -c . {pids})" != 3 ]; do sleep 0.02; done'
    rig.turns(f"touch {pids}; {started}; {wait}; {last}", PROMISE)
    rig.configure(told_errors(rig), session={"turn_timeout": 2})
    assert rig.run().said[:2] == (0, "completed")
    left = [int(line) for line in pids.read_text().split()]
    assert len(left) == 3
    assert not [pid for pid in left if is_running(pid)]
    assert bool(rig.trace) == (last == "sleep 100")


@pytest.mark.embedded
@pytest.mark.examples(2)
@pytest.mark.parametrize(
    "script",
    [
        "head -c 300000 /dev/urandom",
        "printf 'caf\\303 \\377\\376 \\000 \\033[2J'",
        "head -c 50000000 /dev/zero | tr '\\0' x",
        "exec 0<&-; echo never read",
        "exec 1>&- 2>&-; sleep 0.1",
        "head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2; cat > /dev/null",
    ],
    ids=["random", "no-text", "50-MB", "stdin-closed", "stdout-closed", "full-pipes"],
)
def test_whatever_an_agent_prints_or_closes_the_session_goes_on(cli: Cli, script: str) -> None:
    rig = Rig(cli)
    (rig.box / "agent.sh").write_text(
        f"if [ ! -e {rig.file('once')} ]; then touch {rig.file('once')}; {script}; exit; fi\n"
        f"cat > /dev/null; {PROMISE}\n"
    )
    piped = [hook(f"head -c 30000 /dev/zero | tr '\\0' {letter}") for letter in "abcd"]
    rig.configure({"session_start": piped, **told_errors(rig)})
    ended = rig.run(iterations=3)
    assert ended.said[:2] == (0, "completed")
    assert ended.data["iterations"] == 2
    assert rig.trace == []
    assert cli.database.stat().st_size < 5_000_000
    assert (cli.root / ".hookline" / "sessions" / "R-1.jsonl").stat().st_size < 10_000_000
    check_store(cli)


def test_an_overloaded_model_is_waited_for_and_is_no_failure(cli: Cli) -> None:
    rig = Rig(cli)
    overloaded = {"error": "API Error: 529 overloaded", "wait": {"kind": "overloaded"}}
    done = {"text": "<promise>COMPLETE</promise>", "expect": "HELD"}
    bot = rig.scripted(overloaded, overloaded, overloaded, done, {**overloaded, "repeat": True})
    rig.configure(
        {
            "session_start": [hook("echo HELD")],
            "session_end": [{"command": rig.note("end {{status}}")}],
            **told_errors(rig),
        },
        agents={"tired": bot},
        session={"model_wait": 0.05, "guards": {"failures": 1}},
    )
    ended = rig.run("--agent", "tired", iterations=1)
    assert ended.said[:2] == (0, "completed")
    assert ended.data["iterations"] == 1
    assert rig.trace == ["end completed"]
    waits = rig.data("session_waits")
    assert [each["reason"] for each in waits] == ["model overloaded"] * 3
    assert [each["seconds"] for each in waits] == [0.05, 0.1, 0.2]


def test_a_session_that_waits_for_its_model_survives_its_process(cli: Cli) -> None:
    rig = Rig(cli)
    overloaded = {"error": "529", "wait": {"kind": "overloaded"}}
    bot = rig.scripted(overloaded, {"text": "<promise>COMPLETE</promise>"})
    rig.configure({}, agents={"tired": bot}, session={"model_wait": 2})
    session = rig.start("--agent", "tired")
    eventually(lambda: rig.data("session_waits") != [], "the wait")
    kill(session)
    assert rig.resume().said[:2] == (0, "completed")
    assert len(rig.data("session_waits")) == 1
    assert [each["status"] for each in rig.data("session_iteration_ended")] == ["ok"]


# Runs that end without an ending


@pytest.mark.examples(1)
@pytest.mark.parametrize("how", ["broken", "cancelled", "killed-and-cancelled"])
def test_the_task_of_a_session_whose_run_is_over_is_free_again(cli: Cli, how: str) -> None:
    rig = Rig(cli)
    begun = rig.file("begun")
    rig.turns(f"touch {begun}; sleep 100", rest=PROMISE)
    rig.configure({"session_end": [{"command": rig.note("end {{status}}")}]})
    session = rig.start()
    eventually(begun.exists, "the first turn")
    if how != "cancelled":
        kill(session)
    if how == "broken":
        cli.configure("agents: {other: {driver: command, command: 'true'}}\n")
        cli("flow", "resume", "R-1")
    else:
        assert cli("flow", "cancel", "R-1").code == 0
    stdout, _ = session.communicate(timeout=60)
    status = "failed" if how == "broken" else "cancelled"
    if how == "cancelled":
        assert json.loads(stdout.splitlines()[-1])["data"]["outcome"] == "cancelled"
    noticed = json.loads(cli("attention", "--json").stdout)
    way_on = [("session", "hookline run --task T-1")] if how == "broken" else []
    assert [(each["kind"], each["command"]) for each in noticed] == way_on
    assert cli.json("session", "list")[0]["status"] == status
    task = cli.json("task", "show", "T-1")
    assert (task["state"], task.get("claim")) == ("ready", None)
    assert rig.trace == []
    rig.configure()
    rig.turns(PROMISE)
    assert rig.run("--task", "T-1", name="again").said[:2] == (0, "completed")
    check_store(cli)


def test_an_agent_whose_script_cannot_be_read_is_refused(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure(agents={"reader": {"driver": "scripted", "script": "none.json"}})
    code, error = cli.refused("run", "do it", "--agent", "reader")
    assert (code, error["code"]) == (2, "bad-input")
    assert error["message"] == "the script none.json cannot be read: No such file or directory"
    assert cli.json("task", "list") == []


# Hooks


@pytest.mark.torture
def test_hooks_that_hang_die_or_flood_cost_the_session_nothing(cli: Cli) -> None:
    rig = Rig(cli)
    pids = rig.file("pids")
    rig.configure(
        {
            "session_start": [
                hook(f"echo $$ > {pids}; sleep 100", name="hangs", timeout=1),
                hook("echo BEFORE; sh -c 'kill -9 $PPID'; sleep 9; echo AFTER", name="dies"),
                hook("head -c 100000000 /dev/zero | tr '\\0' x; echo THE END", name="floods"),
                hook("echo FINE", name="fine"),
            ],
        }
    )
    rig.turns(PROMISE)
    assert rig.run().code == 0
    assert not is_running(int(pids.read_text()))
    (prompt,) = rig.prompts()
    assert in_order(prompt.text, "timed out after 1 s", "BEFORE", "THE END", "FINE", "do it")
    assert "AFTER" not in prompt.text
    assert len(prompt.text) < 200_000
    assert cli.calls("hangs") == ["timeout"]
    assert cli.calls("dies") == ["failed"]
    assert cli.calls("floods") == cli.calls("fine") == ["ok"]
    check_store(cli)


# The store


@pytest.mark.torture
@pytest.mark.embedded
def test_a_locked_database_is_waited_for(cli: Cli) -> None:
    rig = Rig(cli)
    begun, go = rig.file("begun"), rig.file("go")
    rig.configure({"post_iteration": [hook("echo HELD {{iteration}}")]})
    rig.turns(f"touch {begun}; while [ ! -e {go} ]; do sleep 0.02; done", "echo more", PROMISE)
    session = rig.start(iterations=5)
    eventually(begun.exists, "the first turn")
    with closing(sqlite3.connect(cli.database, isolation_level=None, timeout=10)) as other:
        other.execute("BEGIN IMMEDIATE")
        go.touch()
        # Longer than a lease of the run, which cannot be renewed meanwhile.
        with pytest.raises(subprocess.TimeoutExpired):
            session.wait(4)
        other.execute("ROLLBACK")
    assert finished(session).said[:2] == (0, "completed")
    assert [each["iteration"] for each in rig.data("session_iteration_ended")] == [1, 2, 3]
    assert in_order(rig.prompts()[1].text, "HELD 1")
    check_store(cli)


def full_disk(cli: Cli, *words: str, room: int) -> subprocess.CompletedProcess[str]:
    """A command that may write no file longer than the store's longest is, and a little more."""
    longest = max(path.stat().st_size for path in cli.database.parent.glob("hookline.db*"))

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (longest + room, resource.RLIM_INFINITY))

    return subprocess.run(
        (*PROGRAM, *words, "--json"),
        cwd=cli.root,
        env=cli.env,
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.examples(1)
@pytest.mark.embedded
@pytest.mark.parametrize("room", [8_000, 120_000])
def test_a_full_disk_ends_the_process_with_an_error_and_loses_nothing(cli: Cli, room: int) -> None:
    rig = Rig(cli)
    rig.configure(
        {
            "post_iteration": [hook("echo HELD {{iteration}}; head -c 3000 /dev/zero")],
            "session_end": [{"command": rig.note("end {{status}}")}],
        }
    )
    cli.add("the store is there")
    words = Rig.arguments(goal="do it", n=200, name="s")
    failed = full_disk(cli, *words[:-1], room=room)
    assert failed.returncode == 1, failed.stderr
    assert "Traceback" not in failed.stderr
    assert "bug" not in failed.stderr
    error = json.loads(failed.stderr.splitlines()[-1])["error"]
    assert "hookline.db" in error["message"]
    check_store(cli)
    assert rig.trace == []
    made = len(rig.data("session_iteration_ended"))
    rig.turns(rest=PROMISE)
    begun = cli.rows("SELECT count(*) FROM runs") != [(0,)]
    ended = rig.resume() if begun else rig.run()
    assert ended.said[:2] == (0, "completed")
    assert rig.trace == ["end completed"]
    iterations = [each["iteration"] for each in rig.data("session_iteration_ended")]
    assert iterations == list(range(1, len(iterations) + 1))
    assert len(iterations) > made
    told = " ".join(each.text for each in rig.prompts())
    fine = [
        each["iteration"] for each in rig.data("session_iteration_ended") if each["status"] == "ok"
    ]
    assert fine
    assert not [number for number in fine if f"HELD {number}" not in told]
    assert cli.rows("SELECT count(*) FROM held_output WHERE delivered = 0") == [(0,)]
    check_store(cli)


# The surroundings


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_stdout_that_takes_no_more_is_no_bug(cli: Cli, unbuffered: str) -> None:
    env = {**cli.env, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            (*PROGRAM, "points"), cwd=cli.root, env=env, stdout=full, stderr=-1, text=True
        )
    told = "error[failed]: cannot write to stdout: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, told)


def test_a_folder_that_is_gone_is_no_bug(cli: Cli) -> None:
    line = f'mkdir gone && cd gone && rmdir ../gone && {HOOKLINE} run "do it"'
    done = subprocess.run(
        ("/bin/sh", "-c", line), cwd=cli.root, env=cli.env, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error[failed]: the current folder is gone\n")


# Killed


@pytest.mark.parametrize("where", ["pre_iteration", "rule"])
def test_no_hook_or_rule_of_a_killed_session_works_beside_the_new_one(cli: Cli, where: str) -> None:
    rig = Rig(cli)
    lock, begun = rig.file("lock"), rig.file("begun")
    line = (
        f"exec 9>> {lock}; flock -n 9 || {rig.note('another is alive')};"
        f" if [ ! -e {begun} ]; then touch {begun}; sleep 100; fi; {rig.note('over')}"
    )
    rig.turns(rest=PROMISE)
    rule = {"name": "rule", "type": "command", "command": line}
    rig.configure(
        {where: [{"command": line}]} if where != "rule" else {},
        validation=[rule] if where == "rule" else [],
    )
    session = rig.start()
    eventually(begun.exists, "the program")
    kill(session)
    assert rig.resume().said[:2] == (0, "completed")
    assert rig.trace == ["over"]


# Two at once


def test_of_two_that_resume_a_killed_session_one_goes_on_with_it(cli: Cli) -> None:
    rig = Rig(cli)
    begun = rig.file("begun")
    rig.turns(f"touch {begun}; sleep 100", rest=PROMISE)
    rig.configure({"session_end": [{"command": rig.note("end {{status}}")}]})
    session = rig.start()
    eventually(begun.exists, "the first turn")
    kill(session)
    words = ("run", "--resume", "--name", "s", "--json")
    both = [cli.start(*words), cli.start(*words)]
    said = [(each.communicate(timeout=60)[1], each.returncode) for each in both]
    # Who came later watched the other one, or is told that it is at work or over.
    refused = [json.loads(stderr)["error"]["code"] for stderr, code in said if code]
    assert refused in ([], ["session-busy"], ["illegal-transition"])
    assert rig.trace == ["end completed"]
    assert [each.iteration for each in rig.prompts()] == [1, 1]  # the recovery is believed


# Clocks


def python_clock(rig: Rig) -> tuple[dict[str, str], Callable[[int], None]]:
    """A Python whose clock a file moves."""
    path = rig.file("clock") / "offset"
    path.parent.mkdir()
    path.write_text("0")
    (path.parent / "sitecustomize.py").write_text(
        "import time\n"
        "_real = time.time\n"
        f"time.time = lambda: _real() + float(open({str(path)!r}).read() or 0)\n"
    )

    def jump(seconds: int) -> None:
        new = path.with_name("new")
        new.write_text(str(seconds))
        os.replace(new, path)

    before = os.environ.get("PYTHONPATH")
    return {
        "PYTHONPATH": f"{path.parent}{os.pathsep}{before}" if before else str(path.parent)
    }, jump


def library_clock(rig: Rig) -> tuple[dict[str, str], Callable[[int], None]]:
    """libfaketime, whose clock a file moves for every program."""
    if FAKETIME is None:
        pytest.skip("libfaketime is not installed")
    path = rig.file("faketime")
    path.write_text("+0")
    env = {
        "LD_PRELOAD": str(FAKETIME),
        "FAKETIME_TIMESTAMP_FILE": str(path),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }

    def jump(seconds: int) -> None:
        new = rig.file("faketime.new")
        new.write_text(f"{seconds:+d}")
        os.replace(new, path)

    return env, jump


def rests(cli: Cli, pid: int) -> bool:
    """Whether the run waits for a moment to come, and the process sleeps until then."""
    if not cli.rows("SELECT 1 FROM runs WHERE wake_at > ?", time.time()):
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


@pytest.mark.examples(1)
@pytest.mark.parametrize("offset", [YEAR, -YEAR], ids=["ahead", "back"])
def test_a_clock_that_jumps_while_the_model_is_waited_for(cli: Cli, offset: int) -> None:
    rig = Rig(cli)
    env, jump = python_clock(rig)
    overloaded = {"error": "529", "wait": {"kind": "overloaded"}}
    bot = rig.scripted(overloaded, {"text": "<promise>COMPLETE</promise>"})
    rig.configure({}, agents={"tired": bot}, session={"model_wait": 6})
    session = cli.start(*Rig.arguments("--agent", "tired", goal="do it", n=2, name="s"), env=env)
    eventually(lambda: rig.data("session_waits") != [], "the wait")
    eventually(lambda: rests(cli, session.pid), "sleep")
    jump(offset)
    assert finished(session).said[:2] == (0, "completed")


def await_heartbeat(cli: Cli) -> None:
    """Wait until the lease of the run is renewed, with the clock as it is now."""
    lease = "SELECT lease_until FROM runs"
    before = cli.rows(lease)
    eventually(lambda: cli.rows(lease) != before, "a heartbeat")


@pytest.mark.examples(1)
@pytest.mark.parametrize(
    "clock", [python_clock, pytest.param(library_clock, marks=pytest.mark.torture)]
)
@pytest.mark.parametrize("first", [YEAR, -YEAR], ids=["ahead", "back"])
def test_a_clock_that_jumps_neither_ends_nor_hangs_a_session(
    cli: Cli, clock: Callable[[Rig], Any], first: int
) -> None:
    rig = Rig(cli)
    env, jump = clock(rig)
    rig.configure(
        {
            "post_iteration": [hook("echo HELD {{iteration}}")],
            "session_end": [{"command": rig.note("end {{status}}")}],
            **told_errors(rig),
        },
        session={"turn_timeout": 60},
    )
    waits = [
        f"touch {rig.file(f'begun{n}')}; while [ ! -e {rig.file(f'go{n}')} ]; do sleep 0.02; done"
        for n in (1, 2)
    ]
    rig.turns(*waits, PROMISE)
    session = cli.start(*Rig.arguments(goal="do it", n=5, name="s"), env=env)
    for number, offset in ((1, first), (2, 0)):
        eventually(rig.file(f"begun{number}").exists, f"turn {number}")
        jump(offset)
        await_heartbeat(cli)
        listed = cli.process("session", "list", "--json", env=env).json
        assert listed[0]["status"] == "running"
        rig.file(f"go{number}").touch()
    assert finished(session).said[:2] == (0, "completed")
    assert rig.trace == ["end completed"]
    ended = rig.data("session_iteration_ended")
    assert [(each["iteration"], each["status"]) for each in ended] == [
        (number, "ok") for number in (1, 2, 3)
    ]
    (used,) = cli.rows("SELECT json_extract(state, '$.progress.minutes') FROM runs")
    assert float(used[0]) >= 0
    check_store(cli)
