"""A POST of the payload to a fixed host. Only the path and query can contain variables."""

from __future__ import annotations

import re
from string import Template
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote, urlsplit

from msgspec import Meta

from hookline.domain.hooks.records import Reply
from hookline.errors import HookFailure, HookTimeout, did_you_mean
from hookline.hooks.calls.program import MAX_ANSWER, read_object
from hookline.hooks.kinds import Fault, Reading
from hookline.hooks.language.braces import REFERENCE, fill, references
from hookline.hooks.registry import NEVER, NOTHING
from hookline.points import FEED, REACT, rule_of
from hookline.ports.network import CannotReach

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hookline.hooks.kinds import Call, World, Written
    from hookline.hooks.registry import Hook
    from hookline.points import Point
    from hookline.ports.network import HttpReply

SHOWN_OF_ERROR = 2048
_BASE = re.compile(r"https?://[^/?#\s]+", re.IGNORECASE)
# Printable ASCII with spaces in between: accepted by every server, and never a second header.
_HEADER_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?")

VALUE = Annotated[str, Meta(min_length=1, description="A URL to POST to.")]
RUNS = NOTHING
CLEANS = KEEPS_TIME = True
TOLD_AS = "a web service is asked"
_EXAMPLE = "write it like https://example.org/hook"


def read(written: Written) -> Reading:
    """A URL needs http or https and a fixed host; path and query can contain variables."""
    url = written.value
    try:
        label = urlsplit(url).hostname or "http"
    except ValueError:  # reported below; the hook still needs a name
        label = "http"
    return Reading(url, label, faults=_faults(url, written.point))


def _faults(url: str, point: Point) -> Iterator[Fault]:
    if wrong := url_problem(url):
        yield Fault("bad-url", *wrong, NEVER)
        return
    known = point.variables
    for found in references(url):
        if not found.escaped and found.path not in known:
            yield Fault(
                "unknown-variable",
                f"there is no variable '{found.path}' at {point.name}",
                did_you_mean(found.path, known, f"available: {', '.join(known)}"),
                offset=found.start,
                length=found.end - found.start,
            )


def url_problem(url: str) -> tuple[str, str] | None:
    """What is wrong with a URL that is posted to, and how to write it."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as problem:
        return f"this is not a URL: {problem}", _EXAMPLE
    if parts.scheme not in ("http", "https"):
        return "the URL must begin with http:// or https://", _EXAMPLE
    if "{{" in parts.netloc:
        return (
            "the host must be fixed: it cannot contain a variable",
            "put the variable into the path",
        )
    if not host:
        return "the URL has no host", _EXAMPLE
    if re.search(r"[\s\x00-\x1f]", REFERENCE.sub("", url)):
        return "the URL contains spaces or control characters", "write a space as %20"
    return None


async def run(hook: Hook, call: Call, world: World) -> Reply:
    """Send the payload and return what the server answered."""
    url = fill_url(hook.target, call.values)
    headers = _headers(hook, call, world.environ)
    reply = await post(url, call.payload, headers, call.timeout, world)
    return _read(reply, rule_of(call.point))


async def post(
    url: str, body: bytes, headers: Mapping[str, str], timeout: float, world: World
) -> HttpReply:
    """What a server answers if it takes a request; a failure of the hook if not."""
    try:
        reply = await world.http.post(
            url, body=body, headers=headers, timeout=timeout, limit=MAX_ANSWER + 1
        )
    except TimeoutError as error:
        raise HookTimeout(f"no complete answer within {timeout:g} s") from error
    except CannotReach as error:
        raise HookFailure(str(error)) from error
    if not 200 <= reply.status < 300:
        hint = ": redirects are not followed" if 300 <= reply.status < 400 else ""
        shown = reply.body[:SHOWN_OF_ERROR].decode("utf-8", "replace")
        said = shown.strip().partition("\n")[0][:200]
        message = f"the server answered {reply.status}{hint}"
        raise HookFailure(f"{message}: {said}" if said else message, stdout=shown)
    return reply


def fill_url(target: str, values: Mapping[str, str]) -> str:
    """The URL with its variables filled in, each as one piece of the path or query."""
    base = _BASE.match(target)
    if base is None:
        raise HookFailure(f"'{target}' is not an http or https URL")
    if "{{" in base[0]:
        raise HookFailure(
            f"'{base[0]}' contains a variable: only the path and the query can have one"
        )
    rest = fill(target[base.end() :], lambda name: _piece(name, values))
    path = re.split(r"[?#]", rest, maxsplit=1)[0]
    if {".", ".."} & set(path.split("/")):
        raise HookFailure(f"the path '{path}' would lead elsewhere: it contains '.' or '..'")
    return base[0] + rest


def _piece(name: str, values: Mapping[str, str]) -> str:
    if name not in values:
        raise HookFailure(f"the URL uses '{{{{{name}}}}}', which has no value at this point")
    return quote(values[name], safe="", errors="replace")


def _headers(hook: Hook, call: Call, environ: Mapping[str, str]) -> dict[str, str]:
    headers = {"content-type": "application/json", "user-agent": "hookline"}
    for name, value in hook.headers.items():
        headers[name.lower()] = _header(name, value, environ)
    key = call.env.get("HOOKLINE_IDEMPOTENCY_KEY")
    if key:
        headers["idempotency-key"] = key
    return headers


def _header(name: str, value: str, environ: Mapping[str, str]) -> str:
    try:
        filled = Template(value).substitute(environ).strip()
    except KeyError as error:
        raise HookFailure(
            f"the header {name} needs the environment variable {error.args[0]}, which is not set"
        ) from error
    except ValueError as error:
        raise HookFailure(
            f"the header {name} has a '$' without a variable name: write '$$' for a literal '$'"
        ) from error
    return header_value(name, filled)


def header_value(name: str, value: str) -> str:
    """A value that may be in a header; else a failure, which does not show it."""
    if value and not _HEADER_VALUE.fullmatch(value):  # it is likely a secret
        raise HookFailure(f"the header {name} has characters that are not allowed in a header")
    return value


def _read(reply: HttpReply, rule: str) -> Reply:
    text = reply.body.decode("utf-8", "replace")
    if len(reply.body) > MAX_ANSWER:
        raise HookFailure("the server's answer is longer than 1 MiB")
    try:
        answer = read_object(reply.body)
    except ValueError as problem:
        raise HookFailure(f"its answer cannot be read: {problem}", stdout=text) from problem
    if rule == FEED and (answer is None or "text" not in answer):
        return Reply(answer=text, text=text)
    if answer is None and rule != REACT:  # a chat's `ok` asks for nothing
        found = "text" if text.strip() else "an empty body"
        message = f"its answer cannot be read: expected a JSON object, not {found}"
        raise HookFailure(message, stdout=text)
    return Reply(answer=answer, text=text)
