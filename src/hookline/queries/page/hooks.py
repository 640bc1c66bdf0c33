"""Hooks: where each comes from, how often it ran, and a playground for conditions."""

from __future__ import annotations

from typing import Any

from hookline.hooks.history.explain import Explanation
from hookline.queries.page.shown import CallRow, Shown


class HookRow(Shown):
    """A hook and its figures; `calls` is 0 if it was never called.

    `held_back` is why it may not run. `seq` is its newest call, `error_seq` the newest that failed.
    """

    name: str
    label: str
    points: list[str]
    rule: str
    kind: str
    origin: str
    owner: str | None
    when: str | None
    enabled: bool
    held_back: str | None
    calls: int
    ok: int
    skipped: int
    failed: int
    pending: int
    cut: int
    p50_ms: float
    p95_ms: float
    slow: bool
    last_error: str | None
    error_seq: int | None
    seq: int | None


class HooksPage(Shown):
    """Every hook, in the order in which they are called."""

    seq: int
    hooks: list[HookRow]


class HookPage(Shown):
    """One hook: what it does, its newest calls, and why the last one went as it did."""

    seq: int
    hook: HookRow
    target: str | None
    description: str | None
    timeout: float | None
    pipe_output: bool
    on_failure: str | None
    calls: list[CallRow]
    why: Explanation


class Tried(Shown):
    """What a condition says about a recorded event: true, false, or a problem with its text.

    `recorded` is what the hook's own condition said then; `unknown` are values that only a program
    could tell, which was not asked.
    """

    seq: int
    point: str
    when: str
    result: bool | None
    values: Any
    problem: str | None
    recorded: str | None
