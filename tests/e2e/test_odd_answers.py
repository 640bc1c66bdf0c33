"""A recorded answer that does not fit, by an older version, a plugin or damage, can be read."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.e2e.gate_rig import Repo
from tests.e2e.session_rig import Rig

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

CONFIG = "hooks:\n  before_submit: [{name: strict, command: 'exit 1'}]\n"
UNREADABLE = "its recorded answer cannot be read"
ODD = {
    "no object": '"passed"',
    "a list": "[1]",
    "empty": "{}",
    "no status": '{"message": "fine"}',
    "no JSON": "{broken",
    "another status": '{"status": "maybe", "action": "maybe", "message": "fine"}',
    "a number": '{"status": 1, "action": 1}',
}


def put_answer(cli: Cli, answer: str) -> None:
    """Write an answer into the record of the hook's calls, past every check."""
    with closing(sqlite3.connect(cli.database)) as store, store:
        store.execute("UPDATE deliveries SET answer = ? WHERE hook = 'strict'", (answer,))


def said(cli: Cli, *words: str) -> str:
    """What a command that reads the record prints; it must succeed."""
    for told in (cli(*words, "--json"), cli(*words)):
        assert (told.code, told.stderr) == (0, ""), words
    return told.stdout


@pytest.fixture
def rejected(cli: Cli) -> Cli:
    """A project with a task whose work a gate rejected."""
    repo = Repo(cli)
    repo.begin(CONFIG)
    cli.add("Ship it")
    repo.work("file")
    assert cli("submit", "T-1").code != 0
    return cli


def test_an_answer_of_a_gate_that_does_not_fit_is_a_failure_of_the_gate(rejected: Cli) -> None:
    (event,) = rejected.calls("strict", "event_seq")
    for name, answer in ODD.items():
        put_answer(rejected, answer)
        assert UNREADABLE in said(rejected, "gate", "list", "T-1"), name
        assert UNREADABLE in said(rejected, "why", "T-1"), name
        for words in (("task", "show", "T-1"), ("why", "strict"), ("why", str(event))):
            said(rejected, *words)
        found = rejected.json("gate", "list", "T-1")
        assert [each["status"] for each in found] == ["failure"], name


def test_fields_that_fit_are_shown_without_the_others(rejected: Cli) -> None:
    odd = {"status": "failure", "message": "no", "context": [], "remediationPrompt": 3, "x": 1}
    put_answer(rejected, json.dumps(odd))
    (found,) = rejected.json("gate", "list", "T-1")
    assert (found["status"], found["message"], found["context"]) == ("failure", "no", {})
    assert "submit" in said(rejected, "task", "show", "T-1")


def test_a_decision_that_does_not_fit_can_be_asked_for(cli: Cli) -> None:
    rig = Rig(cli)
    rig.configure({"stop": [{"name": "strict", "command": "true"}]})
    assert rig.run().code == 0
    assert "decided" in said(cli, "why", "strict")
    for name, answer in ODD.items():
        put_answer(cli, answer)
        assert "decided" not in said(cli, "why", "strict"), name
        said(cli, "hook", "stats")
    put_answer(cli, '{"action": "continue", "metadata": 1, "nextPrompt": []}')
    assert "continue" in said(cli, "why", "strict")
