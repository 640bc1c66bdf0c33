"""What a repository of GitHub and the rules of its branch allow, and what a merge still lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookline.adapters.forges.texts import shown
from hookline.domain.forge import (
    ForgeRejected,
    HeadMoved,
    MergeOutcome,
    MergeWaits,
    refuse_other_base,
)
from hookline.domain.repository import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hookline.adapters.forges.github_answers import Branch, Facts, Protection, Pull, Rule
    from hookline.adapters.forges.remotes import Repository
    from hookline.domain.forge import CheckState, MergePlan, Review

SHOWN = 20


class BranchRules(NamedTuple):
    """What a branch asks of a merge; `methods` is None where any will do.

    `resolves_threads` is whether somebody must have resolved all that was said about lines.
    """

    checks: frozenset[str]
    approvals: int
    methods: frozenset[str] | None
    needs_pull_request: bool
    is_linear: bool
    has_queue: bool
    resolves_threads: bool


def branch_rules(
    branch: Branch, rules: Iterable[Rule], protection: Protection | None
) -> BranchRules:
    """Rulesets and the older protection as one."""
    by_type = {each.type: each.parameters for each in rules}
    pull, checked = by_type.get("pull_request"), by_type.get("required_status_checks")
    reviews = protection.required_pull_request_reviews if protection else None
    linear = protection.required_linear_history if protection else None
    threads = protection.required_conversation_resolution if protection else None
    named = [each.context for each in checked.required_status_checks] if checked else []
    approvals = (
        pull.required_approving_review_count if pull else 0,
        reviews.required_approving_review_count if reviews else 0,
    )
    return BranchRules(
        checks=frozenset([*branch.checks, *named]),
        approvals=max(approvals),
        methods=frozenset(pull.allowed_merge_methods)
        if pull and pull.allowed_merge_methods
        else None,
        needs_pull_request="pull_request" in by_type or reviews is not None,
        is_linear="required_linear_history" in by_type or bool(linear and linear.enabled),
        has_queue="merge_queue" in by_type,
        resolves_threads=bool(pull and pull.required_review_thread_resolution)
        or bool(threads and threads.enabled),
    )


def of_repository(facts: Facts, repository: Repository, plan: MergePlan) -> Iterator[Problem]:
    """What the repository forbids of what the settings want."""
    if facts.archived:
        yield Problem(
            "forge-archived",
            f"{repository} is archived at GitHub: nothing can be pushed there",
            "unarchive it, or let `gates.remote` name another remote",
            blocks=True,
        )
    elif facts.permissions is not None and not facts.permissions.push:
        yield Problem(
            "forge-rights",
            f"the token for GitHub may not push to {repository}",
            "give it the right to write contents and pull requests",
            blocks=True,
        )
    if plan.method is not None and not facts.allows(plan.method):
        yield _method(plan.method, str(repository))


def of_branch(rules: BranchRules, plan: MergePlan) -> Iterator[Problem]:
    """What the rules of the branch forbid of what the settings want."""
    method = plan.method
    is_forbidden = rules.methods is not None and method not in rules.methods
    if method is not None and (is_forbidden or (rules.is_linear and method == "merge")):
        yield _method(method, plan.base)
    if method is not None and rules.has_queue:
        yield Problem(
            "forge-queue",
            f"{plan.base} has a merge queue at GitHub, to which people add pull requests: Hookline"
            " waits until they do",
            "set `gates: {merge: people}`, or take the merge queue out of the branch's rules",
        )
    if rules.needs_pull_request and plan.past_pull_requests:
        yield Problem(
            "forge-protected",
            f"{plan.base} takes pull requests only, and `skip_pr` merges without one",
            "take `skip_pr` out of hookline.yaml, or let the token bypass the branch's rules",
        )


def no_branch(base: str) -> Problem:
    """The base is not there."""
    return Problem(
        "forge-base",
        f"GitHub has no branch {shown(base, 100)}",
        "push it, or let `gates.base` name another branch",
        blocks=True,
    )


def _method(method: str, where: str) -> Problem:
    return Problem(
        "forge-method",
        f"{where} does not allow the merge method '{method}' at GitHub",
        "set `gates.method` to one that is allowed: merge, squash or rebase",
        blocks=True,
    )


def missing(
    pull: Pull, rules: BranchRules, state: CheckState, reviews: list[Review], said: str
) -> MergeWaits:
    """Who or what a merge waits for that GitHub refuses."""
    green = {each.name for each in state.checks if each.status == "success"}
    red = {each.name for each in state.checks if each.status == "failure"}
    failed, waited_for = sorted(rules.checks & red), sorted(rules.checks - green - red)
    against = sorted({each.by for each in reviews if not each.approves})
    approvals = sum(each.approves for each in reviews)
    people = [
        "it is a draft" if pull.draft else "",
        "a person adds it to the merge queue" if rules.has_queue else "",
        f"required checks failed: {_named(failed)}" if failed else "",
        f"changes requested by {_named(against)}" if against else "",
        f"waits for a review by {_named(pull.asked)}" if pull.asked else "",
        f"{approvals} of {rules.approvals} approvals" if approvals < rules.approvals else "",
    ]
    checks = f"waits for required checks: {_named(waited_for)}" if waited_for else ""
    parts = [part for part in (*people, checks) if part]
    found = "; ".join([*parts, shown(said, 300)])
    return MergeWaits(
        f"pull request {pull.number} is not merged yet: {found}",
        for_people=any(people) or not checks,
    )


def merged_already(pull: Pull, sha: str, base: str) -> MergeOutcome | None:
    """The merge that happened before; an error where none can happen."""
    told = pull.shown()
    refuse_other_base(told, base)
    if told.state == "merged":
        merged = told.merged_sha or pull.head.sha
        return MergeOutcome(merged, already=True, head=pull.head.sha)
    if told.state == "closed":
        raise ForgeRejected(
            f"pull request {pull.number} was closed without being merged",
            help=f"reopen it at {told.url}, or submit the work again",
        )
    if pull.head.sha != sha:
        raise head_moved(pull.number, sha)
    return None


def head_moved(number: int, sha: str) -> HeadMoved:
    """The error where a branch is not at the commit that was judged."""
    return HeadMoved(
        f"the head of pull request {number} moved: it is not {sha[:12]} any more; "
        "nothing was merged"
    )


def _named(names: list[str]) -> str:
    return ", ".join(shown(name, 100) for name in names[:SHOWN])
