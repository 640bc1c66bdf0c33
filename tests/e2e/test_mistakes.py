"""Forty plausible mistakes: each message says what is wrong, where, and what to type."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.e2e.conftest import PROGRAM
from tests.e2e.terminal_rig import Terminal

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

HOOK = "hooks:\n  post_iteration:\n    - "


class Wrong(NamedTuple):
    """A configuration, what is wrong in it, where, and the words that help."""

    text: str
    code: str
    line: int
    message: str
    help: str


CONFIGURATIONS = {
    "a key of the file": Wrong(
        "agnets: {a: {driver: codex}}", "unknown-key", 2, "no key 'agnets'", "mean 'agents'?"
    ),
    "a key of a hook": Wrong(
        HOOK + '{command: "true", timout: 5}', "unknown-key", 4, "no key 'timout'", "mean 'timeout'"
    ),
    "a word for another key": Wrong(
        "session: {budget: {dollars: 3}}", "unknown-key", 2, "no key 'dollars'", "mean 'usd'?"
    ),
    "a point": Wrong(
        "hooks: {post_iteratoin: []}", "unknown-point", 2, "post_iteratoin", "'post_iteration'?"
    ),
    "a hook that runs nothing": Wrong(
        HOOK + '{comand: "true"}', "no-act", 4, "this hook runs nothing", "give it one of"
    ),
    "indentation": Wrong(
        HOOK + 'command: "true"\n   when: x', "syntax", 5, "not YAML", "start in the same column"
    ),
    "a tab": Wrong("hooks:\n\tstop: []", "syntax", 3, "not YAML", "indent with spaces"),
    "braces without quotes": Wrong(
        HOOK + "command: {{task_id}}", "bad-key", 4, "a key must be a word", "quotes around"
    ),
    "braces in braces": Wrong(
        HOOK + "{command: echo {{task_id}}}", "syntax", 4, "not YAML", "put quotes around"
    ),
    "an agent as a driver": Wrong(
        "agents: {g: {driver: gemini}}",
        "unknown-value",
        2,
        "cannot be 'gemini'",
        '{driver: acp, command: "gemini --acp"}',
    ),
    "a driver": Wrong(
        "agents: {g: {driver: claud-code}}", "unknown-value", 2, "claud-code", "'claude-code'?"
    ),
    "a driver without its program": Wrong(
        "agents: {g: {driver: acp}}",
        "missing-key",
        2,
        "needs 'command'",
        'command: "opencode acp"}',
    ),
    "a rule without what it checks": Wrong(
        "validation: [{name: t, type: command}]",
        "missing-key",
        2,
        "needs 'command'",
        'command: "pytest -q"}',
    ),
    "a rule without a name": Wrong(
        'validation: [{type: command, command: "true"}]',
        "missing-key",
        2,
        "needs 'name'",
        "add `name:`",
    ),
    "a channel without its topic": Wrong(
        "hooks: {attention_needed: [{notify: ntfy}]}",
        "missing-key",
        2,
        "needs 'topic'",
        "topic: my-agents",
    ),
    "a stop hook": Wrong(
        "hooks: {stop: [evidense]}", "unknown-built-in", 2, "'evidense'", "mean 'evidence'?"
    ),
    "a type of rule": Wrong(
        "validation: [{name: t, type: comand, command: x}]",
        "unknown-value",
        2,
        "'comand'",
        "mean 'command'?",
    ),
    "two rules with one name": Wrong(
        "validation:\n  - {name: t, type: custom, python: 'a:b'}\n"
        "  - {name: t, type: custom, python: 'a:b'}",
        "duplicate-name",
        4,
        "'t' is used twice",
        "another name",
    ),
    "a field in a condition": Wrong(
        'hooks: {task_created: [{command: "true", when: "task.label == 1"}]}',
        "bad-condition",
        2,
        "did you mean 'labels'?",
        "hookline points task_created",
    ),
    "a variable": Wrong(
        'hooks: {task_created: [{command: "echo {{taskid}}"}]}',
        "unknown-variable",
        2,
        "no variable 'taskid'",
        "mean 'task_id'?",
    ),
    "a time": Wrong(
        HOOK + '{command: "true", timeout: soon}', "wrong-type", 4, "not 'soon'", '"30s"'
    ),
    "a number in quotes": Wrong(
        "session: {iterations: '5'}", "wrong-type", 2, "must be a whole number", "remove the quotes"
    ),
    "a list of points": Wrong(
        "hooks:\n  - post_iteration", "wrong-type", 3, "mapping of points", "post_iteration: [{"
    ),
    "a negative budget": Wrong(
        "session: {budget: {usd: -3}}", "out-of-range", 2, "more than 0, not -3", "dollars"
    ),
    "a profile that is not there": Wrong(
        "agent: ada\nagents: {bob: {driver: codex}}", "unknown-agent", 2, "'ada'", "there is bob"
    ),
    "a newer format": Wrong("", "unknown-version", 1, "reads version 1", "write `version: 1`"),
    "a key that is set twice": Wrong(
        "agent: a\nagent: b", "duplicate-key", 3, "is set twice, first on line 2", "merge them"
    ),
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_mistake_in_the_configuration(cli: Cli, name: str) -> None:
    wrong = CONFIGURATIONS[name]
    version = 2 if not wrong.text else 1
    cli.put("hookline.yaml", f"version: {version}\n{wrong.text}\n")
    result = cli("check", "--json")
    assert result.code == 2
    (found,) = (each for each in result.json["problems"] if each["code"] == wrong.code)
    assert (found["file"], found["line"]) == ("hookline.yaml", wrong.line)
    assert wrong.message in found["message"]
    assert wrong.help
    assert wrong.help in found["help"]
    # What is wrong, where, the line itself with a mark below what is meant, what to write.
    source = (cli.root / "hookline.yaml").read_text().splitlines()[wrong.line - 1]
    told = (
        f"error[{wrong.code}]: {found['message']}",
        f"--> hookline.yaml:{wrong.line}:{found['column']}\n",
        f"\n{wrong.line} | {source.expandtabs(1)}\n  | {' ' * (found['column'] - 1)}^",
        f"  = help: {found['help']}",
    )
    shown = cli("check").stdout
    assert [each for each in told if each not in shown] == []
    # A session does not begin with any of them, and says the same.
    refused = cli("run", "do it")
    assert refused.code == 2
    assert [each for each in told if each not in refused.stderr] == []


COMMANDS: dict[tuple[str, ...], tuple[int, str, str, str]] = {
    ("rnu", "x"): (2, "usage", "no command 'rnu'", "`hookline run`?"),
    ("sesion", "list"): (2, "usage", "no command 'sesion'", "`hookline session`?"),
    ("task", "ad", "x"): (2, "usage", "no command 'task ad'", "`hookline task add`?"),
    ("task", "add"): (2, "bad-input", "pass a goal", "hookline task add"),
    ("task", "add", "x", "--priorty", "3"): (2, "usage", "--priorty", "did you mean --priority?"),
    ("task", "show", "T-99"): (1, "unknown-task", "no task T-99", "hookline task list --all"),
    ("run",): (2, "bad-input", "what should the agent do?", "hookline run"),
    ("run", "x", "--agent", "ada"): (2, "bad-input", "no agent 'ada'", "there is bob, gone"),
    ("run", "x", "--agent", "gone"): (2, "bad-input", "needs the program no-such", "hookline.yaml"),
    ("run", "x", "--iterations", "0"): (2, "bad-input", "at least 1", "--iterations 10"),
    ("run", "--resume"): (1, "unknown-session", "no session to resume", "hookline run"),
    ("attach", "nigth"): (1, "unknown-session", "no session 'nigth'", "hookline session list"),
    ("hook", "show", "lint"): (1, "unknown-hook", "no hook is called", "hookline hook list"),
    ("flow", "start", "ship"): (1, "unknown-flow", "no flow 'ship'", "hookline flow list"),
    ("why", "nothing"): (1, "unknown-hook", "not an event, hook", "hookline hook list"),
    ("emit", "task_completed"): (2, "reserved-event", "only Hookline writes", "another name"),
    ("help", "overnigth"): (2, "usage", "'overnigth'", "`hookline help overnight`?"),
}
AGENTS = (
    "agents:\n  bob: {driver: command, command: cat}\n"
    "  gone: {driver: command, command: no-such-agent}\n"
)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_mistake_on_the_command_line(cli: Cli, words: tuple[str, ...]) -> None:
    code, kind, message, help = COMMANDS[words]
    cli.configure(AGENTS)
    found = cli.refused(*words)
    assert (found[0], found[1]["code"]) == (code, kind)
    assert message in found[1]["message"]
    assert help
    assert help in found[1]["help"]
    shown = cli(*words).stderr
    assert f"error[{kind}]: {found[1]['message']}\n" in shown
    assert f"  = help: {found[1]['help']}\n" in shown


def test_there_are_forty_of_them() -> None:
    assert len(CONFIGURATIONS) + len(COMMANDS) >= 40


def test_a_folder_without_a_project(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for words in (("status",), ("run", "x"), ("task", "list")):
        done = subprocess.run(
            (*PROGRAM, *words), cwd=elsewhere, env=cli.env, capture_output=True, text=True
        )
        assert done.returncode == 2
        assert "no Hookline project here" in done.stderr
        assert "hookline init" in done.stderr


def test_without_a_terminal_a_question_is_answered_by_an_option(cli: Cli) -> None:
    cli.put("hookline.yaml", f"version: 1\n{AGENTS}")
    done = cli.process("trust")
    assert done.code == 2
    said, help = done.stderr.splitlines()
    assert said == "error[untrusted]: nothing was trusted: there is no terminal to ask on"
    assert "run `hookline trust --yes`" in help
    assert "hookline.yaml" in done.stdout  # what it is about


def test_a_terminal_that_knows_ascii_only(cli: Cli) -> None:
    cli.configure(AGENTS)
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for words in (("run", "grüße", "--agent", "bob", "--iterations", "1"), ("status",)):
        done = cli.process(*words, env=plain)
        assert done.code in (0, 5), done.stderr
        assert "Traceback" not in done.stderr
        assert (done.stdout + done.stderr).isascii()


def test_sixty_columns_lose_no_word(cli: Cli) -> None:
    cli.put("hookline.yaml", f"version: 1\n{CONFIGURATIONS['a variable'].text}\n")
    terminal = Terminal(cli, "check", columns=60, rows=60)
    assert terminal.ends() == 2
    shown = " ".join("".join(terminal.everything).split())
    terminal.close()
    for word in ("unknown-variable", "taskid", "task_id", "triggered_by"):
        assert word in shown
