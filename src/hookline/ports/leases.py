"""The lease under which the world is changed: fences guard the store, but not git or a forge.

Between an effect and a push are gates, hooks and plugins, which know nothing of leases. So the
lease belongs to what is carried out, and is looked for where something leaves this machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


def _by_hand() -> None:
    """A person acts without a lease."""


_proof: ContextVar[Callable[[], None]] = ContextVar("proof", default=_by_hand)


@contextmanager
def acting_under(prove: Callable[[], None]) -> Iterator[None]:
    """What is done inside needs a lease; `prove` asks the store for it, and raises Fenced."""
    before = _proof.set(prove)
    try:
        yield
    finally:
        _proof.reset(before)


def prove_lease() -> None:
    """Just before a push, a merge or a call of a forge: Fenced if the lease is another's."""
    _proof.get()()
