"""Whether agents can work, found out without a turn: versions, logins, and who may be asked."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from hookline.adapters.agents.health import health_of
from hookline.adapters.processes.process import LocalProcesses
from hookline.config.types import Agent
from tests.agents.problem_lab import AGENTS
from tests.agents.rig import Desk, program

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hookline.ports.agents import AgentHealth
    from tests.agents.conftest import Script

DRIVERS = {"claude": "claude-code", "codex": "codex"}
NEW = {
    "claude": "2.1.325 (Claude Code)",
    "codex": "codex-cli 0.166.0",
    "opencode": "1.18.33",
    "gemini": "0.61.0",
    "copilot": "GitHub Copilot CLI 1.0.102.\nRun 'copilot update' to check for updates.",
    "qwen": "0.24.4",
}
OLD = {
    "claude": "2.1.3 (Claude Code)",
    "codex": "codex-cli 0.42.0",
    "opencode": "1.14.34",
    "gemini": "0.29.0",
    "copilot": "0.0.383",
    "qwen": "0.5.2",
}


def profile(name: str, folder: Path, **more: Any) -> Agent:
    words = "" if name in DRIVERS else " acp"
    return Agent(driver=DRIVERS.get(name, "acp"), command=f"{folder}/{name}{words}", **more)


def fake(folder: Path, name: str, script: str) -> None:
    """A program that notes how it is started, and where."""
    path = folder / name
    path.write_text(f'#!/bin/sh\necho "$* in $(ls -A)" >> {folder}/started\n{script}\n')
    path.chmod(0o755)


def ask(folder: Path, agent: Any, **env: str) -> AgentHealth:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **env}
    return asyncio.run(health_of(agent, environment, LocalProcesses(str(folder / "blobs"))))


@pytest.mark.parametrize("name", OLD)
def test_one_that_is_too_old_is_asked_nothing_else(tmp_path: Path, name: str) -> None:
    """Its other words may be taken for a prompt."""
    fake(tmp_path, name, f"echo '{OLD[name]}'")
    found = ask(tmp_path, profile(name, tmp_path))
    assert found.problem
    assert found.problem.kind == "outdated"
    assert found.problem.command.startswith("npm install -g ")
    assert found.problem.command.endswith("@latest")
    assert (tmp_path / "started").read_text() == "--version in \n"


@pytest.mark.parametrize("name", NEW)
def test_one_that_is_new_enough_is_asked_in_an_empty_folder(tmp_path: Path, name: str) -> None:
    lines = NEW[name].replace("'", "'\\''")
    fake(tmp_path, name, f"[ \"$1\" != --version ] || echo '{lines}'")
    found = ask(tmp_path, profile(name, tmp_path))
    assert found.installed
    assert found.version
    assert found.version in NEW[name]
    assert found.problem is None or found.problem.kind == "login"
    started = (tmp_path / "started").read_text().splitlines()
    assert all(line.endswith(" in ") for line in started)
    known = {"--version", "auth status", "login status", "auth list", "models"}
    assert {line.removesuffix(" in ") for line in started} <= known


@pytest.mark.parametrize("name", NEW)
def test_one_that_does_not_start_is_a_problem(tmp_path: Path, name: str) -> None:
    gone = ask(tmp_path, profile(name, tmp_path))
    assert gone.problem
    assert (gone.installed, gone.problem.kind) == (False, "missing")
    assert gone.problem.command.startswith("npm install -g ")
    fake(tmp_path, name, "exit 3")
    broken = ask(tmp_path, profile(name, tmp_path))
    assert broken.problem
    assert (broken.installed, broken.problem.kind) == (True, "missing")
    assert "--version` exited 3" in broken.problem.message


@pytest.mark.parametrize(
    "command",
    ["npx -y @anthropic-ai/claude-code", "./claude", "tools/claude", "my-claude", "sh -c x"],
)
def test_any_other_program_is_not_started(tmp_path: Path, command: str) -> None:
    fake(tmp_path, "my-claude", "echo 1.0.0")
    found = ask(tmp_path, Agent(driver="claude-code", command=command), PATH=str(tmp_path))
    assert (found.installed, found.version, found.login, found.problem) == (
        None,
        None,
        "unknown",
        None,
    )
    assert not (tmp_path / "started").exists()


def test_a_driver_that_cannot_tell_says_nothing(tmp_path: Path) -> None:
    found = ask(tmp_path, Agent(driver="scripted", script="turns.json"))
    assert (found.installed, found.login, found.problem) == (None, "unknown", None)


# Logins


def settings(**auth: str) -> str:
    return json.dumps({"security": {"auth": auth}})


@pytest.mark.parametrize(
    ("name", "files", "env", "login"),
    [
        ("gemini", {}, {}, "out"),
        ("gemini", {}, {"GEMINI_API_KEY": "x"}, "in"),
        ("gemini", {".gemini/oauth_creds.json": "{}"}, {}, "in"),
        (
            "gemini",
            {".gemini/settings.json": settings(selectedType="oauth-personal")},
            {},
            "unknown",
        ),
        ("gemini", {".gemini/settings.json": "no JSON"}, {}, "out"),
        ("gemini", {".gemini/.env": "GEMINI_API_KEY=x"}, {}, "unknown"),
        ("copilot", {}, {}, "unknown"),
        ("copilot", {}, {"GITHUB_TOKEN": "x"}, "in"),
        ("copilot", {}, {"COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1"}, "in"),
        ("copilot", {".copilot/config.json": '{"loggedInUsers": [{"login": "ada"}]}'}, {}, "in"),
        ("copilot", {".copilot/config.json": '{"loggedInUsers": []}'}, {}, "unknown"),
        ("qwen", {}, {}, "out"),
        ("qwen", {}, {"OPENAI_API_KEY": "x"}, "in"),
        ("qwen", {".qwen/oauth_creds.json": "{}"}, {}, "in"),
        ("qwen", {".qwen/settings.json": settings(apiKey="x")}, {}, "in"),
        ("qwen", {".qwen/settings.json": '{"security": []}'}, {}, "out"),
        ("qwen", {".qwen/settings.json": '{"env": {"OPENAI_API_KEY": "x"}}'}, {}, "unknown"),
        ("codex", {}, {"CODEX_API_KEY": "x"}, "in"),
    ],
)
def test_variables_and_files_tell_of_a_login(
    tmp_path: Path, name: str, files: Mapping[str, str], env: dict[str, str], login: str
) -> None:
    fake(tmp_path, name, f"echo '{NEW[name]}'".replace("Run 'copilot update'", "Run it"))
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    found = ask(tmp_path, profile(name, tmp_path, permissions="full"), **env)
    assert found.login == login
    assert (found.problem is not None) == (login == "out")


@pytest.mark.parametrize(
    ("said", "code", "login"),
    [
        ('{"loggedIn": true, "authMethod": "api_key"}', 0, "in"),
        ('{"loggedIn": false, "authMethod": "none"}', 1, "out"),
        ("Invalid API key", 1, "unknown"),
    ],
)
def test_claude_code_says_whether_somebody_is_logged_in(
    tmp_path: Path, said: str, code: int, login: str
) -> None:
    script = f"[ $1 = auth ] && {{ echo '{said}'; exit {code}; }}; echo {NEW['claude'][:7]}"
    fake(tmp_path, "claude", script)
    assert ask(tmp_path, profile("claude", tmp_path)).login == login


@pytest.mark.parametrize(("key", "login"), [("x", "in"), ("", "out")])
def test_codex_with_a_provider_of_ones_own_needs_its_key(
    tmp_path: Path, key: str, login: str
) -> None:
    fake(tmp_path, "codex", "echo codex-cli 0.166.0; [ $1 != login ] || exit 1")
    text = 'model_provider = "own"\n[model_providers.own]\nname = "Own"\nenv_key = "OWN_KEY"\n'
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex/config.toml").write_text(text)
    agent = profile("codex", tmp_path, permissions="full")
    assert ask(tmp_path, agent, OWN_KEY=key).login == login
    assert ask(tmp_path, agent, OWN_KEY=key, CODEX_HOME=str(tmp_path / "none")).login == "out"


@pytest.mark.parametrize(
    ("listed", "models", "login"),
    [
        ("└  2 credentials", "", "in"),
        ("└  0 credentials", "", "out"),
        ("└  0 credentials\n└  1 environment variable", "", "in"),
        ("└  0 credentials", "opencode/free", "unknown"),
        ("something else", "", "unknown"),
    ],
)
def test_opencode_lists_its_credentials(
    tmp_path: Path, listed: str, models: str, login: str
) -> None:
    said = f"auth) echo '{listed}' ;; models) printf '%s' '{models}' ;; *) echo 1.18.33 ;;"
    fake(tmp_path, "opencode", f"case $1 in {said} esac")
    assert ask(tmp_path, profile("opencode", tmp_path)).login == login


# The real programs


@pytest.mark.examples(1)
@pytest.mark.parametrize("name", ["Claude Code", "Codex", "OpenCode"])
def test_the_real_agents_tell_it_without_a_request(
    tmp_path: Path, scripted: Script, name: str
) -> None:
    agent = AGENTS[name]
    command = f"{program(agent.program)} {agent.arguments}".strip()
    given = Agent(driver=agent.driver, command=command, permissions="full")
    model = scripted()
    env = agent.environment(model, tmp_path)
    found = ask(tmp_path, given, **env)
    assert found.problem is None
    assert found.version
    # OpenCode has no login there, but a configured model.
    assert found.login == ("unknown" if name == "OpenCode" else "in")
    without = {key: text for key, text in env.items() if key not in agent.login}
    found = ask(tmp_path, given, **without)
    assert found.problem
    assert (found.login, found.problem.kind) == ("out", "login")
    assert model.requests == []


# After a turn that failed


def test_a_turn_that_did_nothing_is_explained_by_the_health_of_its_agent(tmp_path: Path) -> None:
    fake(
        tmp_path,
        "claude",
        '[ "$1" = --version ] && exec echo 1.0.89; echo no such option >&2; exit 1',
    )
    desk = Desk(tmp_path, profile("claude", tmp_path))
    turn = desk.turn()
    assert turn.problem
    assert turn.problem.kind == "outdated"
    assert turn.error == f"{turn.problem.told} (the agent exited 1: no such option)"


def test_a_turn_that_did_something_is_not(tmp_path: Path) -> None:
    said = {"type": "assistant", "message": {"content": [{"type": "text", "text": "half"}]}}
    fake(
        tmp_path,
        "claude",
        f"[ \"$1\" = --version ] && exec echo 1.0.89; echo '{json.dumps(said)}'; exit 1",
    )
    turn = Desk(tmp_path, profile("claude", tmp_path)).turn()
    assert (turn.text, turn.problem) == ("half", None)
    assert (tmp_path / "started").read_text().count("--version") == 0


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("no-such-agent", "missing"),
        ("/dev/null", "missing"),
        ("exit 3", None),
        ("kill -9 $$", None),
    ],
)
def test_a_shell_line_that_cannot_be_started_needs_a_person(
    tmp_path: Path, line: str, kind: str | None
) -> None:
    turn = Desk(tmp_path, Agent(driver="command", command=line)).turn()
    assert turn.error
    assert (turn.problem.kind if turn.problem else None) == kind
