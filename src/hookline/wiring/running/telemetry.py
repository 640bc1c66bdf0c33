"""Where telemetry goes, and what sends it.

A repository that is not trusted has no say in it. The user's own file counts first, then the
standard variables, then the repository's file.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from hookline.digest import sha256
from hookline.errors import HookFailure, HooklineError
from hookline.hooks.kinds.http import header_value, url_problem
from hookline.immutable import Immutable
from hookline.version import __version__
from hookline.wiring.project.configured import is_trusted
from hookline.wiring.project.stores import open_blobs, open_feeds, open_store
from hookline.wiring.running.hosts import is_free

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from hookline.app import App
    from hookline.domain.telemetry import Value
    from hookline.domain.text.cleaning import Cleaner
    from hookline.ports.exports import Collector
    from hookline.ports.feeds import Feeds
    from hookline.ports.store import Blobs, Store

ENDPOINT, HEADERS = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS"
TRACES_PATH, METRICS_PATH = "/v1/traces", "/v1/metrics"
INSTALL = "pip install 'hookline[otel]'"


class CannotSend(HooklineError, code="telemetry"):
    """Telemetry cannot be sent."""


class Destination(Immutable):
    """A collector. `name` is what its position is kept by; no secret of the URLs is in it.

    `where` is what says so. `problem` is why nothing can be sent, and `help` what to do then.
    """

    name: str
    where: str
    traces: str | None
    metrics: str | None
    headers: Mapping[str, str]
    has_content: bool = False
    problem: str | None = None
    help: str = ""


def destination(app: App) -> Destination | None:
    """Where telemetry goes; None if nobody wants any."""
    env = app.environ
    if env.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    users: Mapping[str, Any] = app.settings.users_telemetry if app.settings is not None else {}
    if users.get("endpoint"):
        return _checked(_configured(users, "your own hookline.yaml", env))
    if named := _by_variables(env):
        return _checked(named, bool(users.get("content")))
    if app.settings is None or app.settings.has_errors or not is_trusted(app):
        return None
    found = app.settings.telemetry
    if not found.get("endpoint"):
        return None
    return _checked(_configured(found, "hookline.yaml", env))


def _configured(found: Mapping[str, Any], where: str, env: Mapping[str, str]) -> Destination:
    base = str(found["endpoint"])
    named: Mapping[str, str] = found.get("headers", {})
    missing = [variable for variable in named.values() if not env.get(variable)]
    return Destination(
        _name(base),
        where,
        _below(base, TRACES_PATH),
        _below(base, METRICS_PATH) if found.get("metrics") else None,
        {name.lower(): env.get(variable, "") for name, variable in named.items()},
        bool(found.get("content")),
        f"the environment variable {missing[0]} is not set" if missing else None,
        "set it where Hookline runs" if missing else "",
    )


def _by_variables(env: Mapping[str, str]) -> Destination | None:
    """What the standard variables say, with those of one signal before those of all."""
    base = env.get(ENDPOINT, "").strip()
    traces = _of(env, "TRACES", "ENDPOINT").strip() or (base and _below(base, TRACES_PATH))
    metrics = _of(env, "METRICS", "ENDPOINT").strip()
    if not metrics and base and env.get("OTEL_METRICS_EXPORTER", "").strip() == "otlp":
        metrics = _below(base, METRICS_PATH)
    if env.get("OTEL_TRACES_EXPORTER", "").strip() == "none":
        traces = ""
    if env.get("OTEL_METRICS_EXPORTER", "").strip() == "none":
        metrics = ""
    if not (traces or metrics):
        return None
    spoken = (_of(env, "TRACES", "PROTOCOL") or env.get("OTEL_EXPORTER_OTLP_PROTOCOL", "")).strip()
    problem = f"Hookline speaks http/protobuf, not {spoken}"
    is_spoken = spoken in ("", "http/protobuf")
    given = _of(env, "TRACES", "HEADERS") or env.get(HEADERS, "")
    return Destination(
        _name(traces or metrics),
        ENDPOINT if base else "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        traces or None,
        metrics or None,
        _listed(given, lower=True),
        problem=None if is_spoken else problem,
        help="" if is_spoken else "set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf, and its port",
    )


def _of(env: Mapping[str, str], signal: str, what: str) -> str:
    return env.get(f"OTEL_EXPORTER_OTLP_{signal}_{what}", "")


def _listed(text: str, *, lower: bool = False) -> dict[str, str]:
    """`name=value,name=value` with escapes, as the standard variables have it."""
    found = {}
    for each in text.split(","):
        name, mark, value = each.partition("=")
        if mark and name.strip():
            found[name.strip().lower() if lower else name.strip()] = unquote(value.strip())
    return found


def _checked(found: Destination, adds_content: bool = False) -> Destination:
    """The same, with what keeps it from being used."""
    problem, help = found.problem, found.help
    for url in (found.traces, found.metrics):
        if problem is None and url is not None and (wrong := url_problem(url)):
            problem, help = wrong
    for name, value in found.headers.items() if problem is None else ():
        try:
            header_value(name, value)
        except HookFailure as wrong_value:
            problem, help = str(wrong_value), "correct its variable"
    if problem is None and not is_installed():
        problem, help = "the package that encodes telemetry is not installed", INSTALL
    return Destination(
        *(found.name, found.where, found.traces, found.metrics, found.headers),
        *(found.has_content or adds_content, problem, help),
    )


def is_installed() -> bool:
    """Whether what encodes telemetry is there."""
    return _is_there("google.protobuf") and _is_there("opentelemetry.proto")


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ModuleNotFoundError, ValueError):
        return False


def _below(base: str, path: str) -> str:
    return f"{base.rstrip('/')}{path}"


def _name(url: str) -> str:
    """What tells destinations apart, and gives no secret of the URL away."""
    try:
        parts = urlsplit(url)
        place = f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")
    except ValueError:
        place = "a URL that is none"
    return f"{place} ({sha256(url.encode('utf-8', 'replace')).hexdigest()[:8]})"


class Sending(Immutable):
    """What sending needs: the record, with its own connection, and who takes it."""

    destination: Destination
    store: Store
    feeds: Feeds
    blobs: Blobs
    collector: Collector
    cleaner: Cleaner
    drivers: Mapping[str, str]
    owner: str
    is_free: Callable[[str, float], bool]


@contextmanager
def opened(app: App, found: Destination, suffix: str = "") -> Iterator[Sending]:
    """What sending needs; `suffix` tells senders of one process apart."""
    if found.problem is not None:
        raise CannotSend(f"telemetry cannot be sent: {found.problem}", help=found.help)
    from hookline.adapters.network.http import HttpClient  # only those who send need them
    from hookline.adapters.network.otlp import OtlpCollector

    collector = OtlpCollector(
        HttpClient(app.cleaner),
        *(found.traces, found.metrics, found.headers),
        resource(app),
        __version__,
    )
    store = open_store(app.store.url, waits=True)
    feeds, blobs = open_feeds(app.project, store), open_blobs(app.project, store)
    drivers = {name: each.driver for name, each in app.sections.agents.items()}
    free = partial(is_free, app.owner, store.time)
    try:
        yield Sending(
            *(found, store, feeds, blobs, collector, app.cleaner, drivers, app.owner, free)
        )
    finally:
        feeds.close()
        blobs.close()
        store.close()


def resource(app: App) -> dict[str, Value]:
    """What all telemetry of a project is marked with."""
    project = os.path.basename(app.project.root) or "hookline"
    found: dict[str, Value] = {
        "service.name": "hookline",
        "service.version": __version__,
        "hookline.store": app.store.id,
        "openinference.project.name": app.cleaner.text(project),
    }
    found |= _listed(app.environ.get("OTEL_RESOURCE_ATTRIBUTES", ""))
    if name := app.environ.get("OTEL_SERVICE_NAME"):
        found["service.name"] = name
    return found
