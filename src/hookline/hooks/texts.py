"""What agents are told, as text: Markdown files in `prompts/`, in parts that begin with `%% name`.

A part asks for its values by `{{name}}`, as hooks and steps do.
"""

from __future__ import annotations

import os
import re
from functools import cache

from hookline.hooks.language.braces import fill

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "prompts")


@cache
def texts(file: str) -> dict[str, str]:
    """The parts of a file by their names."""
    with open(os.path.join(_FOLDER, f"{file}.md"), encoding="utf-8") as opened:
        _, *found = re.split(r"^%% (\S+)\n", opened.read(), flags=re.MULTILINE)
    parts = zip(found[::2], found[1::2], strict=True)
    return {name: text.removesuffix("\n") for name, text in parts}


def told(file: str, part: str, **values: object) -> str:
    """A part of a file with its values."""
    return fill(texts(file)[part], values.__getitem__)
