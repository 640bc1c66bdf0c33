"""Prompts as an agent got them, compared whole, and how much of them is Hookline's own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.prompts.snapshots import same_as

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.e2e.conftest import Cli

# What Hookline may add to what people, hooks and the configuration have to say.
LIMIT = 2048
# Between these lines others speak.
_FRAMED = re.compile(r"^(<data ([0-9a-f]{16})>)\n.*?^(</data \2>)$", re.DOTALL | re.MULTILINE)


def check_prompt(cli: Cli, name: str, text: str, theirs: Sequence[str] = ()) -> None:
    """A prompt is as its file says, and no longer than it may be beside words of others."""
    stable = text.replace(str(cli.root), "/project")
    for each in theirs:
        assert each in stable, f"{name}: {each!r} is not in it"
    ours = _FRAMED.sub(r"\1\n\3", stable)
    own = len(ours.encode()) - sum(ours.count(each) * len(each.encode()) for each in theirs)
    assert own <= LIMIT, f"{name}: {own} bytes are our own, and {LIMIT} are allowed"
    same_as(name, stable)
