"""`hookline status` and the words that people try first."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from hookline.surfaces.cli.main import COMMANDS, SECTIONS
from tests.e2e.conftest import PROGRAM
from tests.e2e.session_rig import PROMISE, Rig
from tests.e2e.terminal_rig import Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Cli


def test_an_empty_project_says_what_to_do(cli: Cli) -> None:
    cli.json("task", "list")
    shown = cli("status").stdout
    assert shown.startswith("nothing runs and nothing waits\n")
    assert 'next: hookline run "what the agent should do"' in shown


def test_hookline_alone_is_the_status_of_a_project(cli: Cli) -> None:
    assert cli().stdout == cli("help").stdout  # nothing was ever stored here
    cli.add("write it")
    assert cli().stdout == cli("status").stdout


def test_what_waits_has_its_command(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns("echo '<promise>BLOCKED</promise>'")
    rig.configure()
    assert rig.run().code == 4
    (item,) = cli.json("status")["waiting"]
    shown = cli("status").stdout
    assert shown.startswith("waiting   s  since ")
    assert item["command"] in shown


@pytest.mark.parametrize("words", [("status",), ("attention",), ("report", "--since", "1h")])
def test_a_long_command_is_broken_where_a_shell_reads_on(cli: Cli, words: tuple[str, ...]) -> None:
    rig = Rig(cli)
    rig.turns("echo '<promise>BLOCKED</promise>'")
    rig.configure()
    assert rig.run().code == 4
    terminal = Terminal(cli, *words, columns=60, rows=50, env={"COLUMNS": ""})
    terminal.shows("hookline run --resume --name s")
    terminal.ends()
    lines = [line.strip().removeprefix("type: ") for line in terminal.everything]
    terminal.close()
    first = lines.index('hookline session message s "YOUR ANSWER" &&')
    assert lines[first + 1] == "hookline run --resume --name s"


def test_what_was_done_is_news_until_a_person_has_looked(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(PROMISE)
    rig.configure({}, validation=[{"name": "ok", "type": "command", "command": "true"}])
    assert rig.run().code == 0
    assert [each["id"] for each in cli.json("status")["completed"]] == ["s"]
    assert "done      s  completed " in cli("status").stdout  # a pipe has not looked
    terminal = Terminal(cli, "status", columns=100, rows=24)
    terminal.shows("done")
    assert terminal.ends() == 0
    assert cli.json("status")["completed"] == []


# Names


def test_a_piece_of_work_answers_to_all_its_names(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(PROMISE)
    rig.configure()
    assert rig.run(name="fence").code == 0
    for name in ("fence", "R-1", "T-1"):
        assert cli.json("task", "show", name)["id"] == "T-1"
        assert cli.json("session", "show", name)["runId"] == "R-1"
        assert cli.json("flow", "status", name)["runId"] == "R-1"
        assert cli.json("gate", "explain", name)["taskId"] == "T-1"
        assert cli.json("why", name)
    code, error = cli.refused("task", "show", "fense")
    assert (code, error["code"]) == (1, "unknown-task")
    assert cli("logs").stdout == cli("logs", "T-1").stdout


def test_a_session_is_not_called_like_a_task(cli: Cli) -> None:
    Rig(cli).configure()
    code, error = cli.refused("run", "do it", "--name", "T-7")
    assert (code, error["code"]) == (2, "bad-input")


# Words that people try


def test_help_lists_every_command_in_groups(cli: Cli) -> None:
    shown = cli("--help").stdout
    for title in SECTIONS:
        assert f"\n{title}\n" in shown
    for name in COMMANDS:
        assert f"\n  {name:11}  " in shown
    assert shown.index("demo") < shown.index("init") < shown.index("run ") < shown.index("trust")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("help", "exit-codes"), "4 needs a person"),
        (("help", "overnight"), 'hookline run "GOAL" --detach'),
        (("help", "run"), "usage: hookline run"),
        (("help", "task", "add"), "usage: hookline task add"),
        (("help", "before_submit"), "before_submit"),
        (("version",), "hookline 0."),
        (("--version",), "hookline 0."),
        (("stats",), ""),
    ],
)
def test_words_that_people_try(cli: Cli, words: tuple[str, ...], said: str) -> None:
    result = cli(*words)
    assert (result.code, result.stderr) == (0, "")
    assert said in result.stdout


def test_a_wrong_topic_names_the_nearest(cli: Cli) -> None:
    code, error = cli.refused("help", "overnigth")
    assert (code, error["help"]) == (2, "did you mean `hookline help overnight`?")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_of_its_shell(cli: Cli, shell: str) -> None:
    script = cli("completion", shell).stdout
    assert "orchestrate" in script
    program = shutil.which(shell)
    if program is not None:
        subprocess.run((program, "-n"), input=script, text=True, check=True)


def completed(cli: Cli, words: str) -> set[str]:
    """What bash offers for the last of these words."""
    program = f'hookline() {{ {shlex.join(PROGRAM)} "$@"; }}'
    count = len(words.split()) - (not words.endswith(" "))
    ask = f"COMP_WORDS=({words}); COMP_CWORD={count}; _hookline; echo ${{COMPREPLY[@]}}"
    script = f"{program}\n{cli('completion', 'bash').stdout}\n{ask}"
    done = subprocess.run(
        ("bash", "-c", script),
        capture_output=True,
        text=True,
        check=True,
        cwd=cli.root,
        env=cli.env,
    )
    assert done.stderr == ""
    return set(done.stdout.split())


def test_bash_completes_commands_and_options(cli: Cli) -> None:
    for words, wanted in (
        ("hookline st", {"status", "stop", "stats", "store"}),
        ("hookline task comp", {"complete"}),
        ("hookline task add --de", {"--deliverable", "--depends-on"}),
        ("hookline completion z", {"zsh"}),
    ):
        assert completed(cli, words) == wanted


def test_bash_completes_ids_and_names(cli: Cli) -> None:
    assert completed(cli, "hookline task show T") == set()  # there is no store yet
    rig = Rig(cli)
    rig.turns(PROMISE)
    rig.configure()
    for name in ("fence", "$(touch never)"):
        assert rig.run(name=name).code == 0
    cli.add("still open")
    assert completed(cli, "hookline task show T-") == {"T-1", "T-2", "T-3"}
    assert completed(cli, "hookline session show f") == {"fence"}
    assert completed(cli, "hookline flow show R") == {"R-1", "R-2"}
    assert "--json" in completed(cli, "hookline task show --")
    assert {"fence", "--follow"} <= completed(cli, "hookline logs ")
    assert not (cli.root / "never").exists()
    assert "(hookline completion --names tasks 2> /dev/null)" in cli("completion", "fish").stdout


def test_completion_is_silent_where_there_is_no_project(tmp_path: Path, cli: Cli) -> None:
    done = subprocess.run(
        (*PROGRAM, "completion", "--names", "tasks"),
        cwd=tmp_path,
        env={name: value for name, value in cli.env.items() if name != "HOOKLINE_DIR"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("", "")
