"""The channels of `notify`: each sends one notification, or raises why it could not.

Text from agents and repositories never becomes an option, a header, markup or a mention.
"""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline import typed
from hookline.domain.events import Event
from hookline.domain.hooks.records import Reply
from hookline.domain.timestamps import seconds
from hookline.errors import HookFailure, HookTimeout
from hookline.files import safe_environment
from hookline.hooks.builtin.notify.arguments import NTFY, Notify, mail_place
from hookline.hooks.builtin.notify.content import Content, message_of
from hookline.hooks.calls.program import ended
from hookline.hooks.kinds.http import header_value, post, url_problem
from hookline.ports.network import CannotReach, MailServer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from hookline.hooks.kinds import Call, World
    from hookline.hooks.registry import Hook

    Channel = Callable[["_Sent"], Awaitable[str]]

# What fits on a screen, and what servers take.
DESKTOP, NTFY_TEXT, SLACK_TEXT, DISCORD_TEXT = 1000, 3500, 3500, 1900
CUT = "…"
_APPLESCRIPT = (
    *("-e", "on run argv"),
    *("-e", "display notification (item 2 of argv) with title (item 1 of argv)"),
    *("-e", "end run"),
)


class _Sent(NamedTuple):
    """What a channel needs to send a notification."""

    given: Notify
    content: Content
    call: Call
    world: World
    env: Mapping[str, str]

    def secret(self, name: str | None) -> str | None:
        """The value of an environment variable that was named."""
        if name is None:
            return None
        if not self.env.get(name):
            raise HookFailure(f"the environment variable {name} is not set")
        return self.env[name]


async def notify(hook: Hook, call: Call, world: World) -> Reply:
    """Send a notification, or a sample of one; what is recorded says where it went."""
    given = typed.convert(hook.metadata["arguments"], Notify)
    env = {**world.environ, **hook.env}
    sent = _Sent(given, _content(call, world), call, world, env)
    return Reply(text=await _CHANNELS[given.channel](sent))


def _content(call: Call, world: World) -> Content:
    payload = msgspec.json.decode(call.payload)
    if "messages" in payload:
        return typed.convert(payload, Content)
    event = typed.convert(payload["event"], Event)  # a person tries the hook
    return Content(
        key=f"test-{os.urandom(8).hex()}",  # none is like the one before
        at=event.timestamp,
        project=os.path.basename(world.root),
        messages=(message_of(event),),
        is_sample=True,
    )


# This machine


async def _desktop(sent: _Sent) -> str:
    program = desktop_program(sent.env)
    argv = (program, *_PROGRAMS[os.path.basename(program)](sent.content))
    run = sent.world.processes.run(
        argv,
        cwd=sent.world.root,
        env=sent.env,
        timeout=sent.call.timeout,
        on_start=sent.world.on_start,
    )
    finished = await ended(run, sent.call.timeout)
    if finished.exit_code != 0:
        said = finished.stderr.strip().partition("\n")[0][:200]
        why = f"{os.path.basename(program)} exited {finished.exit_code}"
        raise HookFailure(f"{why}: {said}" if said else why)
    return f"shown by {os.path.basename(program)}"


def desktop_program(env: Mapping[str, str]) -> str:
    """The first program that shows notifications, never one of a relative folder."""
    path = safe_environment(env)["PATH"]
    for name in _PROGRAMS:
        if found := shutil.which(name, path=path):
            return found
    raise HookFailure(f"none of {', '.join(_PROGRAMS)} is on PATH")


def _notify_send(content: Content) -> tuple[str, ...]:
    body = escape(_line(content), quote=False)  # it may read markup
    return ("--app-name=hookline", "--", content.title, body)


def _terminal_notifier(content: Content) -> tuple[str, ...]:
    return ("-title", _word(content.title), "-message", _word(_line(content)))


def _osascript(content: Content) -> tuple[str, ...]:
    return (*_APPLESCRIPT, "--", _word(content.title), _word(_line(content)))


def _line(content: Content) -> str:
    """The text without line ends, as much as fits on a screen."""
    return _fit(" · ".join(line.strip() for line in content.text.split("\n")), DESKTOP)


def _word(text: str) -> str:
    """Text that is not an option, for programs that do not know `--`."""
    return text if text[:1].isalnum() else f" {text}"


_PROGRAMS: dict[str, Callable[[Content], tuple[str, ...]]] = {
    "notify-send": _notify_send,
    "terminal-notifier": _terminal_notifier,
    "osascript": _osascript,
}


async def _bell(sent: _Sent) -> str:
    sent.world.ring()
    return "rang in the terminals that watch"


# Servers


async def _ntfy(sent: _Sent) -> str:
    given, content = sent.given, sent.content
    said = {"topic": given.topic, "title": content.title, "message": _fit(content.text, NTFY_TEXT)}
    return await _posted(sent, given.server or NTFY, said)


async def _slack(sent: _Sent) -> str:
    # Without these three signs nothing is a mention or a link.
    title, text = (escape(part, quote=False) for part in (sent.content.title, sent.content.text))
    return await _posted(sent, _url(sent), {"text": _fit(f"*{title}*\n{text}", SLACK_TEXT)})


async def _discord(sent: _Sent) -> str:
    text = _fit(f"**{sent.content.title}**\n{sent.content.text}", DISCORD_TEXT)
    return await _posted(sent, _url(sent), {"content": text, "allowed_mentions": {"parse": []}})


async def _webhook(sent: _Sent) -> str:
    content = sent.content
    said = {**msgspec.to_builtins(content), "title": content.title, "text": content.text}
    return await _posted(sent, _url(sent), said)


def _url(sent: _Sent) -> str:
    url = sent.secret(sent.given.url_env) or sent.given.url or ""
    if url_problem(url) is not None:  # what is wrong is not told: it would quote the URL
        raise HookFailure(f"{sent.given.url_env or 'url'} is not an http or https URL")
    return url


async def _posted(sent: _Sent, url: str, said: Mapping[str, Any]) -> str:
    key = sent.content.key
    headers = {
        "content-type": "application/json",
        "user-agent": "hookline",
        "idempotency-key": key,
        "x-message-id": key,
    }
    if token := sent.secret(sent.given.token_env):
        headers["authorization"] = header_value("authorization", f"Bearer {token.strip()}")
    reply = await post(url, msgspec.json.encode(said), headers, sent.call.timeout, sent.world)
    return f"sent as {key}; the server answered {reply.status}"


# Mail


async def _email(sent: _Sent) -> str:
    given = sent.given
    place = mail_place(given.smtp or "")
    password = sent.secret(given.password_env) or place.password
    server = MailServer(place.host, place.port, place.is_tls, given.user or place.user, password)
    sender = given.sender or given.recipients[0]
    assert sent.world.mail is not None  # whoever calls hooks of a project can send mail
    try:
        refused = await sent.world.mail.send(
            server,
            sender=sender,
            recipients=given.recipients,
            letter=_letter(sent.content, sender, given.recipients),
            timeout=sent.call.timeout,
        )
    except TimeoutError as late:
        raise HookTimeout(f"{place.host} took more than {sent.call.timeout:g} s") from late
    except CannotReach as problem:
        raise HookFailure(str(problem)) from problem
    but = f", but not to {', '.join(refused)}" if refused else ""
    return f"sent as <{sent.content.key}@hookline>{but}"


def _letter(content: Content, sender: str, recipients: tuple[str, ...]) -> bytes:
    # Most notifications are not mails, and these modules are large.
    from email.message import EmailMessage
    from email.policy import SMTP
    from email.utils import format_datetime

    letter = EmailMessage(policy=SMTP)
    letter["From"], letter["To"] = sender, ", ".join(recipients)
    letter["Subject"] = content.title
    letter["Date"] = format_datetime(datetime.fromtimestamp(seconds(content.at), UTC))
    letter["Message-ID"] = f"<{content.key}@hookline>"
    letter["Auto-Submitted"] = "auto-generated"
    letter.set_content(content.text)
    return letter.as_bytes()


def _fit(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}{CUT}"


_CHANNELS: dict[str, Channel] = {
    "desktop": _desktop,
    "bell": _bell,
    "ntfy": _ntfy,
    "slack": _slack,
    "discord": _discord,
    "webhook": _webhook,
    "email": _email,
}
