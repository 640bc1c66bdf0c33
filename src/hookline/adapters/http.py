"""The door to the network: one POST to an address that was checked, within one deadline.

The composition root loads it when a hook needs it. Forges, which need more than a POST, have a door
of their own in `forges/`.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import aclosing
from typing import TYPE_CHECKING, cast

import httpx

from hookline.adapters.addresses import is_refused
from hookline.ports.network import CannotReach, HttpReply

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from hookline.domain.cleaning import Cleaner


class HttpClient:
    """Posts to http and https URLs; what servers answer is cleaned."""

    def __init__(self, cleaner: Cleaner | None = None) -> None:
        self._cleaner = cleaner
        self._tls: dict[str, ssl.SSLContext] = {}

    async def post(
        self, url: str, *, body: bytes, headers: Mapping[str, str], timeout: float, limit: int
    ) -> HttpReply:
        """POST to exactly this host; no redirect is followed, link-local is refused."""
        target = _parse(url)
        async with asyncio.timeout(timeout):
            addresses = await _resolve(target)
            try:
                reply = await self._post(target, addresses, body, headers, limit)
            except (httpx.HTTPError, ssl.SSLError) as error:
                reason = str(error) or type(error).__name__
                raise CannotReach(f"cannot reach {target.host}: {reason}") from error
        if self._cleaner is None:
            return reply
        return HttpReply(reply.status, self._cleaner.data(reply.body))

    async def _post(
        self,
        target: httpx.URL,
        addresses: list[str],
        body: bytes,
        headers: Mapping[str, str],
        limit: int,
    ) -> HttpReply:
        own = {"host": target.netloc.decode("ascii"), "accept-encoding": "identity"}
        async with self._client(target.scheme) as client:
            for address in addresses:
                # The address stands in for the name, so that no second look-up can differ from
                # the one that was checked; TLS still asks for, and verifies, the name.
                request = client.build_request(
                    "POST",
                    target.copy_with(host=address),
                    content=body,
                    headers={**headers, **own},
                    extensions={"sni_hostname": target.raw_host.decode("ascii")},
                )
                try:
                    reply = await client.send(request, stream=True)
                except httpx.ConnectError:
                    if address is addresses[-1]:
                        raise
                    continue
                return HttpReply(reply.status_code, await _read(reply, limit))
        raise CannotReach(f"cannot reach {target.host}: it has no address")

    def _client(self, scheme: str) -> httpx.AsyncClient:
        tls = self._tls[scheme] = self._tls.get(scheme) or tls_for(scheme)
        # The deadline is one for the whole exchange, so each phase may take all of it.
        return httpx.AsyncClient(verify=tls, trust_env=False, follow_redirects=False, timeout=None)  # noqa: S113


def tls_for(scheme: str) -> ssl.SSLContext:
    """What verifies a server; a connection without TLS need not wait for it to be loaded."""
    if scheme == "http":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx.create_ssl_context()


def _parse(url: str) -> httpx.URL:
    try:
        target = httpx.URL(url)
    except (httpx.InvalidURL, UnicodeError) as error:
        raise CannotReach(f"this is not a URL that can be used: {error}") from error
    if target.scheme not in ("http", "https") or not target.host:
        raise CannotReach("only http and https URLs with a host can be used")
    if target.userinfo:
        raise CannotReach(
            f"the URL for {target.host} holds a user name or password: "
            "put it into a header, as $NAME of an environment variable"
        )
    return target


async def _resolve(target: httpx.URL) -> list[str]:
    host, port = target.raw_host.decode("ascii"), target.port
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            host,
            port or target.scheme,
            type=socket.SOCK_STREAM,
        )
    except (OSError, UnicodeError) as error:
        raise CannotReach(f"cannot find the address of {host}: {error}") from error
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    for address in addresses:
        if is_refused(address):
            raise CannotReach(
                f"{host} has the address {address}: link-local, multicast and unspecified "
                "addresses, and those of clouds' own services, are refused"
            )
    return addresses


async def _read(reply: httpx.Response, limit: int) -> bytes:
    body = bytearray()
    raw = cast("AsyncGenerator[bytes, None]", reply.aiter_raw())
    async with aclosing(reply), aclosing(raw) as chunks:
        if reply.headers.get("content-encoding", "identity").lower() != "identity":
            raise CannotReach("the server compressed its answer, which nobody asked for")
        async for chunk in chunks:
            body += chunk
            if len(body) >= limit:
                break
    return bytes(body[:limit])
