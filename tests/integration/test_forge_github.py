"""GitHub's forge against a server that holds every request against GitHub's own description."""

from __future__ import annotations

import asyncio
import json
import threading
import time
import traceback
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

import pytest

from hookline.adapters.forges.github import github_forge
from hookline.adapters.github.remotes import GitHubRepository, repository, rest_address
from hookline.adapters.github.rest import GitHubRest
from hookline.domain.work.forge import (
    ForgeDenied,
    ForgeError,
    ForgeMissing,
    ForgeRejected,
    ForgeSetup,
    ForgeTemporary,
    HeadMoved,
    MergeOutcome,
    NotMergeable,
    Remark,
)
from tests.integration.github_acts import MERGE_SHA, NAME, OWNER
from tests.integration.github_description import Description
from tests.integration.github_stand_in import TOKEN, Fault, GitHub, Rules, Suite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.adapters.forges.github import GitHubForge
    from hookline.domain.work.forge import PullRequest
    from hookline.ports.work import Forge

HEAD = "a" * 40
LIMITED = json.dumps({"message": "API rate limit exceeded"}).encode()
SECONDARY = json.dumps({"message": "You have exceeded a secondary rate limit."}).encode()
FORBIDDEN = json.dumps({"message": "Resource not accessible by integration"}).encode()


@pytest.fixture(scope="module")
def description() -> Description:
    return Description()


@pytest.fixture
def hub(description: Description) -> Iterator[GitHub]:
    """The stand-in; whatever it saw that the description does not allow fails the test."""
    with GitHub(description) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()
    assert running.problems == []
    assert running.faults == [], "a fault that was ordered never happened"


class Rig:
    """A forge whose pauses are written down instead of waited for."""

    def __init__(self, hub: GitHub, token: str = TOKEN, name: str = NAME) -> None:
        self.pauses: list[float] = []
        self.forge: GitHubForge = github_forge(
            f"git@github.com:{OWNER}/{name}.git",
            {"GITHUB_TOKEN": token, "GITHUB_API_URL": hub.url},
            sleep=self._sleep,
        )

    async def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)

    def open(self, branch: str = "task/T-1", body: str = "Why.") -> PullRequest:
        opening = self.forge.open_pull_request(branch, "main", "Add a login", body)
        return asyncio.run(opening)

    def merge(self, pull: PullRequest, sha: str = HEAD) -> MergeOutcome:
        return asyncio.run(self.forge.merge(pull, sha, "squash"))

    def find(self, branch: str = "task/T-1") -> PullRequest | None:
        return asyncio.run(self.forge.find_pull_request(branch, "main"))


@pytest.fixture
def rig(hub: GitHub) -> Rig:
    return Rig(hub)


def test_the_description_notices_mistakes(description: Description) -> None:
    opening = description.operation("POST", "/repos/a/b/pulls")
    listing = description.operation("GET", "/repos/a/b/pulls")
    assert opening is not None
    assert listing is not None
    body = {"head": 3, "base": "main", "haed": "x"}
    assert len(description.request_problems(opening, {}, body)) == 2
    assert len(description.request_problems(opening, {}, {"head": "x"})) == 1
    assert len(description.request_problems(listing, {"state": "new", "q": "x"}, None)) == 2
    assert description.answer_problems(listing, 200, [{"number": 1}]) != []
    assert description.operation("DELETE", "/repos/a/b/pulls") is None


def test_it_is_a_forge(rig: Rig) -> None:
    forge: Forge = rig.forge
    assert (forge.name, forge.push_remote, forge.merges) == ("github", "origin", True)


def test_a_pull_request_is_opened_once(hub: GitHub, rig: Rig) -> None:
    assert rig.find() is None
    opened = rig.open()
    assert (opened.number, opened.branch, opened.base) == (1, "task/T-1", "main")
    assert (opened.title, opened.body, opened.state) == ("Add a login", "Why.", "open")
    assert opened.url == f"https://github.com/{OWNER}/{NAME}/pull/1"
    assert (opened.head, opened.merged_sha) == (HEAD, None)
    assert rig.open() == rig.find() == opened
    assert hub.acts("POST", "/pulls") == 1


def test_pull_requests_of_forks_and_other_branches_are_not_ours(hub: GitHub, rig: Rig) -> None:
    hub.add_pull("task/T-1", "main", place=f"stranger/{NAME}")
    hub.add_pull("task/T-1", "release")
    hub.add_pull("task/T-2", "main")
    hub.add_pull("task/T-1", "main")["state"] = "closed"
    assert rig.find() is None
    assert rig.open().number == 5


def test_a_filter_that_github_ignores_finds_nothing_wrong(hub: GitHub, rig: Rig) -> None:
    pull = hub.add_pull("other", "main")
    simple = hub.description.example("pull-request-simple-items")[0]
    listed = [{name: pull.get(name, value) for name, value in simple.items()}]
    hub.faults.append(Fault("GET", "/pulls", "answer", 200, json.dumps(listed).encode()))
    assert rig.find() is None


def test_texts_are_bounded_and_can_always_be_sent(hub: GitHub, rig: Rig) -> None:
    title = "two\nlines \udcff " + "x" * 300
    opened = asyncio.run(rig.forge.open_pull_request("b", "main", title, "\udcff" + "y" * 70_000))
    assert opened.title.startswith("two lines ? xxx")
    assert (len(opened.title), len(opened.body)) == (256, 65_536)
    assert opened.body.endswith("too long)")


def test_an_update_changes_what_is_given_and_only_when_needed(hub: GitHub, rig: Rig) -> None:
    number = rig.open().number
    updated = asyncio.run(rig.forge.update_pull_request(number, body="More."))
    assert (updated.title, updated.body) == ("Add a login", "More.")
    assert asyncio.run(rig.forge.update_pull_request(number, body="More.")) == updated
    assert [a.body for a in hub.asked if a.method == "PATCH"] == [{"body": "More."}]


@pytest.mark.parametrize(
    ("statuses", "runs", "status"),
    [
        ([], [], "none"),
        ([("ci", "success")], [], "success"),
        ([], [("build", "completed", "success"), ("docs", "completed", "skipped")], "success"),
        ([("ci", "success")], [("build", "in_progress", None)], "pending"),
        ([("ci", "pending")], [("build", "completed", "neutral")], "pending"),
        ([("ci", "error")], [("build", "queued", None)], "failure"),
        ([("ci", "success")], [("build", "completed", "timed_out")], "failure"),
        ([], [("build", "completed", "cancelled")], "failure"),
        ([], [("build", "completed", "action_required")], "failure"),
    ],
)
def test_statuses_and_check_runs_are_one_answer(
    hub: GitHub, rig: Rig, statuses: list[Any], runs: list[Any], status: str
) -> None:
    hub.statuses, hub.runs = statuses, runs
    assert asyncio.run(rig.forge.checks(HEAD)).status == status
    assert asyncio.run(rig.forge.checks(rig.open())).status == status


GREEN = ("lint", "completed", "success")


@pytest.mark.parametrize(
    ("suite", "status"),
    [
        (Suite("octoapp", "in_progress", runs=1), "pending"),
        (Suite("octoapp", "queued", runs=1), "pending"),
        (Suite("idle", "queued"), "success"),
        (Suite("idle", "in_progress"), "pending"),
        (Suite("github-actions", "queued"), "pending"),
        (Suite("github-actions", "waiting"), "pending"),
        (Suite("github-actions", "completed", "action_required"), "pending"),
        (Suite("github-actions", "completed", "startup_failure"), "failure"),
        (Suite("idle", "completed", "neutral"), "success"),
    ],
)
def test_checks_that_have_not_begun_are_not_over(
    hub: GitHub, rig: Rig, suite: Suite, status: str
) -> None:
    hub.runs, hub.suites = [GREEN], [suite]
    found = asyncio.run(rig.forge.checks(HEAD))
    assert found.status == status
    if status != "success":
        assert found.checks[0].name == f"{suite.app} (check suite)"
    elif suite.app == "idle":
        hub.runs = []
        assert asyncio.run(rig.forge.checks(HEAD)).status == "none"


@pytest.mark.parametrize(
    "rules", [Rules(checks=["lint", "build"]), Rules(ruleset_checks=["build", "lint"])]
)
def test_a_required_check_that_nobody_has_reported_is_pending(
    hub: GitHub, rig: Rig, rules: Rules
) -> None:
    hub.runs, hub.rules = [GREEN], rules
    pull = rig.open()
    for found in (rig.forge.checks(pull), rig.forge.checks(HEAD, base="main")):
        state = asyncio.run(found)
        waits = [each.name for each in state.checks if each.status == "pending"]
        assert (state.status, waits) == ("pending", ["build (required, not reported yet)"])
    assert asyncio.run(rig.forge.checks(HEAD)).status == "success", "without a base, without rules"
    assert asyncio.run(rig.forge.checks(HEAD, base="never-pushed")).status == "success"
    hub.statuses = [("build", "success")]
    assert asyncio.run(rig.forge.checks(pull)).status == "success"


def test_a_failure_on_the_last_page_of_checks_is_seen(hub: GitHub, rig: Rig) -> None:
    hub.runs = [(f"job-{n}", "completed", "success") for n in range(70)]
    hub.runs.append(("last", "completed", "failure"))
    found = asyncio.run(rig.forge.checks(HEAD))
    assert (found.status, len(found.checks)) == ("failure", 71)
    assert found.checks[0].url == "https://github.test/runs/last"


def test_what_is_no_commit_never_becomes_a_path(hub: GitHub, rig: Rig) -> None:
    for text in ("main", "../../user", "a" * 41, ""):
        with pytest.raises(ForgeError, match="not a commit id"):
            asyncio.run(rig.forge.checks(text))
    assert hub.asked == []


def test_a_merge_happens_once(hub: GitHub, rig: Rig) -> None:
    pull = rig.open()
    assert rig.merge(pull) == MergeOutcome(MERGE_SHA, head=HEAD)
    assert rig.merge(pull) == MergeOutcome(MERGE_SHA, already=True, head=HEAD)
    assert hub.merges == [1]
    [sent] = [a.body for a in hub.asked if a.method == "PUT"]
    assert sent == {"sha": HEAD, "merge_method": "squash"}
    now = asyncio.run(rig.forge.pull_request(1))
    assert (now.state, now.merged_sha) == ("merged", MERGE_SHA)


def test_a_head_that_moved_before_the_merge_is_not_merged(hub: GitHub, rig: Rig) -> None:
    pull = rig.open()
    hub.pulls[1]["head"]["sha"] = "d" * 40
    with pytest.raises(HeadMoved, match="moved"):
        rig.merge(pull)
    assert hub.acts("PUT") == 0


def test_a_head_that_moves_during_the_merge_is_not_merged(hub: GitHub, rig: Rig) -> None:
    pull = rig.open()
    conflict = json.dumps({"message": "Head branch was modified."}).encode()
    hub.faults.append(Fault("PUT", "/merge", "answer", 409, conflict))
    with pytest.raises(HeadMoved, match="nothing was merged"):
        rig.merge(pull)
    assert hub.merges == []


def test_what_cannot_be_merged_is_said(hub: GitHub, rig: Rig) -> None:
    pull = rig.open()
    hub.pulls[1]["mergeable"] = False
    with pytest.raises(NotMergeable, match="Pull Request is not mergeable"):
        rig.merge(pull)
    hub.pulls[1]["state"] = "closed"
    with pytest.raises(ForgeRejected, match="closed without being merged"):
        rig.merge(pull)


def test_a_merge_waits_until_github_knows_whether_it_can(hub: GitHub, rig: Rig) -> None:
    pull = rig.open()
    hub.pulls[1]["mergeable"] = None
    with pytest.raises(ForgeTemporary, match="whether it can be merged"):
        rig.merge(pull)
    assert rig.pauses == [1.0, 2.0, 4.0]
    hub.pulls[1]["mergeable"] = True
    assert rig.merge(pull).sha == MERGE_SHA


def test_a_comment_is_made_once_per_text_or_key(hub: GitHub, rig: Rig) -> None:
    pull = rig.open()
    for n in range(65):
        hub.review("eve", "COMMENTED", HEAD, body=f"chatter {n}")
    for text, key in (("hello", None), ("hello", None), ("hello", "r2"), ("other", "r2")):
        asyncio.run(rig.forge.comment(pull, text, key=key))
    assert [text.split("\n")[0] for text in hub.comments] == ["hello", "hello"]


PATCH = "@@ -1,3 +1,4 @@\n a\n+b\n c\n d\n@@ -40 +41,2 @@ def f():\n-x\n+y\n+z"


def test_remarks_stand_at_the_lines_that_the_diff_shows(hub: GitHub, rig: Rig) -> None:
    pull = rig.open()
    hub.patches = {"a.py": PATCH, "gone.py": "@@ -1,2 +0,0 @@\n-a\n-b"}
    places = [("a.py", 4), ("a.py", 5), ("a.py", 41), ("a.py", 43), ("gone.py", 1), ("b.py", 1)]
    remarks = [Remark(f"r{n}", *place) for n, place in enumerate(places)]
    remarks += [Remark("r6", "a.py"), Remark("r7"), Remark(f"hush {TOKEN}", "a.py", 42)]
    said = rig.forge.comment(pull, "Hm.", key="a", head=HEAD, remarks=remarks)
    asyncio.run(said)
    hidden = hub.remarks[1][-1]
    assert hub.remarks[1][:-1] == [("a.py", 4, "r0"), ("a.py", 41, "r2")]
    assert (hidden[:2], TOKEN in hidden[2]) == (("a.py", 42), False)
    below = ["Hm.", "- a.py:5: r1", "- a.py:43: r3", "- gone.py:1: r4", "- b.py:1: r5"]
    assert hub.comments[0].split("\n\n")[:-1] == [*below, "- a.py: r6", "- r7"]
    asyncio.run(rig.forge.comment(pull, "Hm.", key="a", head=HEAD, remarks=remarks))
    assert hub.acts("POST", "/reviews") == 1


def test_remarks_that_cannot_stand_at_their_lines_stand_in_the_text(hub: GitHub, rig: Rig) -> None:
    pull = rig.open()
    hub.patches = {"a.py": PATCH}

    def told(key: str, head: str = HEAD) -> str:
        remarks = [Remark("look", "a.py", 2)]
        asyncio.run(rig.forge.comment(pull, "Hm.", key=key, head=head, remarks=remarks))
        return hub.comments[-1]

    assert "- a.py:2: look" in told("of another commit", "f" * 40)
    hub.rules.threads = True  # each of them would wait for somebody who resolves it
    assert "- a.py:2: look" in told("where threads are resolved")
    hub.rules.threads = False
    hub.refuses_lines = True
    assert "- a.py:2: look" in told("refused all the same")
    assert list(hub.remarks.values()) == [[], [], []]


# --- what goes wrong ---


def test_401_names_the_token(hub: GitHub) -> None:
    with pytest.raises(ForgeDenied, match="token") as caught:
        Rig(hub, token="ghp_expiredSecret").open()
    assert "GITHUB_TOKEN" in str(caught.value.help)
    assert hub.acts("GET") == 1


def test_403_is_a_missing_permission(hub: GitHub, rig: Rig) -> None:
    hub.faults.append(Fault("POST", "/pulls", "answer", 403, FORBIDDEN))
    with pytest.raises(ForgeDenied, match="Resource not accessible by integration"):
        rig.open()
    assert (hub.pulls, rig.pauses) == ({}, [])


@pytest.mark.parametrize("status", [403, 429])
def test_a_limit_is_waited_for(hub: GitHub, rig: Rig, status: int) -> None:
    headers = {"retry-after": "7"}
    hub.faults.append(Fault("POST", "/pulls", "answer", status, SECONDARY, headers))
    assert rig.open().number == 1
    assert rig.pauses == [7.0]


def test_a_limit_until_a_moment_is_read_by_the_servers_clock(hub: GitHub, rig: Rig) -> None:
    headers = {
        "date": formatdate(1_000_000_000, usegmt=True),
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset": "1000000020",
    }
    hub.faults.append(Fault("GET", "/pulls", "answer", 403, LIMITED, headers))
    assert rig.find() is None
    assert rig.pauses == [21.0]


def test_a_secondary_limit_without_headers_waits_a_minute_once(hub: GitHub, rig: Rig) -> None:
    hub.faults += [Fault("GET", "/pulls", "answer", 403, SECONDARY)] * 2
    with pytest.raises(ForgeTemporary, match="rate limit") as caught:
        rig.find()
    assert rig.pauses == [60.0]
    assert caught.value.until is not None
    assert caught.value.until > time.time()


def test_a_long_limit_is_an_error_that_names_the_moment(hub: GitHub, rig: Rig) -> None:
    reset = int(time.time()) + 3000
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(reset)}
    hub.faults.append(Fault("GET", "/pulls", "answer", 403, LIMITED, headers))
    with pytest.raises(ForgeTemporary, match="wait until 20") as caught:
        rig.find()
    assert caught.value.until is not None
    assert reset - 10 < caught.value.until < reset + 10
    assert (rig.pauses, hub.acts("GET")) == ([], 1)


def test_404_names_the_repository(hub: GitHub) -> None:
    with pytest.raises(ForgeMissing, match="acme/gadgets") as caught:
        Rig(hub, name="gadgets").find()
    assert "git remote -v" in str(caught.value.help)


def test_a_redirect_is_not_followed(hub: GitHub, rig: Rig) -> None:
    headers = {"location": f"{hub.url}/repositories/1/pulls"}
    hub.faults.append(Fault("GET", "/pulls", "answer", 301, b"{}", headers))
    with pytest.raises(ForgeMissing, match="has moved"):
        rig.find()
    assert len(hub.asked) == 1


def test_422_says_what_github_said(hub: GitHub, rig: Rig) -> None:
    with pytest.raises(ForgeRejected, match="No commits between main and nothing-new"):
        rig.open("nothing-new")
    assert hub.acts("POST") == 1


def test_422_because_another_was_quicker_finds_that_one(hub: GitHub, rig: Rig) -> None:
    first = hub.add_pull("task/T-1", "main", "by another")
    hub.faults.append(Fault("GET", "/pulls", "answer", 200, b"[]"))
    opened = rig.open()
    assert (opened.number, opened.title) == (first["number"], "by another")
    assert (hub.acts("POST"), len(hub.pulls)) == (1, 1)


@pytest.mark.parametrize("status", [500, 502, 503])
def test_5xx_is_tried_again_after_a_look(hub: GitHub, rig: Rig, status: int) -> None:
    hub.faults.append(Fault("GET", "/pulls", "answer", status, b"<html>no</html>"))
    hub.faults.append(Fault("POST", "/pulls", "answer", status, b"<html>no</html>"))
    assert rig.open().number == 1
    assert rig.pauses == [1.0, 1.0]
    assert [a.method for a in hub.asked] == ["GET", "GET", "POST", "GET", "POST"]


def test_5xx_without_end_is_temporary(hub: GitHub, rig: Rig) -> None:
    hub.faults += [Fault("GET", "/pulls", "answer", 502, b"")] * 4
    with pytest.raises(ForgeTemporary, match="status 502"):
        rig.open()
    assert (rig.pauses, hub.acts("POST")) == ([1.0, 2.0, 4.0], 0)


@pytest.mark.parametrize("kind", ["drop", "lose", "cut"])
def test_a_connection_dropped_in_the_middle_makes_one_of_everything(
    hub: GitHub, rig: Rig, kind: Any
) -> None:
    hub.faults.append(Fault("GET", "/pulls", kind))
    hub.faults.append(Fault("POST", "/pulls", kind))
    pull = rig.open()
    hub.faults.append(Fault("PATCH", "/1", kind))
    asyncio.run(rig.forge.update_pull_request(1, title="New"))
    hub.faults.append(Fault("POST", "/reviews", kind))
    asyncio.run(rig.forge.comment(pull, "hello"))
    hub.faults.append(Fault("PUT", "/merge", kind))
    assert rig.merge(pull).sha == MERGE_SHA
    assert (len(hub.pulls), len(hub.comments), hub.merges) == (1, 1, [1])
    assert hub.pulls[1]["title"] == "New"
    done = 1 if kind != "drop" else 2
    assert [hub.acts(*each) for each in (("POST", "/pulls"), ("PUT", "/merge"))] == [done, done]


def test_a_lost_answer_and_a_lost_look_still_make_one(hub: GitHub, rig: Rig) -> None:
    hub.faults.append(Fault("POST", "/pulls", "lose"))
    # The look before the post finds nothing, and that after it is answered by an old copy.
    hub.faults += [Fault("GET", "/pulls", "answer", 200, b"[]")] * 2
    assert rig.open().number == 1
    assert (len(hub.pulls), hub.acts("POST")) == (1, 2)


def test_a_server_that_is_not_there_is_temporary(hub: GitHub) -> None:
    rig = Rig(hub)
    hub.server_close()
    with pytest.raises(ForgeTemporary, match="could not be reached"):
        rig.find()


def test_a_server_that_does_not_answer_is_left(hub: GitHub) -> None:
    place = GitHubRepository("github.com", OWNER, NAME)

    async def nothing(seconds: float) -> None:
        """No pauses here."""

    rest = GitHubRest(hub.url, place, TOKEN, timeout=0.2, sleep=nothing)
    with hub.lock, pytest.raises(ForgeTemporary, match=r"within 0\.2 s"):
        asyncio.run(rest.get("/pulls"))


def test_an_answer_that_comes_byte_by_byte_is_left(hub: GitHub) -> None:
    place = GitHubRepository("github.com", OWNER, NAME)

    async def nothing(seconds: float) -> None:
        """No pauses here."""

    hub.faults += [Fault("GET", "/pulls", "slow")] * 4
    rest = GitHubRest(hub.url, place, TOKEN, timeout=0.3, sleep=nothing)
    with pytest.raises(ForgeTemporary, match=r"within 0\.3 s"):
        asyncio.run(rest.get("/pulls"))
    hub.faults.clear()  # one may not have been met while the one before still wrote


@pytest.mark.parametrize("body", [b"", b"<html>log in</html>", b'[{"number": "one"}]', b"\xff[]"])
def test_an_answer_that_is_not_githubs_is_an_error(hub: GitHub, rig: Rig, body: bytes) -> None:
    hub.faults.append(Fault("GET", "/pulls", "answer", 200, body))
    with pytest.raises(ForgeError, match="cannot be read"):
        rig.find()


def test_an_answer_without_end_is_refused(hub: GitHub, rig: Rig) -> None:
    hub.faults.append(Fault("GET", "/pulls", "answer", 200, b" " * (17 * 2**20)))
    with pytest.raises(ForgeError, match="16 MiB"):
        rig.find()


# --- the token ---


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422])
def test_the_token_is_in_no_error(hub: GitHub, rig: Rig, status: int) -> None:
    echo = {"message": f"bad \x1b[31m{TOKEN}", "errors": [{"message": TOKEN}, TOKEN]}
    hub.faults.append(Fault("POST", "/pulls", "answer", status, json.dumps(echo).encode()))
    with pytest.raises(ForgeError) as caught:
        rig.open()
    told = "".join(traceback.format_exception(caught.value)) + str(caught.value.help)
    assert TOKEN not in told
    assert "\x1b" not in told


def test_a_token_in_escapes_is_in_no_answer(hub: GitHub, rig: Rig) -> None:
    spelled = "".join(f"\\u{ord(letter):04x}" for letter in TOKEN)
    pull = rig.open()
    listed = json.dumps([hub.pulls[1] | {"title": "TOKEN", "body": "\x1b[31mTOKEN"}])
    hub.faults.append(
        Fault("GET", "/pulls", "answer", 200, listed.replace("TOKEN", spelled).encode())
    )
    found = rig.find()
    assert found is not None
    assert (found.number, found.title) == (pull.number, "[redacted GITHUB_TOKEN]")
    assert found.body == found.title
    for status, said in ((200, '[{"state": "TOKEN"}]'), (400, '{"message": "TOKEN"}')):
        body = said.replace("TOKEN", spelled).encode()
        hub.faults.append(Fault("GET", "/pulls", "answer", status, body))
        with pytest.raises(ForgeError) as caught:
            rig.find()
        assert TOKEN not in "".join(traceback.format_exception(caught.value))


def test_the_token_leaves_by_its_header_only(hub: GitHub, rig: Rig) -> None:
    pull = rig.open(body=f"I found {TOKEN} in the environment")
    asyncio.run(rig.forge.comment(pull, f"it is {TOKEN}"))
    assert TOKEN not in json.dumps([pull.body, hub.comments, [a.path for a in hub.asked]])
    for asked in hub.asked:
        holders = [name for name, value in asked.headers.items() if TOKEN in value]
        assert (holders, TOKEN in json.dumps(asked.body)) == (["authorization"], False)
    assert TOKEN not in repr(rig.forge)


def test_the_token_comes_from_either_variable(hub: GitHub) -> None:
    url = f"https://github.com/{OWNER}/{NAME}"
    forge = github_forge(url, {"GH_TOKEN": f"{TOKEN}\n"}, api=hub.url, push_remote="upstream")
    assert asyncio.run(forge.find_pull_request("b", "main")) is None
    assert forge.push_remote == "upstream"


@pytest.mark.parametrize(
    ("token", "message"),
    [("", "no token"), ("two\nlines", "characters"), ("ü-token", "characters")],
)
def test_a_token_that_cannot_be_sent(token: str, message: str) -> None:
    with pytest.raises(ForgeSetup, match=message) as caught:
        github_forge("https://github.com/o/r", {"GITHUB_TOKEN": token})
    assert not token or token not in str(caught.value)


# --- where to ask ---


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/acme/my.widgets",
        "https://github.com/acme/my.widgets.git",
        "https://github.com/acme/my.widgets/",
        "https://me:secret@GitHub.com/acme/my.widgets.git",
        "git@github.com:acme/my.widgets.git",
        "github.com:acme/my.widgets",
        "ssh://git@github.com/acme/my.widgets.git",
        "ssh://git@github.com:22/acme/my.widgets",
        "git://github.com/acme/my.widgets.git",
    ],
)
def test_the_repository_is_read_from_the_remote(url: str) -> None:
    assert repository(url) == GitHubRepository("github.com", "acme", "my.widgets")


@pytest.mark.parametrize(
    "url",
    [
        *("", "/srv/repo.git", "../repo", "file:///srv/acme/repo", "https://github.com/acme"),
        *("https://me:secret@github.com/a/b/c", "https://github.com/../repo", "git@github.com:x"),
        *("https://github.com/a/b?c", "https://github.com/a b/c", "https://[secret/a/b"),
        *("https://github.com/a%2fb/c", "ext::sh -c secret", "git@github.com:a/..", "C:\\a\\b"),
    ],
)
def test_a_remote_that_names_no_repository(url: str) -> None:
    with pytest.raises(ForgeSetup, match="not a GitHub repository") as caught:
        repository(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("host", "named", "address"),
    [
        ("github.com", None, "https://api.github.com"),
        ("ssh.github.com", None, "https://api.github.com"),
        ("acme.ghe.com", None, "https://api.acme.ghe.com"),
        ("git.acme.test", "https://git.acme.test/api/v3/", "https://git.acme.test/api/v3"),
        ("github.com", "http://127.0.0.1:8080", "http://127.0.0.1:8080"),
    ],
)
def test_the_address_of_the_interface(host: str, named: str | None, address: str) -> None:
    assert rest_address(host, named) == address


@pytest.mark.parametrize(
    ("host", "named", "message"),
    [
        ("git.acme.test", None, "not github.com"),
        ("api.github.com.evil.test", None, "not github.com"),
        ("evilghe.com", None, "not github.com"),
        ("github.com", "http://api.github.com", "https://"),
        ("github.com", "http://localhost.evil.test", "https://"),
        ("github.com", "ftp://api.github.com", "https://"),
        ("github.com", "https://me:pw@api.github.com", "plain URL"),
        ("github.com", "https://api.github.com/?x=1", "plain URL"),
        ("github.com", "api.github.com", "plain URL"),
    ],
)
def test_a_token_is_never_sent_to_a_guess_or_in_the_clear(
    host: str, named: str | None, message: str
) -> None:
    with pytest.raises(ForgeSetup, match=message):
        rest_address(host, named)
