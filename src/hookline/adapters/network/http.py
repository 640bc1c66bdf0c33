"""The door to the network: one POST to an address that was checked, within one deadline.

The composition root loads it when a hook needs it. Forges, which need more than a POST, have
their own door in `forges/`.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from contextlib import aclosing

import httpx2

from hookline.adapters.network.resolving import resolve
from hookline.domain.text.cleaning import Cleaner
from hookline.ports.network import CannotReach, HttpReply


class HttpClient:
    """Posts to http and https URLs; what servers answer is cleaned, also what is not HTTP."""

    def __init__(self, cleaner: Cleaner | None = None) -> None:
        self._cleaner = cleaner or Cleaner({})
        self._tls: dict[str, ssl.SSLContext] = {}

    async def post(
        self, url: str, *, body: bytes, headers: Mapping[str, str], timeout: float, limit: int
    ) -> HttpReply:
        target = _parse(url)
        async with asyncio.timeout(timeout):
            addresses = await resolve(target.raw_host.decode("ascii"), target.port or target.scheme)
            try:
                reply = await self._post(target, addresses, body, headers, limit)
            except (httpx2.HTTPError, ssl.SSLError) as error:
                reason = self._cleaner.text(str(error)) or type(error).__name__
                raise CannotReach(f"cannot reach {target.host}: {reason}") from error
        return HttpReply(reply.status, self._cleaner.data(reply.body))

    async def _post(
        self,
        target: httpx2.URL,
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
                except httpx2.ConnectError:
                    if address is addresses[-1]:
                        raise
                    continue
                found = await body_of(reply, limit)
                if found is None:
                    raise CannotReach("the server compressed its answer, which was not requested")
                return HttpReply(reply.status_code, found[:limit])
        raise CannotReach(f"cannot reach {target.host}: it has no address")

    def _client(self, scheme: str) -> httpx2.AsyncClient:
        tls = self._tls[scheme] = self._tls.get(scheme) or tls_for(scheme)
        return open_client(tls, trust_env=False)


def open_client(tls: ssl.SSLContext, *, trust_env: bool) -> httpx2.AsyncClient:
    """A client that goes where it is sent; `trust_env` lets the user's proxy have a say."""
    # The deadline is one for the whole exchange, so each phase may take all of it.
    return httpx2.AsyncClient(verify=tls, trust_env=trust_env, follow_redirects=False, timeout=None)


def tls_for(scheme: str) -> ssl.SSLContext:
    """What verifies a server; a connection without TLS need not wait for it to be loaded."""
    if scheme == "http":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx2.create_ssl_context()


def _parse(url: str) -> httpx2.URL:
    try:
        target = httpx2.URL(url)
    except (httpx2.InvalidURL, UnicodeError) as error:
        raise CannotReach(f"this URL cannot be used: {error}") from error
    if target.scheme not in ("http", "https") or not target.host:
        raise CannotReach("only http and https URLs with a host can be used")
    if target.userinfo:
        words = f"the URL for {target.host} contains a user name or password"
        raise CannotReach(f"{words}: put it into a header, as $NAME of an environment variable")
    return target


async def body_of(reply: httpx2.Response, limit: int) -> bytes | None:
    """The body, up to a chunk after the limit; None if it is compressed, unrequested."""
    body = bytearray()
    async with aclosing(reply), aclosing(reply.aiter_raw()) as chunks:
        if reply.headers.get("content-encoding", "identity").lower() != "identity":
            return None
        async for chunk in chunks:
            body += chunk
            if len(body) > limit:
                break
    return bytes(body)
