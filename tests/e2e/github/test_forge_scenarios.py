"""What happens at GitHub while work waits there: nothing is merged that CI has not seen, nothing
twice. One project plays all of it, a task for each scenario.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from hookline.adapters.forges import github
from hookline.adapters.github import rest as github_rest
from hookline.pipeline.repository import unmerged
from tests.e2e.conftest import Cli
from tests.e2e.hub_rig import HubPipeline, running_hub
from tests.e2e.prompt_rig import check_prompt
from tests.integration.github_stand_in import Fault, Suite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.e2e.conftest import Result
    from tests.e2e.hub_rig import Hub

GATES = "method: squash, tries: 2"
HOOKS = "before_submit: [create_pr], before_merge: [{ci_status: {retry_after: 0.2}}]"
# The agent fixes whatever it is told, or resolves a conflict.
TURN = """\
if grep -q 'Leave no marker line' "$box/$n"; then resolve
else echo "$n" > "fixed-$HOOKLINE_TASK_ID"; git add --all; git commit --quiet -m "fix it"
fi
"""


class Desk:
    """One task, its work, and its pull request."""

    def __init__(self, line: HubPipeline, hub: Hub) -> None:
        self.line, self.hub, self.cli = line, hub, line.cli
        line.git("fetch", "--quiet", "origin")
        self.task = self.cli.add("a part")
        self.branch = f"hookline/{self.task}"
        self.place = line.by_hand(self.task, "origin/main")

    @property
    def head(self) -> str:
        """The commit in the worktree."""
        return self.line.git("rev-parse", "HEAD", at=self.place)

    @property
    def number(self) -> int:
        """The task's pull request; there is one."""
        pulls = self.hub.pulls.values()
        (found,) = (each["number"] for each in pulls if each["head"]["ref"] == self.branch)
        return int(found)

    @property
    def pull(self) -> dict[str, Any]:
        """The pull request as GitHub has it."""
        return self.hub.pulls[self.number]

    def attention(self) -> str:
        """What a person is told about the task."""
        found = self.cli("attention", "--json").json
        return " ".join(each["message"] for each in found if each["id"] == self.task)

    def waits(self) -> list[str]:
        """What the gates of the work have said."""
        return [str(row[0]) for row in self.cli.rows("SELECT answer FROM deliveries")]

    def is_fixed(self, sha: str) -> bool:
        """Whether a commit that the server has holds what the agent was told to fix."""
        listed = self.line.git("ls-tree", "--name-only", sha, at=self.line.remote)
        return f"fixed-{self.task}" in listed.split()

    def delete_branch(self) -> None:
        """Remove the branch at the server, which closes its pull request."""
        self.line.git("update-ref", "-d", f"refs/heads/{self.branch}", at=self.line.remote)
        self.pull.update(state="closed")

    def force_push(self) -> None:
        """A person puts something else onto the task's branch."""
        tree = self.line.git("rev-parse", "main^{tree}", at=self.line.remote)
        commit = ("commit-tree", tree, "-p", "main", "-m", "by a person")
        self.line.git(
            "update-ref",
            f"refs/heads/{self.branch}",
            self.line.git(*commit, at=self.line.remote),
            at=self.line.remote,
        )


# What is arranged, and what happens between two commands


def green(desk: Desk) -> None:
    """CI passes everything."""
    desk.hub.ci = lambda sha: "success"


def red_until_fixed(desk: Desk) -> None:
    desk.hub.ci = lambda sha: "success" if desk.is_fixed(sha) else "failure"


def slow(desk: Desk) -> None:
    asked: dict[str, int] = {}

    def ci(sha: str) -> str:
        asked[sha] = asked.get(sha, 0) + 1
        return ("none", "pending", "pending", "success")[min(asked[sha] - 1, 3)]

    desk.hub.ci = ci


def review_required(desk: Desk) -> None:
    green(desk)
    desk.hub.rules.approvals = 1


def ask_ada(desk: Desk) -> None:
    """Somebody is asked for a review there."""
    user = desk.hub.description.example("pull-request")["user"]
    desk.pull["requested_reviewers"] = [{**user, "login": "ada"}]


def approve(desk: Desk) -> None:
    desk.hub.review("ada", "APPROVED", desk.head)


def request_changes(desk: Desk) -> None:
    remark = (f"parts/{desk.task}", 1, "Name who did it.")
    desk.hub.review("ada", "CHANGES_REQUESTED", desk.head, remarks=[remark])


def required_checks(desk: Desk) -> None:
    """What rules require is reported after all else; an app that never runs checks nothing."""
    desk.hub.rules.checks, desk.hub.rules.ruleset_checks = ["lint"], ["docs", "deploy"]
    desk.hub.suites = [Suite("idle", "queued")]
    waits = "(required, not reported yet)"

    def ci(sha: str) -> str:
        told = "".join(desk.waits())
        if all(f"{name} {waits}" in told for name in ("lint", "docs", "deploy")):
            desk.hub.statuses = [(name, "success") for name in ("lint", "docs", "deploy")]
        return "success"

    desk.hub.ci = ci


def late_and_red_until_fixed(desk: Desk) -> None:
    """One check is green before the other is registered."""
    desk.hub.statuses = [("lint", "success")]
    asked: dict[str, int] = {}

    def ci(sha: str) -> str:
        asked[sha] = asked.get(sha, 0) + 1
        is_late = asked[sha] < 3
        desk.hub.suites = [Suite("octoapp", "in_progress", runs=1)] if is_late else []
        return "none" if is_late else "success" if desk.is_fixed(sha) else "failure"

    desk.hub.ci = ci


def broken_workflow_until_fixed(desk: Desk) -> None:
    """A workflow file that cannot be read: a failed suite without a single run."""
    desk.hub.statuses = [("lint", "success")]
    broken = Suite("github-actions", "completed", "startup_failure")

    def ci(sha: str) -> str:
        desk.hub.suites = [] if desk.is_fixed(sha) else [broken]
        return "success" if desk.is_fixed(sha) else "none"

    desk.hub.ci = ci


def no_squash(desk: Desk) -> None:
    green(desk)
    desk.hub.rules.forbidden = ["squash"]


def with_queue(desk: Desk) -> None:
    green(desk)
    desk.hub.rules.queue = True


def base_moves(desk: Desk) -> None:
    desk.line.push_aside(f"aside-{desk.task}", conflicting=False)


def conflict(desk: Desk) -> None:
    desk.line.push_aside(f"against-{desk.task}")


def fault(kind: Any, status: int = 0, body: bytes = b"", **headers: str) -> Callable[[Desk], None]:
    def arrange(desk: Desk) -> None:
        green(desk)
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        desk.hub.faults.append(Fault("PUT", "/merge", kind, status, body, names))

    return arrange


def denied_checks(desk: Desk) -> None:
    green(desk)
    desk.hub.faults.append(Fault("GET", "/check-runs", "answer", 401, b"{}"))


def nothing(desk: Desk) -> None:
    pass


class Step(NamedTuple):
    """Something happens, then a command ends like this and says that."""

    act: Callable[[Desk], None]
    outcome: str
    says: Sequence[str] = ()
    command: Sequence[str] = ("merge",)


SUBMIT = ("submit",)
NO_MERGE = ("submit", "--no-merge")
LATER = str(int(time.time()) + 7200)
MERGED, WAITS, BACK, SUBMITTED = "merged", "waiting", "sent_back", "submitted"

SCENARIOS: dict[str, list[Step]] = {
    "red, then green after a fix": [Step(red_until_fixed, MERGED, command=SUBMIT)],
    "slow CI after the base moved": [
        Step(slow, SUBMITTED, command=NO_MERGE),
        Step(base_moves, MERGED),
    ],
    "a review is required, and asks for changes": [
        Step(review_required, WAITS, ["0 of 1 approvals"], SUBMIT),
        Step(ask_ada, WAITS, ["waits for a review by ada"]),
        Step(request_changes, WAITS, ["changes requested by ada"]),
        Step(approve, MERGED),
    ],
    "required checks are slow": [Step(required_checks, MERGED, command=SUBMIT)],
    "a late check is red, then green after a fix": [
        Step(late_and_red_until_fixed, MERGED, command=SUBMIT)
    ],
    "no check can start, then green after a fix": [
        Step(broken_workflow_until_fixed, MERGED, command=SUBMIT)
    ],
    "the method is not allowed": [
        Step(no_squash, BACK, ["does not allow the merge method 'squash'"], SUBMIT),
        Step(green, BACK, command=SUBMIT),
    ],
    "a merge queue": [
        Step(with_queue, WAITS, ["a person adds it to the merge queue"], SUBMIT),
        Step(lambda desk: desk.hub.squash(desk.number), MERGED),
    ],
    "a conflict": [
        Step(green, SUBMITTED, command=NO_MERGE),
        Step(conflict, MERGED),
    ],
    "the branch is force-pushed": [
        Step(green, SUBMITTED, command=NO_MERGE),
        Step(Desk.force_push, BACK, ["has commits from someone else"]),
    ],
    "merged by hand": [
        Step(green, SUBMITTED, command=NO_MERGE),
        Step(lambda desk: desk.hub.squash(desk.number), MERGED),
    ],
    "closed by hand": [
        Step(green, SUBMITTED, command=NO_MERGE),
        Step(lambda d: d.pull.update(state="closed"), BACK, ["closed without being merged"]),
    ],
    "the branch is deleted": [
        Step(green, SUBMITTED, command=NO_MERGE),
        Step(Desk.delete_branch, BACK, ["closed without being merged"]),
    ],
    "401": [
        Step(fault("answer", 401, b'{"message": "Bad credentials"}'), BACK, ["token"], SUBMIT),
        Step(nothing, MERGED, command=SUBMIT),
    ],
    "401 to a gate": [
        Step(denied_checks, BACK, ["ci_status", "token"], SUBMIT),
        Step(nothing, MERGED, command=SUBMIT),
    ],
    "403, the rate limit": [
        Step(
            fault("answer", 403, b"{}", x_ratelimit_remaining="0", x_ratelimit_reset=LATER),
            "parked",
            ["rate limit"],
            ("work",),
        ),
        Step(nothing, MERGED),
    ],
    "502": [Step(fault("answer", 502), MERGED, command=SUBMIT)],
    "the connection drops before the merge": [Step(fault("drop"), MERGED, command=SUBMIT)],
    "the connection drops after the merge": [Step(fault("lose"), MERGED, command=SUBMIT)],
}


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubPipeline]:
    runner = Cli(tmp_path_factory.mktemp("scenarios"))
    yield HubPipeline(runner)
    runner.close()


@pytest.fixture(scope="module")
def hub(line: HubPipeline) -> Iterator[Hub]:
    with running_hub(line) as running:
        line.begin_at(running, gates=GATES, hooks=HOOKS)
        line.turn(TURN)
        yield running


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (github, github_rest):
        monkeypatch.setattr(module, "BACKOFF", (0.01, 0.01, 0.01))
    monkeypatch.setattr(unmerged, "CHECKS_WAIT", 0.01)


@pytest.mark.examples(1)
@pytest.mark.parametrize("name", SCENARIOS)
def test_what_happens_there(hub: Hub, line: HubPipeline, name: str) -> None:
    hub.forget()
    desk = Desk(line, hub)
    green_before, landed_before = set(hub.green), len(hub.landed)
    for step in SCENARIOS[name]:
        step.act(desk)
        outcome, said = play(desk, step)
        assert outcome == step.outcome, said
        for words in step.says:
            assert words in said
        assert "fix the gate" not in said
    for head in hub.landed[landed_before:]:
        assert head in hub.green - green_before, "merged, and nobody knew what CI says"
    ends = [step.outcome for step in SCENARIOS[name]]
    merges = line.git("log", "--format=%s", "main", at=line.remote).splitlines()
    assert len(hub.landed) - landed_before <= 1
    assert (desk.task in line.parts()) == (MERGED in ends), merges


@pytest.mark.torture
def test_what_a_gate_moved_is_pushed_before_ci_is_asked(cli: Cli) -> None:
    line = HubPipeline(cli)
    with running_hub(line) as hub:
        hooks = HOOKS.replace("before_merge: [", "before_merge: [rebase_on_main, ")
        line.begin_at(hub, gates=f"{GATES}, max_wait: 5", hooks=hooks)
        desk = Desk(line, hub)
        green(desk)
        assert cli("submit", desk.task, "--no-merge", "--json").code == 0
        base_moves(desk)
        assert cli("merge", desk.task, "--json").json["outcome"] == MERGED
        assert set(hub.landed) <= hub.green


def test_what_the_author_of_work_that_ci_rejects_is_told(cli: Cli) -> None:
    line = HubPipeline(cli)
    with running_hub(line) as hub:
        line.begin_at(hub, gates="tries: 1", hooks="before_submit: [create_pr, ci_status]")
        line.turn("true\n")
        desk = Desk(line, hub)
        hub.ci = lambda sha: "failure"
        cli("submit", desk.task, "--agent", "bot", "--json")
        (told,) = line.prompts(desk.task)
        check_prompt(cli, "fix-ci", told)


def play(desk: Desk, step: Step) -> tuple[str, str]:
    """How far a command brings the work, and what people are told of it."""
    command, *options = step.command
    if command == "work":  # which does not stay where nothing moves for a minute
        assert desk.cli("submit", desk.task, "--no-merge", "--json").code == 0
        desk.cli("work", "--once", "--json")
        return "parked", desk.attention()
    result: Result = desk.cli(command, desk.task, *options, "--json")
    found = result.json
    return found["outcome"], f"{found['reason']} {desk.attention()}"
