"""`hookline validate`: run the configured validation rules now and show what each of them found."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from hookline.domain.sessions.validation import RuleFinding, rules_from
from hookline.errors import FAILED, BadInput, ConfigError
from hookline.hooks.validation import validate
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.opening import reading
from hookline.surfaces.cli.output import answer, next_step, paint, printable, say, untrusted
from hookline.surfaces.cli.values import read_text
from hookline.wiring.calling.evaluation import validation_world

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from hookline.app import App
    from hookline.domain.payloads import ValidationResult
    from hookline.domain.sessions.validation import ValidationRule


def _arguments(p: ArgumentParser) -> None:
    p.add_argument("rule", nargs="*", help="only these rules (default: all)")
    help = "the agent's text, for rules that search it; - is stdin"
    p.add_argument("--output", metavar="FILE", help=help)


def _validate(args: Namespace) -> int:
    said = read_text(args.output) if args.output else ""
    with reading() as app:
        rules = _chosen(_rules(app), args.rule)
        found = asyncio.run(validate(rules, validation_world(app), said))
    if answer(args, found):
        _show(found)
    return 0 if all(each.passed for each in found) else FAILED


def _rules(app: App) -> list[ValidationRule]:
    if app.settings is not None and app.settings.has_errors:
        raise ConfigError
    app.refuse_untrusted()
    configured = app.sections.validation
    if not configured:
        raise BadInput(
            "no validation rules are configured, so nothing was checked",
            help="write one under `validation:` in hookline.yaml,"
            ' such as {name: tests_pass, type: command, command: "pytest -q"}',
        )
    return rules_from(msgspec.to_builtins(each) for each in configured)


def _chosen(rules: list[ValidationRule], names: list[str]) -> list[ValidationRule]:
    known = [rule.name for rule in rules]
    if unknown := [name for name in names if name not in known]:
        help = f"there are {', '.join(known)}"
        raise BadInput(f"there is no validation rule '{unknown[0]}'", help=help)
    return [rule for rule in rules if not names or rule.name in names]


def _show(found: list[ValidationResult]) -> None:
    width = max(len(each.rule_name) for each in found)
    for each in found:
        mark = paint("✓", "green") if each.passed else paint("✗", "red")
        seconds = each.duration_ms / 1000 if isinstance(each, RuleFinding) else 0.0
        first, *more = (each.message or "").splitlines() or [""]
        told = f"{mark} {untrusted(each.rule_name):{width}}  {seconds:5.1f}s  {untrusted(first)}"
        say(told.rstrip())
        for line in () if each.passed else more:
            say(f"    {paint('│', 'dim')} {printable(line, 160)}")
    passed = sum(each.passed for each in found)
    say(f"{passed} of {len(found)} {'rule' if len(found) == 1 else 'rules'} passed")
    if passed == len(found):
        next_step("hookline run GOAL", "stop hooks get these results after each iteration")


COMMANDS = {"validate": Command("run the validation rules now", _arguments, _validate)}
