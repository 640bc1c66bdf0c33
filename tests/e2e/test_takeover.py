"""Work that another clone of the project, with the same store on a server, takes over."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from hookline.app import App
from hookline.domain.work.places import WorkPlace
from hookline.wiring.working.repositories import repository
from hookline.wiring.working.takeover import takeover
from hookline.wiring.working.work import begin_work
from tests.e2e.clone_rig import CONTINUE, PROMISE, SECRET, Clones
from tests.e2e.conftest import eventually
from tests.e2e.pipeline_rig import work_ended
from tests.postgres_server import PostgresServer, new_project

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from hookline.ports.store import Transaction
    from tests.e2e.conftest import Cli

MOVED = "# Another machine"
COPIES = (
    "SELECT count(*) FROM hookline.blobs"
    " WHERE project_id = current_setting('hookline.project')::bigint"
)


@pytest.fixture
def clones(cli: Cli, tmp_path: Path, postgres: PostgresServer) -> Iterator[Clones]:
    """Two clones of a project that share a store."""
    cli.env["HOOKLINE_STORE"] = new_project(postgres)
    made = Clones(cli, tmp_path / "elsewhere")
    yield made
    made.close()


def told_of_move(clones: Clones, run: str = "R-1") -> list[bool]:
    """Which prompts of a run tell the agent that it works elsewhere now."""
    return [MOVED in prompt.text for prompt in clones.rig.prompts(run)]


@pytest.mark.torture
def test_a_session_goes_on_in_another_clone(clones: Clones) -> None:
    first, second, rig = clones.first, clones.second, clones.rig
    seen = rig.file("seen")
    rig.turns(
        "echo one > one; git add one; git commit -qm one; echo two > two; echo x >> readme;"
        f" echo 'token = {SECRET}' > .env; echo to be ignored > ignored;"
        f" echo '/ignored' > .gitignore; head -c 5000000 /dev/urandom > huge; {CONTINUE}",
        clones.hang(2, "echo lost > three"),
        f"ls -A > {seen}; git status --short >> {seen}; echo 3 > three; {PROMISE}",
    )
    clones.begin()
    task = first.add("count")
    clones.kill_in_turn(task, 2)
    assert "not in the copy of the work: .env, huge" in second("logs", f"{task}-bot").stdout
    # The copy of open work is not pruned, however old it is.
    first.rows("UPDATE blobs SET stored_at = now() - interval '9 days'")
    assert first.json("prune", "--older", "0s", quiet=False)["blobs"]["count"] == 0
    ended = work_ended(second("work", "--once", "--json"))
    assert ended["merged"] == [task]
    assert {"one", "two", "readme"} <= set(seen.read_text().split())
    assert not {"three", ".env", "ignored", "huge"} & set(seen.read_text().split())
    assert " M readme" in seen.read_text()
    assert told_of_move(clones) == [False, False, True]
    last = clones.rig.prompts()[2].text
    assert "- `.env`" in last
    assert "Your last turn broke off" in last
    assert clones.committed_there.exists()
    assert {"one", "two", "three"} <= set(clones.repo.merged())
    assert ".env" not in clones.repo.merged()
    assert clones.repo.runs().count(("merge", "completed")) == 1
    assert len(second.events("task_completed")) == 1
    (said,) = [each["data"]["message"] for each in second.events("run_log")]
    assert f"taken over from {clones.name(first)}, as its work was at" in said


@pytest.mark.torture
def test_a_first_turn_that_was_cut_is_made_again(clones: Clones) -> None:
    clones.rig.turns(clones.hang(1, "echo lost > one"), f"ls; echo two > two; {PROMISE}")
    clones.begin()
    task = clones.first.add("count")
    clones.kill_in_turn(task, 1)
    assert work_ended(clones.second("work", "--once", "--json"))["merged"] == [task]
    assert told_of_move(clones) == [False, True]
    assert clones.repo.merged() == ["two"]


@pytest.mark.torture
@pytest.mark.examples(1)
@pytest.mark.parametrize("before", ["a clone that is gone", "its own"])
def test_work_that_was_begun_without_a_copy_goes_on_elsewhere(clones: Clones, before: str) -> None:
    """Whoever began it first had died before a copy was noted, and the next one does as well."""
    clones.rig.turns(clones.hang(1, "echo lost > one"), f"ls; echo two > two; {PROMISE}")
    clones.begin()
    task = clones.first.add("count")
    with closing(App.open(str(clones.first.root), environ=clones.first.env)) as app:
        holder, own = "gone-1a2b:/project", takeover(app)
        if before == "its own" and own is not None:
            asyncio.run(repository(app).worktrees.open(task, first=True))
            holder = own.name
        app.change(lambda tx: tx.work_places.set(task, WorkPlace(holder=holder)))
        asyncio.run(begin_work(app, task))
        with app.read() as view:
            noted = view.work_places.find(task)
        assert noted is not None
        clones.kill_in_turn(task, 1)
        # As if it had been killed before it did anything.
        app.change(lambda tx: tx.work_places.set(task, noted))
    assert work_ended(clones.second("work", "--once", "--json"))["merged"] == [task]
    assert clones.repo.merged() == ["two"]


@pytest.mark.torture
def test_work_comes_back_to_the_clone_that_lost_it(clones: Clones) -> None:
    first, second, rig = clones.first, clones.second, clones.rig
    rig.turns(
        f"echo one > one; {CONTINUE}",
        clones.hang(2, "echo stale > one; echo stale > two"),
        f"echo three > three; {CONTINUE}",
        clones.hang(4),
        f"cat one; ls two && exit; cat three; {PROMISE}",
    )
    clones.begin()
    task = first.add("count")
    clones.kill_in_turn(task, 2)
    clones.kill_in_turn(task, 4, second)
    assert work_ended(first("work", "--once", "--json"))["merged"] == [task]
    assert told_of_move(clones) == [False, False, True, False, True]
    assert clones.repo.merged() == ["one", "three"]
    kept = clones.repo.git("for-each-ref", "--format=%(refname)", "refs/hookline/rescued")
    (ref,) = kept.splitlines()
    assert clones.repo.git("show", f"{ref}:two") == "stale"
    assert ref in first.events("run_log")[-1]["data"]["message"]


@pytest.mark.parametrize("way", ["begin", "bring"])
def test_a_clone_that_comes_back_late_takes_nothing_from_one_that_has_begun(
    clones: Clones, way: str
) -> None:
    """It was cut off after it had looked where the work is."""
    clones.begin()
    task = clones.first.add("count")
    late, quick = (App.open(str(each.root), environ=each.env) for each in clones.both)
    elsewhere, here = takeover(late), takeover(quick)
    assert elsewhere is not None
    assert here is not None
    there = asyncio.run(repository(late).worktrees.open(task, first=True))
    begun = asyncio.run(repository(quick).worktrees.open(task, first=True))

    def after_a_while(note: Callable[[Transaction], None]) -> None:
        here.begin(begun, quick.change)
        late.change(note)

    if way == "begin":
        elsewhere.begin(there, after_a_while)
    else:
        asyncio.run(elsewhere.bring(task, after_a_while))
    with quick.read() as view:
        place = view.work_places.find(task)
    assert place is not None
    assert place.holder == here.name
    assert place.copy is not None
    late.close()
    quick.close()


@pytest.mark.torture
def test_a_conversation_is_left_to_its_clone(clones: Clones) -> None:
    rig = clones.rig
    asked = rig.file("asked")
    talker = rig.file("talker")
    talker.write_text(
        f'#!/bin/sh\necho "$*" >> {asked}\ncat > /dev/null\nn=$(wc -l < {asked})\n'
        f'if [ "$n" = 2 ]; then touch {rig.file("turn-2-began")}; sleep 1000; fi\n'
        'if [ "$n" -gt 2 ]; then echo three > three; word=COMPLETE; else word=CONTINUE; fi\n'
        'echo "{\\"type\\": \\"result\\", \\"subtype\\": \\"success\\",'
        ' \\"result\\": \\"<promise>$word</promise>\\"}"\n'
    )
    talker.chmod(0o755)
    profile = {"driver": "claude-code", "command": str(talker)}
    clones.begin(agents={"bot": profile}, session={"conversation": "continue"})
    task = clones.first.add("count")
    clones.kill_in_turn(task, 2)
    assert work_ended(clones.second("work", "--once", "--json"))["merged"] == [task]
    first, second, third = asked.read_text().splitlines()
    assert ["--resume" in each for each in (first, second, third)] == [False, True, False]
    assert second.rpartition("--resume ")[2].split()[0] in first


def test_gates_go_on_in_another_clone(clones: Clones) -> None:
    rig, marker = clones.rig, clones.rig.file("turn-0-began")
    rig.turns(f"echo one > one; {PROMISE}", "echo two > two; echo fixed")
    gate = f"pwd >> {rig.trace_file}; [ -e {marker} ] || {{ touch {marker}; sleep 1000; }}; ls two"
    clones.begin(hooks={"before_submit": ["rebase_on_main", {"command": gate}, "create_pr"]})
    task = clones.first.add("count")
    clones.kill_in_turn(task, 0)
    assert work_ended(clones.second("work", "--once", "--json"))["merged"] == [task]
    places = [str(clones.place(each, task)) for each in (clones.first, clones.second)]
    assert (rig.trace[0], set(rig.trace[1:])) == (places[0], {places[1]})
    assert clones.repo.merged() == ["one", "two"]
    assert told_of_move(clones, "R-2") == [True, False]


@pytest.mark.torture
def test_what_was_pushed_can_be_replaced_by_another_clone(clones: Clones) -> None:
    """The first clone has pushed the branch, which the second one has to rebase."""
    rig, marker = clones.rig, clones.rig.file("turn-0-began")
    rig.turns(f"echo one > one; {PROMISE}")
    gate = f"[ -e {marker} ] || {{ touch {marker}; sleep 1000; }}"
    hooks = {"before_submit": ["create_pr", {"command": gate}, "rebase_on_main", "create_pr"]}
    clones.begin(hooks=hooks, gates={"remote": "origin"})
    task = clones.first.add("count")
    clones.kill_in_turn(task, 0)
    clones.repo.git(*clones.push_aside("other").split()[1:])
    assert work_ended(clones.second("work", "--once", "--json"))["merged"] == [task]
    assert clones.repo.merged() == ["one", "other"]


@pytest.mark.torture
def test_work_that_was_pushed_into_the_base_is_merged_once(clones: Clones) -> None:
    """The first clone is killed when the remote has the merge, and before that is recorded."""
    clones.rig.turns(f"echo one > one; {PROMISE}")
    clones.begin()
    task = clones.first.add("count")
    marker = clones.rig.file("turn-0-began")
    hook = clones.repo.remote / "hooks" / "post-receive"
    hook.parent.mkdir(exist_ok=True)
    held = f"while read old new ref; do [ $ref = refs/heads/main ] && [ ! -e {marker} ] && "
    hook.write_text(f"#!/bin/sh\n{held}{{ touch {marker}; sleep 1000; }}; done; true\n")
    hook.chmod(0o755)
    clones.kill_in_turn(task, 0)
    merged = clones.repo.git("rev-parse", "main", at=clones.repo.remote)
    assert work_ended(clones.second("work", "--once", "--json"))["merged"] == [task]
    assert clones.repo.git("rev-parse", "main", at=clones.repo.remote) == merged
    assert len(clones.first.events("task_completed")) == 1


@pytest.mark.torture
def test_a_conflict_is_resolved_in_another_clone(clones: Clones) -> None:
    rig, script = clones.rig, clones.rig.box / "agent.sh"
    # The turns of all runs are counted together.
    script.write_text(script.read_text().replace("here/$HOOKLINE_RUN_ID", "here/all"))
    clones.begin()
    rig.turns(
        f"echo mine >> readme; {clones.push_aside('other', 'readme')}; {PROMISE}",
        clones.hang(2, "cat readme"),
        f"cp readme {rig.file('seen')}; printf 'hello\\nboth\\n' > readme; echo resolved",
    )
    task = clones.first.add("count")
    clones.kill_in_turn(task, 2)
    assert work_ended(clones.second("work", "--once", "--json"))["merged"] == [task]
    assert "<<<<<<<" in rig.file("seen").read_text()
    assert clones.repo.git("show", "main:readme", at=clones.repo.remote) == "hello\nboth"


@pytest.mark.torture
def test_without_copies_the_work_begins_again(clones: Clones) -> None:
    clones.rig.turns(f"echo one > one; {CONTINUE}", clones.hang(2), f"ls; echo 2 > two; {PROMISE}")
    clones.begin(session={"copies": False})
    task = clones.first.add("count")
    clones.kill_in_turn(task, 2)
    assert work_ended(clones.second("work", "--once", "--json"))["merged"] == [task]
    assert "Nothing of your earlier work is here" in clones.rig.prompts()[2].text
    assert clones.repo.merged() == ["two"]
    assert clones.first.rows(COPIES) == [(0,)]


@pytest.mark.torture
def test_with_the_task_its_copy_is_gone_and_no_folder_is_in_the_log(clones: Clones) -> None:
    clones.rig.turns(f"echo one > one; {CONTINUE}", f"echo two > two; {PROMISE}")
    clones.begin()
    done, left = clones.first.add("count"), clones.first.add("left")
    assert work_ended(clones.first("work", "--once", "--json", "--tasks", "1"), 5)
    assert [row[0] for row in clones.first.rows("SELECT task FROM work_places")] == []
    assert clones.first.rows(COPIES) == [(0,)]
    assert (clones.first.task(done)["state"], clones.first.task(left)["state"]) == (
        *("completed", "ready"),
    )
    named = [each for each in clones.first.events() if str(clones.first.root) in json.dumps(each)]
    assert not named, "\n".join(json.dumps(each) for each in named)


@pytest.mark.torture
def test_a_session_in_the_projects_own_folder_stays_there(clones: Clones) -> None:
    clones.rig.turns(clones.hang(1), f"echo two > two; {PROMISE}")
    clones.begin()
    session = clones.first.start("run", "do it", "--agent", "bot", "--name", "s", "--json")
    clones.kill(session, 1)
    result = clones.second("run", "--resume", "--name", "s", "--json")
    assert result.code != 0
    run = clones.second.json("flow", "status", "R-1", quiet=False)
    assert clones.name(clones.first) in json.dumps(run)
    assert len(clones.rig.prompts()) == 1
    assert clones.first("run", "--resume", "--name", "s", "--json").code == 0
    assert len(clones.rig.prompts()) == 2


def lines_of(process: subprocess.Popen[str]) -> list[str]:
    """What a process prints, as it does."""
    seen: list[str] = []
    threading.Thread(target=lambda: seen.extend(process.stdout or ()), daemon=True).start()
    return seen


@pytest.mark.torture
def test_a_session_is_seen_from_another_clone(clones: Clones) -> None:
    first, second, rig = clones.first, clones.second, clones.rig
    rig.turns(
        f"echo one > one; git add one; git commit -qm one; echo said in turn 1; {CONTINUE}",
        clones.hang(2),
    )
    clones.begin()
    task = first.add("count")
    first.start("work", "--once", "--json")
    eventually(rig.file("turn-2-began").exists, "the second turn")
    watching = second.start("attach", f"{task}-bot", "--from-start", "--json")
    seen = lines_of(watching)
    eventually(lambda: any('"iteration":2' in line for line in seen), "the second turn elsewhere")
    assert any("said in turn 1" in line for line in seen)
    here = clones.name(first)
    assert second.json("session", "show", f"{task}-bot")["clone"] == here
    (listed,) = second.json("worktree", "list")
    assert (listed["task"], listed["clone"]) == (task, here)
    for command in ("report", f"session show {task}-bot", "worktree list"):
        assert here in second(*command.split()).stdout
    assert second(*"why T-1".split()).stdout == first(*"why T-1".split()).stdout
    assert "T-1-bot" in second("status").stdout
    for command in (f"run --task {task} --agent bot", f"submit {task}"):
        assert second.refused(*command.split())[1]["code"] == "session-busy"
    assert second.json("session", "show", f"{task}-bot")["clone"] == here
    page = second("session", "report", f"{task}-bot").stdout.strip()
    assert (second.root / page).exists()


@pytest.mark.torture
def test_work_of_before_the_store_was_shared_is_not_begun_again(clones: Clones) -> None:
    first, second = clones.first, clones.second
    url = first.env.pop("HOOKLINE_STORE")
    clones.rig.turns(clones.hang(1), f"echo one > one; {PROMISE}")
    clones.begin()
    task = first.add("count")
    clones.kill_in_turn(task, 1)
    first.json("store", "copy", "embedded", url, quiet=False)
    first.env["HOOKLINE_STORE"] = url
    second("work", "--once", "--json")
    (waits,) = second("attention", "--json").json
    assert re.search(rf"{os.uname().nodename}-[0-9a-f]{{4}}:{first.root}", json.dumps(waits))
    assert len(clones.rig.prompts()) == 1
    assert first("run", "--resume", "--json").code == 0
    assert work_ended(second("work", "--once", "--json"))["merged"] == [task]
