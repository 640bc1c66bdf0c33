"""The page's server: every address answers as it is described, and what is done there is done."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from hookline.app import App
from hookline.queries.telemetry.figures import FigureReader, KeptFigures
from hookline.surfaces.web.routes import GET, JSON, ROUTES
from tests.e2e.conftest import Cli, eventually, kill
from tests.e2e.gate_rig import Repo
from tests.e2e.page_rig import Page, served
from tests.e2e.session_rig import PROMISE, Rig

HUMAN = "hooks: {before_submit: [human: Is it good?]}\n"
FLOWS = 'flows: {asks: {steps: [{id: ok, breakpoint: "Ship it?"}, {id: go, run: touch went}]}}\n'
FIX = "cat > ../prompt; echo better > thing; git commit -qam better"
FIXER = f"agents: {{bot: {{driver: command, command: '{FIX}'}}}}\n"


@pytest.fixture
def repo(cli: Cli) -> Repo:
    return Repo(cli)


@pytest.fixture
def rig(cli: Cli) -> Rig:
    return Rig(cli)


def waiting(page: Page, kind: str) -> dict[str, Any]:
    """The one thing of a kind that waits for a person."""
    (found,) = [each for each in page.get("/api/attention")["items"] if each["kind"] == kind]
    item: dict[str, Any] = found
    return item


def verbs(item: dict[str, Any]) -> dict[str, str]:
    return {way["verb"]: way["path"] for way in item["ways"]}


def test_every_address_answers_as_it_is_described(rig: Rig, cli: Cli) -> None:
    rig.configure(
        {"post_iteration": [{"name": "links", "command": "echo ok", "when": "iteration == 2"}]},
        flows={"asks": {"steps": [{"id": "ok", "breakpoint": "Ship it?"}]}},
        validation=[{"name": "there", "type": "command", "command": "test -f made"}],
    )
    rig.turns("echo first", f"touch made; {PROMISE}")
    task = cli.add("Write the <b>page</b>")
    other = cli.add("Then this", "--depends-on", task)
    assert cli("run", "--task", task, "--name", "first").code == 0
    cli("flow", "start", "asks")
    with served(cli) as page:
        me = page.get("/api/me")
        assert (me["role"], me["decides"], me["refused"]) == ("person", True, None)
        assert [each["name"] for each in me["agents"]] == ["bot"]
        (row,) = page.get("/api/sessions")["sessions"]
        run = row["known"]["runId"]
        session = page.get(f"/api/sessions/{run}")
        assert [each["iteration"] for each in session["iterations"]] == [1, 2]
        look_at_iterations(page, run)
        story = page.get(f"/api/tasks/{task}")
        assert [each["known"]["name"] for each in story["sessions"]] == ["first"]
        assert [each["id"] for each in story["dependents"]] == [other]
        page.get(f"/api/tasks/{task}/diff")
        assert {each["task"]["id"] for each in page.get("/api/tasks?all=true")["tasks"]} == {
            task,
            other,
        }
        graph = page.get("/api/graph?all=true")
        assert [(a["source"], a["target"]) for a in graph["arrows"]] == [(task, other)]
        page.get("/api/pipeline")
        assert waiting(page, "breakpoint")["question"]["text"] == "Ship it?"
        look_at_runs(page)
        look_at_hooks_and_events(page)
        page.get("/api/insights?by=week,agent")
        facts = page.get('/api/insights/checks/facts?match={"name": "there"}')
        assert facts["total"] == len(facts["rows"])
        assert page.text("/api/insights/gates/csv").startswith("week,type,agent,gate,")
        before = page.text("/metrics")
        assert before == cli("metrics").stdout
        rig.run(name="again")
        assert before != page.text("/metrics") == cli("metrics").stdout
        described = {(r.method, r.name) for r in ROUTES if r.method == GET and r.content == JSON}
        assert described - page.answered == set()


def test_a_server_reads_for_its_metrics_only_what_was_added(cli: Cli) -> None:
    cli.add("one")
    kept = KeptFigures()
    readers = []
    for goal in ("two", "three"):
        cli.add(goal)
        with closing(App.open(str(cli.root), environ=cli.env, read_only=True)) as app:
            found = kept.read(app)
            with app.read() as view:
                assert found == FigureReader(app.cleaner).read(view)
        readers.append(kept._reader)
    assert readers[0] is readers[1]


def look_at_iterations(page: Page, run: str) -> None:
    first = page.get(f"/api/sessions/{run}/iterations/1")
    second = page.get(f"/api/sessions/{run}/iterations/2")
    assert (first["previous"], first["next"], second["previous"]) == (None, 2, 1)
    kinds = [step["kind"] for step in first["steps"]]
    assert kinds.count("turn") == 1
    assert "checks" in kinds
    calls = [call for step in first["steps"] if step["kind"] == "point" for call in step["calls"]]
    (skipped,) = [call for call in calls if call["hook"].endswith("links")]
    assert (skipped["status"], skipped["condition"]) == ("skipped", "iteration == 2")
    assert skipped["conditionValues"] == {"iteration": 1}
    turn = next(step for step in second["steps"] if step["kind"] == "turn")
    assert "Write the <b>page</b>" in turn["prompt"]["text"]
    assert turn["prompt"]["bytes"] == len(turn["prompt"]["text"].encode())
    place = f"/api/sessions/{run}/iterations/2/texts/{turn['effectId']}/prompt"
    assert page.text(place) == turn["prompt"]["text"]
    page.get(f"/api/sessions/{run}/iterations/1/diff")
    assert page.refused("GET", f"/api/sessions/{run}/iterations/9")[0] == 422


def look_at_runs(page: Page) -> None:
    (asks,) = [each for each in page.get("/api/runs")["runs"] if each["flow"] == "asks"]
    run = page.get(f"/api/runs/{asks['runId']}")
    assert [each["question"] for each in run["questions"]] == ["Ship it?"]
    assert (asks["asks"], asks["status"]) == (1, "parked")


def look_at_hooks_and_events(page: Page) -> None:
    (links,) = [e for e in page.get("/api/hooks")["hooks"] if e["label"] == "links"]
    assert (links["calls"], links["ok"], links["skipped"]) == (2, 1, 1)
    hook = page.get(f"/api/hooks/{links['name']}")
    assert [call["status"] for call in hook["calls"]] == ["ok", "skipped"]
    assert page.text(f"/api/calls/{hook['calls'][0]['id']}/stdout") == "ok\n"
    newest = page.get("/api/events?limit=3")["events"]
    assert [each["seq"] for each in newest] == sorted((e["seq"] for e in newest), reverse=True)
    event = page.get(f"/api/events/{hook['calls'][1]['seq']}")
    assert event["event"]["type"] == "point_fired"
    hits = page.get("/api/search?q=write+page")["hits"]
    assert ("task", "T-1") in [(each["kind"], each["id"]) for each in hits]
    tried = {"when": "iteration == 1", "seq": event["event"]["seq"], "hook": links["name"]}
    assert page.do("/api/playground", tried)["result"] is True
    wrong = page.do("/api/playground", {**tried, "when": "iteratoin == 1"})
    assert wrong["result"] is None
    assert "iteratoin" in wrong["problem"]


@pytest.mark.torture
def test_an_approval_merges_the_work(repo: Repo, cli: Cli) -> None:
    repo.begin(HUMAN)
    task = cli.add("Add a thing")
    repo.work("thing")
    assert cli("submit", task).code == 4
    with served(cli) as page:
        item = waiting(page, "gate")
        assert item["question"]["head"] == repo.git("rev-parse", "work")
        diff = page.get(item["diff"])
        (file,) = diff["files"]
        (hunk,) = file["hunks"]
        assert (file["path"], file["status"], file["added"]) == ("thing", "added", 1)
        assert [(e["kind"], e["old"], e["new"], e["text"]) for e in hunk["lines"]] == [
            ("added", None, 1, "thing")
        ]
        head = {"head": item["question"]["head"]}
        wrong = {"head": "0" * 40}
        assert page.refused("POST", verbs(item)["approve"], wrong)[0] == 409
        page.do(verbs(item)["approve"], head)
        eventually(lambda: page.get("/api/attention")["items"] == [], "the merge")
        eventually(lambda: cli.task(task)["state"] == "completed", "the end of the task")
        assert repo.merged() == ["thing"]
        (decided,) = cli.events("gate_decided")
        assert decided["data"]["decision"] == "approve"
        assert decided["data"]["by"] == "Ada <ada@example.org>"


@pytest.mark.torture
def test_comments_on_lines_reach_the_agent(repo: Repo, cli: Cli) -> None:
    repo.begin(HUMAN + FIXER)
    task = cli.add("Add a thing")
    repo.work("thing")
    assert cli("submit", task).code == 4
    with served(cli) as page:
        item = waiting(page, "gate")
        lines = [
            {"path": "thing", "line": 1, "text": "Say it better."},
            {"path": "readme", "line": 1, "side": "old", "text": "And keep this."},
        ]
        page.do(verbs(item)["reject"], {"comment": "Not yet", "lines": lines})
        prompt = cli.root.parent / "prompt"
        eventually(prompt.exists, "the agent's turn")
        eventually(lambda: waiting_again(page, item), "the next question")
        told = prompt.read_text()
        assert "Not yet" in told
        assert "thing:1: Say it better." in told
        assert "readme:1: (as it was before) And keep this." in told


def waiting_again(page: Page, before: dict[str, Any]) -> bool:
    found = [each for each in page.get("/api/attention")["items"] if each["kind"] == "gate"]
    return bool(found) and found[0]["key"] != before["key"]


def test_an_answer_continues_the_flow(repo: Repo, cli: Cli) -> None:
    repo.begin(FLOWS)
    assert cli("flow", "start", "asks").code == 4
    with served(cli) as page:
        item = waiting(page, "breakpoint")
        assert item["question"]["text"] == "Ship it?"
        body = {"effectId": item["question"]["effectId"], "answer": True, "note": "go"}
        page.do(verbs(item)["answer"], body)
        eventually((cli.root / "went").exists, "the next step")
        assert page.refused("POST", verbs(item)["answer"], body)[0] == 409


def test_a_session_is_started_told_something_and_stopped(rig: Rig, cli: Cli) -> None:
    go_on = cli.root.parent / "go-on"
    rig.configure()
    rig.turns(f"until [ -e {go_on} ]; do sleep 0.01; done", rest="echo again")
    with served(cli) as page:
        made = page.do("/api/sessions", {"goal": "Make it", "limits": {"iterations": 9}})
        place = f"/api/sessions/{made['runId']}"
        eventually(lambda: page.get(place)["known"]["status"] == "running", "the session")
        page.do(f"{place}/message", {"text": "mind the gap"})
        assert page.get(place)["messages"] == ["mind the gap"]
        page.do(f"{place}/pause")
        go_on.touch()
        eventually(lambda: page.get(place)["known"]["status"] == "paused", "the pause")
        page.do(f"{place}/resume", {"message": "now finish"})
        eventually(lambda: len(rig.prompts(made["runId"])) > 1, "the next turn")
        told = rig.prompts(made["runId"])[1].text
        assert "mind the gap" in told
        assert "now finish" in told
        eventually(lambda: page.get(place)["known"]["status"] != "running", "its end")
        assert page.refused("POST", "/api/sessions", {"limits": {"usd": -1}, "goal": "x"})[0] == 422


def test_tasks_are_added_changed_and_put_in_order(cli: Cli) -> None:
    first = cli.add("one")
    with served(cli) as page:
        second = page.do("/api/tasks", {"goal": "two", "labels": ["new"]})["taskId"]
        third = page.do("/api/tasks", {"goal": "three", "dependsOn": [first]})["taskId"]
        assert (cli.task(second)["state"], cli.task(third)["state"]) == ("ready", "created")
        page.do(f"/api/tasks/{second}", {"changes": {"goal": "two, better"}, "state": "active"})
        assert (cli.task(second)["goal"], cli.task(second)["state"]) == ("two, better", "active")
        page.do(f"/api/tasks/{second}", {"state": "blocked", "reason": "no key"})
        assert cli.task(second)["blockReason"] == "no key"
        page.do(f"/api/tasks/{third}/dependencies", {"add": [second], "remove": [first]})
        assert cli.task(third)["dependsOn"] == [second]
        page.do("/api/tasks/order", {"tasks": [third, first, second]})
        listed = page.get("/api/tasks")
        assert [each["task"]["id"] for each in listed["tasks"]] == [third, first, second]
        assert listed["counts"] == {"ready": 1, "blocked": 1, "created": 1}
        part = page.get("/api/tasks?limit=2")
        rest = page.get(f"/api/tasks?limit=2&after={part['next']}")
        assert [each["task"]["id"] for each in rest["tasks"]] == [second]
        named = page.get(f"/api/tasks?ids={second},{third}")["tasks"]
        assert [each["task"]["id"] for each in named] == [third, second]
        refused = page.refused("POST", f"/api/tasks/{first}", {"changes": {"state": "x"}})
        assert refused[:2] == (422, "bad-input")
        assert page.refused("GET", "/api/tasks/T-99")[:2] == (404, "unknown-task")


# The stream


def test_the_stream_resumes_where_it_was_left(cli: Cli) -> None:
    cli.add("one")
    with served(cli) as page:
        stream = page.stream(0)
        stream.until("task_ready")
        cli.add("two")
        eventually(lambda: stream.seqs == [1, 2, 3, 4], "the events of both tasks")
        again = page.stream(2)
        eventually(lambda: again.seqs == [3, 4], "the events after the second")
        late = page.stream()
        late.until("beat")
        assert [each["kind"] for each in late.lines] == ["beat"]
        assert late.lines[0]["seq"] == 4
        beyond = page.stream(1000)
        beyond.until("again")
        assert beyond.lines[0]["seq"] == 4


def test_a_restart_loses_and_doubles_nothing(cli: Cli) -> None:
    cli.add("one")
    with served(cli) as page:
        stream = page.stream(0)
        eventually(lambda: stream.seqs == [1, 2], "the first events")
        kill(page.process)
        eventually(lambda: stream.is_over, "the end of the stream")
    cli.add("two")
    with served(cli) as page:
        again = page.stream(stream.seqs[-1])
        cli.add("three")
        eventually(lambda: again.seqs == [3, 4, 5, 6], "all events since")


def test_a_server_that_is_told_to_end_lets_go_at_once(cli: Cli) -> None:
    cli.add("one")
    with served(cli) as page:
        stream = page.stream(0)
        stream.until("task_ready")
        assert page.end() == ""
        assert page.process.returncode == 130
        assert stream.is_over


def test_a_feed_tells_what_the_agent_says(rig: Rig, cli: Cli) -> None:
    rig.configure()
    rig.turns(f"echo I am here; {PROMISE}")
    cli("run", "Say it", "--name", "talks")
    with served(cli) as page:
        feed = page.stream(path="/api/sessions/talks/feed")
        feed.until("agent")
        said = [each["data"].get("text", "") for each in feed.lines if each["type"] == "agent"]
        assert any("I am here" in text for text in said)
        assert page.refused("GET", "/api/sessions/nobody/feed")[0] == 404


def test_lanes_work_next_to_the_page(rig: Rig, cli: Cli, repo: Repo) -> None:
    repo.begin()
    rig.configure()
    rig.turns(rest=PROMISE)
    repo.commit("configured")
    task = cli.add("Make it")
    with served(cli, "--agents", "1") as page:
        eventually(lambda: cli.task(task)["state"] == "completed", "the work on the task")
        assert page.get("/api/pipeline")["workers"] != []


def test_the_tools_of_agents_are_served_with_their_own_token(cli: Cli) -> None:
    with served(cli, "--mcp") as page:
        body = {"jsonrpc": "2.0", "id": 0, "method": "tools/list", "params": {}}
        accepts = {"Accept": "application/json, text/event-stream"}
        agents = page.told["toolsToken"]
        assert page.ask("POST", "/mcp", body, token=agents, headers=accepts).status_code != 403
        for token in (page.token, page.viewer):
            refused = page.ask("POST", "/mcp", body, token=token, headers=accepts)
            assert refused.status_code == 403
        assert page.refused("GET", "/api/me", token=agents)[0] == 403
