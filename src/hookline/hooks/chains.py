"""Chains, hooks that consist of other hooks: how these are stored in the chain as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from hookline.hooks.builtin import CHAINS
from hookline.hooks.registry import Hook

MAX_CHAINED = 32
MAX_CHAIN_DEPTH = 8


def chained(hooks: Sequence[Hook]) -> dict[str, Any]:
    """The metadata of a chain of these hooks."""
    fields = [{**msgspec.to_builtins(each), "points": list(each.points)} for each in hooks]
    return {"hooks": fields}


def children_of(hook: Hook) -> list[Hook]:
    """The hooks that a chain consists of, in order; none for any other hook."""
    if hook.kind != "built-in" or hook.target not in CHAINS:
        return []
    return [
        Hook(**{**fields, "points": tuple(fields["points"])})
        for fields in hook.metadata.get("hooks", ())
    ]


def with_children(hooks: Iterable[Hook]) -> Iterator[Hook]:
    """The hooks, each followed by those that it consists of."""
    for hook in hooks:
        yield hook
        yield from with_children(children_of(hook))
