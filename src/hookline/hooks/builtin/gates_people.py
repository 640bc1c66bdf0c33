"""The gate that a person opens: it waits for a decision about the very commit that is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from hookline.errors import HookFailure
from hookline.hooks.builtin.gates_common import astray, passed, refused, standing, waiting
from hookline.hooks.framing import framed_wishes

if TYPE_CHECKING:
    from hookline.domain.answers import GateAnswer
    from hookline.hooks.builtin.gates_arguments import Human
    from hookline.hooks.builtin.gates_common import Judging

MAX_COMMENT = 16 * 1024


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    """What a person decided at a gate, about one commit."""

    hook: str | None
    decision: Literal["approve", "reject"]
    head: str | None
    comment: str | None = None
    by: str | None = None


async def human(judging: Judging) -> GateAnswer:
    """A person must approve the work as it is now; an earlier approval of other work is none."""
    given: Human = judging.arguments
    state = await standing(judging)
    if (answer := astray(judging, state)) is not None:
        return answer
    assert state.head is not None
    decisions = decisions_of(judging)
    current = [each for each in decisions if each.head == state.head]
    if not current:
        return _ask(state.head, given.question, bool(decisions))
    last = current[-1]
    by = last.by or "a person"
    comment = (last.comment or "").strip()[:MAX_COMMENT]
    if last.decision == "approve":
        said = f": {comment}" if comment else ""
        return passed(f"approved by {by}{said}", {"approvedBy": by, "approvedHead": state.head})
    message = f"rejected by {by}: {comment or 'no reason was given'}"
    lead = "A person looked at your work and rejected it. Do what they ask for."
    prompt = f"{lead}\n\n" + framed_wishes(f"What {by} says", comment)
    return refused(message, prompt if comment else None)


def _ask(head: str, question: str | None, moved: bool) -> GateAnswer:
    asked = question or "May this pass?"
    again = " The work has changed since the last decision." if moved else ""
    message = f"a person decides about {head[:12]}: {asked}{again}"
    return waiting(message, "person", asksAbout=head)


def decisions_of(judging: Judging) -> list[Approval]:
    """What people decided at this gate, about any commit."""
    given = judging.context.extra.get("approvals", [])
    try:
        found = msgspec.convert(given, list[Approval])
    except msgspec.ValidationError as problem:
        raise HookFailure(f"the decisions of people cannot be read: {problem}") from problem
    return [each for each in found if each.hook == judging.hook.name]
