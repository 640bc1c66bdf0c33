"""`hookline validate`: run the configured validation rules now and show what each of them found."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from hookline.adapters.process import LocalProcesses
from hookline.domain.validation import Finding, rules_from
from hookline.errors import FAILED, BadInput, ConfigError
from hookline.hooks.calls.call import base_environment
from hookline.hooks.validation import ValidationWorld, validate
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import next_step, paint, printable, say, say_json, untrusted
from hookline.surfaces.cli.values import read_text

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.app import App
    from hookline.domain.payloads import ValidationResult
    from hookline.domain.validation import Rule


def _arguments(p: ArgumentParser) -> None:
    p.add_argument("rule", nargs="*", help="only these rules; without any, all of them")
    p.add_argument(
        "--output", metavar="FILE", help="what the agent said, for patterns over it; - is stdin"
    )


def _validate(args: Namespace) -> int:
    said = read_text(args.output) if args.output else ""
    with reading() as app:
        rules = _chosen(_rules(app), args.rule)
        world = ValidationWorld(
            app.project.root,
            LocalProcesses(app.project.blobs, app.cleaner),
            base_environment(app.environ),
        )
        found = asyncio.run(validate(rules, world, said))
    if args.json:
        say_json(found)
    else:
        _show(found)
    return 0 if all(each.passed for each in found) else FAILED


def _rules(app: App) -> list[Rule]:
    if app.settings is not None and app.settings.has_errors:
        raise ConfigError
    app.refuse_untrusted()
    configured = app.settings.validation if app.settings is not None else []
    if not configured:
        raise BadInput(
            "no validation rule is configured, so nothing was checked",
            help="write one under `validation:` in hookline.yaml,"
            ' such as {name: tests_pass, type: command, command: "pytest -q"}',
        )
    return rules_from(msgspec.to_builtins(each) for each in configured)


def _chosen(rules: list[Rule], names: list[str]) -> list[Rule]:
    known = [rule.name for rule in rules]
    for name in names:
        if name not in known:
            raise BadInput(
                f"no validation rule is called '{name}'", help=f"there are {', '.join(known)}"
            )
    return [rule for rule in rules if not names or rule.name in names]


def _show(found: list[ValidationResult]) -> None:
    width = max(len(each.rule_name) for each in found)
    for each in found:
        mark = paint("✓", "green") if each.passed else paint("✗", "red")
        seconds = each.duration_ms / 1000 if isinstance(each, Finding) else 0.0
        first, *more = (each.message or "").splitlines() or [""]
        told = f"{mark} {untrusted(each.rule_name):{width}}  {seconds:5.1f}s  {untrusted(first)}"
        say(told.rstrip())
        for line in () if each.passed else more:
            say(f"    {paint('│', 'dim')} {printable(line, 160)}")
    passed = sum(each.passed for each in found)
    say(f"{passed} of {len(found)} {'rule' if len(found) == 1 else 'rules'} passed")
    if passed == len(found):
        next_step("hookline run GOAL", "stop hooks see these results after each iteration")


COMMANDS = {"validate": Command("run the validation rules now", _arguments, _validate)}
