"""What an evaluation needs of a project: its rules, hooks and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline.adapters.processes.process import LocalProcesses
from hookline.adapters.store.blobs import FileBlobs
from hookline.domain.payloads import ValidationResult
from hookline.domain.sessions.validation import ValidationRule, rule_from, rules_from
from hookline.errors import BROKEN, UNTRUSTED, BadInput
from hookline.hooks.calls.call import base_environment
from hookline.hooks.calls.record import Recorder
from hookline.hooks.evaluation import Evaluator, Groups, ProjectFiles, Senses
from hookline.hooks.registered import configured_hooks, hook_of
from hookline.hooks.validation import ValidationWorld, validate
from hookline.tasks.registrations import registered
from hookline.wiring.calling.calls import caller
from hookline.wiring.working.repositories import git_work

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from hookline.app import App
    from hookline.hooks.registry import Hook


def groups_of(app: App, agent: str | None, task_id: str) -> Groups:
    """The stop hooks of a task: configured, and registered by the agent."""
    with app.read() as view:
        task = view.graph.task(task_id)
        own = [hook_of(each) for each in registered(view.log, task.id)]
    return Groups(configured_hooks(app.scopes, agent=agent, task_type=task.type), own)


def is_guarded(app: App, agent: str | None, task_id: str) -> bool:
    """Whether the project configures stop hooks for a task, and has not switched them off."""
    configured = groups_of(app, agent, task_id).configured
    with app.read() as view:
        switches = view.switches.all()
    return any(switches.get(hook.name, hook.enabled) for hook in configured)


def agent_rules(
    app: App, given: Sequence[dict[str, object]], *, commands: bool
) -> list[ValidationRule]:
    """An agent's own rules, checked; the project's cannot be replaced."""
    rules = rules_from(given)
    taken = {each.name for each in _configured_rules(app)}
    for rule in rules:
        if rule.name in taken:
            help = "it runs anyway; leave yours out, or give it another name"
            raise BadInput(f"the project already has a validation rule '{rule.name}'", help=help)
        if not commands and (rule.command or rule.python):
            raise BadInput(
                f"validation rule '{rule.name}': this server does not run commands for agents",
                help="use content_pattern or file_existence, or let a person add the rule to"
                " `validation:` in hookline.yaml",
            )
    return rules


def rules_for(app: App, own: Sequence[dict[str, object]]) -> list[ValidationRule]:
    """The rules of a loop: the project's, then the agent's."""
    configured = _configured_rules(app)
    names = {each.name for each in configured}
    return [*configured, *(rule for rule in rules_from(own) if rule.name not in names)]


def evaluator(app: App, groups: Groups) -> Evaluator:
    """What evaluates an iteration in this project."""
    held = {hook.name: reason for hook in groups.configured if (reason := _held_back(app, hook))}
    recorder = Recorder(app.store, caller(app), change=app.change, suspended=held.get)
    return Evaluator(recorder, Senses(_validator(app), project_files(app)), app.store.now)


def project_files(app: App) -> ProjectFiles:
    """The project's files as git sees them."""
    blobs = app.project.blobs
    return ProjectFiles(git_work(app), app.project.root, FileBlobs(blobs))


def validation_world(app: App) -> ValidationWorld:
    """Where validation rules run: the project's own folder."""
    processes = LocalProcesses(app.project.blobs, app.cleaner)
    return ValidationWorld(app.project.root, processes, base_environment(app.environ))


def _validator(
    app: App,
) -> Callable[[Sequence[ValidationRule], str], Awaitable[list[ValidationResult]]]:
    world = validation_world(app)
    reason = _project_reason(app)
    configured = {rule.name for rule in _configured_rules(app)} if reason else set()

    async def run(rules: Sequence[ValidationRule], agent_output: str) -> list[ValidationResult]:
        allowed = [rule for rule in rules if rule.name not in configured]
        held = [
            ValidationResult(rule_name=rule.name, passed=False, message=f"not run: {reason}")
            for rule in rules
            if rule.name in configured
        ]
        return [*held, *await validate(allowed, world, agent_output)]

    return run


def _configured_rules(app: App) -> list[ValidationRule]:
    return [rule_from(msgspec.to_builtins(each)) for each in app.sections.validation]


def _held_back(app: App, hook: Hook) -> str | None:
    own = _project_reason(app) if hook.layer == "project" else None
    return app.suspended.get(hook.name) or own


def _project_reason(app: App) -> str | None:
    """Why the repository's code may not run now."""
    if app.settings is not None and app.settings.has_errors:
        return BROKEN
    if app.trust is not None and not app.trust.verdict.trusted:
        return UNTRUSTED
    return None
