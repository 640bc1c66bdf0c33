"""A project's settings, hooks and trust, from its configuration."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from hookline.errors import BROKEN, UNTRUSTED, BadInput, Untrusted
from hookline.hooks.builtin.lifecycle import lifecycle_hooks, native_hooks
from hookline.hooks.registry import HookRegistry
from hookline.immutable import Immutable
from hookline.plugins import any_hooks
from hookline.project import CONFIG_NAME, Project

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.app import App
    from hookline.config import Settings
    from hookline.domain.schedule import Schedule
    from hookline.domain.text.cleaning import Cleaner
    from hookline.tasks.types import Types
    from hookline.trust.book import TrustVerdict
    from hookline.trust.manifest import Manifest
    from hookline.wiring.project.origin import Origin
    from hookline.wiring.project.shared import SharedStore


GONE = f"{CONFIG_NAME} was removed after you trusted it: its gates still apply, and work waits"
PUT_BACK = "restore it; or review what is left with `hookline trust`, and trust that"


class Trust(Immutable):
    """What the user has said about this repository's hooks."""

    verdict: TrustVerdict
    manifest: Manifest


def load_configuration(project: Project, home: str) -> Settings | None:
    """The settings, or None if nothing is configured."""
    places = (
        project.config,
        os.path.join(project.folder, "hooks"),
        os.path.join(project.folder, "flows"),
        os.path.join(home, "hookline.yaml"),
        os.path.join(home, "hooks"),
        os.path.join(project.root, "data", "automation-hooks.json"),
    )
    if not any(map(os.path.exists, places)) and not any_hooks(home):
        from hookline.trust.grants import has_grant  # few folders have no configuration

        # If one was trusted, its absence is a change like any other.
        if not has_grant(home, project):
            return None
    from hookline.config import load_settings  # costly, and not needed without settings

    return load_settings(project, home)


def trust_in(project: Project, home: str, settings: Settings, environ: Mapping[str, str]) -> Trust:
    """What the user has said about this repository's hooks."""
    # Costly, and not needed without settings.
    from hookline.trust.book import TrustBook, TrustVerdict
    from hookline.trust.configured import configured_uses
    from hookline.trust.manifest import Manifest, fingerprint

    try:
        manifest = fingerprint(project, configured_uses(project, settings))
    except Untrusted as problem:  # too many files, or too large, to be verified
        return Trust(TrustVerdict(False, problem.message, []), Manifest("", ()))
    read, now = settings.config_digest, manifest.files.get(CONFIG_NAME, "").partition(":")[0]
    if read != now:
        return Trust(TrustVerdict(False, f"{CONFIG_NAME} changed while it was read", []), manifest)
    return Trust(TrustBook(home).verdict(project, manifest, environ), manifest)


def shared(
    project: Project,
    home: str,
    settings: Settings | None,
    trust: Trust | None,
    environ: Mapping[str, str],
) -> SharedStore | None:
    """The project's place on a server; None if its store is here."""
    if not environ.get("HOOKLINE_STORE") and (settings is None or not settings.stores):
        return None
    from hookline.wiring.project.shared import shared_store  # few projects have one

    return shared_store(project, home, settings, trust, environ)


def is_removed(trust: Trust) -> bool:
    """Whether the hookline.yaml that was trusted is missing."""
    return any((each.path, each.kind) == (CONFIG_NAME, "removed") for each in trust.verdict.changes)


def registered(
    settings: Settings | None, trust: Trust | None
) -> tuple[HookRegistry, dict[str, str]]:
    """Every hook of a project, and why some of them may not run now."""
    registry = HookRegistry(events=settings.events if settings is not None else ())
    for built_in in (*lifecycle_hooks(), *native_hooks()):
        registry.add(built_in)
    suspended: dict[str, str] = {}
    if settings is None:
        return registry, suspended
    untrusted = _is_untrusted(trust)
    if trust is not None:
        settings.is_gone = is_removed(trust)
    if not untrusted:
        _tune(registry, settings)
    own = [hook for hook in settings.hooks if hook.kind != "built-in" or hook.name not in registry]
    for hook in own:
        registry.add(hook)
    for points in (*settings.type_hooks.values(), *settings.agent_hooks.values()):
        own += (hook for hooks in points.values() for hook in hooks)
    for hook in own:
        if settings.has_errors:
            suspended[hook.name] = BROKEN
        elif untrusted and hook.layer == "project":
            suspended[hook.name] = UNTRUSTED
    return registry, suspended


def refuse_untrusted(settings: Settings | None, trust: Trust | None) -> None:
    """Raise Untrusted unless the repository's code may run."""
    if _is_untrusted(trust):
        is_gone = settings is not None and settings.is_gone
        raise Untrusted(GONE, help=PUT_BACK) if is_gone else Untrusted


def _is_untrusted(trust: Trust | None) -> bool:
    return trust is not None and not trust.verdict.trusted


def _tune(registry: HookRegistry, settings: Settings) -> None:
    for name, tuning in settings.tuning.items():
        built_in = registry.find(name)
        if built_in is not None and tuning.enabled is not None:
            built_in.enabled = tuning.enabled
        if built_in is not None and tuning.priority is not None:
            built_in.priority = tuning.priority


def schedule(settings: Settings | None, trust: Trust | None) -> Schedule:
    """When notifications are sent; a repository that is not trusted has no say in it."""
    from hookline.domain.schedule import Schedule, read_quiet  # few commands send any

    if settings is None:
        return Schedule()
    found = _notifications(settings, trust)
    try:
        quiet = read_quiet(found["quiet"], found.get("timezone")) if "quiet" in found else None
    except BadInput:  # `check` has reported it, and runs are refused
        quiet = None
    return Schedule(quiet, found.get("digest", Schedule().digest))


def page_address(settings: Settings | None, trust: Trust | None) -> str | None:
    """The address of the page; a repository that is not trusted has no say in it."""
    found = _notifications(settings, trust).get("page") if settings is not None else None
    return str(found) if found is not None else None


def _notifications(settings: Settings, trust: Trust | None) -> Mapping[str, Any]:
    return settings.users_notifications if _is_untrusted(trust) else settings.notifications


def types(
    settings: Settings | None,
    trust: Trust | None,
    origin: Origin,
) -> Types:
    """Who gives tasks their types from this process."""
    from hookline.tasks.types import Types  # only few commands give types

    def may_create() -> Mapping[str, Sequence[str]]:
        if settings is None:
            return {}
        # An agent could have written a file that is not trusted yet.
        untrusted = _is_untrusted(trust)
        return {name: () if untrusted else may for name, may in settings.may_create.items()}

    place = origin.session
    return Types(may_create, origin.by_agent, place.task_id if place else None)


def cleaner(settings: Settings | None, environ: Mapping[str, str]) -> Cleaner:
    """What cleans outside text: it knows the secrets of the environment and the settings."""
    from hookline.domain.text.cleaning import Cleaner  # only text from outside needs it

    if settings is None:
        return Cleaner(dict(environ))
    from hookline.trust.configured import configured_variables  # none without settings

    return Cleaner(configured_variables(settings, environ), lambda: settings.names)


def is_trusted(app: App) -> bool:
    """Whether git may do more here than read."""
    return app.trust is None or app.trust.verdict.trusted
