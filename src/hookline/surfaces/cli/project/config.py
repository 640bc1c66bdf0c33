"""The commands about configuration: check, schema, config show."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from hookline.config import load_settings
from hookline.config.checks.followed import follows_nothing
from hookline.config.checks.unguarded import doubts
from hookline.config.reading.problems import Mark, Problems
from hookline.config.reading.render import count, github, render, summary
from hookline.errors import OK, USAGE
from hookline.project import CONFIG_NAME, find_project, user_folder
from hookline.surfaces.cli.command import Command, no_arguments
from hookline.surfaces.cli.output import (
    answer,
    next_step,
    note,
    paint,
    say,
    say_json,
    say_row,
    untrusted,
)
from hookline.trust.frozen import frozen_files
from hookline.trust.review import changed_since_trusted

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.config import Problem
    from hookline.config.checks.changed_defaults import ChangedDefault
    from hookline.config.settings import Settings
    from hookline.project import Project
    from hookline.trust.frozen import FrozenFile


def _check_arguments(parser: ArgumentParser) -> None:
    help = "the output format"
    parser.add_argument("--format", choices=("text", "json", "github"), help=help)
    parser.add_argument("--forge", action="store_true", help="also check the forge")


def _check(args: Namespace) -> int:
    project, home = _here()
    settings = load_settings(project, home)
    problems = [*settings.problems, *doubts(settings, project.root)]
    problems += follows_nothing(settings, project.root)
    problems += _of_forge(project, home, settings, ask=args.forge)
    problems += _missing(project, home, settings)
    problems += _removed(project, home, settings)
    changed = changed_since_trusted(project, home, settings)
    frozen = [] if settings.has_errors else frozen_files(project, settings)
    errors, warnings = count(problems)
    form = args.format or ("json" if args.json else "text")
    if form == "json":
        found = {"problems": problems, "errors": errors, "warnings": warnings}
        say_json({**found, "changedDefaults": changed, "frozen": frozen})
    elif form == "github":
        for each in problems:
            say(github(each))
        for default in changed:
            say(f"::notice title=changed-default::{default.name}: {default.now}")
    else:
        _check_text(project, problems)
        _show_frozen(frozen)
        show_changed(changed)
        if changed:
            next_step("hookline trust", "if you want these to run")
    return USAGE if errors else OK


def _show_frozen(found: list[FrozenFile]) -> None:
    if found:
        say("Frozen while agents work, because they are trusted as they are:")
        for each in found:
            say(f"  {untrusted(each.name, 80)}  ({untrusted(each.use, 80)})")
        note("an agent that edits one stops the checks; `follow: true` at a validation rule lets")
        note("it edit the test files that the rule's command names")


def _of_forge(project: Project, home: str, settings: Settings, *, ask: bool) -> list[Problem]:
    """What the forge does not allow; offline unless it is to be asked."""
    if settings.has_errors or (settings.sections.gates.forge == "local" and not ask):
        return []
    import asyncio  # only a forge of another machine needs these

    from hookline.wiring.configured import trust_in
    from hookline.wiring.forges import forge_problems

    report, sections = Problems(), settings.sections
    trusted = ask and trust_in(project, home, settings, os.environ).verdict.trusted
    found = asyncio.run(forge_problems(project, sections, os.environ, ask=ask, trusted=trusted))
    for each in found:
        tell = report.error if ask and each.blocks else report.warning
        tell(each.code, Mark(CONFIG_NAME), each.message, help=each.help)
    return report.problems


def _removed(project: Project, home: str, settings: Settings) -> list[Problem]:
    """That the hookline.yaml which was trusted is missing."""
    if os.path.isfile(project.config):
        return []
    from hookline.wiring.configured import GONE, is_removed, trust_in  # few projects lack it
    from hookline.wiring.removed import put_back

    report = Problems()
    if is_removed(trust_in(project, home, settings, os.environ)):
        help = f"restore it with `{put_back(project, home)}`, or run `hookline trust`"
        report.error("removed", Mark(CONFIG_NAME), GONE, help=help)
    return report.problems


def _missing(project: Project, home: str, settings: Settings) -> list[Problem]:
    """What hooks and agents call that is not there, as far as that is the configuration's fault."""
    # `doctor` has the eyes for it, and only this command and that one look.
    from hookline.config.load import read_settings
    from hookline.queries.doctor.agents import missing_agents
    from hookline.queries.doctor.hooks import missing

    report = Problems()
    for hook, problem in missing(settings.all_hooks, project, os.environ):
        file, _, line = hook.origin.rpartition(":")
        mark = Mark(file, int(line), 1) if line.isdecimal() else Mark(hook.origin)
        consequence = f"'{hook.name}' would fail every time"
        report.warning("missing", mark, str(problem), help=problem.fix, consequence=consequence)
    agents = dict(missing_agents(settings, project.root))
    origins = read_settings(project, home).origins if agents else {}
    for key, message in agents.items():
        mark = origins.get(f"agents.{key}", Mark(CONFIG_NAME))
        agent = key.rpartition(".")[0]
        consequence = f"no task can be given to '{agent}'"
        report.warning("missing", mark, message, help="fix the path", consequence=consequence)
    return report.problems


def show_changed(changed: list[ChangedDefault]) -> None:
    """The defaults that are no longer what they were when the configuration was trusted."""
    if not changed:
        return
    say()
    say(f"Defaults that changed in {changed[-1].since}, after you trusted this configuration:")
    for default in changed:
        say(f"  {paint(default.name, 'bold')}")
        say_row(f"    before  {default.was}", 12)
        say_row(f"    now     {default.now}", 12)
        say_row(f"    to do   {default.remedy}", 12)


def _check_text(project: Project, problems: list[Problem]) -> None:
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    if not os.path.exists(project.config):
        note(f"there is no {os.path.basename(project.config)} in {project.root}")
    if problems:
        # The renderer has made every foreign character visible; what is left is our own colour.
        print(render(problems, project.root, colour=colour))
    else:
        say(summary(problems))
        next_step("hookline config show", "every value and where it comes from")


def _schema(args: Namespace) -> None:
    # The schema is built from all types of the file, which no other command here needs.
    from hookline.config.schema import json_schema

    say_json(json_schema())


def _show(args: Namespace) -> None:
    # Showing reads everything again, because the cache does not keep where values are.
    from hookline.config.show import effective

    project, home = _here()
    shown, settings = effective(project, home)
    # msgspec is loaded already by the settings; the name is only needed here.
    from msgspec.json import encode

    lines = (f"{e.key} = {encode(e.value).decode()}  {paint(e.origin, 'dim')}" for e in shown)
    answer(args, shown, *lines)
    if settings.has_errors:
        note("the configuration has errors; `hookline check` lists them")


def _here() -> tuple[Project, str]:
    return find_project(os.getcwd(), os.environ), user_folder(os.environ)


COMMANDS = {
    "check": Command("find every problem in the configuration", _check_arguments, _check),
    "schema": Command("print the JSON Schema of hookline.yaml", no_arguments, _schema),
}
CONFIG_COMMANDS = {
    "show": Command("show every setting and where it comes from", no_arguments, _show)
}
