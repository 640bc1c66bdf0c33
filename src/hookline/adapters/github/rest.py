"""GitHub's REST interface: one request at a time, with its limits, failures and their remedies.

A GET is repeated here when the server fails. Any other request that may or may not have been
carried out is reported as Unsure: the caller looks what is there before it asks again.
"""

from __future__ import annotations

import asyncio
import re
import time
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import httpx2
import msgspec

from hookline import typed
from hookline.adapters.github.remotes import GitHubRepository, is_loopback
from hookline.adapters.network.http import body_of, open_client, tls_for
from hookline.domain.text.cleaning import Cleaner
from hookline.domain.text.forge_texts import shown
from hookline.domain.timestamps import iso
from hookline.domain.work.forge import (
    ForgeDenied,
    ForgeError,
    ForgeMissing,
    ForgeRejected,
    ForgeSetup,
    ForgeTemporary,
)

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Mapping

    Sleep = Callable[[float], Awaitable[None]]

T = TypeVar("T")
API_VERSION = "2022-11-28"
LIMIT = 16 * 1024 * 1024
TIMEOUT = 30.0
PATIENCE = 60.0
BACKOFF = (1.0, 2.0, 4.0)
LIMIT_PAUSE = 60.0  # what GitHub asks for when it names no moment itself
_TOKEN = re.compile(r"[\x21-\x7e]{1,4096}")
_NEXT = re.compile(r'<[^>]*>;[^,]*\brel="next"')
_SECONDS = re.compile(r"\d{1,10}")
# Nothing else tells this limit, when it comes without headers, from a missing permission.
_SECONDARY = re.compile(r"\bsecondary rate\b", re.IGNORECASE)


# What every host may be told.
_PLAIN = {"accept-encoding": "identity", "user-agent": "hookline"}


class Unsure(Exception):
    """Nobody knows whether the server did what it was asked to do."""


class Refusal(ForgeRejected):
    """GitHub refused with a status that says why."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class RestAnswer(NamedTuple):
    """What GitHub answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    cleaner: Cleaner

    @property
    def has_next(self) -> bool:
        """Whether a list continues; only that is read, so that no link leads to another host."""
        return _NEXT.search(self.headers.get("link", "")) is not None

    def read(self, kind: type[T]) -> T:
        """The body as a value of that type, clean: JSON can spell a secret so that none is seen."""
        try:
            value: T = self.cleaner.value(typed.decode(self.body, kind))
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            said = shown(self.cleaner.text(str(problem)))
            raise ForgeError(f"GitHub's answer cannot be read: {said}") from None
        return value

    @property
    def message(self) -> str:
        """What an error of GitHub says, with the details that name the field."""
        try:
            problem = self.read(_Problem)
        except ForgeError:
            return ""
        details = problem.errors if isinstance(problem.errors, list) else [problem.errors]
        said = [problem.message, *map(_detail, details[:10])]
        return "; ".join(part for part in said if part)


class _Problem(msgspec.Struct):
    message: str = ""
    errors: list[Any] | str | None = None


class GitHubRest:
    """Asks for things of one repository; the token leaves by one header and no other way."""

    def __init__(
        self,
        address: str,
        repository: GitHubRepository,
        token: str,
        *,
        timeout: float = TIMEOUT,
        patience: float = PATIENCE,
        sleep: Sleep = asyncio.sleep,
        cleaner: Cleaner | None = None,
    ) -> None:
        if not _TOKEN.fullmatch(token):
            raise ForgeSetup("the token for GitHub contains invalid characters")
        self.repository = repository
        self.sleep = sleep
        self._address = address
        self._token = token
        self._cleaner = cleaner or Cleaner({"GITHUB_TOKEN": token})
        self._timeout = timeout
        self._patience = patience
        self._tls: ssl.SSLContext | None = None

    def hide(self, text: str) -> str:
        """A text without secrets: what is sent there can be read by others."""
        return self._cleaner.text(text)

    async def get(self, path: str, **query: str | int) -> RestAnswer:
        """Ask for something; failures of the server and of the network are waited out."""
        return await self.again(lambda: self.send("GET", path, query=query))

    async def again(self, act: Callable[[], Awaitable[T]]) -> T:
        """Act until it is certain what came of it, a few times at most."""
        for pause in BACKOFF:
            try:
                return await act()
            except Unsure:
                await self.sleep(pause)
        try:
            return await act()
        except Unsure as problem:
            words = f"{problem}, also after {len(BACKOFF)} more tries"
            raise ForgeTemporary(words) from problem

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | int] | None = None,
        body: Mapping[str, Any] | None = None,
        patience: float | None = None,
    ) -> RestAnswer:
        """One request; only GitHub's limits, by which nothing was done, are waited out."""
        left = self._patience if patience is None else patience
        while True:
            answer = await self._exchange(method, path, query, body)
            wait = _wait_for_limit(answer)
            if wait is None:
                return self._judged(answer, path)
            if wait > left:
                until = time.time() + wait
                words = f"GitHub's rate limit is reached: it asks to wait until {iso(until)}"
                raise ForgeTemporary(words, until=until)
            left -= wait
            await self.sleep(wait)

    async def linked_text(self, path: str) -> str:
        """A text that GitHub keeps on another host; that one never sees the token."""
        try:
            answer = await self._exchange("GET", path, None, None)
            if answer.status != 302:
                self._judged(answer, path)
                raise ForgeError(f"GitHub answered {path} with status {answer.status}")
            target = httpx2.URL(answer.headers.get("location", ""))
            here = is_loopback(self._address) and is_loopback(str(target))
            if target.scheme != "https" and not here:
                raise ForgeError(f"GitHub gave an address for {path} that is not https")
            async with asyncio.timeout(self._timeout), self._client() as client:
                asked = client.build_request("GET", target, headers=_PLAIN)
                reply = await client.send(asked, stream=True)
                body = self._cleaner.data(await _read(reply))
        except (Unsure, TimeoutError, httpx2.HTTPError, httpx2.InvalidURL) as problem:
            raise ForgeError(shown(self.hide(str(problem))) or type(problem).__name__) from problem
        if reply.status_code != 200:
            raise ForgeError(f"status {reply.status_code} at {shown(self.hide(target.host))}")
        return body.decode("utf-8", "replace")

    async def _exchange(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | int] | None,
        body: Mapping[str, Any] | None,
    ) -> RestAnswer:
        url = f"{self._address}/repos/{self.repository}{path}"
        content = None if body is None else msgspec.json.encode(body)
        headers = self._headers(content)
        try:
            async with asyncio.timeout(self._timeout), self._client() as client:
                request = client.build_request(
                    method, url, params=query or None, content=content, headers=headers
                )
                reply = await client.send(request, stream=True)
                answer = await _read(reply)
                return RestAnswer(reply.status_code, reply.headers, answer, self._cleaner)
        except TimeoutError as problem:
            raise Unsure(f"GitHub did not answer within {self._timeout:g} s") from problem
        except httpx2.HTTPError as problem:
            reason = shown(self.hide(str(problem))) or type(problem).__name__
            raise Unsure(f"GitHub could not be reached: {reason}") from problem

    def _headers(self, content: bytes | None) -> dict[str, str]:
        headers = {
            **_PLAIN,
            "accept": "application/vnd.github+json",
            "authorization": f"Bearer {self._token}",
            "x-github-api-version": API_VERSION,
        }
        return headers if content is None else {**headers, "content-type": "application/json"}

    def _client(self) -> httpx2.AsyncClient:
        self._tls = self._tls or tls_for(httpx2.URL(self._address).scheme)
        # The way to GitHub may lead through the user's proxy, as git's does; never that to a
        # server on this machine.
        return open_client(self._tls, trust_env=not is_loopback(self._address))

    def _judged(self, answer: RestAnswer, path: str) -> RestAnswer:
        """The answer to a request that was carried out; else the error that says what to do."""
        status = answer.status
        if 200 <= status < 300:
            return answer
        if status >= 500 or status == 408:
            raise Unsure(f"GitHub answered with status {status}")
        said = shown(answer.message) or f"status {status}"
        if status < 400:
            words = f"{self.repository} has moved, and redirects are not followed"
            raise ForgeMissing(words, help="`git remote set-url` sets its new address")
        if status == 401:
            help = "set GITHUB_TOKEN or GH_TOKEN to one that is valid"
            raise ForgeDenied(f"GitHub does not accept the token: {said}", help=help)
        if status == 403:
            words = f"GitHub does not allow this token to do that in {self.repository}: {said}"
            needs = "it needs to write contents and pull requests, and to read checks and"
            raise ForgeDenied(words, help=f"{needs} commit statuses")
        if status == 404:
            what = f"{path} in {self.repository}" if path else f"{self.repository}"
            help = "check `git remote -v`, and that the token may see the repository"
            raise ForgeMissing(f"GitHub has no {what}, or hides it from this token", help=help)
        raise Refusal(f"GitHub refuses that in {self.repository}: {said}", status)


async def _read(reply: httpx2.Response) -> bytes:
    body = await body_of(reply, LIMIT)
    if body is None:
        raise ForgeError("GitHub's answer is compressed, which was not requested")
    if len(body) > LIMIT:
        raise ForgeError(f"GitHub's answer is longer than {LIMIT // 2**20} MiB")
    return body


def _wait_for_limit(answer: RestAnswer) -> float | None:
    """How long a limit of GitHub asks to wait; None for any other answer."""
    if answer.status not in (403, 429):
        return None
    after = _SECONDS.fullmatch(answer.headers.get("retry-after", ""))
    if after:
        return max(1.0, float(after[0]))
    if answer.headers.get("x-ratelimit-remaining") == "0":
        reset = _SECONDS.fullmatch(answer.headers.get("x-ratelimit-reset", ""))
        return max(1.0, float(reset[0]) - _server_time(answer) + 1) if reset else LIMIT_PAUSE
    if answer.status == 429 or _SECONDARY.search(answer.message):
        return LIMIT_PAUSE
    return None


def _server_time(answer: RestAnswer) -> float:
    # The moment of reset is by the server's clock, and ours may be wrong.
    with suppress(ValueError, TypeError, OverflowError):
        return parsedate_to_datetime(answer.headers.get("date", "")).timestamp()
    return time.time()


def _detail(error: object) -> str:
    if not isinstance(error, dict):
        return "" if error is None else str(error)
    words = [error.get(name) for name in ("resource", "field", "code")]
    return str(error.get("message") or " ".join(str(word) for word in words if word))
