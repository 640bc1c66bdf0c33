"""Settings: what a project's configuration means. Light, because every data command loads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.config import cache
from hookline.config.problems import ERROR, Problem
from hookline.errors import ConfigError
from hookline.hooks.registry import Hook

if TYPE_CHECKING:
    from hookline.config.load import Loaded
    from hookline.config.types import Agent, Flow, Sections, Session, TaskType, Validation
    from hookline.project import Project


_Fields = dict[str, Any]
_READINGS = 5


class Tuning(msgspec.Struct, frozen=True):
    """What the configuration says about a built-in react hook; None leaves it as it is."""

    enabled: bool | None = None
    priority: int | None = None
    origin: str = ""


class Settings(msgspec.Struct, kw_only=True):
    """Everything configured, with every problem found on the way.

    `hooks` are those of the project and the user in position order. `points` are the points
    they mention, an empty list included: there a default of the point is replaced. `type_hooks`
    and `agent_hooks` hold the hooks of task types and agents, by name and point, which replace
    those of the point. The sections are kept as JSON and read when first asked for.
    `config_digest` is the sha256 of the very hookline.yaml that was read. `is_gone` says that the
    one that was trusted is missing: nobody knows by which gates its types are held.
    """

    hooks: list[Hook] = []
    tuning: dict[str, Tuning] = {}
    problems: list[Problem] = []
    events: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    type_hooks: dict[str, dict[str, list[Hook]]] = {}
    agent_hooks: dict[str, dict[str, list[Hook]]] = {}
    raw_sections: msgspec.Raw = msgspec.Raw(b"{}")
    config_digest: str = ""
    is_gone: bool = False

    @property
    def has_errors(self) -> bool:
        """Whether anything must be fixed before configured hooks may run."""
        return any(each.severity == ERROR for each in self.problems)

    @property
    def sections(self) -> Sections:
        """The settings besides hooks."""
        # Data commands never look at sections, and their types take time to build.
        from hookline.config.types import Sections

        return msgspec.json.decode(self.raw_sections, type=Sections)

    @property
    def session(self) -> Session:
        """The limits of a session."""
        return self.sections.session

    @property
    def validation(self) -> list[Validation]:
        """The checks of the agent's work."""
        return self.sections.validation

    @property
    def task_types(self) -> dict[str, TaskType]:
        """Types of tasks; their hooks are in `type_hooks`."""
        return self.sections.task_types

    @property
    def may_create(self) -> dict[str, list[str]]:
        """What agents may create, by the type of their task; read without other sections."""
        kinds = msgspec.json.decode(self.raw_sections).get("task_types", {})
        return {name: kind.get("may_create", []) for name, kind in kinds.items()}

    @property
    def agents(self) -> dict[str, Agent]:
        """Agent profiles; their hooks are in `agent_hooks`."""
        return self.sections.agents

    @property
    def agent_variables(self) -> dict[str, dict[str, str]]:
        """The environment that each agent profile adds; read without the types of all sections."""
        profiles = msgspec.json.decode(self.raw_sections).get("agents", {})
        return {name: profile.get("env", {}) for name, profile in profiles.items()}

    @property
    def agent(self) -> str | None:
        """The agent profile that is used when none is named."""
        return self.sections.agent

    @property
    def flows(self) -> dict[str, Flow]:
        """Flows written in YAML."""
        return self.sections.flows


class _Stored(msgspec.Struct):
    """Settings as the cache holds them. A hook can carry a function, so it has no JSON type."""

    hooks: list[_Fields]
    tuning: dict[str, Tuning]
    problems: list[Problem]
    events: tuple[str, ...]
    points: tuple[str, ...]
    type_hooks: dict[str, dict[str, list[_Fields]]]
    agent_hooks: dict[str, dict[str, list[_Fields]]]
    raw_sections: msgspec.Raw


def load_settings(project: Project, home: str) -> Settings:
    """The settings of a project and its user, from the cache if nothing has changed."""
    entry = cache.Entry.of(project, home)
    body = entry.read()
    settings = decode(body) if body is not None else None
    if settings is None:
        settings, entry = _read(project, home, entry)
    settings.config_digest = entry.config_digest
    return settings


def _read(project: Project, home: str, entry: cache.Entry) -> tuple[Settings, cache.Entry]:
    # The reader brings YAML, the checks and difflib along; with a valid cache none is needed.
    from hookline.config.load import read_settings

    for _ in range(_READINGS):
        loaded = read_settings(project, home)
        now = cache.Entry.of(project, home)
        if now.key == entry.key:
            _keep(entry, loaded)
            return loaded.settings, entry
        entry = now
    raise ConfigError(
        "the configuration changes faster than it can be read", help="run the command again"
    )


def _keep(entry: cache.Entry, loaded: Loaded) -> None:
    try:
        body = msgspec.json.encode(loaded.settings)
        entry.write(body, loaded.watched)
    except UnicodeEncodeError:  # a path that is not UTF-8 has no JSON: this project goes uncached
        return


def decode(body: bytes) -> Settings | None:
    """Settings from their JSON, or None if that is not what it holds."""
    try:
        stored = msgspec.json.decode(body, type=_Stored)
        return Settings(
            hooks=[_hook(each) for each in stored.hooks],
            tuning=stored.tuning,
            problems=stored.problems,
            events=stored.events,
            points=stored.points,
            type_hooks=_scoped(stored.type_hooks),
            agent_hooks=_scoped(stored.agent_hooks),
            raw_sections=stored.raw_sections.copy(),
        )
    except (msgspec.MsgspecError, TypeError, KeyError):
        return None


def _hook(fields: _Fields) -> Hook:
    return Hook(**{**fields, "points": tuple(fields["points"])})


def _scoped(
    stored: dict[str, dict[str, list[_Fields]]],
) -> dict[str, dict[str, list[Hook]]]:
    return {
        name: {point: [_hook(each) for each in hooks] for point, hooks in points.items()}
        for name, points in stored.items()
    }
