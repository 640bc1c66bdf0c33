"""Who acts in this process, and inside which session or hook."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.adapters.processes import identity
from hookline.domain.events import INSIDE
from hookline.domain.text.numbers import is_number
from hookline.errors import BadInput
from hookline.project import user_name
from hookline.tasks.verbs import Holder
from hookline.trust.people import as_called, names_agent

if TYPE_CHECKING:
    from hookline.ports.host import Host


def this_host() -> Host:
    """The machine that this process runs on."""
    return identity


class SessionPlace(msgspec.Struct, frozen=True):
    """A session as the programs that run in it know it."""

    name: str
    run_id: str
    task_id: str


class Origin:
    """The environment that Hookline set for this process, if it started it."""

    def __init__(self, environ: Mapping[str, str], folder: str) -> None:
        self._own = environ
        self._folder = folder

    @cached_property
    def _environ(self) -> Mapping[str, str]:
        return as_called(self._own, self._folder)

    @property
    def by_agent(self) -> bool:
        """Whether an agent or a hook acts, or what it has started."""
        return names_agent(self._environ)

    @property
    def session(self) -> SessionPlace | None:
        """The session of this project that this process runs in, if any."""
        names = ("HOOKLINE_SESSION", "HOOKLINE_RUN_ID", "HOOKLINE_TASK_ID")
        found = [self._environ.get(name, "") for name in names]
        return SessionPlace(*found) if all(found) and self.is_within(names[0]) else None

    @property
    def under_hook(self) -> bool:
        """Whether this process runs under a hook of this project."""
        return self.is_within("HOOKLINE_HOOK")

    @property
    def holder(self) -> Holder:
        """Who writes to tasks from this process."""
        token = self._environ.get("HOOKLINE_CLAIM_TOKEN", "")
        return Holder(self._environ.get("HOOKLINE_AGENT"), int(token) if is_number(token) else None)

    def metadata(self) -> dict[str, Any]:
        """Who causes the events of this process, and through which chain of hooks."""
        return self._metadata.copy()

    @cached_property
    def _metadata(self) -> dict[str, Any]:
        env = self._environ
        found: dict[str, Any] = {"triggeredBy": env.get("HOOKLINE_AGENT") or user_name(env)}
        for name, variable in (("session", "HOOKLINE_SESSION"), ("run", "HOOKLINE_RUN_ID")):
            if value := env.get(variable):
                found[name] = value
        if self.is_within("HOOKLINE_SESSION"):
            found[INSIDE] = True
        if self.is_within("HOOKLINE_ITERATION"):
            found["iteration"] = self._number("ITERATION")
        if self.under_hook:
            found |= {"cause": self._number("CAUSE"), "depth": self._number("DEPTH")}
            if hook := env.get("HOOKLINE_HOOK"):
                found["hook"] = hook
        elif self.is_within("HOOKLINE_RUN_ID") and (depth := self._number("DEPTH")):
            found["depth"] = depth
        return found

    def is_within(self, variable: str) -> bool:
        """Whether this process was started by what sets the variable, for this project."""
        named = self._environ.get("HOOKLINE_DIR", "")
        return variable in self._environ and os.path.abspath(named) == os.path.abspath(self._folder)

    def _number(self, name: str) -> int:
        text = self._environ.get(f"HOOKLINE_{name}", "0")
        if not is_number(text):
            raise BadInput(f"HOOKLINE_{name} must be a number, not {text[:40]!r}")
        return int(text)
