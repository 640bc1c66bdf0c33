"""What people say about the hosts that share a store."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from hookline.errors import BadInput, HooklineError, did_you_mean
from hookline.queries.hosts import living
from hookline.wiring.project.stores import is_here
from hookline.wiring.running.presence import configuration_digest

if TYPE_CHECKING:
    from hookline.app import App
    from hookline.domain.hosts import HostWishes
    from hookline.ports.store import Transaction

_VERSION = re.compile(r"\d+(\.\d+)*")
_DIGEST = re.compile(r"[0-9a-f]{12}")


def drain(app: App, name: str, *, is_drained: bool) -> None:
    """Let a host finish what it does and take nothing new; or take work again."""

    def change(tx: Transaction) -> None:
        if not tx.hosts.drain(name, is_drained=is_drained):
            raise _unknown(tx, name)

    _shared(app).change(change)


def remove(app: App, name: str) -> int:
    """Forget a host that is gone, and give back what it held; how many runs that were."""

    def change(tx: Transaction) -> int:
        now = app.store.time()
        if any(each.host == name for each in living(tx, now)):
            raise HooklineError(
                f"{name} is at work",
                help=f"`hookline hosts drain {name}`, and stop its worker when it is done",
            )
        gone = [each.owner for each in tx.hosts.processes() if each.host == name]
        given_back = sum(tx.hosts.give_back(owner) for owner in gone)
        if not tx.hosts.remove(name):
            raise _unknown(tx, name)
        return given_back

    return _shared(app).change(change)


def want(app: App, *, digest: str | None = None, min_version: str | None = None) -> HostWishes:
    """Let hosts take work only with this configuration, and with this version or a newer one.

    What is not given stays as it was; an empty text lifts it.
    """
    if min_version and _VERSION.fullmatch(min_version) is None:
        raise BadInput(f"{min_version} is not a version", help="write one such as 0.2.0")
    if digest and _DIGEST.fullmatch(digest) is None:
        raise BadInput(
            f"{digest} is not the digest of a configuration",
            help="`hookline hosts` shows that of each host; without --digest, it is the one here",
        )

    def change(tx: Transaction) -> HostWishes:
        given = {"digest": digest, "min_version": min_version}
        said = {name: value or None for name, value in given.items() if value is not None}
        wishes = msgspec.structs.replace(tx.hosts.wishes(), **said)
        tx.hosts.wish(wishes)
        return wishes

    return _shared(app).change(change)


def own_digest(app: App) -> str:
    """The digest of the configuration here, which has to be trusted."""
    app.refuse_untrusted()
    if found := configuration_digest(app):
        return found
    raise BadInput("there is no hookline.yaml here that hosts could share", help="hookline init")


def _shared(app: App) -> App:
    if is_here(app.store):
        raise BadInput(
            "the store is in .hookline/, which no other host shares",
            help="`hookline store copy embedded URL` moves it to a server",
        )
    return app


def _unknown(tx: Transaction, name: str) -> BadInput:
    known = [each.name for each in tx.hosts.all()]
    return BadInput(
        f"no host is called '{name}'", help=did_you_mean(name, known, "see `hookline hosts`")
    )
