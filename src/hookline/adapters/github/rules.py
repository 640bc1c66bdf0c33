"""What a repository of GitHub and the rules of its branch allow, and what a merge still lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookline.domain.text.forge_texts import shown
from hookline.domain.work.forge import (
    Check,
    ForgeRejected,
    HeadMoved,
    MergeOutcome,
    MergeWaits,
    refuse_other_base,
)
from hookline.domain.work.repository import SetupProblem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hookline.adapters.github.answers import (
        BranchRule,
        GitHubBranch,
        Protection,
        Pull,
        RepositoryFacts,
    )
    from hookline.adapters.github.remotes import GitHubRepository
    from hookline.domain.work.forge import CheckState, MergePlan, Review

SHOWN = 20


class BranchRules(NamedTuple):
    """What a branch asks of a merge; `methods` is None where any will do.

    `resolves_threads` is whether someone must have resolved all that was said about lines.
    """

    checks: frozenset[str]
    approvals: int
    methods: frozenset[str] | None
    needs_pull_request: bool
    is_linear: bool
    has_queue: bool
    resolves_threads: bool


def branch_rules(
    branch: GitHubBranch, rules: Iterable[BranchRule], protection: Protection | None
) -> BranchRules:
    """Rulesets and the older protection as one."""
    rules = list(rules)  # several rulesets may have a rule of one type
    types = {each.type for each in rules}
    given = [(each.type, each.parameters) for each in rules if each.parameters is not None]
    pulls = [parameters for kind, parameters in given if kind == "pull_request"]
    checked = [parameters for kind, parameters in given if kind == "required_status_checks"]
    reviews = protection.required_pull_request_reviews if protection else None
    linear = protection.required_linear_history if protection else None
    threads = protection.required_conversation_resolution if protection else None
    named = [check.context for each in checked for check in each.required_status_checks]
    approvals = [each.required_approving_review_count for each in (*pulls, reviews) if each]
    methods = [
        frozenset(each.allowed_merge_methods) for each in pulls if each.allowed_merge_methods
    ]
    return BranchRules(
        checks=frozenset([*branch.checks, *named]),
        approvals=max(approvals, default=0),
        methods=frozenset.intersection(*methods) if methods else None,
        needs_pull_request="pull_request" in types or reviews is not None,
        is_linear="required_linear_history" in types or bool(linear and linear.enabled),
        has_queue="merge_queue" in types,
        resolves_threads=any(each.required_review_thread_resolution for each in pulls)
        or bool(threads and threads.enabled),
    )


def of_repository(
    facts: RepositoryFacts, repository: GitHubRepository, plan: MergePlan
) -> Iterator[SetupProblem]:
    """What the repository forbids of what the settings want."""
    if facts.archived:
        words = f"{repository} is archived at GitHub: nothing can be pushed there"
        help = "unarchive it, or let `gates.remote` name another remote"
        yield SetupProblem("forge-archived", words, help, blocks=True)
    elif facts.permissions is not None and not facts.permissions.push:
        words = f"the token for GitHub is not allowed to push to {repository}"
        help = "give it write access to contents and pull requests"
        yield SetupProblem("forge-rights", words, help, blocks=True)
    if plan.method is not None and not facts.allows(plan.method):
        yield _method(plan.method, str(repository))


def of_branch(rules: BranchRules, plan: MergePlan) -> Iterator[SetupProblem]:
    """What the rules of the branch forbid of what the settings want."""
    method = plan.method
    is_forbidden = rules.methods is not None and method not in rules.methods
    if method is not None and (is_forbidden or (rules.is_linear and method == "merge")):
        yield _method(method, plan.base)
    if method is not None and rules.has_queue:
        words = f"{plan.base} has a merge queue at GitHub, to which people add pull requests"
        help = "set `gates: {merge: people}`, or take the merge queue out of the branch's rules"
        yield SetupProblem("forge-queue", f"{words}: Hookline waits until they do", help)
    if rules.needs_pull_request and plan.past_pull_requests:
        words = f"{plan.base} takes pull requests only, and `skip_pr` merges without one"
        help = "take `skip_pr` out of hookline.yaml, or let the token bypass the branch's rules"
        yield SetupProblem("forge-protected", words, help)


def unreported(rules: BranchRules, checks: Iterable[Check]) -> list[Check]:
    """The required checks that nothing has said anything about."""
    missing = sorted(rules.checks - {each.name for each in checks})
    return [
        Check(f"{shown(name, 200)} (required, not reported yet)", "pending") for name in missing
    ]


def no_branch(base: str) -> SetupProblem:
    """The base is not there."""
    help = "push it, or let `gates.base` name another branch"
    return SetupProblem("forge-base", f"GitHub has no branch {shown(base, 100)}", help, blocks=True)


def _method(method: str, where: str) -> SetupProblem:
    words = f"{where} does not allow the merge method '{method}' at GitHub"
    help = "set `gates.method` to one that is allowed: merge, squash or rebase"
    return SetupProblem("forge-method", words, help, blocks=True)


def missing(
    pull: Pull, rules: BranchRules, state: CheckState, reviews: list[Review], said: str
) -> MergeWaits:
    """Who or what a merge waits for that GitHub refuses."""
    green = {each.name for each in state.checks if each.status == "success"}
    red = {each.name for each in state.checks if each.status == "failure"}
    failed, waited_for = sorted(rules.checks & red), sorted(rules.checks - green - red)
    against = sorted({each.by for each in reviews if not (each.approves or each.comments)})
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
    words = f"pull request {pull.number} is not merged yet: {found}"
    return MergeWaits(words, for_people=any(people) or not checks)


def merged_already(pull: Pull, sha: str, base: str) -> MergeOutcome | None:
    """The merge that happened before; an error where none can happen."""
    told = pull.shown()
    refuse_other_base(told, base)
    if told.state == "merged":
        merged = told.merged_sha or pull.head.sha
        return MergeOutcome(merged, already=True, head=pull.head.sha)
    if told.state == "closed":
        help = f"reopen it at {told.url}, or submit the work again"
        words = f"pull request {pull.number} was closed without being merged"
        raise ForgeRejected(words, help=help)
    if pull.head.sha != sha:
        raise head_moved(pull.number, sha)
    return None


def head_moved(number: int, sha: str) -> HeadMoved:
    """The error where a branch is not at the commit that was checked."""
    words = f"the head of pull request {number} moved: it is no longer {sha[:12]}"
    return HeadMoved(f"{words}; nothing was merged")


def _named(names: list[str]) -> str:
    return ", ".join(shown(name, 100) for name in names[:SHOWN])
