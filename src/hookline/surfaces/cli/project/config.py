"""The commands about configuration: check, schema, config show."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from hookline.config.reading.render import count, github, render, summary
from hookline.errors import OK, USAGE
from hookline.project import find_project, user_folder
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

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.config import Problem
    from hookline.config.checks.changed_defaults import ChangedDefault
    from hookline.project import Project
    from hookline.trust.frozen import FrozenFile


def _check_arguments(parser: ArgumentParser) -> None:
    help = "the output format"
    parser.add_argument("--format", choices=("text", "json", "github"), help=help)
    parser.add_argument("--forge", action="store_true", help="also check the forge")


def _check(args: Namespace) -> int:
    project, home = _here()
    from hookline.queries.config_check import check_configuration  # loads all that it looks at

    checked = check_configuration(project, home, os.environ, ask_forge=args.forge)
    problems, changed, frozen = checked
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
    from hookline.wiring.project.configured import cleaner

    project, home = _here()
    found, settings = effective(project, home)
    # msgspec is loaded already by the settings; the names are only needed here.
    from msgspec.json import encode
    from msgspec.structs import replace

    clean = cleaner(settings, os.environ).value
    shown = [replace(each, value=clean(each.value)) for each in found]
    lines = (f"{e.key} = {encode(e.value).decode()}  {paint(e.origin, 'dim')}" for e in shown)
    answer(args, shown, *lines)
    if shown != found:
        note("secrets are shown as [redacted NAME]; hooks and agents inherit your environment,")
        note("so none has to be in a file")
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
