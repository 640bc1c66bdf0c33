"""`hookline hosts`: the machines that share a store, and what people say about them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookline.operations import hosts as operations
from hookline.queries.hosts import ALIVE, IDLE, SILENT, hosts
from hookline.surfaces.cli.command import Command, no_arguments
from hookline.surfaces.cli.opening import reading, writing
from hookline.surfaces.cli.output import answer, next_step, note, paint, say, untrusted
from hookline.trust.people import refuse_agents
from hookline.wiring.project.stores import is_here

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from hookline.queries.hosts import HostState

_STYLES = {ALIVE: "green", SILENT: "red", IDLE: "dim"}
# A difference of clocks that is worth a look.
NOTABLE_SKEW = 1.0


def _list(args: Namespace) -> None:
    with reading() as app:
        found, none_shares = hosts(app), is_here(app.store)
    if answer(args, found):
        for host in found:
            for line in _lines(host):
                say(line)
        if none_shares:
            say("the store is in .hookline/: no other host shares it")
        elif not found:
            say("no host has advanced a run yet")
            next_step("hookline work", "takes tasks")


def _lines(host: HostState) -> Iterator[str]:
    style = _STYLES.get(host.status, "yellow")
    labels = f" [{', '.join(host.labels)}]" if host.labels else ""
    name = f"{host.name}{labels}"
    facts = [f"Hookline {host.version}", f"configuration {host.digest or 'none'}"]
    if abs(host.clock) >= NOTABLE_SKEW:
        facts.append(f"its clock is {abs(host.clock):.1f} s {'fast' if host.clock > 0 else 'slow'}")
    if host.status in (SILENT, IDLE):
        facts.append(f"last seen {host.last_seen}")
    if host.is_this:
        facts.append("this host")
    about = untrusted(", ".join(facts), 300)
    yield f"{paint(f'{host.status:7}', style)} {untrusted(name, 300)}  {about}"
    if host.why:
        yield f"  takes nothing new: {untrusted(host.why, 300)}"
    if host.agents:
        yield f"  offers {untrusted(', '.join(host.agents), 300)}"
    for run in host.runs:
        yield f"  {run.run_id:5} {untrusted(run.flow, 80)} {run.task_id or ''}".rstrip()


def _name_argument(p: ArgumentParser) -> None:
    p.add_argument("name", metavar="NAME", help="the host, as `hookline hosts` lists it")


def _drain(args: Namespace) -> None:
    refuse_agents(os.environ, "hosts drain")
    with writing() as app:
        operations.drain(app, args.name, is_drained=True)
    if answer(args, {"name": args.name, "drained": True}):
        say(f"{args.name} finishes what it does, and takes nothing new")
        next_step(f"hookline hosts undrain {args.name}", "lets it take work again")


def _undrain(args: Namespace) -> None:
    refuse_agents(os.environ, "hosts undrain")
    with writing() as app:
        operations.drain(app, args.name, is_drained=False)
    answer(args, {"name": args.name, "drained": False}, f"{args.name} takes work again")


def _remove(args: Namespace) -> None:
    refuse_agents(os.environ, "hosts remove")
    with writing() as app:
        given_back = operations.remove(app, args.name)
    if answer(args, {"name": args.name, "givenBack": given_back}):
        left = f"; others may take what it held ({given_back})" if given_back else ""
        say(f"{args.name} is forgotten{left}")


def _want_arguments(p: ArgumentParser) -> None:
    p.add_argument("--digest", help="this configuration, instead of the one here")
    p.add_argument("--min-version", metavar="V", help="this version of Hookline, or a newer one")
    p.add_argument("--any", action="store_true", help="accept any configuration and version")


def _want(args: Namespace) -> None:
    refuse_agents(os.environ, "hosts want")
    with writing() as app:
        digest, version = args.digest, args.min_version
        if args.any:
            digest = version = ""
        elif digest is None and version is None:
            digest = operations.own_digest(app)
        wishes = operations.want(app, digest=digest, min_version=version)
    if answer(args, wishes):
        say(f"wanted: {_wanted(wishes.digest, wishes.min_version)}")
        if wishes.digest or wishes.min_version:
            note("hosts that differ finish what they do, and take nothing new")


def _wanted(digest: str | None, version: str | None) -> str:
    parts = [f"configuration {digest}"] if digest else []
    parts += [f"Hookline {version} or newer"] if version else []
    return " and ".join(parts) or "any configuration and version"


HOST_COMMANDS = {
    "list": Command("list the hosts, and what each is doing", no_arguments, _list),
    "drain": Command("let a host finish what it does and take nothing new", _name_argument, _drain),
    "undrain": Command("let a drained host take work again", _name_argument, _undrain),
    "remove": Command("forget a host that is gone", _name_argument, _remove),
    "want": Command(
        "set the configuration and version that hosts must have", _want_arguments, _want
    ),
}
