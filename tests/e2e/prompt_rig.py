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
_NONCE = re.compile(r"(?<=[a-z] )[0-9a-f]{8}(?=:| ---)")
# Between these lines hooks and gates speak.
_FRAMED = re.compile(r"^(--- (?!end).* ---)\n.*?^(--- end of .* ---)$", re.DOTALL | re.MULTILINE)


def check_prompt(cli: Cli, name: str, text: str, theirs: Sequence[str] = ()) -> None:
    """A prompt is as its file says, and no longer than it may be beside words of others."""
    stable = _NONCE.sub("NONCE", text.replace(str(cli.root), "/project"))
    for each in theirs:
        assert each in stable, f"{name}: {each!r} is not in it"
    ours = _FRAMED.sub(r"\1\n\2", stable)
    own = len(ours.encode()) - sum(ours.count(each) * len(each.encode()) for each in theirs)
    assert own <= LIMIT, f"{name}: {own} bytes are our own, and {LIMIT} are allowed"
    same_as(name, stable)
