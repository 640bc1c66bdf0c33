"""Stop hooks that an agent registered, as hooks; and how their word meets the project's own.

What the configuration says and what an agent registered are two groups: complete needs both,
escalate either. So an agent can ask for more than the project does, and never for less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.answers import StopDecision
from hookline.domain.condition_fields import condition_fields
from hookline.errors import BadInput
from hookline.hooks import conditions
from hookline.hooks.builtin import CHAINS
from hookline.hooks.builtin.stop import check_arguments, stop_hook_types
from hookline.hooks.chains import MAX_CHAIN_DEPTH, MAX_CHAINED, chained
from hookline.hooks.registry import Hook
from hookline.hooks.rules import RULES
from hookline.hooks.templates import compile_line
from hookline.points import POINTS
from hookline.tasks.registrations import Registration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.hooks.rules import Called
    from hookline.hooks.standing import Standing

STOP = "stop"
OWN_TYPES = ("command", "python")
REGISTERABLE = (*stop_hook_types(), *OWN_TYPES, *CHAINS)
_CHAIN = 'write it like {"hookType": "all_of", "hooks": ["evidence", {"command": "make lint"}]}'
MAX_LINE = 4096
MAX_TIMEOUT = 600.0
_FIELDS = tuple(f.encode_name for f in msgspec.structs.fields(Registration) if f.name != "id")


def registration_from(given: Mapping[str, Any] | str, depth: int = 0) -> Registration:
    """A registration as an agent writes it; in a chain, a hook can be its type alone."""
    fields = {"hookType": given} if isinstance(given, str) else given
    if not isinstance(fields, dict) or not isinstance(fields.get("hooks", []), list):
        raise BadInput("a chain is made of a list of hooks", help=_CHAIN)
    unknown = sorted(fields.keys() - set(_FIELDS))
    if unknown:
        raise BadInput(f"a hook has no field {unknown[0][:60]!r}", help=_CHAIN)
    if depth > MAX_CHAIN_DEPTH:
        raise BadInput(f"chains are nested more than {MAX_CHAIN_DEPTH} levels deep")
    own = next((kind for kind in OWN_TYPES if fields.get(kind) is not None), "default")
    links = tuple(registration_from(each, depth + 1) for each in fields.get("hooks", []))
    try:
        read = msgspec.convert({"hookType": own, **fields, "hooks": ()}, Registration)
    except msgspec.ValidationError as problem:
        raise BadInput(f"a hook cannot be read: {problem}", help=_CHAIN) from problem
    return msgspec.structs.replace(read, hooks=links)


def check_registration(new: Registration, *, commands: bool = True) -> Registration:
    """A registration that can become a hook, or an error that says what to fix."""
    if new.hook_type not in REGISTERABLE:
        raise BadInput(
            f"there is no hookType {new.hook_type[:60]!r}",
            help=f"it can be {', '.join(REGISTERABLE)}",
        )
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
    arguments = registration.arguments
    metadata = {} if arguments is None else {"arguments": arguments}
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
    standing: Standing, *, agent: str | None = None, task_type: str | None = None
) -> list[Hook]:
    """The stop hooks that somebody wrote down; the default of the point is not one of them."""
    found = standing.hooks_at(STOP, agent=agent, task_type=task_type)
    return [hook for hook in found if hook.layer != "built-in"]


def decide(called: Sequence[Called]) -> StopDecision:
    """The word of one group; a hook that was held back counts as one that failed."""
    for hook, outcome in called:
        if outcome.status == "skipped" and outcome.error:
            return StopDecision(
                action="escalate",
                reason=f"Hook evaluation failed: {outcome.error}",
                metadata={"error": outcome.error},
                hook_id=hook.name,
            )
    decision: StopDecision = RULES["decide"].fold(called)
    return decision


def both(configured: StopDecision | None, registered: StopDecision | None) -> StopDecision:
    """One word of two groups; a group without hooks (None) has no say."""
    said = [each for each in (configured, registered) if each is not None]
    if not said:
        return decide(())
    if len(said) == 1:
        return said[0]
    for action in ("escalate", "continue"):
        found = [each for each in said if each.action == action]
        if found:
            return _joined(found, said)
    return _joined(said, said)


def _joined(said: list[StopDecision], asked: list[StopDecision]) -> StopDecision:
    """The first word, with what the other adds to it; a checkpoint is made whoever wishes it."""
    first = said[0]
    prompts = [each.next_prompt for each in said if each.next_prompt]
    metadata = {name: value for each in reversed(said) for name, value in each.metadata.items()}
    checkpoints = [each.checkpoint_data for each in asked if each.checkpoint_data is not None]
    return msgspec.structs.replace(
        first,
        reason="; ".join(each.reason for each in said if each.reason),
        next_prompt="\n\n".join(prompts) or None,
        checkpoint_data=checkpoints[0] if checkpoints else None,
        metadata=metadata,
    )


def _check_chain(new: Registration, commands: bool) -> None:
    _refuse_own(new)
    if not new.hooks or len(new.hooks) > MAX_CHAINED:
        raise BadInput(f"{new.hook_type} is made of 1 to {MAX_CHAINED} hooks", help=_CHAIN)
    if new.hook_type == "not" and len(new.hooks) > 1:
        raise BadInput("not takes one hook", help="to deny several at once, put an any_of into it")
    if new.arguments is not None:
        raise BadInput(f"{new.hook_type} takes no arguments; its hooks may", help=_CHAIN)
    for each in new.hooks:
        check_registration(each, commands=commands)


def _refuse_own(new: Registration) -> None:
    if new.command is not None or new.python is not None:
        raise BadInput(
            f"hookType {new.hook_type} takes no command and no python",
            help='register another hook with hookType "command" or "python"',
        )


def _check_own(new: Registration, commands: bool) -> None:
    if not commands:
        raise BadInput(
            "this server runs no commands of agents",
            help=f"register one of {', '.join(stop_hook_types())}",
        )
    if new.command is not None and new.python is not None:
        raise BadInput("a hook has a command or a function", help="register two hooks")
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
        raise BadInput(f"{target[:80]!r} names no function", help="write it as module:function")
