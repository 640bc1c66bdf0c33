"""`hookline run` as it is typed: what it refuses, how it ends, ^C, pipes, and going on."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.conftest import PROGRAM, eventually, is_running, kill
from tests.e2e.terminal_rig import INTERRUPT, PROMISE, Terminal, prepare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.conftest import Cli

ENDING = """\
hooks:
  session_end: [{name: bye, command: "echo bye >> ended"}]
"""


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for each in opened:
        each.close()


def begin(terminals: list[Terminal], cli: Cli, *args: str) -> Terminal:
    """A session in a terminal, its agent at work."""
    terminal = Terminal(cli, "run", "do it", "--name", "one", *args, columns=80, rows=24)
    terminals.append(terminal)
    terminal.shows("reading the tests")
    return terminal


def in_background(cli: Cli, *args: str) -> subprocess.Popen[str]:
    """A session beside the test, its agent at work."""
    process = cli.start("run", "do it", "--name", "one", *args)
    eventually((cli.root / "working.1").exists, "the first turn")
    return process


def status(cli: Cli, name: str = "one") -> str:
    """How a session stands."""
    return str(cli.json("session", "show", name)["status"])


def last_line(stdout: str) -> dict[str, Any]:
    """The last line of `run --json`."""
    found: dict[str, Any] = json.loads(stdout.splitlines()[-1])
    return found


# What is refused


def test_every_problem_of_the_configuration_is_shown(cli: Cli) -> None:
    cli.configure("hooks: {nowhere: [], elsewhere: []}\n", trust=False)
    result = cli("run", "do it")
    assert result.code == 2
    assert "nowhere" in result.stderr
    assert "elsewhere" in result.stderr
    assert "error[bad-configuration]" in result.stderr
    code, error = cli.refused("run", "do it")
    assert (code, error["code"]) == (2, "bad-configuration")


def test_what_nobody_trusts_does_not_run(cli: Cli) -> None:
    prepare(cli)
    cli.put("agent.sh", "echo other")
    code, error = cli.refused("run", "do it")
    assert (code, error["code"]) == (2, "untrusted")


def test_an_agent_that_is_not_there(cli: Cli) -> None:
    code, error = cli.refused("run", "do it")
    assert (code, error["message"]) == (2, "no agent is configured")
    prepare(cli, "  gone: {driver: codex, command: no-such-codex}\n")
    code, error = cli.refused("run", "do it", "--agent", "bto")
    assert (code, error["message"]) == (2, "there is no agent 'bto'")
    assert error["help"] == "did you mean 'bot'?"
    code, error = cli.refused("run", "do it", "--agent", "gone")
    assert code == 2
    assert error["message"] == "agent 'gone' needs the program no-such-codex, which was not found"
    assert cli.json("task", "list", "--all") == []


@pytest.mark.parametrize(
    "options",
    [
        ("do it", "--iterations", "0"),
        ("do it", "--iterations", "-3"),
        ("do it", "--iterations", "1000001"),
        ("do it", "--usd", "nan"),
        ("do it", "--minutes", "0"),
        ("do it", "--name", "R-3"),
        ("do it", "--name", ""),
        ("",),
        (),
        ("do it", "--resume"),
    ],
)
def test_arguments_that_make_no_sense(cli: Cli, options: tuple[str, ...]) -> None:
    prepare(cli)
    code, error = cli.refused("run", *options)
    assert code == 2
    assert error["code"] in ("bad-input", "usage")
    assert cli.json("session", "list") == []


def test_a_name_is_kept_without_control_characters(cli: Cli) -> None:
    prepare(cli, go=True, say="no\n")
    assert cli("run", "do it", "--name", "a\x1b[2Jb", "--iterations", "1").code == 5
    assert [each["name"] for each in cli.json("session", "list")] == ["ab"]


def test_a_name_is_taken_only_once(cli: Cli) -> None:
    prepare(cli, go=True, say="no\n")
    assert cli("run", "do it", "--name", "one", "--iterations", "1").code == 5
    code, error = cli.refused("run", "do it", "--name", "one")
    assert (code, error["code"]) == (1, "session-busy")
    assert "`hookline run --resume --name one --iterations 2`;" in error["help"]


# How it ends


def test_names_are_made_up_from_the_goal(cli: Cli) -> None:
    prepare(cli, go=True)
    for goal in ("Fix the login, please!", "Fix the login, please!", "日本語", "--"):
        arguments = ("run", "--json", "--", goal)
        assert cli(*arguments).code == 0
    names = [each["name"] for each in cli.json("session", "list")]
    assert names == ["session-2", "session", "fix-the-login-please-2", "fix-the-login-please"]


def test_the_last_line_tells_how_it_ended(cli: Cli) -> None:
    prepare(cli, go=True)
    done = cli("run", "do it", "--json")
    assert (done.code, done.stderr) == (0, "")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert records[0]["type"] == "session_started"
    assert [each["type"] for each in records].count("session_ended") == 1
    ended = last_line(done.stdout)
    assert set(ended) == {"type", "data"}
    assert ended["type"] == "session_ended"
    assert ended["data"]["outcome"] == "completed"
    assert ended["data"]["reason"] == "Promised; no check is configured"
    assert ended["data"]["iterations"] == 1


def test_a_task_that_is_there_already(cli: Cli) -> None:
    prepare(cli, go=True)
    task = cli.add("paint the fence")
    assert cli("run", "--task", task).code == 0
    assert cli.task(task)["state"] == "completed"
    assert "paint the fence" in (cli.root / "prompt.1").read_text()
    code, error = cli.refused("run", "--task", "T-99")
    assert (code, error["code"]) == (1, "unknown-task")


def test_a_limit_is_raised_to_go_on(cli: Cli) -> None:
    prepare(cli, go=True, say="not yet\n")
    done = cli("run", "do it", "--name", "one", "--iterations", "2")
    assert done.code == 5
    assert done.stdout == "limit after 2 iterations: 2 of 2 iterations used\n"
    assert done.stderr.endswith("`hookline run --resume --name one --iterations 4`\n")
    code, error = cli.refused("run", "--resume")
    assert (code, "limit" in error["message"]) == (2, True)
    code, error = cli.refused("run", "--resume", "--iterations", "2")
    assert (code, error["message"]) == (2, "one has reached its limit: 2 of 2 iterations used")
    again = cli("run", "--resume", "--iterations", "3", "--json")
    assert again.code == 5
    assert last_line(again.stdout)["data"]["iterations"] == 3
    cli.put("say", PROMISE)
    assert cli("session", "resume", "one", "--iterations", "9").code == 0
    code, error = cli.refused("run", "--resume", "--name", "one")
    assert (code, error["code"]) == (1, "illegal-transition")
    assert "one (R-1) is completed" in error["message"]
    code, error = cli.refused("run", "--resume")
    assert (code, error["message"]) == (1, "there is no session to resume")


# ^C


def test_the_first_interruption_waits_for_the_turn(cli: Cli, terminals: list[Terminal]) -> None:
    prepare(cli, ENDING, say="not yet\n")
    terminal = begin(terminals, cli)
    terminal.type(INTERRUPT)
    terminal.shows("stopping after this turn; ^C again stops now")
    assert status(cli) == "running"
    cli.put("go", "")
    assert terminal.ends() == 130
    terminal.shows("stopped after 1 iteration: a person stopped it")
    terminal.shows("resume it with `hookline run --resume --name one`")
    assert (cli.root / "ended").read_text() == "bye\n"
    cli.put("say", PROMISE)
    assert cli("run", "--resume").code == 0


def test_the_second_interruption_ends_the_turn(cli: Cli, terminals: list[Terminal]) -> None:
    prepare(cli, ENDING)
    terminal = begin(terminals, cli)
    terminal.type(INTERRUPT)
    terminal.shows("stopping after this turn")
    terminal.type(INTERRUPT)
    assert terminal.ends() == 130
    assert (cli.root / "ended").read_text() == "bye\n"
    assert status(cli) == "stopped"
    cli.put("go", "")
    done = cli("run", "--resume", "--name", "one", "--json")
    assert (done.code, last_line(done.stdout)["data"]["iterations"]) == (0, 1)


def test_the_third_interruption_leaves_at_once(cli: Cli, terminals: list[Terminal]) -> None:
    prepare(cli, 'hooks: {session_end: [{name: slow, command: "touch slow; sleep 60"}]}\n')
    terminal = begin(terminals, cli)
    terminal.type(INTERRUPT)
    terminal.shows("stopping after this turn")
    terminal.type(INTERRUPT)
    eventually((cli.root / "slow").exists, "the hook")
    terminal.type(INTERRUPT)
    assert terminal.ends() == 130
    assert status(cli) == "killed"
    assert [item["kind"] for item in cli("attention", "--json").json] == ["session"]


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (signal.SIGTERM, "terminated (SIGTERM)"),
        (signal.SIGHUP, "the terminal was closed (SIGHUP)"),
    ],
)
def test_who_is_told_to_end_stops_now(cli: Cli, number: signal.Signals, why: str) -> None:
    prepare(cli, ENDING)
    process = in_background(cli)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stdout == f"stopped after 0 iterations: {why}\n"
    assert f"{why}; stopping now\n" in stderr
    assert (cli.root / "ended").read_text() == "bye\n"


def test_a_window_that_is_closed_stops_the_session(cli: Cli, terminals: list[Terminal]) -> None:
    prepare(cli, ENDING)
    terminal = begin(terminals, cli)
    terminal.hang_up()
    assert terminal.process.wait(timeout=60) == 130
    assert (cli.root / "ended").read_text() == "bye\n"
    assert status(cli) == "stopped"


def test_a_session_that_waits_for_its_model_stops_at_once(
    cli: Cli, terminals: list[Terminal]
) -> None:
    turns = [{"text": "reading the tests", "wait": {"kind": "usage_limit"}, "repeat": True}]
    cli.put("turns.json", json.dumps(turns))
    cli.configure(
        "agents: {bot: {driver: scripted, script: turns.json}}\nsession: {model_wait: 1h}\n"
    )
    terminal = Terminal(cli, "run", "do it", "--name", "one", columns=80, rows=24)
    terminals.append(terminal)
    terminal.shows("usage limit: again in")
    shown = cli.json("session", "show", "one")
    assert (shown["status"], shown["reason"]) == ("waiting", "usage limit")
    terminal.type(INTERRUPT)
    assert terminal.ends() == 130
    assert status(cli) == "stopped"


# Pipes


def test_a_reader_that_goes_away_does_not_end_the_session(cli: Cli) -> None:
    prepare(cli)
    process = in_background(cli, "--json")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stderr.close()
    cli.put("go", "")
    assert process.wait(timeout=60) == 0
    assert status(cli) == "completed"
    cli.started.remove(process)


@pytest.mark.parametrize(
    ("to", "told"), [("| head -c 10", ""), ("> /dev/full", "cannot write to stdout")]
)
def test_who_only_watches_leaves_when_nobody_reads(cli: Cli, to: str, told: str) -> None:
    prepare(cli)
    talking = "until test -e go; do echo more; sleep 0.1; done"
    cli.put("agent.sh", f"cat > /dev/null; touch working.1; {talking}; cat say\n")
    cli.json("trust", "--yes")
    process = in_background(cli)
    line = f"{' '.join(PROGRAM)} session attach one --from-start --json {to}"
    watched = subprocess.run(
        ["sh", "-c", line], cwd=cli.root, env=cli.env, capture_output=True, text=True, timeout=60
    )
    assert told in watched.stderr
    assert "Traceback" not in watched.stderr
    assert process.poll() is None
    cli.put("go", "")
    assert process.wait(timeout=60) == 0


def test_a_reader_that_does_not_read_does_not_hold_up_the_session(cli: Cli) -> None:
    prepare(cli, go=True)
    cli.put("agent.sh", "cat > /dev/null; seq 100000; touch working.1; cat say\n")
    cli.json("trust", "--yes")
    process = in_background(cli, "--json")
    eventually(lambda: status(cli) == "completed", "the end of the session")
    assert process.poll() is None
    stdout, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    said = "".join(
        record["data"].get("text", "")
        for record in map(json.loads, stdout.splitlines())
        if record["type"] == "agent"
    )
    assert said == "".join(f"{n}\n" for n in range(1, 100_001)) + PROMISE
    assert last_line(stdout)["type"] == "session_ended"


def test_closed_streams(cli: Cli) -> None:
    prepare(cli, go=True)
    line = [*PROGRAM, "run", "do it", "--name", "one"]
    shell = ["sh", "-c", '"$@" >&- 2>&-', "sh", *line]
    assert subprocess.run(shell, cwd=cli.root, env=cli.env, timeout=60).returncode == 0
    assert status(cli) == "completed"


# Going on


def test_one_process_at_a_time(cli: Cli) -> None:
    prepare(cli)
    process = in_background(cli)
    code, error = cli.refused("run", "--resume")
    assert (code, error["code"]) == (1, "session-busy")
    assert f"in process {process.pid}" in error["message"]
    assert "hookline session attach one" in error["help"]
    for line in (["more", "--name", "one"], ["--task", "T-1"]):
        code, error = cli.refused("run", *line)
        assert (code, error["code"]) == (1, "session-busy")
        assert error["help"].startswith("watch it: `hookline session attach one`")
    cli.put("go", "")
    assert process.wait(timeout=60) == 0


def test_a_killed_session_goes_on(cli: Cli) -> None:
    prepare(cli)
    process = in_background(cli)
    kill(process)
    assert status(cli) == "killed"
    item = cli("attention", "--json").json[0]
    assert (item["kind"], item["command"]) == ("session", "hookline run --resume --name one")
    cli.put("go", "")
    done = cli("run", "--resume", "--json")
    assert done.code == 0
    assert cli("attention", "--json").json == []


def test_a_session_whose_task_is_taken_says_so(cli: Cli) -> None:
    prepare(cli, go=True, say="no\n")
    assert cli("run", "do it", "--name", "one", "--iterations", "1").code == 5
    cli.json("task", "claim", "T-1", "--agent", "someone")
    done = cli("run", "--resume", "--iterations", "5")
    assert done.code == 1
    assert "one: cannot continue: T-1 is claimed by someone" in done.stderr
    assert cli.json("session", "show", "one")["status"] == "limit"


def test_agents_do_not_steer_their_own_session(cli: Cli) -> None:
    prepare(cli)
    process = in_background(cli)
    inside = {"HOOKLINE_RUN_ID": "R-1", "HOOKLINE_AGENT": "bot", "HOOKLINE_SESSION": "one"}
    for command in ("stop", "pause", "resume"):
        code, error = cli.refused("session", command, "one", env=inside)
        assert (code, error["code"]) == (4, "people-only")
    assert is_running(process.pid)
