"""A hook's `when`, evaluated on the payload that its call sees; loaded where a hook has one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.hooks import conditions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from hookline.hooks.conditions import Verdict


class Changes:
    """The files that differ from what is committed; git is asked once, whoever wants to know."""

    def __init__(self, ask: Callable[[], Awaitable[list[str]]]) -> None:
        self._ask = ask
        self._problem: Exception | None = None
        self.found: list[str] | None = None

    async def files(self) -> list[str]:
        """The files, or the error that git met the first time."""
        if self._problem is not None:
            raise self._problem
        if self.found is None:
            try:
                self.found = await self._ask()
            except Exception as problem:
                self._problem = problem
                raise
        return self.found


def needs_changes(when: str) -> bool:
    """Whether only git can tell whether a condition holds."""
    return "changed" in when and conditions.uses(when, "changed")


def judge(when: str, payload: Mapping[str, Any]) -> Verdict:
    """Whether a condition holds; HookFailure if that cannot be told."""
    functions = {"changed": conditions.changed_in(payload.get("changed", ()))}
    return conditions.evaluate(when, payload, functions)
