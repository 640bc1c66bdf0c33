"""A project that tells people, and the stand-ins for where they are told."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from tests.inbox import Inbox, MailBox, listening

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.conftest import Cli, Result

NAMED = {"HOOK_URL": "", "HOOK_PASSWORD": "correct-horse-battery", "HOOK_TOKEN": "tk_staple_9931"}


class Rig:
    """A project with hooks at the points where people are told."""

    def __init__(self, cli: Cli, inbox: Inbox, mailbox: MailBox) -> None:
        self.cli, self.inbox, self.mailbox = cli, inbox, mailbox
        self.env = {**NAMED, "HOOK_URL": f"{inbox.url}/services/T00/B00/secret-part-of-it"}

    def configure(
        self, *needed: dict[str, Any], over: list[dict[str, Any]] | None = None, **sections: Any
    ) -> None:
        """Write and trust a configuration whose channels send everything at once."""
        hooks = {"attention_needed": list(needed), "attention_over": over or []}
        hooks |= sections.pop("hooks", {})
        given = {"hooks": hooks, "notifications": {"digest": 0}, **sections}
        self.cli.configure("".join(f"{k}: {json.dumps(v)}\n" for k, v in given.items()))

    def webhook(self, path: str = "/in", **more: Any) -> dict[str, Any]:
        """A hook that tells the web server everything."""
        return {"notify": "webhook", "url": f"{self.inbox.url}{path}", **more}

    def run(self, *args: str) -> Result:
        """A command with the variables that hold secrets, in a process of its own."""
        done = self.cli.process(*args, env=self.env)
        assert done.code == 0, done.stderr
        return done

    def block(self, goal: str = "Ship it", reason: str = "which one?") -> str:
        """A task that waits for a person, made by real processes."""
        task = str(self.run("task", "add", goal, "--json").json["id"])
        self.run("task", "block", task, f"--reason={reason}")
        return task

    def messages(self, path: str = "/in") -> list[dict[str, Any]]:
        """What the web server was told, one by one."""
        told = [each.said for each in self.inbox.received if each.path == path]
        return [message for said in told for message in said["messages"]]


@pytest.fixture
def rig(cli: Cli) -> Iterator[Rig]:
    inbox, mailbox = Inbox(), MailBox()
    with ExitStack() as servers:
        for each in (inbox, mailbox):
            servers.enter_context(listening(each))
        yield Rig(cli, inbox, mailbox)
