"""The commands about configuration: check, schema, points, config show."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from hookline.config import load_settings
from hookline.config.problems import Mark, Report
from hookline.config.render import count, github, render, summary
from hookline.config.untested import untested
from hookline.errors import OK, USAGE, BadInput
from hookline.points import POINTS, VARIABLES
from hookline.project import CONFIG_NAME, find_project, user_folder
from hookline.surfaces.cli.command import Command, no_arguments
from hookline.surfaces.cli.output import is_terminal, next_step, note, paint, say, say_json, say_row
from hookline.trust.defaults import changed_since_trusted

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.config import Problem
    from hookline.config.changed_defaults import ChangedDefault
    from hookline.config.settings import Settings
    from hookline.points import Point
    from hookline.project import Project

_RULES = {
    "react": (
        "all hooks run; their actions are carried out in order afterwards",
        '{"actions": [{"type": "create_task", "payload": {"goal": "..."}}]}',
    ),
    "feed": (
        "all hooks run; with `pipe_output` their text goes to the agent",
        '{"text": "..."}, or plain output',
    ),
    "gate": (
        "hooks run until the first failure or pending; a failing hook closes the gate",
        '{"status": "success|failure|skip|pending", "message", "context", "remediationPrompt", '
        '"retryAfter"}, or exit code 0 success, 75 pending, else failure',
    ),
    "decide": (
        "hooks run until the first complete or escalate; the last continue wins",
        '{"action": "complete|continue|escalate", "reason"}, or exit code 0 complete, '
        "else continue with the output",
    ),
    "steer": ("hooks run until the first answer", '{"action": "...", ...}; `none` is no answer'),
    "guard": (
        "rewrites run first, then all checks: deny > defer > ask > modify > allow",
        '{"verdict": "allow|deny|ask|defer|modify", "reason", "updatedInput", "context"}, '
        "or exit code 0 no opinion, 2 deny",
    ),
}
_EXAMPLES = {
    "react": '{command: "notify-send {{point}}", timeout: 10}',
    "feed": '{command: "pytest -q", timeout: 120, pipe_output: true}',
    "gate": '{command: "pytest -q", timeout: 600}',
    "decide": '{command: "make check"}',
    "steer": "{script: .hookline/steer.py}",
    "guard": "{script: .hookline/guard.py, on_failure: closed}",
}


def _check_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--format", choices=("text", "json", "github"), help="how problems are written"
    )
    parser.add_argument("--forge", action="store_true", help="ask the forge too")


def _check(args: Namespace) -> int:
    project, home = _here()
    settings = load_settings(project, home)
    problems = [*settings.problems, *untested(settings, project.root)]
    problems += _of_forge(project, home, settings, ask=args.forge)
    problems += _missing(project, home, settings)
    changed = changed_since_trusted(project, home, settings)
    errors, warnings = count(problems)
    form = args.format or ("json" if args.json else "text")
    if form == "json":
        found = {"problems": problems, "errors": errors, "warnings": warnings}
        say_json({**found, "changedDefaults": changed})
    elif form == "github":
        for each in problems:
            say(github(each))
        for default in changed:
            say(f"::notice title=changed-default::{default.name}: {default.now}")
    else:
        _check_text(project, problems)
        show_changed(changed)
        if changed:
            next_step("hookline trust", "if that is what you want")
    return USAGE if errors else OK


def _of_forge(project: Project, home: str, settings: Settings, *, ask: bool) -> list[Problem]:
    """What stands in the way at the forge; offline unless it is to be asked."""
    if settings.has_errors or (settings.sections.gates.forge == "local" and not ask):
        return []
    import asyncio  # only a forge of another machine needs these

    from hookline.app import judge
    from hookline.wiring.forges import forge_problems

    report, sections = Report(), settings.sections
    trusted = ask and judge(project, home, settings, os.environ).verdict.trusted
    found = asyncio.run(forge_problems(project, sections, os.environ, ask=ask, trusted=trusted))
    for each in found:
        tell = report.error if ask and each.blocks else report.warning
        tell(each.code, Mark(CONFIG_NAME), each.message, help=each.help)
    return report.problems


def _missing(project: Project, home: str, settings: Settings) -> list[Problem]:
    """What hooks and agents call that is not there, as far as that is the configuration's fault."""
    # `doctor` has the eyes for it, and only this command and that one look.
    from hookline.config.load import read_settings
    from hookline.surfaces.cli.doctor_agents import missing_agents
    from hookline.surfaces.cli.doctor_hooks import missing
    from hookline.trust import configured_hooks

    report = Report()
    for hook, problem in missing(configured_hooks(settings), project, os.environ):
        file, _, line = hook.origin.rpartition(":")
        mark = Mark(file, int(line), 1) if line.isdecimal() else Mark(hook.origin)
        consequence = f"'{hook.name}' would fail each time"
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
    colour = is_terminal(sys.stdout) and not os.environ.get("NO_COLOR")
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


def _points_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="show everything about this point")


def _points(args: Namespace) -> None:
    if args.name is None:
        _list_points(args)
        return
    point = POINTS.get(args.name)
    if point is None:
        from hookline.config.problems import did_you_mean  # only a wrong name needs it

        raise BadInput(
            f"no hook point named {args.name[:80]!r}",
            help=did_you_mean(args.name, POINTS, "`hookline points` lists them all"),
        )
    detail = _detail(point)
    if args.json:
        say_json(detail)
    else:
        _show_point(point, detail)


def _list_points(args: Namespace) -> None:
    if args.json:
        fields = ("name", "rule", "timeout", "fires", "doc")
        say_json([{key: getattr(point, key) for key in fields} for point in POINTS.values()])
        return
    width = max(len(name) for name in POINTS)
    for rule, (meaning, _) in _RULES.items():
        say_row(f"{paint(rule, 'bold')}: {meaning}", 2)
        for point in POINTS.values():
            if point.rule == rule:
                quiet = "" if point.fires else paint("  (not fired yet)", "dim")
                say_row(f"  {point.name:{width}}  {point.doc}{quiet}", width + 4)
        say()
    next_step("hookline points NAME", "payload, variables and an example")


def _detail(point: Point) -> dict[str, Any]:
    # It comes with the expression language, which the list of points does without.
    from hookline.domain.condition_fields import condition_fields

    meaning, answer = _RULES[point.rule]
    return {
        "name": point.name,
        "doc": point.doc,
        "rule": point.rule,
        "meaning": meaning,
        "payload": _payload_fields(point),
        "conditions": list(condition_fields(point.name)),
        "variables": {name: VARIABLES[name].doc for name in point.variables},
        "timeout": point.timeout,
        "fires": point.fires,
        "answer": answer,
        "example": f"hooks:\n  {point.name}:\n    - {_EXAMPLES[point.rule]}",
    }


def _payload_fields(point: Point) -> dict[str, str]:
    # Payload types are only looked at for one point's detail.
    import msgspec

    from hookline.domain import payloads

    kind = getattr(payloads, point.payload)
    return {
        field.encode_name: str(kind.__annotations__.get(field.name, ""))
        for field in msgspec.structs.fields(kind)
    }


def _show_point(point: Point, detail: dict[str, Any]) -> None:
    say(f"{paint(point.name, 'bold')}  {point.doc}")
    if not point.fires:
        say("  nothing fires this point in this version")
    say_row(f"  rule      {point.rule}: {detail['meaning']}", 12)
    say_row(f"  answer    {detail['answer']}", 12)
    say(f"  timeout   {point.timeout:g} s unless the hook says otherwise")
    event = "event_type" in point.variables
    say(f"  payload   {'the event; its data:' if event else 'JSON on stdin:'}")
    for name, kind in detail["payload"].items():
        say_row(f"    {name}: {kind}", 6)
    say_row(f"  when      looks at {', '.join(detail['conditions'])}", 12)
    say("  variables")
    for name, doc in detail["variables"].items():
        say_row(f"    {'{{' + name + '}}':22} {VARIABLES[name].env:28} {doc}", 6)
    say("  example")
    for line in detail["example"].split("\n"):
        say(f"    {line}")


def _show(args: Namespace) -> None:
    # Showing reads everything again, because the cache does not keep where values stand.
    from hookline.config.show import effective

    project, home = _here()
    shown, settings = effective(project, home)
    if args.json:
        say_json(shown)
    else:
        # msgspec is loaded already by the settings; the name is only needed here.
        from msgspec.json import encode

        for each in shown:
            say(f"{each.key} = {encode(each.value).decode()}  {paint(each.origin, 'dim')}")
    if settings.has_errors:
        note("the configuration has errors; `hookline check` shows them")


def _here() -> tuple[Project, str]:
    return find_project(os.getcwd(), os.environ), user_folder(os.environ)


COMMANDS = {
    "check": Command("Check the configuration and show every problem", _check_arguments, _check),
    "schema": Command("Print the JSON Schema of hookline.yaml", no_arguments, _schema),
    "points": Command("List the hook points, or explain one", _points_arguments, _points),
}
CONFIG_COMMANDS = {
    "show": Command("Show every setting and where it comes from", no_arguments, _show),
}
