"""Pull requests on GitHub, by its REST interface.

Whatever must happen once is looked for before each try: a request whose answer was lost is
never sent again blindly.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from hookline.adapters.forges import texts
from hookline.adapters.forges.github_answers import (
    CHANGES_REQUESTED,
    Branch,
    ChangedFile,
    CheckRuns,
    Facts,
    GivenReview,
    LineRemark,
    Merged,
    Protection,
    Pull,
    Rule,
    Statuses,
)
from hookline.adapters.forges.github_failures import explained
from hookline.adapters.forges.github_rest import BACKOFF, GitHubRest, Refusal, Unsure, gave_up
from hookline.adapters.forges.github_rules import (
    BranchRules,
    branch_rules,
    head_moved,
    merged_already,
    missing,
    no_branch,
    of_branch,
    of_repository,
)
from hookline.adapters.forges.remotes import repository, rest_address
from hookline.digest import sha256
from hookline.domain.forge import (
    Check,
    CheckState,
    ForgeDenied,
    ForgeError,
    ForgeMissing,
    ForgeRejected,
    ForgeSetup,
    MergeMethod,
    MergeOutcome,
    MergePlan,
    MergeWaits,
    NotMergeable,
    PullRequest,
    Remark,
    Review,
    combined,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

    from hookline.adapters.forges.github_rest import Answer, Sleep
    from hookline.domain.cleaning import Cleaner
    from hookline.domain.repository import Problem

T = TypeVar("T")
PER_PAGE = 30
MAX_PAGES = 100
_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def github_forge(
    remote_url: str,
    environ: Mapping[str, str],
    *,
    api: str | None = None,
    push_remote: str = "origin",
    sleep: Sleep = asyncio.sleep,
    cleaner: Cleaner | None = None,
) -> GitHubForge:
    """The forge of a remote: its repository by the URL, its token from the environment."""
    place = repository(remote_url)
    address = rest_address(place.host, api or environ.get("GITHUB_API_URL"))
    token = (environ.get("GITHUB_TOKEN") or environ.get("GH_TOKEN") or "").strip()
    if not token:
        raise ForgeSetup(
            "there is no token for GitHub", help="set GITHUB_TOKEN or GH_TOKEN in the environment"
        )
    return GitHubForge(GitHubRest(address, place, token, sleep=sleep, cleaner=cleaner), push_remote)


class GitHubForge:
    """Pull requests of one repository of GitHub."""

    name = "github"
    merges = True

    def __init__(self, rest: GitHubRest, push_remote: str | None = "origin") -> None:
        self._rest = rest
        self.push_remote = push_remote

    async def find_pull_request(self, branch: str, base: str) -> PullRequest | None:
        """The open pull request of a branch into a base."""
        place = self._rest.repository
        asked = {"state": "open", "head": f"{place.owner}:{branch}", "base": base}
        async for page in self._pages("/pulls", **asked):
            for pull in page.read(list[Pull]):
                # GitHub ignores a filter that it does not understand, and gives everything.
                if pull.state == "open" and pull.belongs_to(str(place), branch, base):
                    return pull.shown()
        return None

    async def pull_request(self, number: int) -> PullRequest:
        """A pull request as it is now."""
        return (await self._pull(number)).shown()

    async def open_pull_request(self, branch: str, base: str, title: str, body: str) -> PullRequest:
        """The open pull request of a branch into a base, opened now if there is none."""
        asked = {"head": branch, "base": base, "title": self._title(title)}
        asked["body"] = self._body(body)

        async def look() -> PullRequest | None:
            return await self.find_pull_request(branch, base)

        async def act() -> PullRequest:
            return (await self._rest.send("POST", "/pulls", body=asked)).read(Pull).shown()

        try:
            return await self._once(look, act)
        except Refusal as refusal:
            found = await self._late(look) if refusal.status == 422 else None
            if found is None:
                raise
            return found

    async def update_pull_request(
        self, number: int, *, title: str | None = None, body: str | None = None
    ) -> PullRequest:
        """Change what is given."""
        asked: dict[str, str] = {}
        if title is not None:
            asked["title"] = self._title(title)
        if body is not None:
            asked["body"] = self._body(body)

        async def look() -> PullRequest | None:
            found = await self.pull_request(number)
            done = all(getattr(found, name) == value for name, value in asked.items())
            return found if done else None

        async def act() -> PullRequest:
            answer = await self._rest.send("PATCH", f"/pulls/{number:d}", body=asked)
            return answer.read(Pull).shown()

        return await self._once(look, act)

    async def checks(self, of: PullRequest | str) -> CheckState:
        """What commit statuses and check runs say together."""
        if isinstance(of, PullRequest):
            of = of.head or (await self._pull(of.number)).head.sha
        try:
            return combined(await self._checks(f"/commits/{_sha(of)}"))
        except Refusal as refusal:
            if refusal.status == 422:  # a commit that was never pushed there
                return CheckState("none")
            raise

    async def _checks(self, commit: str) -> list[Check]:
        found: list[Check] = []
        async for page in self._pages(f"{commit}/status"):
            found += (status.shown() for status in page.read(Statuses).statuses)
        async for page in self._pages(f"{commit}/check-runs"):
            found += await explained(self._rest, page.read(CheckRuns).check_runs)
        return found

    async def reviews(self, pull_request: PullRequest) -> list[Review]:
        """The last approval or request for changes of each person who may write here."""
        last: dict[str, GivenReview] = {}
        path = f"/pulls/{pull_request.number:d}/reviews"
        async for page in self._pages(path):
            for review in page.read(list[GivenReview]):
                if review.counts:
                    last[review.author] = review
        words = [review for review in last.values() if review.is_word]
        return [review.shown(await self._remarks(path, review)) for review in words]

    async def _remarks(self, path: str, review: GivenReview) -> list[LineRemark]:
        """What a person who asks for changes says about single lines."""
        found: list[LineRemark] = []
        if review.state == CHANGES_REQUESTED:
            async for page in self._pages(f"{path}/{review.id:d}/comments"):
                found += page.read(list[LineRemark])
        return found

    async def merge(
        self,
        pull_request: PullRequest,
        sha: str,
        method: MergeMethod,
        message: str = "",
        *,
        check: Callable[[], Awaitable[None]] | None = None,
    ) -> MergeOutcome:
        """Merge exactly this head, or find that the pull request is merged."""
        number, asked = pull_request.number, {"sha": _sha(sha), "merge_method": method}
        if message and method != "rebase":  # which makes no commit of its own
            subject, _, body = message.partition("\n")
            asked |= {"commit_title": self._title(subject), "commit_message": self._body(body)}

        async def look() -> MergeOutcome | None:
            found = merged_already(await self._pull(number), sha, pull_request.base)
            if found is None and check is not None:
                await check()
            return found

        async def act() -> MergeOutcome:
            path = f"/pulls/{number:d}/merge"
            try:
                # After a limit, too, the base may be another one.
                answer = await self._rest.send("PUT", path, body=asked, patience=0)
            except Refusal as refusal:
                return await self._refused_merge(refusal, pull_request, sha, method)
            outcome = answer.read(Merged)
            if not outcome.merged:
                raise NotMergeable(f"GitHub did not merge pull request {number}")
            return MergeOutcome(outcome.sha, head=sha)

        return await self._once(look, act)

    async def problems(self, plan: MergePlan) -> list[Problem]:
        """What the repository, its branch or the token forbid of what the settings want."""
        facts = (await self._rest.get("")).read(Facts)
        try:
            rules = await self._rules(plan.base)
        except ForgeMissing:
            return [*of_repository(facts, self._rest.repository, plan), no_branch(plan.base)]
        return [*of_repository(facts, self._rest.repository, plan), *of_branch(rules, plan)]

    async def _rules(self, base: str) -> BranchRules:
        name = quote(base, safe="")
        branch = (await self._rest.get(f"/branches/{name}")).read(Branch)
        rules: list[Rule] = []
        async for page in self._pages(f"/rules/branches/{name}"):
            rules += page.read(list[Rule])
        protection = None
        if branch.protected:
            with suppress(ForgeDenied, ForgeMissing):  # only administrators are told
                answer = await self._rest.get(f"/branches/{name}/protection")
                protection = answer.read(Protection)
        return branch_rules(branch, rules, protection)

    async def comment(
        self,
        pull_request: PullRequest,
        text: str,
        *,
        key: str | None = None,
        head: str | None = None,
        remarks: Sequence[Remark] = (),
    ) -> None:
        """Comment once per key, by a review that decides nothing; without a key, once per text."""
        path = f"/pulls/{pull_request.number:d}/reviews"
        mark = f"<!-- hookline:{sha256((key or text).encode('utf-8', 'replace')).hexdigest()} -->"

        async def look() -> bool | None:
            async for page in self._pages(path):
                if any(mark in (each.body or "") for each in page.read(list[GivenReview])):
                    return True
            return None

        async def send(at_lines: Sequence[Remark]) -> bool:
            below = [each for each in remarks if each not in at_lines]
            said = self._body(texts.with_remarks(text, below), texts.MAX_TEXT - len(mark) - 2)
            asked: dict[str, Any] = {"event": "COMMENT", "body": f"{said}\n\n{mark}"}
            if at_lines:
                asked["commit_id"] = head
                asked["comments"] = [self._at_line(each) for each in at_lines]
            await self._rest.send("POST", path, body=asked)
            return True

        async def act() -> bool:
            at_lines = await self._shown_lines(pull_request, head, remarks)
            try:
                return await send(at_lines)
            except Refusal as refusal:
                if refusal.status != 422 or not at_lines:
                    raise
                return await send(())  # all of it in one text is better than nothing

        await self._once(look, act)

    async def _shown_lines(
        self, pull: PullRequest, head: str | None, remarks: Sequence[Remark]
    ) -> list[Remark]:
        """The remarks about lines of this commit that GitHub lets anybody comment on.

        None where every such comment would keep the work from being merged until it is resolved.
        """
        wanted = [each for each in remarks if each.path is not None and each.line is not None]
        if not wanted or pull.head != head or (await self._rules(pull.base)).resolves_threads:
            return []
        files: dict[str | None, ChangedFile] = {}
        async for page in self._pages(f"/pulls/{pull.number:d}/files"):
            files |= {each.filename: each for each in page.read(list[ChangedFile])}
        return [
            each for each in wanted if each.path in files and files[each.path].shows(each.line or 0)
        ]

    def _at_line(self, remark: Remark) -> dict[str, Any]:
        body = self._body(remark.text)
        return {"path": remark.path, "line": remark.line, "side": "RIGHT", "body": body}

    async def _pull(self, number: int) -> Pull:
        return (await self._rest.get(f"/pulls/{number:d}")).read(Pull)

    async def _pages(self, path: str, **query: str) -> AsyncIterator[Answer]:
        for page in range(1, MAX_PAGES + 1):
            answer = await self._rest.get(path, per_page=PER_PAGE, page=page, **query)
            yield answer
            if not answer.has_next:
                return
        raise ForgeError(f"{path} of {self._rest.repository} has more than {MAX_PAGES} pages")

    async def _once(
        self, look: Callable[[], Awaitable[T | None]], act: Callable[[], Awaitable[T]]
    ) -> T:
        """What `look` finds, else what `act` does: never acting twice without a look between."""
        for pause in (*BACKOFF, None):
            found = await look()
            if found is not None:
                return found
            try:
                return await act()
            except Unsure as problem:
                if pause is None:
                    raise gave_up(problem) from problem
                await self._rest.sleep(pause)
        raise AssertionError  # the last round has returned or raised

    async def _late(self, look: Callable[[], Awaitable[T | None]]) -> T | None:
        """Look again after a refusal: what was just made by another may show a moment later."""
        found = await look()
        if found is None:
            await self._rest.sleep(BACKOFF[0])
            found = await look()
        return found

    async def _refused_merge(
        self, refusal: Refusal, asked: PullRequest, sha: str, method: MergeMethod
    ) -> MergeOutcome:
        number = asked.number
        if refusal.status == 409:
            raise head_moved(number, sha) from refusal
        if refusal.status != 405:
            raise refusal
        pull = await self._pull(number)
        done = merged_already(pull, sha, asked.base)
        if done is not None:
            return done
        if pull.mergeable is None:
            raise Unsure("GitHub has not found out yet whether it can merge") from refusal
        if not pull.mergeable or pull.mergeable_state in ("dirty", "behind"):
            raise NotMergeable(f"pull request {number}: {refusal}") from refusal
        plan = MergePlan(pull.base.ref, method)
        for problem in await self.problems(plan):
            if problem.blocks:
                raise ForgeRejected(problem.message, help=problem.help) from refusal
        raise await self._missing(pull, str(refusal)) from refusal

    async def _missing(self, pull: Pull, said: str) -> MergeWaits:
        rules, shown = await self._rules(pull.base.ref), pull.shown()
        state = await self.checks(shown)
        return missing(pull, rules, state, await self.reviews(shown), said)

    def _title(self, text: str) -> str:
        return texts.title(self._rest.hide(text))

    def _body(self, text: str, limit: int = texts.MAX_TEXT) -> str:
        return texts.body(self._rest.hide(text), limit)


def _sha(text: str) -> str:
    if not _SHA.fullmatch(text):
        raise ForgeError(f"{texts.shown(text, 80)!r} is no commit's id")
    return text
