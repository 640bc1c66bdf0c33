"""What trust covers of a loaded configuration: the one list for every surface, so hashes agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.text.known_secrets import parts_of_url
from hookline.hooks.builtin import notifies, secret_names
from hookline.hooks.followed import without_followed
from hookline.trust.cover import covered_uses, keyed_files

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.config import Settings
    from hookline.project import Project


def configured_uses(project: Project, settings: Settings) -> dict[str, str]:
    """Absolute path -> its first use, for all files that the settings bring or name."""
    sections = _sections(project, settings)
    return covered_uses(project, settings.all_hooks, keyed_files(project, sections))


def checking_uses(project: Project, settings: Settings) -> dict[str, str]:
    """Absolute path -> its first use, for the files that hooks, rules and tests name."""
    sections, uses = _sections(project, settings), covered_uses(project, settings.all_hooks)
    for rule in sections.get("validation", ()):
        for path in keyed_files(project, rule):
            uses.setdefault(path, f"rule {rule.get('name')}")
    # The merged result must have the one that the project has.
    for path in keyed_files(project, {"run": sections.get("gates", {}).get("test")}):
        uses.setdefault(path, "gates.test")
    return uses


def _sections(project: Project, settings: Settings) -> dict[str, Any]:
    """What the configuration says besides hooks, without the tests that its rules follow."""
    sections: dict[str, Any] = msgspec.json.decode(settings.raw_sections)
    for rule in sections.get("validation", ()):
        if rule.get("follow") and rule.get("command"):
            rule["command"] = without_followed(project.root, rule["command"])
    return sections


def configured_variables(settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment, with what the configuration adds to it for agents and hooks.

    Whatever text is cleaned by: the names of secrets say so.
    """
    found = dict(environ)
    hooks = [(hook.name, hook.env) for hook in settings.all_hooks]
    for owner, env in (*settings.agent_variables.items(), *hooks):
        for name, value in env.items():
            known = found.setdefault(name, value)
            if known != value:  # the same name may have another value for each
                found[f"{owner}.{name}"] = value
    # What a notification or a collector needs is a secret, whatever its variable is called.
    for name in secret_variables(settings).intersection(environ):
        found[f"SECRET {name}"] = environ[name]
        found[f"SECRET part of {name}"] = "\n".join(parts_of_url(environ[name]))
    return found


def secret_variables(settings: Settings) -> set[str]:
    """The environment variables that notifications and telemetry take their secrets from."""
    of_telemetry = (settings.telemetry, settings.users_telemetry)
    found = {name for each in of_telemetry for name in each.get("headers", {}).values()}
    hooks = [hook for hook in settings.all_hooks if notifies(hook)]
    return found.union(name for hook in hooks for name in secret_names(hook))
