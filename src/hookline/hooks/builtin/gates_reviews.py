"""The gate that people open together: so many must approve the very commit that is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.forge import TOLD, Review, objections
from hookline.hooks.builtin.gates_common import (
    astray,
    passed,
    refused,
    skipped,
    standing,
    waiting,
)
from hookline.hooks.builtin.gates_people import decisions_of
from hookline.hooks.builtin.gates_push import push
from hookline.hooks.builtin.review_prompts import review_prompt

if TYPE_CHECKING:
    from hookline.domain.answers import GateAnswer
    from hookline.domain.forge import PullRequest
    from hookline.hooks.builtin.gates_arguments import Reviews
    from hookline.hooks.builtin.gates_common import Judging

LOCAL = "local"
SHOWN = 20


async def reviews(judging: Judging) -> GateAnswer:
    """So many people must have approved this commit, at the forge or by `gate approve`."""
    given: Reviews = judging.arguments
    if judging.forge.name != LOCAL and judging.context.extra.get("skip_pr") is True:
        return skipped("this work is merged without a pull request")
    state = await standing(judging)
    if (answer := astray(judging, state)) is not None:
        return answer
    assert state.head is not None
    pull = await _pull_request(judging)
    said = await _reviews(judging, pull)
    # A wish about the commit that the forge still shows counts, although we have moved on.
    heads = (state.head, pull.head if pull is not None else None)
    told = judging.context.extra.get(TOLD)
    told = told if isinstance(told, dict) else {}
    if against := objections((e for e in said if e.head in heads), state.head, told):
        return changes_wanted(against, state.head)
    if (answer := await push(judging)) is not None:
        return answer
    people = sorted({each.by for each in said if each.head == state.head})
    short = state.head[:12]
    if len(people) >= given.approvals:
        return passed(f"{short} is approved by {', '.join(people[:SHOWN])}", {"approvedBy": people})
    so_far = f", by {', '.join(people[:SHOWN])}" if people else ""
    message = f"{short} has {len(people)} of {given.approvals} approvals{so_far}"
    if judging.forge.name == LOCAL:
        return waiting(message, "person", asksAbout=state.head)
    return waiting(message, "reviews", given.retry_after)


async def _reviews(judging: Judging, pull: PullRequest | None) -> list[Review]:
    """The last word of each person."""
    if judging.forge.name == LOCAL:
        return list(
            {
                each.by or "": Review(
                    each.by or "a person", each.decision == "approve", each.head, each.comment or ""
                )
                for each in decisions_of(judging)
            }.values()
        )
    return await judging.forge.reviews(pull) if pull is not None else []


async def _pull_request(judging: Judging) -> PullRequest | None:
    context = judging.context
    if judging.forge.name == LOCAL:
        return None
    return await judging.forge.find_pull_request(context.branch_name, context.base_branch)


def changes_wanted(against: list[Review], head: str) -> GateAnswer:
    """People ask for changes: what they said goes to the agent, if they said something."""
    told = {each.key: head for each in against}
    names = ", ".join(sorted({each.by for each in against})[:SHOWN])
    said = "\n\n".join(f"{each.by}:\n{each.text}" for each in against if each.text.strip())
    return refused(
        f"{names} asked for changes", review_prompt(said, names) if said else None, {TOLD: told}
    )
