"""Pull requests, their checks and their merges, the same for every forge; and how forges fail."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from hookline.digest import sha256
from hookline.errors import HooklineError

PullState = Literal["open", "merged", "closed"]
CheckStatus = Literal["pending", "success", "failure"]
MergeMethod = Literal["merge", "squash", "rebase"]


# At which commit an agent was told about a review, by the review's key.
TOLD = "told"


class PullRequest(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    """A branch that asks to be merged into another.

    `head` is the branch's commit as the forge knows it, None where the forge does not look into
    the repository. `merged_sha` is the commit on the base that holds the merged work.
    """

    number: int
    branch: str
    base: str
    title: str
    body: str
    url: str
    state: PullState = "open"
    head: str | None = None
    merged_sha: str | None = None


class Review(msgspec.Struct, rename="camel", frozen=True):
    """What one person said last about a commit of a pull request, and may say for the project.

    One that only `comments` neither approves nor asks for changes.
    """

    by: str
    approves: bool
    head: str | None
    text: str = ""
    comments: bool = False

    @property
    def key(self) -> str:
        """A short name for these words of this person about this commit."""
        said = "\0".join((self.by, self.head or "", self.text))
        return str(sha256(said.encode("utf-8", "replace")).hexdigest()[:16])


class Remark(msgspec.Struct, frozen=True):
    """Something that is said about work: about a line, a file, or the whole."""

    text: str
    path: str | None = None
    line: int | None = None

    @property
    def shown(self) -> str:
        """The remark with its place, as an item of a list."""
        place = self.path or ""
        if place and self.line is not None:
            place = f"{place}:{self.line}"
        return f"- {place}: {self.text}" if place else f"- {self.text}"


class Check(msgspec.Struct, rename="camel", frozen=True):
    """One thing that was checked about a commit; `url` is the page that tells more.

    Of one that failed: its `title` and `summary`, what it says about lines of files, and the end of
    its log, as far as the forge tells.
    """

    name: str
    status: CheckStatus
    url: str = ""
    title: str = ""
    summary: str = ""
    annotations: tuple[str, ...] = ()
    log: str = ""


class CheckState(msgspec.Struct, rename="camel", frozen=True):
    """What the checks of a commit say together; `none` is a commit that nothing checks."""

    status: CheckStatus | Literal["none"]
    checks: tuple[Check, ...] = ()


class MergeOutcome(msgspec.Struct, rename="camel", frozen=True):
    """A merge that happened: its commit, and whether it had happened `already`.

    `head` is the commit of the branch that was merged, None where git merges.
    """

    sha: str
    already: bool = False
    head: str | None = None


class ForgeError(HooklineError, code="forge"):
    """The forge could not do that."""


class ForgeSetup(ForgeError, code="forge-setup"):
    """The forge is not set up: its address or its token is missing."""


class ForgeDenied(ForgeError, code="forge-denied"):
    """The forge does not let this token do that."""


class ForgeMissing(ForgeError, code="forge-missing"):
    """The forge does not know that repository or pull request, or hides it from this token."""


class ForgeRejected(ForgeError, code="forge-rejected"):
    """The forge understood the request and rejects it."""


class HeadMoved(ForgeError, code="head-moved"):
    """The branch got new commits since it was checked; nothing was merged."""

    help = "let the gates check the new commits, then merge again"


class NotMergeable(ForgeError, code="not-mergeable"):
    """The pull request does not fit on its base as that is now; nothing was merged."""


class MergeWaits(ForgeError, code="merge-waits"):
    """The forge does not merge this yet, and says what is missing; nothing was merged.

    `for_people` is whether a person has to act there, and not only checks.
    """

    def __init__(self, message: str | None = None, *, for_people: bool) -> None:
        super().__init__(message)
        self.for_people = for_people


class ForgeTemporary(ForgeError, code="forge-temporary"):
    """The forge cannot do that now, and may later.

    `until` is the moment, in seconds since 1970, before which there is no use in trying.
    """

    help = "try again later; repeating it never opens or merges anything twice"

    def __init__(self, message: str | None = None, *, until: float | None = None) -> None:
        super().__init__(message)
        self.until = until


class MergePlan(msgspec.Struct, frozen=True):
    """What the settings want of a forge: `method` is None where people merge.

    `past_pull_requests` is whether some work goes into the base without a pull request.
    """

    base: str
    method: MergeMethod | None
    past_pull_requests: bool = False


def refuse_other_base(pull: PullRequest, base: str) -> None:
    """Raise if the pull request's base is not the one that the work is for."""
    if pull.base == base or pull.state == "closed":
        return
    if pull.state == "merged":
        raise ForgeRejected(
            f"pull request {pull.number} was merged into {pull.base}, not into {base}"
        )
    raise MergeWaits(
        f"pull request {pull.number} targets {pull.base}, not {base}:"
        f" change its base at {pull.url}",
        for_people=True,
    )


def objections(
    reviews: Iterable[Review], head: str | None, told: Mapping[str, str | None]
) -> list[Review]:
    """The reviews whose requested changes have not been made, and comments nobody was told about.

    `told` is at which commit the agent was told about each: if the work has changed since, that is
    its answer. To a comment it need not answer with changes.
    """
    against = [each for each in reviews if not each.approves]
    return [e for e in against if told.get(e.key) in ((None,) if e.comments else (None, head))]


_WORST_FIRST: tuple[CheckStatus, ...] = ("failure", "pending", "success")


def combined(checks: Iterable[Check]) -> CheckState:
    """Many checks as one: a failure beats what still runs, and that beats success."""
    ordered = tuple(sorted(checks, key=lambda check: _WORST_FIRST.index(check.status)))
    return CheckState(ordered[0].status if ordered else "none", ordered)
