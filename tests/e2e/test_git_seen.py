"""Git as commands and tools meet it: in another language, broken, and as the record of work."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.mcp_rig import Agent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.conftest import Cli

# A git whose words are German unless it is asked for the locale of programs.
GERMAN = """#!/bin/sh
case "${LC_ALL-}:${LANGUAGE-}" in C:|C.*:) exec %s "$@" ;; esac
echo 'fatal: Kein Git-Repository (oder irgendein Elternverzeichnis): .git' >&2
exit 128
"""
HOOKS = """
hooks:
  task_completed:
    - {name: notes, command: "touch notes-ran", when: "changed('*.md')"}
"""


def git(cli: Cli, *args: str) -> None:
    who = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
    subprocess.run(("git", *who, *args), cwd=cli.root, check=True, capture_output=True)


def commit(cli: Cli, *names: str) -> None:
    git(cli, "add", *(names or ("--all",)))
    git(cli, "commit", "--quiet", "--message", "work")


@pytest.fixture
def repository(cli: Cli) -> Cli:
    git(cli, "init", "--quiet")
    for name in ("kept", "edited", "removed", "dirty"):
        cli.put(name, "1\n")
    cli.put(".gitignore", "*.log\n")
    commit(cli)
    return cli


# The locale


def test_a_git_that_speaks_german_is_understood(cli: Cli) -> None:
    cli.configure(HOOKS)
    program = cli.put("programs/git", GERMAN % shutil.which("git"), 0o755)
    german = {
        "PATH": f"{program.parent}{os.pathsep}{cli.env['PATH']}",
        "LANG": "de_DE.UTF-8",
        "LC_ALL": "de_DE.UTF-8",
        "LANGUAGE": "de:en",
    }
    task = cli.add("one")
    done = cli("task", "complete", task, env=german)
    assert (done.code, "Kein Git" in done.stderr) == (0, False)
    assert cli.calls("notes") == ["skipped"]


# A repository that git cannot read


@pytest.mark.parametrize(
    ("command", "code", "told"),
    [
        (("task", "list"), 0, ""),
        (("worktree", "list"), 1, "bad config line 1"),
        (("submit", "T-1"), 1, "cannot be read as a repository: git says: fatal: bad c"),
        (("work", "--once"), 1, "cannot be read as a repository: git says: fatal: bad c"),
        (("run", "Hello"), 0, "which files changed is unknown: git says: fatal: bad config line 1"),
        (("doctor",), 1, "✗ git            which files changed is unknown: git says: fatal: bad c"),
        (("init",), 0, "is trusted"),
    ],
)
def test_commands_say_what_is_wrong_with_git(
    repository: Cli, command: tuple[str, ...], code: int, told: str
) -> None:
    line = "echo '<promise>COMPLETE</promise>'"
    repository.configure(f'agents: {{ada: {{driver: command, command: "{line}"}}}}\n')
    repository.add("one")
    (repository.root / ".git" / "config").write_text("[broken\n")
    done = repository(*command)
    assert done.code == code, done
    assert told in done.stdout + done.stderr


# The files of an iteration


class Loop:
    """A loop over MCP, and what its iterations are told to have changed."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.task, self.id = agent.loop("promise")

    def validate(self, **more: Any) -> list[str]:
        answer = self.agent("iteration_validate", iterationId=self.id, agentOutput="…", **more)
        files: list[str] = answer["filesModified"]
        return files

    def next(self) -> None:
        self.agent("iteration_next", iterationId=self.id)


@pytest.fixture
def agent(cli: Cli) -> Iterator[Agent]:
    with Agent.in_process(cli) as running:
        yield running


def test_files_are_those_that_changed_since_the_iteration_began(
    repository: Cli, agent: Agent
) -> None:
    repository.put("dirty", "edited before\n")
    repository.put("untracked", "from before\n")
    loop = Loop(agent)
    assert loop.validate() == []
    repository.put("edited", "2\n")
    repository.put("new", "1\n")
    repository.put("ignored.log", "1\n")
    (repository.root / "removed").unlink()
    assert loop.validate(filesModified=["claimed"]) == ["edited", "new", "removed"]
    (*_, event) = repository.events("iteration_validated")
    assert event["data"]["finding"]["filesReported"] == ["claimed"]
    loop.next()
    assert loop.validate() == []
    repository.put("dirty", "edited again\n")
    assert loop.validate() == ["dirty"]


def test_a_commit_neither_hides_nor_makes_changes(repository: Cli, agent: Agent) -> None:
    repository.put("dirty", "edited before\n")
    loop = Loop(agent)
    repository.put("new", "1\n")
    (repository.root / "removed").unlink()
    repository.put("edited", "2\n")
    commit(repository)
    assert loop.validate() == ["edited", "new", "removed"]
    loop.next()
    git(repository, "commit", "--quiet", "--allow-empty", "--message", "nothing")
    assert loop.validate() == []


def test_an_iteration_that_nobody_validated_is_over_too(repository: Cli, agent: Agent) -> None:
    loop = Loop(agent)
    repository.put("edited", "2\n")
    loop.next()
    repository.put("new", "1\n")
    assert loop.validate() == ["new"]


def test_what_follows_a_validation_belongs_to_the_next_iteration(
    repository: Cli, agent: Agent
) -> None:
    loop = Loop(agent)
    loop.validate()
    repository.put("edited", "2\n")
    loop.next()
    assert loop.validate() == ["edited"]


def test_the_beginning_of_an_iteration_outlives_the_server(repository: Cli) -> None:
    with Agent.in_process(repository) as first:
        loop = Loop(first)
        repository.put("edited", "2\n")
    with Agent.on_stdio(repository) as loop.agent:
        repository.put("new", "1\n")
        assert loop.validate() == ["edited", "new"]


def test_a_repository_without_commits_and_a_folder_without_git(cli: Cli, agent: Agent) -> None:
    cli.put("old", "1\n")
    bare = Loop(agent)
    cli.put("new", "1\n")
    assert bare.validate() == []
    git(cli, "init", "--quiet")
    loop = Loop(agent)
    cli.put("newer", "1\n")
    cli.put("old", "2\n")
    assert loop.validate() == ["newer", "old"]
    loop.next()
    cli.put("newest", "1\n")
    commit(cli)
    assert loop.validate() == ["newest"]


def test_stop_hooks_are_told_that_git_failed(repository: Cli, agent: Agent) -> None:
    _, loop = agent.loop("evidence")
    (repository.root / ".git" / "config").write_text("[broken\n")
    answer = agent(
        "iteration_validate", iterationId=loop, agentOutput="<promise>COMPLETE</promise>"
    )
    assert (answer["completionSignal"], answer["filesModified"]) == ("CONTINUE", [])
    for text in (answer["hook"]["nextPrompt"], answer["feedback"]):
        assert "git says: fatal: bad config line 1" in text
    (event,) = repository.events("iteration_validated")
    assert "bad config line 1" in event["data"]["finding"]["gitError"]
    agent("iteration_next", iterationId=loop)
    assert agent.loop("promise")
