"""What Hookline reads of GitHub's answers, and what it means."""

from __future__ import annotations

import re
from typing import Annotated, Literal

import msgspec

from hookline.domain.text.forge_texts import shown
from hookline.domain.work.forge import Check, CheckStatus, MergeMethod, PullRequest, Remark, Review

_WRITERS = ("OWNER", "MEMBER", "COLLABORATOR")
CHANGES_REQUESTED, COMMENTED = "CHANGES_REQUESTED", "COMMENTED"
# How the mark begins that Hookline puts below its own comments.
MARK = "<!-- hookline:"
ACTIONS = "github-actions"
# How a suite without runs ends whose workflow file is wrong.
_NEVER_RAN = ("failure", "startup_failure", "timed_out")
_PASSED = ("success", "neutral", "skipped")
# Lines of a patch begin with a sign, so nothing else in it looks like this.
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
Sha = Annotated[str, msgspec.Meta(pattern=r"\A(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")]
MAX_URL = 2000
MAX_TITLE = 300
MAX_SUMMARY = 4 * 1024


class _Place(msgspec.Struct):
    full_name: str


class _End(msgspec.Struct):
    ref: str
    sha: Sha
    repo: _Place | None = None


class GitHubAccount(msgspec.Struct):
    """Someone at GitHub, a person or a program."""

    login: str
    type: str = "User"


class Team(msgspec.Struct):
    """Several people under one name."""

    name: str


class Pull(msgspec.Struct):
    """A pull request, as lists and single answers give it."""

    number: int
    html_url: str
    title: str
    state: Literal["open", "closed"]
    head: _End
    base: _End
    body: str | None = None
    merged_at: str | None = None
    merge_commit_sha: Sha | None = None
    mergeable: bool | None = None
    mergeable_state: str = "unknown"
    draft: bool = False
    requested_reviewers: list[GitHubAccount] | None = None
    requested_teams: list[Team] | None = None

    @property
    def asked(self) -> list[str]:
        """Who was asked for a review and has not given it."""
        people = [each.login for each in self.requested_reviewers or ()]
        teams = [f"team {each.name}" for each in self.requested_teams or ()]
        return [shown(name, 100) for name in (*people, *teams)]

    def belongs_to(self, repository: str, branch: str, base: str) -> bool:
        """Whether it asks to merge that branch of that repository, not of a fork."""
        place = self.head.repo.full_name if self.head.repo else ""
        ends = (self.head.ref, self.base.ref)
        return place.lower() == repository.lower() and ends == (branch, base)

    def shown(self) -> PullRequest:
        """The pull request as Hookline speaks of it."""
        merged = self.merged_at is not None
        return PullRequest(
            number=self.number,
            branch=self.head.ref,
            base=self.base.ref,
            title=self.title,
            body=self.body or "",
            url=_url(self.html_url),
            state="merged" if merged else self.state,
            head=self.head.sha,
            # Before the merge it is only a try of GitHub's, whether it would work.
            merged_sha=self.merge_commit_sha if merged else None,
        )


class MergeAnswer(msgspec.Struct):
    """The answer to a merge."""

    sha: Sha
    merged: bool


class GivenReview(msgspec.Struct):
    """A review; anyone can write one where a repository is public."""

    id: int
    state: str
    user: GitHubAccount | None = None
    author_association: str = "NONE"
    commit_id: str | None = None
    body: str | None = None

    @property
    def author(self) -> str:
        """Who wrote it."""
        return self.user.login.lower() if self.user is not None else ""

    @property
    def counts(self) -> bool:
        """Whether a person of the project wrote it, and not Hookline for one."""
        known = self.user is not None and self.user.type == "User"
        return known and self.author_association in _WRITERS and MARK not in (self.body or "")

    @property
    def is_comment(self) -> bool:
        """Whether it changes nothing of what that person has said."""
        return self.state == COMMENTED

    @property
    def is_word(self) -> bool:
        """Whether it approves or asks for changes; one that was dismissed does neither."""
        return self.state in ("APPROVED", CHANGES_REQUESTED)

    @property
    def approves(self) -> bool:
        """Whether it approves the work."""
        return self.state == "APPROVED"

    def shown(self, remarks: list[LineRemark]) -> Review:
        """The review as Hookline speaks of it, with what it says about single lines."""
        said = [(self.body or "").strip(), *(each.shown for each in remarks)]
        text = "\n".join(line for line in said if line)
        by = shown(self.author, 100)
        return Review(by, self.approves, self.commit_id, text, comments=self.is_comment)


class LineRemark(msgspec.Struct):
    """What a review says about a line."""

    path: str
    body: str
    line: int | None = None
    original_line: int | None = None

    @property
    def shown(self) -> str:
        """The remark with its place, on its own line."""
        number = self.line or self.original_line
        return Remark(self.body.strip(), shown(self.path, 300), number).shown


class ChangedFile(msgspec.Struct):
    """A file that a pull request changes; GitHub shows no patch of one that is large or binary."""

    filename: str
    patch: str | None = None

    def shows(self, line: int) -> bool:
        """Whether the diff has a line of the new file, changed or next to a change."""
        for hunk in _HUNK.finditer(self.patch or ""):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            if first <= line < first + count:
                return True
        return False


class _Rights(msgspec.Struct):
    push: bool = False


class RepositoryFacts(msgspec.Struct):
    """What a repository allows; what GitHub does not tell this token is None."""

    archived: bool = False
    permissions: _Rights | None = None
    allow_merge_commit: bool | None = None
    allow_squash_merge: bool | None = None
    allow_rebase_merge: bool | None = None

    def allows(self, method: MergeMethod) -> bool:
        """Whether pull requests may be merged like that."""
        allowed = {
            "merge": self.allow_merge_commit,
            "squash": self.allow_squash_merge,
            "rebase": self.allow_rebase_merge,
        }
        return allowed[method] is not False


class _Contexts(msgspec.Struct):
    contexts: list[str] = []


class _BranchProtection(msgspec.Struct):
    required_status_checks: _Contexts | None = None


class GitHubBranch(msgspec.Struct):
    """A branch, and the checks that its protection asks for."""

    protected: bool = False
    protection: _BranchProtection | None = None

    @property
    def checks(self) -> list[str]:
        """The checks that must pass."""
        found = self.protection.required_status_checks if self.protection else None
        return found.contexts if found else []


class _Switch(msgspec.Struct):
    enabled: bool = False


class _RequiredReviews(msgspec.Struct):
    required_approving_review_count: int = 0


class Protection(msgspec.Struct):
    """The protection of a branch, as its administrators see it."""

    required_linear_history: _Switch | None = None
    required_conversation_resolution: _Switch | None = None
    required_pull_request_reviews: _RequiredReviews | None = None


class _NamedCheck(msgspec.Struct):
    context: str


class _RuleParameters(msgspec.Struct):
    allowed_merge_methods: list[str] | None = None
    required_approving_review_count: int = 0
    required_review_thread_resolution: bool = False
    required_status_checks: list[_NamedCheck] = []


class BranchRule(msgspec.Struct):
    """A rule of a branch."""

    type: str
    parameters: _RuleParameters | None = None


class _Status(msgspec.Struct):
    context: str
    state: str
    target_url: str | None = None
    description: str | None = None

    def shown(self) -> Check:
        """The status as a check; an unknown state is not a success."""
        known: dict[str, CheckStatus] = {"pending": "pending", "success": "success"}
        status = known.get(self.state, "failure")
        title = shown(self.description or "", MAX_TITLE)
        return Check(shown(self.context, 200), status, _url(self.target_url), title)


class Statuses(msgspec.Struct):
    """The statuses of a commit, the last of each context."""

    statuses: list[_Status]


class _Output(msgspec.Struct):
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    annotations_count: int = 0


class _App(msgspec.Struct):
    slug: str = ""


class CheckRun(msgspec.Struct):
    """A check run, with what it says about itself."""

    id: int
    name: str
    status: str
    conclusion: str | None = None
    html_url: str | None = None
    details_url: str | None = None
    output: _Output = msgspec.field(default_factory=_Output)
    app: _App | None = None

    @property
    def is_job(self) -> bool:
        """Whether it is a job of GitHub Actions, which keeps a log."""
        return self.app is not None and self.app.slug == ACTIONS

    def shown(self) -> Check:
        """The run as a check; an unknown conclusion is not a success."""
        name, url = shown(self.name, 200), _url(self.html_url) or _url(self.details_url)
        if self.status != "completed":
            return Check(name, "pending", url)
        passed = self.conclusion in _PASSED
        said = "\n".join(part for part in (self.output.summary, self.output.text) if part)
        title = shown(self.output.title or "", MAX_TITLE)
        return Check(name, "success" if passed else "failure", url, title, said[:MAX_SUMMARY])


class CheckRuns(msgspec.Struct):
    """The check runs of a commit."""

    check_runs: list[CheckRun]


class CheckSuite(msgspec.Struct):
    """The check runs of one app for a commit, also of an app that never makes any."""

    status: str | None
    conclusion: str | None = None
    latest_check_runs_count: int = 0
    app: _App | None = None

    def shown(self) -> Check | None:
        """What it says beyond its runs: that more may come, or that none could start."""
        slug = self.app.slug if self.app is not None else ""
        name = shown(f"{slug or 'unknown app'} (check suite)", 200)
        runs = self.latest_check_runs_count
        if self.status != "completed":
            # GitHub queues a suite for every app that may check; Actions only for real work.
            is_idle = not runs and self.status == "queued" and slug != ACTIONS
            return None if is_idle else Check(name, "pending")
        if not runs and self.conclusion == "action_required":
            return Check(name, "pending")
        is_broken = not runs and self.conclusion in _NEVER_RAN
        title = f"no check could start: {self.conclusion}"
        return Check(name, "failure", title=title) if is_broken else None


class CheckSuites(msgspec.Struct):
    """The check suites of a commit."""

    check_suites: list[CheckSuite]


class Annotation(msgspec.Struct):
    """What a check run says about a line."""

    path: str
    start_line: int | None = None
    annotation_level: str | None = None
    message: str | None = None

    @property
    def line(self) -> str:
        """The remark with its place, on its own line."""
        place = self.path if self.start_line is None else f"{self.path}:{self.start_line}"
        said = shown(self.message or "", MAX_SUMMARY)
        return f"{shown(place, 300)}: {self.annotation_level or 'notice'}: {said}"


def _url(text: str | None) -> str:
    """An address that a person may be shown; a stranger's status can contain anything."""
    plain = text is not None and text.startswith(("https://", "http://"))
    return shown(text, MAX_URL) if text is not None and plain else ""
