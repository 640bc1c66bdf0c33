"""The base of values that are passed around and never change."""

from __future__ import annotations

from typing import dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True)
class Immutable(msgspec.Struct, frozen=True):
    """Parts with names. They are never read from JSON, so their types are only for mypy.

    The class of a NamedTuple takes twenty times as long to make: one in a module that most
    commands import is noticed at their start.
    """
