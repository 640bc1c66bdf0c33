"""Prompts as whole texts in this folder, so that whoever changes one reads it as a model will.

    check_prompt("review-claude-code", prompt, {str(tmp_path): "/project"})

With HOOKLINE_RENEW_PROMPTS=1 the files are written anew; `git diff` shows what changed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HERE = Path(__file__).parent
RENEW = "HOOKLINE_RENEW_PROMPTS"
# What Hookline may add to what people, hooks and the configuration have to say.
LIMIT = 2048
# Between these lines others speak.
_FRAMED = re.compile(r"^(<data ([0-9a-f]{16})>)\n.*?^(</data \2>)$", re.DOTALL | re.MULTILINE)
# Commits and the words of frames, which differ each time.
_RANDOM = re.compile(r"\b(?=[a-f]*[0-9])[0-9a-f]{8,64}\b")


def check_prompt(
    name: str, prompt: str, places: Mapping[str, str] | None = None, theirs: Sequence[str] = ()
) -> None:
    """A prompt is as its file says, and no longer than it may be beside words of others."""
    for found, shown in (places or {}).items():
        prompt = prompt.replace(found, shown)
    for each in theirs:
        assert each in prompt, f"{name}: {each!r} is not in it"
    ours = _FRAMED.sub(r"\1\n\3", prompt)
    for each in sorted(theirs, key=len, reverse=True):
        ours = ours.replace(each, "")
    own = len(ours.encode())
    assert own <= LIMIT, f"{name}: {own} bytes are our own, and {LIMIT} are allowed"
    same_as(name, prompt)


def same_as(name: str, prompt: str, places: Mapping[str, str] | None = None) -> None:
    """Compare a prompt with the file `name`.md; each text of `places` stands for another one.

    Random words are numbered in the order in which they come, so that a frame must end with the
    word that it began with.
    """
    for found, shown in (places or {}).items():
        prompt = prompt.replace(found, shown)
    seen: dict[str, str] = {}
    prompt = _RANDOM.sub(lambda word: seen.setdefault(word[0], f"RANDOM{len(seen) + 1}"), prompt)
    file = HERE / f"{name}.md"
    if os.environ.get(RENEW) == "1":
        file.write_text(prompt, encoding="utf-8")
    assert file.exists(), f"{file} is missing; {RENEW}=1 writes it"
    kept = file.read_text(encoding="utf-8")
    assert prompt == kept, f"{file.name} differs; {RENEW}=1 writes it anew"
