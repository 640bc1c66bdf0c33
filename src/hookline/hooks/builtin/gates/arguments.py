"""The arguments of the built-in gates, as types; the configuration is checked against these.

This module imports nothing that the gates themselves need.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from hookline.hooks.builtin.stop.context import Arguments, NoArguments

DAY = 86_400

Name = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]
Seconds = Annotated[float, Meta(gt=0, le=DAY, extra={"reads": "duration"})]


class Program(Arguments, frozen=True):
    """The shell line to run instead of what is found, and how long it may take.

    `options` says whether values that begin with '-' may be options of the line's programs.
    """

    command: Name | None = None
    timeout: Seconds | None = None
    options: Literal["allow"] | None = None


class Tests(Program, frozen=True):
    """The same, and how often tests that fail are run again."""

    retries: Annotated[int, Meta(ge=0, le=100)] = 0


class Secrets(Arguments, frozen=True):
    """Files that may hold credentials, as patterns, and kinds that are not looked for."""

    allow: list[Name] = field(default_factory=list)
    ignore: list[Name] = field(default_factory=list)


class DiffLimits(Arguments, frozen=True):
    """The most files, changed lines and bytes, and patterns of files that must not change."""

    files: Count | None = None
    lines: Count | None = None
    bytes: Count | None = None
    forbid: list[Name] = field(default_factory=list)

    @property
    def limits_nothing(self) -> bool:
        """Whether it sets no limit at all."""
        return not self.forbid and self.files is self.lines is self.bytes is None


class CiStatus(Arguments, frozen=True):
    """What a commit without any check means, and when to look again at one that runs."""

    without_checks: Literal["skip", "pending"] | None = None
    retry_after: Seconds = 30.0


class Human(Arguments, frozen=True):
    """What the person is asked."""

    question: Name | None = None


class Reviews(Arguments, frozen=True):
    """How many people must approve, and when to look again."""

    approvals: Annotated[int, Meta(ge=1, le=100)] = 1
    retry_after: Seconds = 120.0


class Gatekeeper(Arguments, frozen=True):
    """The gatekeepers, and a prompt to use instead of their own."""

    names: Annotated[list[Name], Meta(min_length=1)]
    prompt: Name | None = None


GATE_ARGUMENTS: dict[str, type[Arguments]] = {
    "rebase_on_main": NoArguments,
    "run_tests": Tests,
    "create_pr": NoArguments,
    "lint": Program,
    "secrets": Secrets,
    "diff_limits": DiffLimits,
    "ci_status": CiStatus,
    "gatekeeper": Gatekeeper,
    "human": Human,
    "reviews": Reviews,
}
