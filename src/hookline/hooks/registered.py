"""Stop hooks that an agent registered, as hooks; and how their word meets the project's own.

What the configuration says and what an agent registered are two groups: complete needs both,
escalate either. So an agent can ask for more than the project does, and never for less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline.domain.answers import StopDecision
from hookline.errors import BadInput
from hookline.hooks import conditions
from hookline.hooks.builtin.stop import check_arguments, stop_hook_types
from hookline.hooks.registry import Hook
from hookline.hooks.rules import RULES
from hookline.hooks.templates import compile_line
from hookline.points import POINTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.hooks.rules import Called
    from hookline.hooks.standing import Standing
    from hookline.tasks.registrations import Registration

STOP = "stop"
OWN_TYPES = ("command", "python")
MAX_LINE = 4096
MAX_TIMEOUT = 600.0
_CONTEXT = (
    *("taskId", "iteration", "executionPhase", "filesModified", "validationResults"),
    *("completionPromises", "agentOutput", "draftContent", "draftType", "work"),
)


def check_registration(new: Registration, *, commands: bool = True) -> Registration:
    """A registration that can become a hook, or an error that says what to mend."""
    known = (*stop_hook_types(), *OWN_TYPES)
    if new.hook_type not in known:
        raise BadInput(
            f"there is no hookType {new.hook_type[:60]!r}", help=f"it can be {', '.join(known)}"
        )
    if new.hook_type in OWN_TYPES:
        _check_own(new, commands)
    elif new.command is not None or new.python is not None:
        raise BadInput(
            f"hookType {new.hook_type} takes no command and no python",
            help='register another hook with hookType "command" or "python"',
        )
    else:
        check_arguments(new.hook_type, new.arguments)
    if new.when is not None and (problem := conditions.check(new.when, _CONTEXT)):
        raise BadInput(f"`when` cannot be evaluated: {problem}")
    if new.timeout is not None and not 0 < new.timeout <= MAX_TIMEOUT:
        raise BadInput(f"timeout is a number of seconds up to {MAX_TIMEOUT:g}")
    return new


def hook_of(registration: Registration) -> Hook:
    """The hook that an agent registered; it is called by its id."""
    kind = registration.hook_type
    targets = {"command": registration.command, "python": registration.python}
    arguments = registration.arguments
    return Hook(
        name=registration.id,
        points=(STOP,),
        kind=kind if kind in OWN_TYPES else "built-in",
        target=targets.get(kind) or kind,
        # Not the repository's, so its trust is not asked; the agent that speaks can run programs.
        layer="user",
        enabled=registration.enabled,
        when=registration.when,
        timeout=registration.timeout,
        origin="registered by the agent",
        metadata={} if arguments is None else {"arguments": arguments},
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
