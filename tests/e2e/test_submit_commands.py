"""`hookline submit` and `hookline merge` in real repositories with a bare remote."""

from __future__ import annotations

import re
import shutil
import signal
import time
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import eventually, kill
from tests.e2e.gate_rig import Repo

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.e2e.conftest import Cli

NEEDS_OK = "hooks: {before_submit: [{name: ready, command: 'test -f ok'}]}\n"
HUMAN = "hooks: {before_submit: [], before_merge: [{name: boss, human: {}}]}\n"
MEND = "cat > ../prompt; touch ok; git add ok; git commit -qm mended"
MENDER = f"agents: {{bot: {{driver: command, command: '{MEND}'}}}}\n"


@pytest.fixture
def repo(cli: Cli) -> Repo:
    return Repo(cli)


def left(cli: Cli) -> list[tuple[str, str]]:
    """The tasks that wait for somebody, each with the command to type."""
    return [(item["id"], item["command"]) for item in cli("attention", "--json").json]


def test_work_that_passes_its_gates_is_merged_and_only_then_completed(repo: Repo, cli: Cli) -> None:
    repo.begin(NEEDS_OK)
    task = cli.add("Add a thing")
    repo.work("ok", "thing")
    result = cli("submit", task)
    assert result.code == 0
    assert result.stdout.startswith(f"{task} merged")
    assert "✓ before_submit" in result.stderr
    assert "R-1: T-1, work into main" in result.stderr
    assert repo.merged() == ["ok", "thing"]
    found = cli.task(task)
    assert (found["state"], found["commitsCount"]) == ("completed", 2)
    order = [e["type"] for e in cli.events("task_submitted", "task_completed", "merge_queued")]
    assert order == ["task_submitted", "merge_queued", "task_completed"]


def test_the_answer_for_programs_says_where_the_work_is_now(repo: Repo, cli: Cli) -> None:
    repo.begin("hooks: {before_submit: []}\n")
    task = cli.add("Add a thing")
    repo.work("thing")
    answer = cli.json("submit", task)
    assert (answer["outcome"], answer["flow"], answer["state"]) == ("merged", "merge", "completed")
    assert answer["sha"] == repo.git("rev-parse", "main", at=repo.remote)


def test_work_that_a_gate_rejects_is_sent_back_with_the_reason(repo: Repo, cli: Cli) -> None:
    repo.begin(NEEDS_OK + "gates: {tries: 0}\n")
    task = cli.add("Add a thing")
    repo.work("thing")
    result = cli("submit", task, "--json")
    assert result.code == 3
    assert (result.json["outcome"], result.json["hook"]) == ("sent_back", "ready")
    assert "`test -f ok` exited 1" in result.json["remediationPrompt"]
    assert repo.merged() == []
    found = cli.task(task)
    assert found["state"] == "needs_continuation"
    assert "ready: `test -f ok` exited 1" in found["blockReason"]
    assert repo.runs() == [("submit", "completed")]


def test_the_agent_mends_what_a_gate_rejects_and_all_gates_run_again(repo: Repo, cli: Cli) -> None:
    first = "{name: first, command: 'echo asked >> ../asked'}"
    repo.begin(NEEDS_OK.replace("[", f"[{first}, ") + MENDER)
    task = cli.add("Add a thing")
    repo.work("thing")
    assert cli("submit", task).code == 0
    assert (cli.root.parent / "asked").read_text() == "asked\nasked\n"
    prompt = (cli.root.parent / "prompt").read_text()
    assert "`test -f ok` failed on your work with exit code 1" in prompt
    assert repo.merged() == ["ok", "thing"]
    assert cli.task(task)["turnsUsed"] == 1


def test_mended_work_passes_when_it_is_submitted_again(repo: Repo, cli: Cli) -> None:
    repo.begin(NEEDS_OK + "gates: {tries: 0}\n")
    task = cli.add("Add a thing")
    repo.work("thing")
    assert cli("submit", task).code == 3
    cli.put("ok", "now\n")
    repo.commit("mended")
    assert cli("submit", task).code == 0
    assert repo.runs() == [("submit", "completed"), ("submit", "completed"), ("merge", "completed")]


def test_the_worktree_of_a_task_is_where_its_work_is_looked_for(repo: Repo, cli: Cli) -> None:
    repo.begin(NEEDS_OK)
    task = cli.add("Add a thing")
    place = cli.root / ".hookline" / "worktrees" / task
    repo.git("worktree", "add", "--quiet", "-b", f"hookline/{task}", str(place), "main")
    (place / "ok").write_text("not committed yet\n", encoding="utf-8")
    result = cli("submit", task)
    assert result.code == 0, result.stderr
    assert f"hookline/{task} into main" in result.stderr
    assert repo.merged() == ["ok"]


def test_a_task_without_commits_completes(repo: Repo, cli: Cli) -> None:
    repo.begin("hooks: {before_submit: [{command: 'false'}]}\n")
    task = cli.add("Review it")
    repo.work()
    assert cli.json("submit", task)["outcome"] == "completed"
    assert cli.task(task)["state"] == "completed"


def test_by_default_a_pull_request_is_opened_and_without_it_on_request(
    repo: Repo, cli: Cli
) -> None:
    repo.begin()
    first, second = cli.add("One thing"), cli.add("Another thing")
    repo.work("one", branch="one")
    assert cli.json("submit", first)["prUrl"]
    repo.git("switch", "--quiet", "main")
    repo.git("pull", "--quiet")
    repo.work("two", branch="two")
    assert cli.json("submit", second, "--skip-pr")["prUrl"] is None
    assert repo.merged() == ["one", "two"]
    assert len(list((cli.root / ".hookline" / "pulls").glob("*.md"))) == 1


# In two steps


def test_work_can_be_submitted_now_and_merged_later(repo: Repo, cli: Cli) -> None:
    repo.begin("hooks: {before_submit: []}\n")
    task = cli.add("Add a thing")
    repo.work("thing")
    assert cli.json("submit", task, "--no-merge")["outcome"] == "submitted"
    assert (cli.task(task)["state"], repo.merged()) == ("submitted", [])
    assert cli.json("submit", task, "--no-merge")["outcome"] == "submitted"
    assert left(cli) == [(task, f"hookline merge {task}")]
    assert cli.json("merge", task)["outcome"] == "merged"
    assert left(cli) == []
    assert (cli.task(task)["state"], repo.merged()) == ("completed", ["thing"])
    assert repo.runs() == [("submit", "completed"), ("merge", "completed")]


def test_merging_what_is_merged_already_changes_nothing(repo: Repo, cli: Cli) -> None:
    repo.begin("hooks: {before_submit: []}\n")
    task = cli.add("Add a thing")
    repo.work("thing")
    merged = cli.json("submit", task)
    head = repo.git("rev-parse", "main", at=repo.remote)
    assert cli.json("merge", task) == merged
    assert repo.git("rev-parse", "main", at=repo.remote) == head
    assert len(repo.runs()) == 2


def test_a_submitted_task_whose_merge_was_cancelled_is_merged_anew(repo: Repo, cli: Cli) -> None:
    repo.begin("hooks: {before_submit: []}\n")
    task = cli.add("Add a thing")
    repo.work("thing")
    assert cli.json("submit", task, "--no-merge")["runId"] == "R-1"
    cli.json("flow", "cancel", "R-2")
    assert left(cli) == [(task, f"hookline merge {task}")]
    assert cli.json("merge", task)["outcome"] == "merged"
    assert repo.merged() == ["thing"]


def test_only_submitted_work_can_be_merged(repo: Repo, cli: Cli) -> None:
    repo.begin()
    task = cli.add("Add a thing")
    code, error = cli.refused("merge", task)
    assert (code, error["code"]) == (1, "illegal-transition")
    assert "its work was not submitted" in error["message"]
    assert f"hookline submit {task}" in error["help"]


@pytest.mark.parametrize("verb", ["complete", "cancel", "fail", "block"])
def test_a_task_that_cannot_be_worked_on_is_not_submitted(repo: Repo, cli: Cli, verb: str) -> None:
    repo.begin()
    task = cli.add("Add a thing")
    cli.json("task", verb, task, *(("--reason", "stuck") if verb == "block" else ()))
    repo.work("thing")
    code, error = cli.refused("submit", task)
    assert (code, error["code"]) == (1, "illegal-transition")
    assert repo.runs() == []


# People


def test_work_that_waits_for_a_person_is_approved_and_goes_on(repo: Repo, cli: Cli) -> None:
    repo.begin(HUMAN)
    task = cli.add("Add a thing")
    repo.work("thing")
    waiting = cli("submit", task)
    assert waiting.code == 4
    assert waiting.stdout.startswith(f"{task} waits for a person")
    assert cli("submit", task).code == 4
    assert (repo.merged(), cli.task(task)["state"]) == ([], "submitted")
    cli.json("gate", "approve", task, "--comment", "well done")
    assert cli("submit", task).code == 0
    assert repo.merged() == ["thing"]
    assert repo.runs() == [("submit", "completed"), ("merge", "completed")]


def test_a_rejection_without_a_word_sends_the_work_back(repo: Repo, cli: Cli) -> None:
    gates = "[{name: ready, command: 'test -f ok'}, {name: boss, human: {}}]"
    repo.begin(f"hooks: {{before_submit: [], before_merge: {gates}}}\n{MENDER}")
    task = cli.add("Add a thing")
    repo.work("thing")
    waiting = cli("submit", task)
    assert waiting.code == 4
    assert "bot fixes it" in waiting.stderr
    cli.json("gate", "reject", task)
    rejected = cli("merge", task)
    assert rejected.code == 3
    assert "fixes it" not in rejected.stderr
    assert "rejected by Ada <ada@example.org>" in rejected.stdout
    assert (repo.merged(), cli.task(task)["state"]) == ([], "needs_continuation")


# Interruptions


@pytest.mark.examples(1)
@pytest.mark.parametrize(
    ("number", "again"),
    [(signal.SIGINT, ("submit", "T-1")), (signal.SIGHUP, ("work", "--once"))],
)
def test_an_interrupted_submission_goes_on_where_it_was(
    repo: Repo, cli: Cli, number: signal.Signals, again: tuple[str, ...]
) -> None:
    slow = "{name: slow, command: 'echo began >> ../began; test -f ../go || sleep 60'}"
    repo.begin(f"hooks: {{before_submit: [{slow}]}}\n{MENDER}")
    task = cli.add("Add a thing")
    repo.work("thing")
    began = cli.root.parent / "began"
    process = cli.start("submit", task)
    eventually(began.exists, "the gate's start")
    process.send_signal(number)
    _, said = process.communicate(timeout=100)
    assert process.returncode == 130
    assert f"resume it with `hookline submit {task}`" in said
    assert left(cli) == [("R-1", f"hookline submit {task}")]
    (cli.root.parent / "go").touch()
    assert cli(*again).code == 0
    assert repo.merged() == ["thing"]
    assert repo.runs() == [("submit", "completed"), ("merge", "completed")]


def test_a_submission_that_a_person_stopped_stays_so_whatever_the_reason_says(
    repo: Repo, cli: Cli
) -> None:
    repo.begin(f"hooks: {{before_submit: [{{human: Good?}}]}}\n{MENDER}")
    task = cli.add("Add a thing")
    repo.work("thing")
    assert cli("submit", task).code == 4
    assert cli.json("flow", "status", "R-1")["reason"] == "waits for its gates"
    cli.json("flow", "stop", "R-1", "--reason", "interrupted: by me")
    assert cli("work", "--once").code == 4
    run = cli.json("flow", "status", "R-1")
    assert (run["status"], run["reason"]) == ("parked", "interrupted: by me")


def test_what_a_killed_submission_leaves_is_shown_and_its_verdicts_are_told_again(
    repo: Repo, cli: Cli
) -> None:
    slow = "{name: slow, command: 'echo began >> ../began; test -f ../go || sleep 60'}"
    repo.begin(f"hooks: {{before_submit: [{{name: quick, command: 'true'}}, {slow}]}}\n")
    task = cli.add("Add a thing")
    repo.work("thing")
    process = cli.start("submit", task)
    eventually((cli.root.parent / "began").exists, "the gate's start")

    def said() -> list[str]:
        return [each["status"] for each in cli.json("gate", "list", task)]

    eventually(lambda: said() == ["success", "pending"], "the first verdict")
    assert left(cli) == []
    kill(process)
    assert left(cli) == [(task, f"hookline submit {task}")]
    (cli.root.parent / "go").touch()
    done = cli("submit", task)
    assert (done.code, left(cli)) == (0, [])
    told = [line.split()[1:3] for line in done.stderr.splitlines() if "✓ before_submit" in line]
    assert told == [["before_submit", "quick"], ["before_submit", "slow"]]


def test_a_gate_that_waits_tells_when_it_is_asked_again_and_is_asked_at_once_on_request(
    repo: Repo, cli: Cli
) -> None:
    gate = "{name: slow, command: 'echo asked >> ../asked; test -f ../go || exit 75'}"
    repo.begin(f"hooks: {{before_submit: [{gate}]}}\n")
    task = cli.add("Add a thing")
    repo.work("thing")
    process = cli.start("submit", task)
    eventually(lambda: repo.runs() == [("submit", "parked")], "the wait")
    (run,) = cli.json("flow", "status")
    assert run["wakeAt"] - time.time() <= 60
    assert left(cli) == [(task, f"hookline submit {task}")]
    assert process.stderr is not None
    waits = list(islice((line for line in process.stderr if "●" in line), 2))
    assert waits[0].endswith("there is no verdict yet\n")
    assert re.fullmatch(
        rf"  ● asked again at \d\d:\d\d:\d\d, or at once with `hookline submit {task}`\n", waits[1]
    )
    (cli.root.parent / "go").touch()
    assert cli("submit", task).code == 0
    process.communicate(timeout=100)
    assert process.returncode == 0
    assert (cli.root.parent / "asked").read_text() == "asked\n" * 2


def test_a_session_cannot_submit_its_own_task(repo: Repo, cli: Cli) -> None:
    repo.begin()
    task = cli.add("Add a thing")
    within = {
        "HOOKLINE_SESSION": "s",
        "HOOKLINE_RUN_ID": "R-9",
        "HOOKLINE_TASK_ID": task,
        "HOOKLINE_DIR": str(cli.root / ".hookline"),
    }
    _, error = cli.refused("submit", task, env=within)
    assert f"hookline task complete {task}" in error["help"]


# Bad repositories: a clear message, and nothing is lost or begun


def _no_repository(repo: Repo) -> None:
    shutil.rmtree(repo.cli.root / ".git")


def _no_commits(repo: Repo) -> None:
    shutil.rmtree(repo.cli.root / ".git")
    repo.git("init", "--quiet")


def _detached(repo: Repo) -> None:
    repo.git("switch", "--quiet", "--detach")


def _base(repo: Repo) -> None:
    repo.git("switch", "--quiet", "main")


def _in_the_middle(repo: Repo) -> None:
    repo.cli.put("readme", "mine\n")
    repo.commit("mine")
    repo.git("switch", "--quiet", "main")
    repo.cli.put("readme", "theirs\n")
    repo.commit("theirs")
    repo.git("switch", "--quiet", "work")
    with pytest.raises(AssertionError):
        repo.git("merge", "main")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_no_repository, "is not in a git repository"),
        (_no_commits, "the repository has no commits yet"),
        (_detached, "no branch is checked out"),
        (_base, "its base branch main is checked out"),
        (_in_the_middle, "git is in the middle of a merge"),
    ],
)
def test_a_repository_that_cannot_be_submitted_from_is_explained(
    repo: Repo, cli: Cli, spoil: Callable[[Repo], None], message: str
) -> None:
    repo.begin()
    task = cli.add("Add a thing")
    repo.work("thing")
    spoil(repo)
    code, error = cli.refused("submit", task)
    assert (code, error["code"]) == (1, "repository")
    assert message in error["message"]
    assert error["help"]
    assert (cli.task(task)["state"], repo.runs()) == ("ready", [])
    assert (cli.root / "readme").exists()


def test_without_a_remote_work_is_merged_here(repo: Repo, cli: Cli) -> None:
    repo.begin("hooks: {before_submit: []}\n")
    repo.git("remote", "remove", "origin")
    task = cli.add("Add a thing")
    repo.work("thing")
    assert cli.json("submit", task)["outcome"] == "merged"
    assert repo.git("show", "main:thing") == "thing"
    assert repo.merged() == []


def test_a_remote_that_refuses_the_merge_sends_the_work_back(repo: Repo, cli: Cli) -> None:
    repo.begin("hooks: {before_submit: []}\n")
    hook = repo.remote / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho main is protected >&2\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    task = cli.add("Add a thing")
    repo.work("thing")
    result = cli("submit", task, "--json")
    assert (result.code, result.json["outcome"]) == (3, "sent_back")
    assert repo.merged() == []
    assert repo.git("show", "work:thing") == "thing"
    assert cli.task(task)["state"] == "needs_continuation"


def test_a_session_on_a_task_with_gates_submits_and_does_not_complete(repo: Repo, cli: Cli) -> None:
    repo.begin(
        "agents: {bot: {driver: command,"
        " command: \"echo done > made; echo '<promise>COMPLETE</promise>'\"}}\n"
        'task_types: {product: {hooks: {before_submit: [{command: "test -f made"}]}}}\n'
    )
    first = cli.add("make it", "--type", "product")
    second = cli.add("build on it", "--depends-on", first)
    done = cli("run", "--task", first)
    assert (done.code, cli.task(first)["state"]) == (0, "submitted")
    assert f"hookline submit {first}" in done.stderr
    assert left(cli) == [(first, f"hookline submit {first}")]
    assert (repo.merged(), cli.task(second)["state"]) == ([], "created")
    done = cli("submit", first)
    assert done.code == 0
    assert "✓ before_submit test    " in done.stderr
    assert "✓ before_submit test    " in cli("gate", "list", first).stdout
    found = cli.json("gate", "list", first)[0]["hook"]
    assert found == "product/before_submit[0]:test"
    assert repo.merged() == ["made"]
    assert [cli.task(each)["state"] for each in (first, second)] == ["completed", "ready"]


def test_work_that_was_called_done_and_has_no_run_yet_is_to_be_submitted(
    repo: Repo, cli: Cli
) -> None:
    repo.begin("task_types: {product: {hooks: {before_submit: []}}}\n")
    task = cli.add("make it", "--type", "product")
    cli.json("task", "complete", task, env={"HOOKLINE_AGENT": "bot"})
    assert (cli.task(task)["state"], repo.runs()) == ("submitted", [])
    assert left(cli) == [(task, f"hookline submit {task}")]


@pytest.mark.examples(1)
@pytest.mark.parametrize("kind", [("--type", "product"), ()])
def test_work_that_was_sent_back_is_gone_on_with_in_its_worktree(
    repo: Repo, cli: Cli, kind: tuple[str, ...]
) -> None:
    repo.begin(
        "agents: {bot: {driver: command, command:"
        " \"test ! -f made || touch ok; touch made; echo '<promise>COMPLETE</promise>'\"}}\n"
        'hooks: {before_submit: [{name: ready, command: "test -f ok"}]}\n'
        "task_types: {product: {}}\n"
        "gates: {tries: 0}\n"
    )
    task = cli.add("make it", *kind)
    assert cli("work", "--once").code == 4
    assert left(cli) == [(task, f"hookline run --task {task}")]
    told = " ".join(cli("attention").stdout.split())
    assert f"if you fix it yourself: hookline submit {task}" in told
    assert cli("run", "--task", task).code == 0
    assert cli("submit", task).code == 0
    assert repo.merged() == ["made", "ok"]


def test_a_gate_that_names_a_file_which_only_the_work_brings_says_so(repo: Repo, cli: Cli) -> None:
    repo.begin("task_types: {product: {hooks: {before_submit: [run_tests: sh greet.sh]}}}\n")
    task = cli.add("make it", "--type", "product")
    place = cli.root / ".hookline" / "worktrees" / task
    repo.git("worktree", "add", "--quiet", "-b", f"hookline/{task}", str(place), "main")
    (place / "greet.sh").write_text("echo hello\n", encoding="utf-8")
    assert cli("submit", task).code == 3
    assert cli.task(task)["blockReason"] == (
        "run_tests: greet.sh is in the task's worktree alone, and what checks work cannot come with"
        " it. Let the hook run a script of the project that calls greet.sh; or commit greet.sh in"
        " the project and run `hookline trust`"
    )
