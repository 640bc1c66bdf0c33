"""`hookline work`: tasks become merged code, whoever watches, whatever goes wrong on the way."""

from __future__ import annotations

import json
import signal
import subprocess
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from hookline.app import App
from hookline.worker.news import News
from hookline.worker.records import GateSpoke, WorkRecord
from tests.e2e.conftest import Cli, eventually, kill
from tests.e2e.terminal_rig import Terminal, normal

if TYPE_CHECKING:
    from pathlib import Path

# Writes a file of its own for each task, and waits for `go` where it is told to.
AGENT = """\
cat > /dev/null
touch "$HOOKLINE_PROJECT/../begun.$HOOKLINE_TASK_ID"
while [ -e "$HOOKLINE_PROJECT/../wait" ]; do sleep 0.02; done
echo "$HOOKLINE_TASK_ID" >> "work-$HOOKLINE_TASK_ID.txt"
cat "$HOOKLINE_PROJECT/../say"
"""
PROMISE = "<promise>COMPLETE</promise>\n"
ADA = """\
agents:
  ada: {driver: command, command: 'sh "$HOOKLINE_PROJECT/agent.sh"'}
"""


class Workshop:
    """A project in a git repository, with an agent that does what the test wants."""

    def __init__(self, cli: Cli) -> None:
        self.cli = cli
        self.outside: Path = cli.root.parent
        (self.outside / "say").write_text(PROMISE)

    def configure(self, more: str = "", agents: str = ADA) -> None:
        """Everything is committed and trusted."""
        self.cli.put("agent.sh", AGENT)
        self.cli.put(".gitignore", ".hookline/\n")
        self.cli.configure(agents + more)
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("config", "user.name", "n")
        self.git("config", "user.email", "a@b")
        self.commit()

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "begin")

    def git(self, *words: str) -> str:
        return subprocess.run(
            ("git", *words), cwd=self.cli.root, check=True, capture_output=True, text=True
        ).stdout

    def work(self, *options: str, code: int = 0) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """What a worker told until nothing was left to do, and how it ended."""
        result = self.cli("work", "--once", "--json", *options)
        assert result.code == code, result.stderr
        *records, last = map(json.loads, result.stdout.splitlines())
        assert last["type"] == "work_ended"
        return records, last["data"]

    def merges(self) -> list[str]:
        """What was merged into main, the oldest first."""
        said = self.git("log", "--merges", "--first-parent", "--reverse", "--format=%s", "main")
        return said.splitlines()

    def state(self, task: str) -> str:
        return str(self.cli.task(task)["state"])

    def hold(self) -> None:
        """Agents wait from now on."""
        (self.outside / "wait").touch()

    def let_go(self) -> None:
        (self.outside / "wait").unlink()

    def has_begun(self, task: str) -> bool:
        return (self.outside / f"begun.{task}").exists()


@pytest.fixture
def shop(cli: Cli) -> Workshop:
    return Workshop(cli)


def of(records: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [record["data"] for record in records if record["type"] == kind]


# What it does


@pytest.mark.torture
def test_dependent_tasks_become_merged_code(shop: Workshop) -> None:
    shop.configure()
    remote = shop.outside / "remote.git"
    shop.git("init", "--quiet", "--bare", "--initial-branch=main", str(remote))
    shop.git("remote", "add", "origin", str(remote))
    shop.git("push", "--quiet", "origin", "main")
    first = shop.cli.add("first")
    second = shop.cli.add("second", "--depends-on", first)
    records, ended = shop.work()
    assert shop.merges() == ["first", "second"]
    assert shop.git("rev-parse", "main") == shop.git("--git-dir", str(remote), "rev-parse", "main")
    assert [each["taskId"] for each in of(records, "task_begun")] == [first, second]
    assert [each["outcome"] for each in of(records, "session_ended")] == ["completed"] * 2
    merged = of(records, "merged")
    assert [each["taskId"] for each in merged] == [first, second]
    assert shop.cli.task(second)["artifacts"] == [merged[1]["sha"]]
    gates = [(each["hook"], each["status"]) for each in of(records, "gate") if each["hook"]]
    assert [status for _, status in gates] == ["success", "success"]
    kinds = [record["type"] for record in records if record["data"].get("taskId") == first]
    order = ["task_begun", "submission_started", "session_ended", "gate", "submitted", "merged"]
    assert list(dict.fromkeys(kinds)) == order
    assert ended["outcome"] == "done"
    assert ended["begun"] == 2
    assert ended["merged"] == [first, second]
    assert ended["tasks"] == {first: "completed", second: "completed"}


def test_what_a_gate_rejects_is_told_and_sent_back(shop: Workshop) -> None:
    shop.configure("hooks:\n  before_submit: [{name: never, command: 'echo ugly; false'}]\n")
    shop.cli.add("first")
    shop.cli.add("second", "--depends-on", "T-1")
    result = shop.cli("work", "--once")
    assert result.code == 4
    left = "1 sent back (T-1), 1 waiting for these (T-2)"
    assert result.stdout == f"nothing left to do: 1 task started, 0 merged, {left}\n"
    lines = result.stderr.splitlines()
    assert lines[0] == "T-1   ada starts: first"
    assert sum("✗ before_submit never" in line for line in lines) == 4
    assert sum(line == "T-1   ada fixes it" for line in lines) == 3
    assert lines[-1].startswith("T-1   sent back: never:")
    assert "\x1b" not in result.stderr
    assert (shop.state("T-1"), shop.state("T-2")) == ("needs_continuation", "created")
    assert shop.merges() == []


def test_types_that_are_not_wanted_are_left_alone(shop: Workshop) -> None:
    types = "task_types:\n  docs: {}\n  code: {agents: {implementer: [ada]}}\n"
    shop.configure(types)
    shop.cli.add("docs", "--type", "docs")
    shop.cli.add("code", "--type", "code")
    shop.cli.add("anything")
    _, ended = shop.work("--types", "code")
    assert ended["merged"] == ["T-2"]
    assert (shop.state("T-1"), shop.state("T-3")) == ("ready", "ready")


# Limits


def test_a_limit_of_tasks_ends_it_with_5(shop: Workshop) -> None:
    shop.configure()
    shop.cli.add("first")
    shop.cli.add("second")
    _, ended = shop.work("--tasks", "1", code=5)
    assert (ended["outcome"], ended["limit"], ended["begun"]) == ("limit", "tasks", 1)
    assert shop.merges() == ["first"]
    assert shop.state("T-2") == "ready"
    _, ended = shop.work("--tasks", "1")
    assert (ended["outcome"], ended["limit"]) == ("done", None)


def test_a_limit_of_money_counts_every_turn(shop: Workshop) -> None:
    turn = {
        "run": "touch file.$HOOKLINE_TASK_ID",
        "text": PROMISE,
        "usage": {"usd": 0.75},
        "repeat": True,
    }
    shop.cli.put("script.json", json.dumps([turn]))
    shop.configure(agents="agents:\n  ada: {driver: scripted, script: script.json}\n")
    for goal in ("first", "second", "third"):
        shop.cli.add(goal)
    _, ended = shop.work("--usd", "1", code=5)
    assert (ended["limit"], ended["begun"], ended["usd"]) == ("usd", 2, 1.5)
    assert shop.state("T-3") == "ready"


@pytest.mark.parametrize(
    "option", [("--agents", "0"), ("--tasks", "0"), ("--usd", "nan"), ("--minutes", "-1")]
)
def test_limits_that_leave_no_room_are_refused(shop: Workshop, option: tuple[str, str]) -> None:
    shop.configure()
    code, error = shop.cli.refused("work", "--once", *option)
    assert (code, error["code"]) == (2, "bad-input")


# What is refused at the start, before any task is touched


def test_a_folder_without_a_repository_is_refused(shop: Workshop) -> None:
    shop.cli.configure(ADA)
    shop.cli.add("first")
    code, error = shop.cli.refused("work", "--once")
    assert (code, error["code"]) == (1, "repository")
    assert error["help"]
    assert shop.cli.events("task_claimed") == []


def test_a_repository_without_a_commit_is_refused(shop: Workshop) -> None:
    shop.cli.configure(ADA)
    shop.git("init", "--quiet")
    shop.cli.add("first")
    code, error = shop.cli.refused("work", "--once")
    assert (code, error["code"]) == (1, "repository")
    assert shop.cli.events("task_claimed") == []


def test_what_is_broken_untrusted_or_unknown_is_refused(shop: Workshop) -> None:
    shop.configure()
    shop.cli.add("first")
    code, error = shop.cli.refused("work", "--once", "--agent", "eda")
    assert (code, error["message"]) == (2, "there is no agent 'eda'")
    assert "did you mean 'ada'?" in error["help"]
    shop.cli.put("agent.sh", "echo other")
    code, error = shop.cli.refused("work", "--once")
    assert (code, error["code"]) == (2, "untrusted")
    shop.cli.put("hookline.yaml", "version: 1\nagentz: {}\n")
    code, error = shop.cli.refused("work", "--once")
    assert (code, error["code"]) == (2, "bad-configuration")
    assert shop.cli.events("task_claimed") == []


def test_an_agent_cannot_start_a_worker(shop: Workshop) -> None:
    shop.configure()
    result = shop.cli("work", "--once", "--json", env={"HOOKLINE_RUN_ID": "R-1"})
    assert result.code == 1
    assert "inside R-1" in result.error["message"]
    result = shop.cli("work", "--once", "--json", env={"HOOKLINE_AGENT": "ada"})
    assert "only a person can run `hookline work`" in result.error["message"]


def test_a_task_that_cannot_be_begun_is_told_once(shop: Workshop) -> None:
    shop.configure()
    shop.cli.add("first", "--priority", "0")
    shop.cli.add("second")
    shop.cli.add("third", "--depends-on", "T-2")
    shop.cli.put(".hookline/worktrees/T-1", "somebody's file")
    records, ended = shop.work(code=1)
    told = of(records, "cannot_begin")
    assert [each["taskId"] for each in told] == ["T-1"]
    assert "worktrees/T-1" in told[0]["message"]
    assert ended["leftAlone"] == ["T-1"]
    assert shop.merges() == ["second", "third"]
    assert shop.state("T-1") == "ready"
    assert (shop.cli.root / ".hookline/worktrees/T-1").read_text() == "somebody's file"


def test_work_that_changes_what_is_trusted_waits_before_it_is_merged(shop: Workshop) -> None:
    shop.configure()
    shop.cli.put("agent.sh", AGENT + "grep -q more$ agent.sh || echo '# more' >> agent.sh\n")
    shop.cli.json("trust", "--yes")
    shop.commit()
    shop.cli.add("first", "--priority", "0")
    shop.cli.add("second", "--depends-on", "T-1")
    _, ended = shop.work(code=4)
    assert (ended["waiting"], ended["merged"]) == (["T-1"], [])
    assert [event["nodeId"] for event in shop.cli.events("task_claimed")] == ["T-1"]
    shop.cli.json("trust", "--task", "T-1", "--yes")
    shop.work()
    assert shop.merges() == ["first", "second"]


def test_work_that_waits_for_a_person_is_finished_after_their_word(shop: Workshop) -> None:
    shop.configure("hooks:\n  before_merge: [{human: {question: Ship it?}}]\n")
    shop.cli.add("first")
    records, ended = shop.work(code=4)
    asked = [each for each in of(records, "gate") if each["waitsForPerson"]]
    assert len(asked) == 1
    assert asked[0]["message"].endswith("Ship it?")
    assert (ended["waiting"], ended["merged"], ended["parked"]) == (["T-1"], [], [])
    shop.cli.json("gate", "approve", "T-1")
    _, ended = shop.work()
    assert ended["merged"] == ["T-1"]


# Stopping, dying, and going on


def test_an_interrupt_stops_after_the_turn_and_the_session_goes_on_later(shop: Workshop) -> None:
    shop.configure()
    (shop.outside / "say").write_text("not yet\n")
    shop.hold()
    shop.cli.add("first")
    shop.cli.add("second", "--depends-on", "T-1")
    worker = shop.cli.start("work", "--once", "--json")
    eventually(lambda: shop.has_begun("T-1"), "the turn")
    worker.send_signal(signal.SIGINT)
    eventually(lambda: bool(shop.cli.events("run_signalled")), "the wish to stop")
    shop.let_go()
    stdout, _ = worker.communicate(timeout=60)
    assert worker.returncode == 130
    ended = json.loads(stdout.splitlines()[-1])
    assert (ended["type"], ended["data"]["outcome"]) == ("work_ended", "stopped")
    assert shop.state("T-1") == "ready"
    (shop.outside / "say").write_text(PROMISE)
    records, ended = shop.work()
    begun = of(records, "task_begun")
    assert (begun[0]["runId"], begun[0]["resumed"]) == ("R-1", True)
    assert ended["merged"] == ["T-1", "T-2"]


def test_a_second_interrupt_stops_the_agent_at_once(shop: Workshop) -> None:
    shop.configure()
    shop.hold()
    shop.cli.add("first")
    worker = shop.cli.start("work", "--once")
    eventually(lambda: shop.has_begun("T-1"), "the turn")
    worker.send_signal(signal.SIGINT)
    eventually(lambda: bool(shop.cli.events("run_signalled")), "the wish to stop")
    worker.send_signal(signal.SIGINT)
    stdout, stderr = worker.communicate(timeout=60)
    assert worker.returncode == 130
    assert "stopping after these turns; ^C again stops now" in stderr
    assert stdout.startswith("stopped: 1 task started, 0 merged")
    assert shop.state("T-1") == "ready"


def test_what_a_killed_worker_left_is_finished_by_the_next(shop: Workshop) -> None:
    shop.configure()
    shop.hold()
    shop.cli.add("first")
    shop.cli.add("second", "--depends-on", "T-1")
    worker = shop.cli.start("work")
    eventually(lambda: shop.has_begun("T-1"), "the turn")
    kill(worker)
    shop.let_go()
    records, ended = shop.work()
    begun = [(each["taskId"], each["runId"]) for each in of(records, "task_begun")]
    assert begun[0] == ("T-1", "R-1")
    assert [each["taskId"] for each in of(records, "merged")] == ["T-1", "T-2"]
    assert ended["begun"] == 1
    assert ended["tasks"] == {"T-1": "completed", "T-2": "completed"}
    assert shop.merges() == ["first", "second"]


@pytest.mark.torture
def test_two_workers_share_the_tasks(shop: Workshop) -> None:
    shop.configure()
    root = shop.cli.add("root")
    goals = [shop.cli.add(f"leaf {number}", "--depends-on", root) for number in range(3)]
    workers = [shop.cli.start("work", "--once", "--json") for _ in range(2)]
    ends = [json.loads(worker.communicate(timeout=90)[0].splitlines()[-1]) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    assert sum(end["data"]["begun"] for end in ends) == 4
    assert sum(len(end["data"]["merged"]) for end in ends) == 4
    assert sorted(shop.merges()) == ["leaf 0", "leaf 1", "leaf 2", "root"]
    assert [shop.state(goal) for goal in goals] == ["completed"] * 3


# What a person sees


def test_every_lane_has_a_line_on_a_terminal(shop: Workshop) -> None:
    shop.configure()
    shop.hold()
    shop.cli.add("first")
    shop.cli.add("second")
    shop.cli.add("third")
    terminal = Terminal(shop.cli, "work", "--agents", "2", "--once", columns=70, rows=20)
    try:
        both = ("● T-1   ada        iteration 1, agent turn", "● T-2   ada        iteration 1")
        terminal.until(lambda: all(any(t in row for row in terminal.shown) for t in both), "lanes")
        terminal.shows("lanes 2/2 · ready 1 · merged 0")
        assert normal(terminal.shown)[:2] == ["T-1   ada starts: first", "T-2   ada starts: second"]
        shop.let_go()
        assert terminal.ends() == 0
        rows = [row for row in terminal.everything if row]
        assert sum(" merged untested " in row for row in rows) == 3
        assert not any("●" in row or "lanes" in row for row in rows)
        assert any(row.startswith("nothing left to do: 3 tasks started") for row in rows)
    finally:
        terminal.close()


GATE = """
hooks:
  before_submit:
    - name: twice
      command: "while [ ! -e $HOOKLINE_PROJECT/../go ]; do sleep 0.02; done;
                [ $(cat work-*.txt | wc -l) = 2 ]"
"""


def test_who_looks_seldom_reads_what_happened_in_its_order(shop: Workshop) -> None:
    shop.configure(GATE)
    shop.cli.add("first")
    with closing(App.open(str(shop.cli.root), environ=shop.cli.env, read_only=True)) as app:
        news = News(app, {"T-1"}, 0)
        types: list[str] = []
        worker = shop.cli.start("work", "--once")

        def is_submitted() -> bool:
            types.extend(each.type for each in news.new() if isinstance(each, WorkRecord))
            return "submission_started" in types

        eventually(is_submitted, "the submission")
        (shop.outside / "go").touch()
        worker.communicate(timeout=100)
        told = [each for each in news.new() if isinstance(each, WorkRecord)]
    gates = [each.data.status for each in told if isinstance(each.data, GateSpoke)]
    assert gates[:2] == ["failure", "success"]
    assert [each.type for each in told][:3] == ["gate", "remediation", "gate"]


# What a session without a worktree left


def test_a_task_whose_session_reached_its_limit_waits_for_a_person(shop: Workshop) -> None:
    """Its agent has not proven anything, so no other one begins without it."""
    shop.configure("session: {iterations: 1}\n")
    (shop.outside / "say").write_text("not yet\n")
    task = shop.cli.add("one")
    assert shop.cli("run", "--task", task, "--name", "first").code == 5
    (shop.outside / "say").write_text(PROMISE)
    _, summary = shop.work(code=4)
    assert (summary["begun"], shop.merges()) == (0, [])
    assert shop.state(task) == "needs_continuation"
    (waits,) = shop.cli("attention", "--json").json
    assert waits["command"] == "hookline run --resume --name first --iterations 2"
    assert shop.cli("run", "--resume", "--name", "first", "--iterations", "2").code == 0
    assert shop.state(task) == "completed"
