"""What a person sees while a session goes on, at terminals of several sizes and in a pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.terminal_rig import INTERRUPT, Terminal, normal, prepare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.conftest import Cli

HOOKS = """\
validation:
  - {name: has_file, type: file_existence, files: [agent.sh]}
session: {iterations: 3, budget: {usd: 5}}
hooks:
  session_start: [{name: ready-tasks, command: "echo welcome", pipe_output: true}]
  post_iteration:
    - {name: ruff, command: "true", when: "iteration > 5"}
    - {name: pytest, command: "echo 1 FAILED; exit 1"}
    - {name: broken, command: "no-such-program"}
    - {command: "true"}
  session_end: [{name: bye, command: "echo bye"}]
"""
BEGUN = [
    "make-it-work  R-1 · bot · T-1",
    "  make it work",
    "  ✓ session_start  ready-tasks     ###s  → agent 8 B",
    "iteration 1/3",
]
ENDED = [
    "  ✓ agent          turn            ###s",
    "      │ reading the tests",
    "  ✓ validation     1 rule          ###s",
    "  ✓ stop           checked         ###s  complete: Promised; 1 check passed",
    "  ! post_iteration pytest          ###s  exit 1",
    "  ✗ post_iteration broken          ###s  failed",
    "      │ exit code 127, a program was not found: /bin/sh: 1: no-such-program:",
    "      │ not found",
    "  ✓ post_iteration true            ###s",
    "  – 1 hook skipped; -v says why",  # noqa: RUF001
    "  ✓ session_end    bye             ###s",
]
OUTCOME = "completed after 1 iteration: Promised; 1 check passed"
NEXT = "next: hookline session report make-it-work  (everything on one page)"


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for each in opened:
        each.close()


def begin(
    terminals: list[Terminal], cli: Cli, *args: str, columns: int = 80, rows: int = 24, **env: str
) -> Terminal:
    """A session in a terminal, its agent at work."""
    arguments = args or ("run", "make it work")
    terminal = Terminal(cli, *arguments, columns=columns, rows=rows, env=env)
    terminals.append(terminal)
    terminal.shows("reading the tests")
    return terminal


def test_a_session_at_80_columns(cli: Cli, terminals: list[Terminal]) -> None:
    prepare(cli, HOOKS)
    terminal = begin(terminals, cli)
    terminal.comes_to_show(
        [
            *BEGUN,
            "  ● agent          turn            ###s",
            "      │ reading the tests",
            "* $0.00/$5.00",
        ]
    )
    cli.put("go", "")
    assert terminal.ends() == 0
    assert normal(terminal.shown) == [*BEGUN, *ENDED, OUTCOME, NEXT]


def test_a_session_at_120_columns(cli: Cli, terminals: list[Terminal]) -> None:
    prepare(cli, HOOKS)
    terminal = begin(terminals, cli, columns=120, rows=40)
    cli.put("go", "")
    assert terminal.ends() == 0
    assert normal(terminal.shown) == [
        *BEGUN,
        *ENDED[:6],
        "      │ exit code 127, a program was not found: /bin/sh: 1: no-such-program: not found",
        *ENDED[8:],
        OUTCOME,
        NEXT,
    ]


def test_a_terminal_of_eight_rows_shows_the_open_step_and_keeps_the_rest(
    cli: Cli, terminals: list[Terminal]
) -> None:
    prepare(cli, HOOKS)
    cli.put("agent.sh", "seq 100; echo reading the tests\n" + (cli.root / "agent.sh").read_text())
    cli.json("trust", "--yes")
    terminal = begin(terminals, cli, rows=8)
    terminal.comes_to_show(
        [
            *BEGUN,
            "  ● agent          turn            ###s",
            "      │ reading the tests",
            "      │ reading the tests",
            "* $0.00/$5.00",
        ]
    )
    cli.put("go", "")
    assert terminal.ends() == 0
    assert normal(terminal.everything) == [*BEGUN, *ENDED, OUTCOME, NEXT]


def test_a_pipe_gets_plain_lines(cli: Cli) -> None:
    prepare(cli, HOOKS, go=True)
    done = cli("run", "make it work")
    assert done.code == 0
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stdout == f"{OUTCOME}\n"
    assert normal(done.stderr.splitlines()) == [
        *BEGUN,
        *ENDED[:6],
        "      │ exit code 127, a program was not found: /bin/sh: 1: no-such-program: not found",
        *ENDED[8:],
    ]


def test_more_is_shown_when_asked_for(cli: Cli) -> None:
    prepare(cli, HOOKS, go=True)
    told = normal(cli("run", "make it work", "-vv").stderr.splitlines())
    assert "      │ 1 FAILED" in told
    assert "      │ reading the tests" in told
    assert "      │ <promise>COMPLETE</promise>" in told
    assert '      │ {"iteration":1}' in told
    assert "  = complete (by checked)" in told
    assert "  ✓ session_end    bye             ###s  exit 0" in told


def test_without_colour(cli: Cli, terminals: list[Terminal]) -> None:
    prepare(cli, go=True)
    terminal = begin(terminals, cli, "run", "make it work", "-vv", NO_COLOR="1")
    assert terminal.ends() == 0
    assert b"m" not in {data[-1:] for data in _commands(terminal.bytes)}


def test_a_dumb_terminal_gets_plain_lines(cli: Cli, terminals: list[Terminal]) -> None:
    prepare(cli, go=True)
    terminal = begin(terminals, cli, "run", "make it work", "-vv", TERM="dumb", NO_COLOR="1")
    assert terminal.ends() == 0
    assert _commands(terminal.bytes) == []


def _commands(data: bytes) -> list[bytes]:
    """The commands to the terminal, each up to its letter."""
    found = []
    for part in data.split(b"\x1b[")[1:]:
        length = next(i for i, c in enumerate(part) if chr(c).isalpha())
        found.append(part[: length + 1])
    return found


def test_what_an_agent_says_commands_no_terminal(cli: Cli, terminals: list[Terminal]) -> None:
    hostile = (
        "printf 'a\\033[2Jb \\033]0;owned\\007c \\033Pq#0\\033\\\\d \\2335n e\\rF\\n'; "
        "printf 'wide 日本語 🎉 \\342\\200\\256live\\n'; echo reading the tests\n"
    )
    prepare(cli)
    cli.put("agent.sh", hostile + (cli.root / "agent.sh").read_text())
    cli.json("trust", "--yes")
    terminal = begin(terminals, cli, "run", "goal \x1b]0;owned\x07 here", "--name", "n")
    terminal.until(lambda: "      │ F" in terminal.shown, "line of the agent")
    terminal.until(lambda: "      │ wide 日本語 🎉 live" in terminal.shown, "wide characters")
    cli.put("go", "")
    assert terminal.ends() == 0
    assert b"owned\x07" not in terminal.bytes
    assert b"\x1b]" not in terminal.bytes
    assert b"\x1bP" not in terminal.bytes
    letters = {data[-1:] for data in _commands(terminal.bytes)}
    assert letters <= {b"A", b"J", b"K", b"m"}
    assert b"2J" not in _commands(terminal.bytes)


def test_finished_lines_outlive_a_change_of_size(cli: Cli, terminals: list[Terminal]) -> None:
    prepare(cli, HOOKS)
    terminal = begin(terminals, cli, columns=100, rows=24)
    terminal.resize(40, 24)
    drawn = len(terminal.bytes)
    terminal.until(lambda: len(terminal.bytes) > drawn + 500, "drawing")
    terminal.resize(100, 24)
    cli.put("go", "")
    assert terminal.ends() == 0
    told = normal(terminal.everything)
    for line in (*BEGUN, ENDED[0], ENDED[1]):
        assert sum(row.startswith(line[:30]) for row in told) == 1, line


def test_another_process_watches_and_looks_away(cli: Cli, terminals: list[Terminal]) -> None:
    prepare(cli, HOOKS)
    begin(terminals, cli, "run", "make it work", "--name", "one")
    attached = begin(terminals, cli, "session", "attach", "one")
    attached.comes_to_show(
        [
            "one  R-1 · bot · T-1",
            "  make it work",
            "  ● agent          turn            ###s",
            "      │ reading the tests",
            "* $0.00/$5.00",
        ]
    )
    attached.type(INTERRUPT)
    assert attached.ends() == 0
    assert normal(attached.shown) == [
        "one  R-1 · bot · T-1",
        "  make it work",
        "one continues; `hookline session stop one` ends it",
    ]
    watching = begin(terminals, cli, "session", "attach", "R-1")
    cli.put("go", "")
    assert watching.ends() == 0
    assert normal(watching.shown) == [
        "one  R-1 · bot · T-1",
        "  make it work",
        *ENDED,
        OUTCOME,
        NEXT.replace("make-it-work", "one"),
    ]


def test_watching_from_the_start(cli: Cli) -> None:
    prepare(cli, HOOKS, go=True)
    ran = cli("run", "make it work", "--name", "one")
    watched = cli("session", "attach", "one", "--from-start")
    assert (watched.code, watched.stdout) == (0, ran.stdout)
    assert watched.stderr == ran.stderr
    records = cli("session", "attach", "one", "--from-start", "--json").stdout.splitlines()
    assert records[0].startswith('{"timestamp"')
    assert '"type":"session_ended"' in records[-1]
    assert "a JSON value per line" in cli("session", "attach", "--help").stdout


def test_who_attaches_to_a_session_that_rests_is_told(cli: Cli) -> None:
    prepare(cli, go=True, say="not yet\n")
    assert cli("run", "make it work", "--name", "one", "--iterations", "1").code == 5
    code, error = cli.refused("session", "attach", "one")
    assert (code, error["code"]) == (1, "illegal-transition")
    assert "one has reached a limit" in error["message"]
