"""The addresses of a host, checked: whoever connects uses these, and never looks the name up."""

from __future__ import annotations

import asyncio
import socket

from hookline.adapters.network.addresses import is_refused
from hookline.ports.network import CannotReach


async def resolve(host: str, port: int | str) -> list[str]:
    """Every address of a host; CannotReach if it has none, or one that hooks may not ask."""
    try:
        look_up = asyncio.get_running_loop().getaddrinfo
        found = await look_up(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise CannotReach(f"cannot find the address of {host}: {error}") from error
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    for address in filter(is_refused, addresses):
        words = f"{host} has the address {address}: link-local, multicast and unspecified"
        raise CannotReach(f"{words} addresses, and those of clouds' own services, are refused")
    return addresses
