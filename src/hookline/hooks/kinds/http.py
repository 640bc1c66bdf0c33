"""A POST of the payload to a fixed host. Variables may stand in the path and query alone."""

from __future__ import annotations

import re
from string import Template
from typing import TYPE_CHECKING
from urllib.parse import quote

from hookline.domain.records import Reply
from hookline.errors import HookFailure, HookTimeout
from hookline.hooks.kinds.program import MAX_ANSWER, read_object
from hookline.points import FEED, POINTS, REACT
from hookline.ports.network import CannotReach

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.hooks.kinds import Call, World
    from hookline.hooks.registry import Hook
    from hookline.ports.network import HttpReply

SHOWN_OF_ERROR = 2048
_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_BASE = re.compile(r"https?://[^/?#\s]+", re.IGNORECASE)
# Visible ASCII, and blanks between: what every server takes, and no second header in disguise.
_HEADER_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?")


async def run(hook: Hook, call: Call, world: World) -> Reply:
    """Send the payload and return what the server answered."""
    url = fill_url(hook.target, call.values)
    try:
        reply = await world.http.post(
            url,
            body=call.payload,
            headers=_headers(hook, call, world.environ),
            timeout=call.timeout,
            limit=MAX_ANSWER + 1,
        )
    except TimeoutError as error:
        raise HookTimeout(f"no whole answer within {call.timeout:g} s") from error
    except CannotReach as error:
        raise HookFailure(str(error)) from error
    point = POINTS.get(call.point)
    return _read(reply, point.rule if point else REACT)


def fill_url(target: str, values: Mapping[str, str]) -> str:
    """The URL with its variables filled in, each as one piece of the path or query."""
    base = _BASE.match(target)
    if base is None:
        raise HookFailure(f"'{target}' is not an http or https URL")
    if "{{" in base[0]:
        raise HookFailure(
            f"'{base[0]}' holds a variable: only the path and the query may, the host is fixed"
        )
    rest = _VARIABLE.sub(lambda found: _piece(found[1], values), target[base.end() :])
    path = re.split(r"[?#]", rest, maxsplit=1)[0]
    if {".", ".."} & set(path.split("/")):
        raise HookFailure(f"the path '{path}' would lead elsewhere: it has a part '.' or '..'")
    return base[0] + rest


def _piece(name: str, values: Mapping[str, str]) -> str:
    if name not in values:
        raise HookFailure(f"the URL names '{{{{{name}}}}}', which has no value at this point")
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
            f"the header {name} has a '$' that begins no variable: write '$$' for the sign itself"
        ) from error
    if filled and not _HEADER_VALUE.fullmatch(filled):
        # The value is not shown: it is likely a secret.
        raise HookFailure(f"the header {name} has characters that no header may have")
    return filled


def _read(reply: HttpReply, rule: str) -> Reply:
    text = reply.body.decode("utf-8", "replace")
    if not 200 <= reply.status < 300:
        hint = ": redirects are not followed" if 300 <= reply.status < 400 else ""
        shown = reply.body[:SHOWN_OF_ERROR].decode("utf-8", "replace")
        said = shown.strip().partition("\n")[0][:200]
        message = f"the server answered {reply.status}{hint}"
        raise HookFailure(f"{message}: {said}" if said else message, stdout=shown)
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
