"""Everything `hookline check` finds in a configuration, and in what it names."""

from __future__ import annotations

import asyncio
import os
from contextlib import closing, suppress
from typing import TYPE_CHECKING, NamedTuple

from hookline.config import load_settings
from hookline.config.checks.unguarded import doubts, follows_nothing
from hookline.config.load import read_settings
from hookline.config.reading.problems import Mark, Problems
from hookline.domain.hooks.names import short_name
from hookline.errors import StoreError, Untrusted
from hookline.project import CONFIG_NAME
from hookline.queries.doctor.agents import missing_agents
from hookline.queries.doctor.hooks import missing
from hookline.queries.hosts import missing_labels
from hookline.trust.frozen import frozen_files
from hookline.trust.review import changed_since_trusted
from hookline.wiring.project.configured import GONE, is_removed, trust_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.config import Problem
    from hookline.config.checks.changed_defaults import ChangedDefault
    from hookline.config.settings import Settings
    from hookline.project import Project
    from hookline.trust.frozen import FrozenFile


class CheckedConfiguration(NamedTuple):
    """What was found: problems, defaults that changed since, and files that agents leave alone."""

    problems: list[Problem]
    changed: list[ChangedDefault]
    frozen: list[FrozenFile]


def check_configuration(
    project: Project, home: str, environ: Mapping[str, str], *, ask_forge: bool = False
) -> CheckedConfiguration:
    """Check a configuration; offline unless the forge is to be asked."""
    settings = load_settings(project, home)
    problems = [*settings.problems, *doubts(settings, project.root)]
    problems += follows_nothing(settings, project.root)
    problems += _of_forge(project, home, settings, environ, ask=ask_forge)
    problems += _missing(project, home, settings, environ)
    problems += _removed(project, home, settings, environ)
    problems += _unmet_needs(project, home, settings, environ)
    changed = changed_since_trusted(project, home, settings)
    frozen = [] if settings.has_errors else frozen_files(project, settings)
    return CheckedConfiguration(problems, changed, frozen)


def _of_forge(
    project: Project, home: str, settings: Settings, environ: Mapping[str, str], *, ask: bool
) -> list[Problem]:
    """What the forge would refuse."""
    if settings.has_errors:
        return []
    from hookline.wiring.working.forges import (
        forge_problems,  # only a forge of another machine needs it
    )

    report = Problems()
    trusted = ask and trust_in(project, home, settings, environ).verdict.trusted
    found = asyncio.run(forge_problems(project, settings, environ, ask=ask, trusted=trusted))
    for each in found:
        tell = report.error if ask and each.blocks else report.warning
        tell(each.code, Mark(CONFIG_NAME), each.message, help=each.help)
    return report.problems


def _removed(
    project: Project, home: str, settings: Settings, environ: Mapping[str, str]
) -> list[Problem]:
    """That the hookline.yaml which was trusted is missing."""
    if os.path.isfile(project.config):
        return []
    from hookline.wiring.project.removed import put_back  # few projects have no such file

    report = Problems()
    if is_removed(trust_in(project, home, settings, environ)):
        help = f"restore it with `{put_back(project, home)}`, or run `hookline trust`"
        report.error("removed", Mark(CONFIG_NAME), GONE, help=help)
    return report.problems


def _unmet_needs(
    project: Project, home: str, settings: Settings, environ: Mapping[str, str]
) -> list[Problem]:
    """Types of tasks whose needs no living host meets; the store says which there are."""
    types = settings.sections.task_types
    needy = [name for name, each in types.items() if each.needs]
    if settings.has_errors or not needy:
        return []
    from hookline.app import App  # few types need a host of their own

    report = Problems()
    origins = read_settings(project, home).origins
    # A store that cannot be looked at is not the configuration's fault.
    with (
        suppress(StoreError, Untrusted),
        closing(App.open(project.root, environ=environ, read_only=True)) as app,
        app.read() as view,
    ):
        for name in needy:
            if labels := missing_labels(app, view, name):
                report.warning(
                    "no-host",
                    origins.get(f"task_types.{name}.needs", Mark(CONFIG_NAME)),
                    f"no running host that takes tasks has {' and '.join(labels)}",
                    help="`hookline hosts` lists them; `hookline work --label L` adds a label",
                    consequence=f"tasks of type '{name}' wait",
                )
    return report.problems


def _missing(
    project: Project, home: str, settings: Settings, environ: Mapping[str, str]
) -> list[Problem]:
    """What hooks and agents call that is not there, as far as that is the configuration's fault."""
    report = Problems()
    for hook, problem in missing(settings.all_hooks, project, environ):
        file, _, line = hook.origin.rpartition(":")
        mark = Mark(file, int(line), 1) if line.isdecimal() else Mark(hook.origin)
        consequence = f"'{short_name(hook.name)}' would fail every time"
        report.warning("missing", mark, str(problem), help=problem.fix, consequence=consequence)
    agents = dict(missing_agents(settings, project.root))
    origins = read_settings(project, home).origins if agents else {}
    for key, message in agents.items():
        mark = origins.get(f"agents.{key}", Mark(CONFIG_NAME))
        agent = key.rpartition(".")[0]
        consequence = f"no task can be given to '{agent}'"
        report.warning("missing", mark, message, help="fix the path", consequence=consequence)
    return report.problems
