"""Gates that need the approval of one person or several, for exactly the commit that is checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from hookline import typed
from hookline.domain.work.forge import TOLD, Review, objections
from hookline.errors import HookFailure
from hookline.hooks.builtin.gates.common import Judging, passed, refused, skipped, waiting
from hookline.hooks.builtin.gates.review_prompts import review_prompt
from hookline.hooks.framing import framed_wishes

if TYPE_CHECKING:
    from hookline.domain.hooks.answers import GateAnswer
    from hookline.hooks.builtin.gates.arguments import Human, Reviews

MAX_COMMENT = 16 * 1024
SHOWN = 20


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    """What a person decided at a gate, about one commit."""

    hook: str | None
    decision: Literal["approve", "reject"]
    head: str | None
    comment: str | None = None
    by: str | None = None


async def human(judging: Judging) -> GateAnswer:
    """A person must approve this commit; an approval of an earlier one does not count."""
    given: Human = judging.arguments
    head = await judging.head()
    decisions = decisions_of(judging)
    current = [each for each in decisions if each.head == head]
    if not current:
        again = " The work has changed since the last decision." if decisions else ""
        asked = f"{given.question or 'May this pass?'}{again}"
        return waiting(f"a person decides about {head[:12]}: {asked}", "person", asksAbout=head)
    last = current[-1]
    by = last.by or "a person"
    comment = (last.comment or "").strip()[:MAX_COMMENT]
    if last.decision == "approve":
        said = f": {comment}" if comment else ""
        return passed(f"approved by {by}{said}", {"approvedBy": by, "approvedHead": head})
    message = f"rejected by {by}: {comment or 'no reason was given'}"
    lead = (
        "A person looked at your work and rejected it. Do what they ask for. If that means a file"
        " that you must not change, say so and end with BLOCKED."
    )
    prompt = f"{lead}\n\n" + framed_wishes(f"What {by} says", comment)
    return refused(message, prompt if comment else None)


def decisions_of(judging: Judging) -> list[Approval]:
    """What people decided at this gate, about any commit."""
    given = judging.context.extra.get("approvals", [])
    try:
        found = typed.convert(given, list[Approval])
    except msgspec.ValidationError as problem:
        raise HookFailure(f"people's decisions cannot be read: {problem}") from problem
    return [each for each in found if each.hook == judging.hook.name]


async def reviews(judging: Judging) -> GateAnswer:
    """A number of people must approve this commit, at the forge or with `gate approve`."""
    given: Reviews = judging.arguments
    at_forge = judging.forge.has_reviews
    if at_forge and judging.skips_pr:
        return skipped("this work is merged without a pull request")
    head, context = await judging.head(), judging.context
    if at_forge:
        pull = await judging.forge.find_pull_request(context.branch_name, context.base_branch)
        said = await judging.forge.reviews(pull) if pull is not None else []
    else:
        pull, said = None, _local_reviews(judging)
    # A wish about the commit that the forge still shows counts, although we have moved on.
    heads = (head, pull.head if pull is not None else None)
    told = context.extra.get(TOLD)
    told = told if isinstance(told, dict) else {}
    if against := objections((e for e in said if e.head in heads), head, told):
        return changes_wanted(against, head)
    await judging.push()
    people = sorted({each.by for each in said if each.head == head and each.approves})
    short = head[:12]
    if len(people) >= given.approvals:
        return passed(f"{short} is approved by {', '.join(people[:SHOWN])}", {"approvedBy": people})
    so_far = f", by {', '.join(people[:SHOWN])}" if people else ""
    message = f"{short} has {len(people)} of {given.approvals} approvals{so_far}"
    if at_forge:
        return waiting(message, "reviews", given.retry_after)
    return waiting(message, "person", asksAbout=head)


def _local_reviews(judging: Judging) -> list[Review]:
    """The last word of each person, where people decide by `gate approve` and `gate reject`."""
    last = {each.by or "": each for each in decisions_of(judging)}
    return [
        Review(each.by or "a person", each.decision == "approve", each.head, each.comment or "")
        for each in last.values()
    ]


def changes_wanted(against: list[Review], head: str) -> GateAnswer:
    """People ask for changes, or only comment: what they said goes to the agent."""
    told = {each.key: head for each in against}
    asking = [each for each in against if not each.comments]
    names = ", ".join(sorted({each.by for each in asking or against})[:SHOWN])
    said = "\n\n".join(_said(each) for each in against if each.text.strip())
    prompt = review_prompt(said, names, asks=bool(asking)) if said else None
    does = "asked for changes" if asking else "commented"
    return refused(f"{names} {does}", prompt, {TOLD: told})


def _said(review: Review) -> str:
    does = "comments" if review.comments else "asks for changes"
    return f"{review.by} {does}:\n{review.text}"
