"""Reading values as our types, in any thread.

msgspec learns a type when it is used first. A second thread that meets the type half learned takes
the process down, so only one thread at a time learns here.
"""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar, overload

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
_learned: set[Any] = set()
_learning = RLock()


@overload
def convert(
    value: Any, kind: type[T], *, strict: bool = True, from_attributes: bool = False
) -> T: ...


@overload
def convert(
    value: Any, kind: Any, *, strict: bool = True, from_attributes: bool = False
) -> Any: ...


def convert(value: Any, kind: Any, *, strict: bool = True, from_attributes: bool = False) -> Any:
    """As `msgspec.convert`."""
    if kind in _learned:
        return msgspec.convert(value, kind, strict=strict, from_attributes=from_attributes)
    with _learning:
        try:
            return msgspec.convert(value, kind, strict=strict, from_attributes=from_attributes)
        finally:
            _learned.add(kind)


def decode(data: bytes | str, kind: type[T]) -> T:
    """As `msgspec.json.decode`."""
    if kind not in _learned:
        with _learning:
            msgspec.json.Decoder(kind)
        _learned.add(kind)
    return msgspec.json.decode(data, type=kind)


def decoder(kind: type[T]) -> Callable[[bytes | str], T]:
    """The `decode` of a `msgspec.json.Decoder`."""
    with _learning:
        return msgspec.json.Decoder(kind).decode
