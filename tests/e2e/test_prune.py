"""`hookline prune`: the details of finished work go, what happened and what is needed stays."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.long_sessions import lengthen

from tests.e2e.conftest import eventually, kill
from tests.e2e.report_file import ReportFile
from tests.e2e.session_rig import PROMISE, Rig, hook

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

LOUD = "head -c 100000 /dev/zero | tr '\\0' x; echo END"
ALL = ("prune", "--older", "0s")


@pytest.fixture
def rig(cli: Cli) -> Rig:
    """A session that is completed, and whose hook printed more than a row holds."""
    found = Rig(cli)
    found.turns(rest=PROMISE)
    found.configure({"post_iteration": [{"name": "loud", "command": LOUD, "pipe_output": True}]})
    assert found.run(name="done").code == 0
    return found


def age(cli: Cli, *names: str, days: int = 3) -> None:
    """Let files of Hookline's have been written so long ago."""
    then = time.time() - days * 86400
    for name in names or ("blobs", "values", "reports", "objects"):
        for path in (cli.root / ".hookline" / name).rglob("*"):
            if path.is_file():
                os.utime(path, (then, then))


def files(cli: Cli, name: str) -> list[str]:
    """The files in a folder of Hookline's, and below it."""
    found = (cli.root / ".hookline" / name).rglob("*")
    return sorted(path.name for path in found if path.is_file())


def payloads(cli: Cli) -> int:
    count: int = cli.rows("SELECT count(*) FROM payloads")[0][0]
    return count


def everything(cli: Cli) -> dict[str, Any]:
    """All files of the project, by name, with their content."""
    found = (path for path in cli.root.rglob("*") if path.is_file())
    return {
        str(path.relative_to(cli.root)): path.read_bytes()
        for path in found
        if path.name not in ("hookline.db-shm", "hookline.db-wal")
    }


# What goes and what stays


def test_the_details_of_finished_work_go(cli: Cli, rig: Rig) -> None:
    cli("session", "report", "done")
    printed = cli.put(".hookline/logs/R-1.log", "what it printed in the background\n")
    age(cli)
    assert (files(cli, "sessions"), files(cli, "reports")) == (["R-1.jsonl"], ["R-1.html"])
    assert files(cli, "blobs")
    pruned = cli.json(*ALL)
    assert payloads(cli) == 0
    assert cli.rows("SELECT count(*) FROM deliveries WHERE stdout <> '' OR blob <> ''") == [(0,)]
    for name in ("sessions", "reports", "blobs", "values"):
        assert files(cli, name) == []
    assert not printed.exists()
    assert files(cli, "logs") == ["hooks.log"]
    kinds = ("calls", "journals", "feeds", "reports", "blobs")
    assert all(pruned[name]["count"] for name in kinds), pruned
    assert pruned["freed"] >= pruned["blobs"]["bytes"] > 100_000


def test_the_folders_of_runs_go_and_what_links_lead_to_stays(cli: Cli, rig: Rig) -> None:
    outside = cli.root.parent / "outside"
    outside.mkdir()
    (outside / "precious").write_text("mine")
    mine = cli.put(".hookline/runs/R-1/deep/kept", "x" * 1000).parent
    (mine / "link").symlink_to(outside)
    other = cli.put(".hookline/runs/R-99/kept", "of nobody")
    pruned = cli.json(*ALL)
    assert pruned["runFolders"]["count"] == 1
    assert pruned["runFolders"]["bytes"] >= 1000
    assert not mine.parent.exists()
    assert other.exists()
    assert (outside / "precious").read_text() == "mine"


def test_snapshots_of_open_sessions_stay(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(rest="date +%N > made")
    rule = {"name": "no", "type": "command", "command": "false"}
    rig.configure({"stop": ["evidence"]}, validation=[rule], session=UNGUARDED)
    rig.repository()
    assert rig.run(iterations=2).said[1] == "limit"
    kept = files(cli, "objects")
    assert kept
    age(cli, days=3)
    with closing(sqlite3.connect(cli.database)) as raw:  # it began before, and is not over
        raw.execute("UPDATE runs SET created_at = '2020-01-01T00:00:00.000Z'")
        raw.commit()
    assert cli.json(*ALL)["snapshots"]["count"] == 0
    assert files(cli, "objects") == kept
    cli("task", "cancel", "T-1")
    assert cli.json(*ALL)["snapshots"]["count"] == len(kept)
    assert "git no longer has what was recorded" in cli("report", "s", "--html", "-").stdout


def test_no_event_goes_and_the_prune_is_one(cli: Cli, rig: Rig) -> None:
    before = cli.events()
    cli(*ALL)
    *same, last = cli.events()
    assert same == before
    assert (last["type"], last["nodeId"]) == ("store_pruned", "system")
    cli(*ALL)
    assert cli.events() == [*same, last]
    code, error = cli.refused("emit", "store_pruned")
    assert (code, error["code"]) == (2, "reserved-event")


def test_what_is_left_is_still_explained(cli: Cli, rig: Rig) -> None:
    fired = [e["seq"] for e in cli.events("point_fired") if e["data"]["point"] == "post_iteration"]
    shown = cli("session", "show", "done").stdout
    assert cli(*ALL).code == 0
    told = cli("why", "loud").stdout
    assert "loud ran at event" in told
    assert "what its hooks saw and printed is gone" in told
    assert "pruned" in cli("why", str(fired[0])).stdout
    assert "END" not in told
    for words in (("task", "show", "T-1"), ("gate", "list", "T-1"), ("why", "R-1"), ("attention",)):
        assert cli(*words).code == 0
    now = cli("session", "show", "done").stdout
    same = [line for line in now.splitlines() if "  pruned    " not in line]
    assert same[1:] == shown.splitlines()[1:]  # the first says how long ago it was
    assert "  pruned    what its hooks saw and printed, and its feed, on 20" in now
    assert cli.json("session", "show", "done")["pruned"].endswith("Z")
    log = cli("hook", "log")
    assert "hook=loud" in log.stdout
    assert log.stderr.startswith("what hooks of finished work saw and printed before 20")
    checks = cli.json("doctor")["checks"]
    assert [each["status"] for each in checks if each["status"] == "failed"] == []
    assert [each["status"] for each in checks if each["name"] == "pruned"] == ["ok"]
    assert "pruned on" in cli("session", "attach", "done", "--from-start").stderr


def test_a_hook_is_not_replayed_on_what_is_gone(cli: Cli, rig: Rig) -> None:
    (seq,) = (e["seq"] for e in cli.events("point_fired") if e["data"]["point"] == "post_iteration")
    cli(*ALL)
    code, error = cli.refused("hook", "replay", "loud", "--event", str(seq))
    assert (code, error["code"]) == (2, "bad-input")
    assert "was pruned" in error["message"]


def test_the_report_has_the_story_from_the_log(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns("echo first words", "echo second words", rest=PROMISE)
    rig.configure(
        {"post_iteration": [{"name": "look", "command": "echo seen", "pipe_output": True}]}
    )
    assert rig.run(iterations=5).code == 0
    cli(*ALL)
    assert cli.rows("SELECT DISTINCT chapter FROM effects") == [(3,)]
    page = cli("session", "report", "s", "-o", "-").stdout
    told = ReportFile(page)
    assert [each["page"]["iteration"] for each in told.session["story"]] == [1, 2, 3]
    assert told.session["page"]["pruned"] is not None
    for each in ("first words", "second words"):
        assert each in told.text


def test_what_hooks_decided_stays(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(rest="echo no")
    rule = {"name": "there", "type": "command", "command": "test -e there"}
    rig.configure({"stop": ["default"]}, validation=[rule])
    rig.run(iterations=2)
    cli("task", "cancel", "T-1")
    before = cli.calls("stop[0]:default", "json_extract(answer, '$.action')")
    assert cli(*ALL).code == 0
    assert cli.calls("stop[0]:default", "json_extract(answer, '$.action')") == before
    assert before == ["continue", "continue"]
    assert "there" in cli("why", "stop[0]:default").stdout


def test_a_dry_run_changes_nothing(cli: Cli, rig: Rig) -> None:
    age(cli)
    before = everything(cli)
    would = cli.json(*ALL, "--dry-run")
    assert everything(cli) == before
    assert would["dryRun"] is True
    done = cli.json(*ALL)
    for name in ("calls", "journals", "feeds", "blobs", "reports", "values", "snapshots"):
        assert done[name] == would[name], name
    said = cli(*ALL, "--dry-run").stdout
    assert said.startswith("nothing to prune of work that was finished before ")


def test_work_that_was_finished_later_stays(cli: Cli, rig: Rig) -> None:
    age(cli)
    before = payloads(cli), files(cli, "blobs"), files(cli, "sessions")
    assert cli.json("prune")["calls"]["count"] == 0
    assert cli.json("prune", "--older", "1h")["calls"]["count"] == 0
    assert (payloads(cli), files(cli, "blobs"), files(cli, "sessions")) == before
    assert cli.events("store_pruned") == []


def test_unfinished_work_keeps_what_it_needs(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(rest="echo working")
    rig.configure({"post_iteration": [{"name": "loud", "command": LOUD, "pipe_output": True}]})
    assert rig.run(iterations=2, name="open").said[1] == "limit"
    kept = payloads(cli), files(cli, "blobs"), files(cli, "sessions")
    age(cli)
    pruned = cli.json(*ALL)
    assert [pruned[name]["count"] for name in ("calls", "feeds", "blobs")] == [0, 0, 0]
    assert (payloads(cli), files(cli, "blobs"), files(cli, "sessions")) == kept
    rig.turns(rest=PROMISE)
    assert rig.resume("--iterations", "4", name="open").code == 0


def test_a_large_value_that_two_need_stays_for_the_one(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(rest=f"{LOUD}; {PROMISE}")
    rig.configure({})
    assert rig.run(goal="same", name="one").code == 0
    rig.turns("true")
    rig.configure({"stop": ["validation"]})
    (rig.box / "rest").write_text(LOUD)
    assert rig.run(goal="same", name="two").said[1] == "limit"
    age(cli)
    cli(*ALL)
    assert cli("session", "report", "two", "-o", "-").stdout.count("is missing") == 0
    cli("task", "cancel", "T-2")


# Who may, and beside whom


def test_only_people_prune(cli: Cli, rig: Rig) -> None:
    before = payloads(cli)
    for name in ("HOOKLINE_AGENT", "HOOKLINE_HOOK", "HOOKLINE_SESSION", "HOOKLINE_EFFECT_ID"):
        refused = cli(*ALL, "--json", env={name: "x"})
        assert (refused.code, refused.error["code"]) == (4, "people-only")
    assert payloads(cli) == before


def test_where_there_is_no_store_there_is_nothing_to_prune(cli: Cli) -> None:
    assert cli("prune", "--dry-run").stdout.startswith("nothing to prune")
    assert not cli.database.exists()


@pytest.mark.parametrize("age", ["", "soon", "-3d", "nan", "inf"])
def test_an_age_that_is_none_is_refused(cli: Cli, rig: Rig, age: str) -> None:
    code, error = cli.refused("prune", f"--older={age}")
    assert (code, error["code"]) == (2, "bad-input")


def test_beside_a_session_nothing_is_lost(cli: Cli, rig: Rig) -> None:
    gate = cli.root.parent / "gate"
    rig.turns(rest=f"until [ -e {gate} ]; do sleep 0.01; done; {PROMISE}")
    running = rig.start(name="now")
    eventually(lambda: cli.json("session", "list")[0]["status"] == "running", "the session")
    eventually(lambda: len(rig.prompts("R-2")) == 1, "its turn")
    age(cli)
    said = cli(*ALL)
    assert "keeps its size while something runs" in said.stderr
    gate.touch()
    assert running.wait(60) == 0
    assert cli.json("session", "show", "now")["status"] == "completed"
    assert "END" in cli("why", "loud").stdout  # of the session that ran, which was not finished
    assert cli(*ALL).stderr == ""
    assert failed_checks(cli) == []


@pytest.mark.parametrize("table", ["payloads", pytest.param("effects", marks=pytest.mark.torture)])
def test_after_a_kill_it_is_repeated(cli: Cli, table: str) -> None:
    def rows() -> int:
        count: int = cli.rows(f"SELECT count(*) FROM {table}")[0][0]
        return count

    rig = Rig(cli)
    rig.turns(rest="echo working")
    rig.configure({"post_iteration": [hook("echo output")]}, session=UNGUARDED)
    assert rig.run(iterations=3).said[1] == "limit"
    lengthen(str(cli.database), "R-1", 1500)
    cli("task", "cancel", "T-1")
    every, whole = rows(), cli.database.read_bytes()
    while not 100 < rows() < every:  # on a fast machine the kill may come too late, so again
        for name in ("hookline.db-wal", "hookline.db-shm"):
            cli.database.with_name(name).unlink(missing_ok=True)
        cli.database.write_bytes(whole)
        process = cli.start(*ALL)
        eventually(lambda: rows() < every, "the first removal", pause=0.0)
        kill(process)
    assert failed_checks(cli) == []
    assert cli(*ALL).code == 0
    assert (payloads(cli), rows() < 100) == (0, True)
    assert failed_checks(cli) == []
    assert cli.json("session", "show", "s")["pruned"]
    assert cli(*ALL).stdout.startswith("nothing to prune")


def failed_checks(cli: Cli) -> list[dict[str, str]]:
    """What the doctor finds to be broken."""
    return [each for each in cli("doctor", "--json").json["checks"] if each["status"] == "failed"]


# How large it is then

UNGUARDED = {"guards": {"identical_output": 0, "no_change": 0}}


@pytest.mark.torture
def test_the_store_shrinks_to_little_more_than_its_log(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns(rest="echo working")
    loud = {"name": "loud", "command": "seq 5000", "pipe_output": True}
    rig.configure({"post_iteration": [loud]}, session=UNGUARDED)
    rig.run(iterations=4)
    lengthen(str(cli.database), "R-1", 300)
    cli("task", "cancel", "T-1")
    cli(*ALL)
    columns = "length(timestamp) + length(type) + length(node_id) + length(data) + length(metadata)"
    ((log,),) = cli.rows(f"SELECT sum({columns}) FROM events")
    assert cli.database.stat().st_size < 2 * log
    assert not cli.database.with_name("hookline.db-wal").exists()
