"""What `notify` can be told, as types, and what is wrong with it; nothing here sends anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal, NamedTuple
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, field

from hookline.domain.text.secret_patterns import SHAPES
from hookline.hooks.builtin.stop.context import Arguments
from hookline.hooks.kinds import Fault
from hookline.hooks.kinds.http import url_problem
from hookline.hooks.registry import NEVER

NTFY = "https://ntfy.sh"
Name = Annotated[str, Meta(min_length=1)]
Channel = Literal["desktop", "bell", "ntfy", "slack", "discord", "webhook", "email"]
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOPIC = re.compile(r"[A-Za-z0-9_-]{1,64}")
# An address goes into a command of the mail's protocol and into a header: one word, ASCII.
_ADDRESS = re.compile(r"[!-;=?-~]+@[!-;=?-~]+")
_PORTS = {"smtp": 25, "smtps": 465}


def _key(description: str) -> Meta:
    return Meta(description=description)


class Notify(Arguments, frozen=True):
    """Where a notification leads, by its channel."""

    channel: Channel
    topic: Annotated[Name, _key("ntfy: the topic.")] | None = None
    server: Annotated[Name, _key(f"ntfy: the server; by default {NTFY}.")] | None = None
    url: Annotated[Name, _key("webhook: where to POST to.")] | None = None
    url_env: Annotated[Name, _key("The environment variable that holds the URL.")] | None = None
    token_env: Annotated[Name, _key("The variable that holds a token for the server.")] | None = (
        None
    )
    to: Annotated[Name, _key("email: addresses, separated by commas.")] | None = None
    sender: Annotated[Name, _key("email: the sender; by default the first of `to`.")] | None = (
        field(default=None, name="from")
    )
    smtp: Annotated[Name, _key("email: the server, such as smtp://localhost:25.")] | None = None
    user: Annotated[Name, _key("email: the user's name at the server.")] | None = None
    password_env: Annotated[Name, _key("email: the variable that holds the password.")] | None = (
        None
    )

    @property
    def recipients(self) -> tuple[str, ...]:
        """The addresses of a mail."""
        return tuple(each.strip() for each in (self.to or "").split(",") if each.strip())

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that hold its secrets."""
        named = (self.url_env, self.token_env, self.password_env)
        return tuple(each for each in named if each is not None)


# The keys next to `notify`, by the name that they are written with.
KEYS = {each.encode_name: each for each in msgspec.structs.fields(Notify) if each.name != "channel"}
_OF_CHANNEL: dict[str, tuple[str, ...]] = {
    "desktop": (),
    "bell": (),
    "ntfy": ("topic", "server", "token_env"),
    "slack": ("url", "url_env"),
    "discord": ("url", "url_env"),
    "webhook": ("url", "url_env", "token_env"),
    "email": ("to", "from", "smtp", "user", "password_env"),
}
# What a channel needs, and how that is written.
_NEEDED = {
    "ntfy": {"topic": "topic: my-agents"},
    "email": {"to": "to: me@example.org", "smtp": 'smtp: "smtp://localhost:25"'},
}
# Channels whose URL lets anyone write who knows it.
_SECRET_URLS = ("slack", "discord")


class MailPlace(NamedTuple):
    """Where mail is handed in, as a URL says it."""

    host: str
    port: int
    is_tls: bool
    user: str | None
    password: str | None


def mail_place(url: str) -> MailPlace:
    """The server of `smtp://HOST:PORT` or `smtps://HOST:PORT`; ValueError for anything else."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname or parts.path.strip("/"):
        raise ValueError(url)
    port = parts.port or _PORTS[parts.scheme]
    return MailPlace(parts.hostname, port, parts.scheme == "smtps", parts.username, parts.password)


def faults(given: Notify) -> Iterator[tuple[str, Fault]]:
    """What is wrong with the arguments: each with the key that it is about."""
    written = {name: getattr(given, each.name) for name, each in KEYS.items()}
    used = {name for name, value in written.items() if value is not None}
    for name in sorted(used.difference(_OF_CHANNEL[given.channel])):
        told = f"'{name}' has no effect on {given.channel}"
        yield name, Fault("no-effect", told, is_warning=True)
    for name, example in _NEEDED.get(given.channel, {}).items():
        if name not in used:
            told, help = f"notify: {given.channel} needs '{name}'", f"such as {example}"
            yield "", Fault("missing-key", told, help, NEVER)
    yield from _url_faults(given)
    yield from _mail_faults(given)
    if given.topic is not None and not _TOPIC.fullmatch(given.topic):
        help = "a topic has up to 64 letters, digits, '_' and '-'"
        yield "topic", Fault("bad-topic", f"'{given.topic[:80]}' is not a topic", help, NEVER)
    for name in ("url_env", "token_env", "password_env"):
        if written[name] is not None and not _VARIABLE.fullmatch(written[name]):
            help = f"write the name of a variable, such as {name}: MY_{name.upper()[:-4]}"
            told = f"'{name}' is the name of an environment variable, not its value"
            yield name, Fault("bad-variable", told, help, NEVER)


def _url_faults(given: Notify) -> Iterator[tuple[str, Fault]]:
    takes_url = "url" in _OF_CHANNEL[given.channel]
    if takes_url and given.url is None and given.url_env is None:
        help = "name the environment variable that holds it: url_env: MY_URL"
        yield "", Fault("missing-key", f"notify: {given.channel} needs a URL", help, NEVER)
    for name, url in (("url", given.url), ("server", given.server)):
        wrong = url_problem(url) if url is not None else None
        if wrong is not None:
            yield name, Fault("bad-url", *wrong, NEVER)
    if takes_url and given.url is not None and _is_secret(given.url, given.channel):
        yield "url", _inline("the URL", "url_env: MY_URL")


def _mail_faults(given: Notify) -> Iterator[tuple[str, Fault]]:
    for name, address in (("from", given.sender), *(("to", each) for each in given.recipients)):
        if address is not None and not _ADDRESS.fullmatch(address):
            help = "write it like me@example.org"
            yield name, Fault("bad-address", f"'{address[:80]}' is not an address", help, NEVER)
    if given.smtp is None:
        return
    try:
        place = mail_place(given.smtp)
    except ValueError:  # its text may hold a password
        help = "write it like smtp://localhost:25 or smtps://mail.example.org"
        yield "smtp", Fault("bad-url", "this is not the URL of a mail server", help, NEVER)
        return
    if place.password is not None:
        yield "smtp", _inline("the password in the URL", "password_env: MY_PASSWORD")


def _is_secret(url: str, channel: str) -> bool:
    parts = urlsplit(url)
    if channel in _SECRET_URLS or parts.query or parts.password:
        return True
    return any(re.search(shape, url) for shape in SHAPES.values())


def _inline(what: str, instead: str) -> Fault:
    told = f"{what} is a secret, and anyone who reads this file can use it"
    help = f"put it into an environment variable and name that: {instead}"
    return Fault("inline-secret", told, help, "it still works", is_warning=True)
