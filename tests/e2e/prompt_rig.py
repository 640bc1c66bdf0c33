"""Prompts as an agent got them, held against the files in tests/prompts."""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.e2e.conftest import Cli

FOLDER = Path(__file__).parent.parent / "prompts"
RENEW = "RENEW_PROMPTS"
# What Hookline may add to what people, hooks and the configuration have to say.
LIMIT = 2048
_NONCE = re.compile(r"(?<=[a-z] )[0-9a-f]{8}(?=:| ---)")


def check_prompt(cli: Cli, name: str, text: str, theirs: Sequence[str] = ()) -> None:
    """A prompt is as its file says, and no longer than it may be beside words of others."""
    stable = _NONCE.sub("NONCE", text.replace(str(cli.root), "/PROJECT"))
    own = len(stable.encode()) - sum(stable.count(each) * len(each.encode()) for each in theirs)
    for each in theirs:
        assert each in stable, f"{name}: {each!r} is not in it"
    assert own <= LIMIT, f"{name}: {own} bytes are our own, and {LIMIT} are allowed"
    path = FOLDER / f"{name}.txt"
    if os.environ.get(RENEW):
        path.write_text(stable, encoding="utf-8")
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if stable != before:
        lines = before.splitlines(), stable.splitlines()
        changed = "\n".join(difflib.unified_diff(*lines, f"tests/prompts/{name}.txt", "now"))
        raise AssertionError(
            f"{changed}\n\nRead the change as the agent would. If it is right, renew the file:"
            f" {RENEW}=1 .venv/bin/pytest tests/e2e/test_prompts_whole.py"
        )
