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

from hookline.adapters.github import answers, rules
from hookline.adapters.github.failures import explained
from hookline.adapters.github.remotes import repository, rest_address
from hookline.adapters.github.rest import BACKOFF, GitHubRest, Refusal, Unsure
from hookline.digest import sha256
from hookline.domain.text import forge_texts as texts
from hookline.domain.work.forge import (
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

    from hookline.adapters.github.rest import RestAnswer, Sleep
    from hookline.domain.text.cleaning import Cleaner
    from hookline.domain.work.repository import SetupProblem
    from hookline.ports.work import ForgeSite

T = TypeVar("T")
MERGES = True
CHECKS = True
REVIEWS = True
REMOTE = "origin"
PER_PAGE = 30
MAX_PAGES = 100
_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


async def open_forge(site: ForgeSite) -> GitHubForge:
    """The forge of a project, by the URL of its remote."""
    remote, url = site.remote or REMOTE, await site.remote_url()
    return github_forge(url, site.environ, api=site.api, push_remote=remote, cleaner=site.cleaner)


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
        help = "set GITHUB_TOKEN or GH_TOKEN in the environment"
        raise ForgeSetup("there is no token for GitHub", help=help)
    return GitHubForge(GitHubRest(address, place, token, sleep=sleep, cleaner=cleaner), push_remote)


class GitHubForge:
    """answers.Pull requests of one repository of GitHub."""

    name = "github"
    merges = MERGES
    has_checks, has_reviews = CHECKS, REVIEWS

    def __init__(self, rest: GitHubRest, push_remote: str | None = "origin") -> None:
        self._rest = rest
        self.push_remote = push_remote

    async def find_pull_request(self, branch: str, base: str) -> PullRequest | None:
        place = self._rest.repository
        asked = {"state": "open", "head": f"{place.owner}:{branch}", "base": base}
        async for page in self._pages("/pulls", **asked):
            for pull in page.read(list[answers.Pull]):
                # GitHub ignores a filter that it does not understand, and gives everything.
                if pull.state == "open" and pull.belongs_to(str(place), branch, base):
                    return pull.shown()
        return None

    async def pull_request(self, number: int) -> PullRequest:
        return (await self._pull(number)).shown()

    async def open_pull_request(self, branch: str, base: str, title: str, body: str) -> PullRequest:
        asked = {"head": branch, "base": base, "title": self._title(title)}
        asked["body"] = self._body(body)

        async def look() -> PullRequest | None:
            return await self.find_pull_request(branch, base)

        async def act() -> PullRequest:
            return (await self._rest.send("POST", "/pulls", body=asked)).read(answers.Pull).shown()

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
        given = (("title", title, self._title), ("body", body, self._body))
        asked = {name: clean(text) for name, text, clean in given if text is not None}

        async def look() -> PullRequest | None:
            found = await self.pull_request(number)
            done = all(getattr(found, name) == value for name, value in asked.items())
            return found if done else None

        async def act() -> PullRequest:
            answer = await self._rest.send("PATCH", f"/pulls/{number:d}", body=asked)
            return answer.read(answers.Pull).shown()

        return await self._once(look, act)

    async def checks(self, of: PullRequest | str, *, base: str | None = None) -> CheckState:
        """What commit statuses, check runs and suites, and the rules of the base say together."""
        if isinstance(of, PullRequest):
            base = base or of.base
            of = of.head or (await self._pull(of.number)).head.sha
        try:
            commit = f"/commits/{_sha(of)}"
            found = await self._checks(commit)
            if combined(found).status in ("none", "success"):  # as far as they exist by now
                found += await self._expected(commit, base, found)
            return combined(found)
        except Refusal as refusal:
            if refusal.status == 422:  # a commit that was never pushed there
                return CheckState("none")
            raise

    async def _checks(self, commit: str) -> list[Check]:
        found: list[Check] = []
        async for page in self._pages(f"{commit}/status"):
            found += (status.shown() for status in page.read(answers.Statuses).statuses)
        async for page in self._pages(f"{commit}/check-runs"):
            found += await explained(self._rest, page.read(answers.CheckRuns).check_runs)
        return found

    async def _expected(self, commit: str, base: str | None, known: Sequence[Check]) -> list[Check]:
        """The checks that are not there yet, although suites or the rules of the base want them."""
        found: list[Check] = []
        async for page in self._pages(f"{commit}/check-suites"):
            shown = (each.shown() for each in page.read(answers.CheckSuites).check_suites)
            found += (check for check in shown if check is not None)
        if base is not None:
            with suppress(ForgeMissing):  # a base that was never pushed asks for nothing
                found += rules.unreported(await self._rules(base), known)
        return found

    async def reviews(self, pull_request: PullRequest) -> list[Review]:
        """What each person who may write here said last: a word, or comments that no approval
        of theirs followed."""
        last: dict[str, answers.GivenReview] = {}
        comments: dict[str, list[answers.GivenReview]] = {}
        path = f"/pulls/{pull_request.number:d}/reviews"
        async for page in self._pages(path):
            for review in page.read(list[answers.GivenReview]):
                if review.counts and review.is_comment:
                    comments.setdefault(review.author, []).append(review)
                elif review.counts:
                    last[review.author] = review
                    if review.approves:
                        comments.pop(review.author, None)
        words = [review for review in last.values() if review.is_word]
        asked = [*words, *(each for said in comments.values() for each in said)]
        found = [review.shown(await self._remarks(path, review)) for review in asked]
        return [each for each in found if each.text.strip() or not each.comments]

    async def _remarks(self, path: str, review: answers.GivenReview) -> list[answers.LineRemark]:
        """What a person who does not approve says about single lines."""
        found: list[answers.LineRemark] = []
        if not review.approves:
            async for page in self._pages(f"{path}/{review.id:d}/comments"):
                found += page.read(list[answers.LineRemark])
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
            words = self._body(body.lstrip("\n"))
            asked |= {"commit_title": self._title(subject), "commit_message": words}

        async def look() -> MergeOutcome | None:
            found = rules.merged_already(await self._pull(number), sha, pull_request.base)
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
            outcome = answer.read(answers.MergeAnswer)
            if not outcome.merged:
                raise NotMergeable(f"GitHub did not merge pull request {number}")
            return MergeOutcome(outcome.sha, head=sha)

        return await self._once(look, act)

    async def problems(self, plan: MergePlan) -> list[SetupProblem]:
        """What the repository, its branch or the token forbid of what the settings want."""
        facts = (await self._rest.get("")).read(answers.RepositoryFacts)
        try:
            of_branch = [*rules.of_branch(await self._rules(plan.base), plan)]
        except ForgeMissing:
            of_branch = [rules.no_branch(plan.base)]
        return [*rules.of_repository(facts, self._rest.repository, plan), *of_branch]

    async def _rules(self, base: str) -> rules.BranchRules:
        name = quote(base, safe="")
        branch = (await self._rest.get(f"/branches/{name}")).read(answers.GitHubBranch)
        found: list[answers.BranchRule] = []
        async for page in self._pages(f"/rules/branches/{name}"):
            found += page.read(list[answers.BranchRule])
        protection = None
        if branch.protected:
            with suppress(ForgeDenied, ForgeMissing):  # only administrators are told
                answer = await self._rest.get(f"/branches/{name}/protection")
                protection = answer.read(answers.Protection)
        return rules.branch_rules(branch, found, protection)

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
        mark = f"{answers.MARK}{sha256((key or text).encode('utf-8', 'replace')).hexdigest()} -->"

        async def look() -> bool | None:
            async for page in self._pages(path):
                if any(mark in (each.body or "") for each in page.read(list[answers.GivenReview])):
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
        """The remarks about lines of this commit that GitHub lets anyone comment on.

        None where every such comment would keep the work from being merged until it is resolved.
        """
        wanted = [each for each in remarks if each.path is not None and each.line is not None]
        if not wanted or pull.head != head or (await self._rules(pull.base)).resolves_threads:
            return []
        files: dict[str | None, answers.ChangedFile] = {}
        async for page in self._pages(f"/pulls/{pull.number:d}/files"):
            files |= {each.filename: each for each in page.read(list[answers.ChangedFile])}
        known = [each for each in wanted if each.path in files]
        return [each for each in known if files[each.path].shows(each.line or 0)]

    def _at_line(self, remark: Remark) -> dict[str, Any]:
        body = self._body(remark.text)
        return {"path": remark.path, "line": remark.line, "side": "RIGHT", "body": body}

    async def _pull(self, number: int) -> answers.Pull:
        return (await self._rest.get(f"/pulls/{number:d}")).read(answers.Pull)

    async def _pages(self, path: str, **query: str) -> AsyncIterator[RestAnswer]:
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

        async def look_and_act() -> T:
            found = await look()
            return await act() if found is None else found

        return await self._rest.again(look_and_act)

    async def _late(self, look: Callable[[], Awaitable[T | None]]) -> T | None:
        """Look again after a refusal: what was just made by another may show a moment later."""
        if (found := await look()) is not None:
            return found
        await self._rest.sleep(BACKOFF[0])
        return await look()

    async def _refused_merge(
        self, refusal: Refusal, asked: PullRequest, sha: str, method: MergeMethod
    ) -> MergeOutcome:
        number = asked.number
        if refusal.status == 409:
            raise rules.head_moved(number, sha) from refusal
        if refusal.status != 405:
            raise refusal
        pull = await self._pull(number)
        done = rules.merged_already(pull, sha, asked.base)
        if done is not None:
            return done
        if pull.mergeable is None:
            raise Unsure("GitHub has not yet checked whether it can be merged") from refusal
        if not pull.mergeable or pull.mergeable_state in ("dirty", "behind"):
            raise NotMergeable(f"pull request {number}: {refusal}") from refusal
        plan = MergePlan(pull.base.ref, method)
        for problem in await self.problems(plan):
            if problem.blocks:
                raise ForgeRejected(problem.message, help=problem.help) from refusal
        raise await self._missing(pull, str(refusal)) from refusal

    async def _missing(self, pull: answers.Pull, said: str) -> MergeWaits:
        asked, shown = await self._rules(pull.base.ref), pull.shown()
        state = await self.checks(shown)
        return rules.missing(pull, asked, state, await self.reviews(shown), said)

    def _title(self, text: str) -> str:
        return texts.title(self._rest.hide(text))

    def _body(self, text: str, limit: int = texts.MAX_TEXT) -> str:
        return texts.body(self._rest.hide(text), limit)


def _sha(text: str) -> str:
    if not _SHA.fullmatch(text):
        raise ForgeError(f"{texts.shown(text, 80)!r} is not a commit id")
    return text
