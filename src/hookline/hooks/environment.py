"""Variables on their way to a program: values travel in its environment, never in a line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hookline.points import VARIABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Linux takes 128 KiB for one variable and 2 MiB for all of them and the arguments together.
LARGEST_VALUE = 32 * 1024

_NOT_A_BYTE = "[\ud800-\udc7f\udd00-\udfff]"


def environment(values: Mapping[str, str], spill: Callable[[str, bytes], str]) -> dict[str, str]:
    """The environment that carries the values; `spill` writes a file and returns its path.

    A value that is too long, or holds a NUL, is carried as far as possible, and the variable
    with `_FILE` after its name says which file holds the whole of it.
    """
    carried: dict[str, str] = {}
    for name, value in values.items():
        env = VARIABLES[name].env
        # Bytes of a file's name that are no UTF-8 stay what they are; other halves of
        # surrogate pairs have no encoding at all.
        text = value if value.isascii() else re.sub(_NOT_A_BYTE, "\ufffd", value)
        fitting = _cut(text.replace("\0", "\ufffd"))
        carried[env] = fitting
        if fitting != text:
            carried[f"{env}_FILE"] = spill(env, text.encode("utf-8", "surrogateescape"))
    return carried


def _cut(text: str) -> str:
    data = text.encode("utf-8", "surrogateescape")
    if len(data) <= LARGEST_VALUE:
        return text
    end = LARGEST_VALUE
    while end > LARGEST_VALUE - 3 and data[end] & 0xC0 == 0x80:
        end -= 1
    return data[:end].decode("utf-8", "surrogateescape")
