"""A hook's `when`, evaluated on the payload that its call sees; loaded where a hook has one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.hooks import conditions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.hooks.conditions import Verdict


def needs_changes(when: str) -> bool:
    """Whether only git can tell whether a condition holds."""
    return "changed" in when and conditions.uses(when, "changed")


def judge(when: str, payload: Mapping[str, Any]) -> Verdict:
    """Whether a condition holds; HookFailure if that cannot be told."""
    functions = {"changed": conditions.changed_in(payload.get("changed", ()))}
    return conditions.evaluate(when, payload, functions)
