"""Stop hooks that an agent registered, and how they combine with the project's own.

What the configuration says and what an agent registered are two groups: complete needs both,
escalate either. So an agent can ask for more than the project does, and never for less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.domain.hooks.condition_fields import condition_fields
from hookline.domain.hooks.records import SKIPPED
from hookline.errors import BadInput
from hookline.hooks.builtin import CHAINS, STOP_HOOKS
from hookline.hooks.builtin.stop.table import check_arguments
from hookline.hooks.chains import MAX_CHAIN_DEPTH, MAX_CHAINED, chained
from hookline.hooks.language import conditions
from hookline.hooks.language.templates import compile_line
from hookline.hooks.registry import Hook
from hookline.hooks.rules import RULES, Called, escalated
from hookline.points import POINTS
from hookline.tasks.registrations import Registration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.domain.hooks.answers import StopDecision
    from hookline.hooks.scopes import HookScopes

STOP = "stop"
OWN_TYPES = ("command", "python")
REGISTERABLE = (*STOP_HOOKS, *OWN_TYPES, *CHAINS)
_CHAIN = 'write it like {"hookType": "all_of", "hooks": ["evidence", {"command": "make lint"}]}'
MAX_LINE = 4096
MAX_TIMEOUT = 600.0
_FIELDS = tuple(f.encode_name for f in msgspec.structs.fields(Registration) if f.name != "id")


def registration_from(given: Mapping[str, Any] | str, depth: int = 0) -> Registration:
    """A registration as an agent writes it; in a chain, a hook can be its type alone."""
    fields = {"hookType": given} if isinstance(given, str) else given
    if not isinstance(fields, dict) or not isinstance(fields.get("hooks", []), list):
        raise BadInput("a chain needs a list of hooks", help=_CHAIN)
    unknown = sorted(fields.keys() - set(_FIELDS))
    if unknown:
        raise BadInput(f"a hook has no field {unknown[0][:60]!r}", help=_CHAIN)
    if depth > MAX_CHAIN_DEPTH:
        raise BadInput(f"chains are nested more than {MAX_CHAIN_DEPTH} levels deep")
    own = next((kind for kind in OWN_TYPES if fields.get(kind) is not None), "default")
    links = tuple(registration_from(each, depth + 1) for each in fields.get("hooks", []))
    try:
        read = typed.convert({"hookType": own, **fields, "hooks": ()}, Registration)
    except msgspec.ValidationError as problem:
        raise BadInput(f"a hook cannot be read: {problem}", help=_CHAIN) from problem
    return msgspec.structs.replace(read, hooks=links)


def check_registration(new: Registration, *, commands: bool = True) -> Registration:
    """A registration that can become a hook, or an error that says what to fix."""
    if new.hook_type not in REGISTERABLE:
        why = f"there is no hookType {new.hook_type[:60]!r}"
        raise BadInput(why, help=f"it can be {', '.join(REGISTERABLE)}")
    if new.hook_type in CHAINS:
        _check_chain(new, commands)
    elif new.hooks:
        raise BadInput(f"hookType {new.hook_type} takes no hooks", help=_CHAIN)
    elif new.hook_type in OWN_TYPES:
        _check_own(new, commands)
    else:
        _refuse_own(new)
        check_arguments(new.hook_type, new.arguments)
    if new.when is not None and (problem := conditions.check(new.when, condition_fields(STOP))):
        raise BadInput(f"`when` cannot be evaluated: {problem}")
    if new.timeout is not None and not 0 < new.timeout <= MAX_TIMEOUT:
        raise BadInput(f"timeout is a number of seconds up to {MAX_TIMEOUT:g}")
    return new


def hook_of(registration: Registration, name: str = "") -> Hook:
    """The hook that an agent registered; it is called by its id."""
    kind, name = registration.hook_type, name or registration.id
    targets = {"command": registration.command, "python": registration.python}
    given = registration.arguments
    metadata = {} if given is None else {"arguments": given}
    if kind in CHAINS:
        links = enumerate(registration.hooks)
        metadata = chained([hook_of(each, f"{name}[{n}]:{each.hook_type}") for n, each in links])
    return Hook(
        name=name,
        points=(STOP,),
        kind=kind if kind in OWN_TYPES else "built-in",
        target=targets.get(kind) or kind,
        # Not the repository's, so its trust is not asked; the agent that speaks can run programs.
        layer="user",
        enabled=registration.enabled,
        when=registration.when,
        timeout=registration.timeout,
        origin="registered by the agent",
        metadata=metadata,
    )


def configured_hooks(
    scopes: HookScopes, *, agent: str | None = None, task_type: str | None = None
) -> list[Hook]:
    """The configured stop hooks, without the default of the point."""
    found = scopes.hooks_at(STOP, agent=agent, task_type=task_type)
    return [hook for hook in found if hook.layer != "built-in"]


def decide(called: Sequence[Called]) -> StopDecision:
    """The decision of one group; a hook that was held back counts as failed."""
    held_back = [outcome for _, outcome in called if outcome.status == SKIPPED and outcome.error]
    decision: StopDecision = RULES["decide"].fold(called)
    return escalated(held_back[0]) if held_back else decision


def both(configured: StopDecision | None, registered: StopDecision | None) -> StopDecision:
    """The decision of two groups; a group without hooks (None) does not count."""
    said = [each for each in (configured, registered) if each is not None]
    if len(said) < 2:
        return said[0] if said else decide(())
    for action in ("escalate", "continue"):
        if found := [each for each in said if each.action == action]:
            return _joined(found, said)
    return _joined(said, said)


def _joined(said: list[StopDecision], asked: list[StopDecision]) -> StopDecision:
    """The first decision, with what the other adds; a checkpoint is made if either asks for it."""
    checkpoints = (each.checkpoint_data for each in asked if each.checkpoint_data is not None)
    return msgspec.structs.replace(
        said[0],
        reason="; ".join(each.reason for each in said if each.reason),
        next_prompt="\n\n".join(each.next_prompt for each in said if each.next_prompt) or None,
        checkpoint_data=next(checkpoints, None),
        metadata=dict(item for each in reversed(said) for item in each.metadata.items()),
    )


def _check_chain(new: Registration, commands: bool) -> None:
    _refuse_own(new)
    if not new.hooks or len(new.hooks) > MAX_CHAINED:
        raise BadInput(f"{new.hook_type} takes 1 to {MAX_CHAINED} hooks", help=_CHAIN)
    if new.hook_type == "not" and len(new.hooks) > 1:
        raise BadInput("not takes one hook", help="to negate several hooks, put them in an any_of")
    if new.arguments is not None:
        raise BadInput(f"{new.hook_type} takes no arguments; its hooks may", help=_CHAIN)
    for each in new.hooks:
        check_registration(each, commands=commands)


def _refuse_own(new: Registration) -> None:
    if new.command is not None or new.python is not None:
        help = 'register another hook with hookType "command" or "python"'
        raise BadInput(f"hookType {new.hook_type} takes no command and no python", help=help)


def _check_own(new: Registration, commands: bool) -> None:
    if not commands:
        help = f"register one of {', '.join(STOP_HOOKS)}"
        raise BadInput("this server does not run commands for agents", help=help)
    if new.command is not None and new.python is not None:
        raise BadInput("a hook has either a command or a function", help="register two hooks")
    target = new.command if new.hook_type == "command" else new.python
    if not target or not target.strip():
        raise BadInput(f'hookType "{new.hook_type}" needs `{new.hook_type}`')
    if len(target) > MAX_LINE:
        raise BadInput(f"{new.hook_type} has at most {MAX_LINE:,} characters")
    if new.hook_type == "command":
        _, problems = compile_line(target, POINTS[STOP].variables)
        if problems:
            raise BadInput(f"the command cannot run: {problems[0].message}", help=problems[0].help)
    elif not all(target.partition(":")):
        raise BadInput(
            f"{target[:80]!r} does not name a function", help="write it as module:function"
        )
