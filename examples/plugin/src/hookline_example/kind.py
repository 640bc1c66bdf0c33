"""The kind `answer_file`: a hook whose answer stands in a file of the repository."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import msgspec

from hookline.domain.hooks.records import Reply
from hookline.errors import HookFailure
from hookline.hooks.registry import FILE
from hookline.points import FEED, rule_of

if TYPE_CHECKING:
    from hookline.hooks.kinds import Call, World
    from hookline.hooks.registry import Hook

VALUE = Annotated[str, msgspec.Meta(min_length=1, description="A file with the answer.")]
# The value names a file: trust covers it, and whoever changes it has to be trusted again.
RUNS = FILE


async def run(hook: Hook, call: Call, world: World) -> Reply:
    """Answer with a JSON object; what is piped to an agent may be plain text."""
    try:
        with open(os.path.join(world.root, hook.target), encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as problem:
        why = getattr(problem, "strerror", None) or problem
        raise HookFailure(f"{hook.target} cannot be read: {why}") from problem
    try:
        return Reply(answer=msgspec.json.decode(text), text=text)
    except msgspec.DecodeError as problem:
        if rule_of(call.point) == FEED:
            return Reply(answer=text, text=text)
        raise HookFailure(f"{hook.target} is not JSON: {problem}", stdout=text) from problem
