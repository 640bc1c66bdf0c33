"""A server is replaced by one that has not got everything: nobody goes on as if it had."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import PATIENCE, Cli, eventually
from tests.e2e.failover_rig import Pair, followed
from tests.e2e.pipeline_rig import Pipeline
from tests.postgres_server import PostgresServer, new_project

if TYPE_CHECKING:
    from collections.abc import Iterator

GATES = "hooks: {before_submit: [rebase_on_main, create_pr]}\n"


@pytest.fixture
def pair() -> Iterator[Pair]:
    with followed() as made:
        yield made


@pytest.fixture
def shared(cli: Cli, pair: Pair) -> Cli:
    cli.env["HOOKLINE_STORE"] = pair.url
    return cli


def test_a_failover_that_loses_nothing_is_no_more_than_a_restart(shared: Cli, pair: Pair) -> None:
    first, second = shared.add("kept"), shared.add("kept too")
    before = shared.json("task", "claim", first, "--agent", "a")["claim"]["token"]
    pair.cut()
    pair.fail_over()
    after = shared.json("task", "claim", second, "--agent", "b")["claim"]["token"]
    assert [each["goal"] for each in shared.json("task", "list")] == ["kept", "kept too"]
    # The other server may have forgotten some that were given.
    assert after > before + (1 << 31)


@pytest.mark.torture
def test_what_was_lost_is_noticed_and_put_back_from_git(shared: Cli, pair: Pair) -> None:
    line = Pipeline(shared)
    line.begin(GATES)
    known = shared.add("known to both")
    pair.cut()
    lost = shared.add("known to the first")
    assert sorted(line.worker("--agents", "1")["merged"]) == [known, lost]
    pair.fail_over()
    code, error = shared.refused("task", "add", "more")
    assert (code, error["code"]) == (1, "store-stepped-back")
    assert "hookline store reconcile" in error["help"]
    # All machines stop, not only the one that has noticed.
    other = {"HOOKLINE_HOME": str(shared.root.parent / "another")}
    assert shared.refused("task", "add", "x", env=other)[1]["code"] == "store-stepped-back"
    assert "has lost what it had acknowledged" in shared("status").stderr
    planned = shared.json("store", "reconcile", "--dry-run", quiet=False)
    assert [(each["taskId"], each["kind"]) for each in planned["differences"]] == [
        (known, "merged"),
        (lost, "lost-task"),
    ]
    assert shared.refused("task", "add", "more")[1]["code"] == "store-stepped-back"
    found = shared.json("store", "reconcile", quiet=False)
    assert found["differences"] == planned["differences"]
    tasks = shared.json("task", "list", "--all")
    assert [(each["id"], each["state"]) for each in tasks] == [
        (known, "completed"),
        (lost, "completed"),
    ]
    assert shared.add("more") == "T-3"
    shared.json("task", "add", "from elsewhere", env=other, quiet=False)
    assert line.worker()["merged"] == ["T-3", "T-4"]
    line.check_main()


@pytest.mark.torture
def test_the_branches_of_what_was_lost_are_kept(shared: Cli, pair: Pair) -> None:
    """Both were begun on the server that is gone; the other one knows only one of them."""
    line = Pipeline(shared)
    line.begin("session: {iterations: 1}\n")
    known = shared.add("known to both")
    pair.cut()
    lost = shared.add("known to the first")
    line.turn('work; git add -A; git commit -qm "half of $HOOKLINE_TASK_ID"; exit')
    line.worker("--agents", "1", code=4)
    pair.fail_over()
    shared.refused("task", "add", "more")
    found = shared.json("store", "reconcile", quiet=False)["differences"]
    tips = [line.git("rev-parse", f"hookline/{task}") for task in (known, lost)]
    assert [(each["taskId"], each["kind"], each["ref"]) for each in found] == [
        (known, "branch", tips[0]),
        (lost, "lost-task", tips[1]),
    ]
    assert [shared.task(each)["state"] for each in (known, lost)] == ["ready", "blocked"]
    assert shared.task(lost)["goal"] == f"half of {lost}"
    assert "hookline store reconcile" in shared("attention", "--json").stdout
    # Whoever goes on finds what was done.
    line.turn(
        'if grep -q "Leave no marker line" "$box/$n"; then resolve; return; fi;'
        ' [ "$(git log -1 --format=%s)" = "half of $HOOKLINE_TASK_ID" ] && touch $box.kept'
    )
    shared.json("task", "unblock", lost)
    line.worker("--agents", "1")
    assert [(line.box / f"{each}.kept").exists() for each in (known, lost)] == [True, True]
    assert line.merges() == [known, lost]


@pytest.mark.torture
def test_the_doctor_says_what_a_failover_would_lose(shared: Cli, pair: Pair) -> None:
    shared.add("a task")
    follows = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
    eventually(lambda: pair.primary.run(follows) == [(1,)], "replication")
    assert durability(shared)[0] == "warning"
    assert "a failover loses changes that were acknowledged" in durability(shared)[1]
    pair.primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'")
    pair.primary.run("SELECT pg_reload_conf()")
    eventually(lambda: durability(shared)[0] == "ok", "synchronous replication")
    pair.cut()
    pair.primary.run("ALTER SYSTEM RESET synchronous_standby_names")
    pair.primary.run("SELECT pg_reload_conf()")
    eventually(lambda: "only a backup" in durability(shared)[1], "no standby")


def durability(cli: Cli) -> tuple[str, str]:
    """What the doctor says about that."""
    found = cli.json("doctor", quiet=False)["checks"]
    return next((each["status"], each["message"]) for each in found if each["name"] == "durability")


def test_a_worker_ends_its_turns_when_the_server_steps_back(shared: Cli, pair: Pair) -> None:
    line = Pipeline(shared)
    line.begin(GATES)
    shared.add("a part")
    pair.cut()
    line.turn("touch $here/began; until [ -e $here/go ]; do sleep 0.02; done; work")
    worker = shared.start("work", "--once", "--json")
    eventually((line.box / "began").exists, "the turn")
    pair.fail_over()
    _, stderr = worker.communicate(timeout=PATIENCE)
    assert worker.returncode == 1
    assert json.loads(stderr.splitlines()[-1])["error"]["code"] == "store-stepped-back"


@pytest.mark.torture
@pytest.mark.parametrize("method", ["merge", "rebase"])
def test_an_agent_cannot_have_other_tasks_completed(
    cli: Cli, postgres: PostgresServer, method: str
) -> None:
    """Its commits can name any task, and it can make branches of any name."""
    cli.env["HOOKLINE_STORE"] = new_project(postgres)
    line = Pipeline(cli)
    line.begin(f"{GATES}gates: {{method: {method}}}\n")
    task = cli.add("one")
    line.turn(
        'work; git add -A; git commit -qm "work" -m "Task: T-1\nTask: T-2\n---\nTask: T-2";'
        " more=$(git commit-tree 'HEAD^{tree}' -p HEAD -m more);"
        " git update-ref refs/heads/hookline/T-900000000000000 $more"
    )
    assert line.worker()["merged"] == [task]
    other = cli.add("two")
    found = cli.json("store", "reconcile", quiet=False)["differences"]
    assert [(each["taskId"], each["kind"]) for each in found] == [
        ("T-900000000000000", "strange-number")
    ]
    assert cli.task(other)["state"] == "ready"
    assert cli.add("three") == "T-3"


def test_the_open_runs_of_work_that_is_on_the_base_are_cancelled(
    cli: Cli, postgres: PostgresServer
) -> None:
    cli.env["HOOKLINE_STORE"] = new_project(postgres)
    line = Pipeline(cli)
    line.begin("hooks: {before_submit: [{human: Good?}]}\n")
    task = cli.add("one")
    line.worker(code=4)
    merge = ("merge", "--quiet", "--no-ff", f"hookline/{task}", "-m", "one", "-m", f"Task: {task}")
    line.git(*merge)
    line.git("push", "--quiet", "origin", "main")
    (found,) = cli.json("store", "reconcile", quiet=False)["differences"]
    assert (found["taskId"], found["kind"], found["does"]) == (task, "merged", "completed")
    assert cli.task(task)["state"] == "completed"
    assert {run["status"] for run in cli.json("flow", "status")} == {"completed", "cancelled"}
