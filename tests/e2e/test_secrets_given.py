"""Secrets in everything that people type and agents pass to tools, at every gate and point."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.leak_rig import SECRETS, TOKENS, Leaks, telling
from tests.e2e.mcp_rig import Agent
from tests.e2e.pipeline_rig import Pipeline, keepers
from tests.e2e.session_rig import HOOKLINE, Rig

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.conftest import Cli

WORDS = "\n".join([*SECRETS.values(), *TOKENS])
SAID = json.dumps({"said": WORDS, "within": {"list": [WORDS]}})


@pytest.fixture
def address() -> Iterator[str]:
    with telling() as address:
        yield address


def test_every_text_that_a_person_types_about_tasks(cli: Cli) -> None:
    leaks = Leaks(cli)
    cli.configure("")
    leaks("task", "add", WORDS, "--label", WORDS, "--note", WORDS)
    for number in range(2, 9):
        leaks("task", "add", f"task {number}")
    leaks("task", "claim", "T-2", "--agent", WORDS, code=None)
    leaks("task", "start", "T-3", "--context", SAID)
    leaks("task", "release", "T-3", "--reason", WORDS)
    leaks("task", "update", "T-3", "--goal", WORDS, "--label", WORDS, "--note", WORDS)
    leaks("task", "update", "T-3", "--deliverable", WORDS, code=None)
    leaks("task", "block", "T-4", "--reason", WORDS, "--required-knowledge", WORDS)
    leaks("task", "fail", "T-5", "--error", WORDS)
    leaks("task", "cancel", "T-6", "--reason", WORDS)
    leaks("task", "complete", "T-7", "--result", WORDS, "--artifact", WORDS)
    leaks("emit", "told", "--data", SAID, "--task", "T-8")
    leaks("emit", WORDS, "--data", SAID, code=2)
    draft = cli.put("draft", WORDS)
    checkpoint = ("checkpoint", "create", "T-8", "--context", SAID, "--draft", str(draft))
    leaks(*checkpoint, "--phase", WORDS, "--step", WORDS)
    (saved,) = cli.json("checkpoint", "list", "T-8")
    leaks("checkpoint", "get", saved["id"])
    leaks("checkpoint", "resume", saved["id"])
    leaks("checkpoint", "list", "T-8", "--json")
    leaks("why", WORDS, code=None)
    leaks("note", "list", "--task", WORDS, code=None)
    leaks("events", "--all", "--json")
    leaks("report", "--since", "1h", "--markdown", code=None)
    leaks.check(blobs=False)


def test_every_text_that_a_person_types_about_runs(cli: Cli) -> None:
    leaks = Leaks(cli)
    step = "{id: ok, breakpoint: Go on?}, {id: b, run: './leak.py long'}"
    cli.configure(
        f"""
flows: {{wait: {{steps: [{{id: a, task: {{goal: x}}}}, {step}]}}}}
hooks: {{task_created: [{{name: look, command: ./leak.py json}}]}}
"""
    )
    given = ("--input", SAID, "--metadata", SAID)
    leaks("flow", "start", "wait", *given)
    leaks("flow", "value", "R-1", "kept", SAID)
    leaks("flow", "value", "R-1", "kept")
    leaks("effect", "post", "R-1", "a", "--status", "ok", "--value-file", "-", stdin=SAID)
    leaks("orchestrate", "R-1", code=4)
    leaks("flow", "pause", "R-1", "--reason", WORDS)
    leaks("flow", "status", "R-1", code=None)
    leaks("flow", "resume", "R-1", code=None)
    leaks("answer", "R-1", "ok", "yes", "--note", WORDS)
    leaks("flow", "stop", "R-1", "--reason", WORDS, code=None)
    leaks("effect", "run", "R-1", "b", code=None)
    leaks("flow", "start", "wait", "--detach", *given)
    leaks("flow", "signal", "R-2", "go", "--value", SAID)
    leaks("flow", "cancel", "R-2", "--reason", WORDS)
    leaks("flow", "rerun", "R-1", "--from", "a", "--detach")
    for run in ("R-1", "R-2", "R-3"):
        leaks("flow", "status", run, code=None)
        leaks("flow", "journal", run)
        leaks("flow", "graph", run)
    payload = json.dumps({"task": {"id": "T-1", "goal": WORDS}, "said": WORDS})
    leaks("hook", "test", "look", "--payload", payload, code=None)
    leaks("hook", "test", "look", "--event", "1", code=None)
    leaks("hook", "replay", "look", "--event", "3", code=None)
    leaks("hook", "dispatch", "task_created", stdin=payload, code=None)
    leaks("hook", "show", "look")
    leaks("hook", "log")
    leaks("events", "--all", "--json")
    leaks.check()


def test_every_argument_of_every_tool(cli: Cli) -> None:
    """Each tool twice: with secrets in every text, and only where any text is right."""
    leaks = Leaks(cli)
    cli.configure("")
    said: list[str] = []
    with Agent.in_process(cli) as agent:
        task, iteration = agent.loop(
            {"hookType": "command", "command": "./leak.py; exit 1", "metadata": {"said": WORDS}},
            validationRules=[{"name": "tests", "type": "command", "command": "./leak.py; exit 1"}],
            executionPhase=WORDS,
        )
        saved = agent("checkpoint_create", taskId=task)["checkpointId"]
        right = {"taskId": task, "iterationId": iteration, "checkpointId": saved, "kind": "tip"}
        for tool in agent.tools().tools:
            texts = {
                name: text
                for name, schema in tool.input_schema["properties"].items()
                if (text := _any_text(schema)) is not None
            }
            fit = {name: text for name, text in texts.items() if name not in NO_TEXT}
            needed = {name: right[name] for name in right.keys() & texts.keys()}
            answers = [agent.call(tool.name, given) for given in (texts, fit | needed)]
            said += [answer.model_dump_json() for answer in answers]
        assert agent("checkpoint_list", taskId=task)["checkpoints"][-1]["executionStep"]
    said += [each["data"]["goal"] for each in cli.events("task_created")]
    assert "[redacted OPENAI_API_KEY]" in "".join(said)
    leaks("events", "--all", "--json")
    leaks("why", task)
    leaks("task", "list", "--json")
    leaks.check(blobs=False, said="\n".join(said))


# Arguments in which a text that means something is wanted.
NO_TEXT = {
    *("parentTaskId", "type", "python", "dependsOn", "hooks", "hookType", "when", "state"),
    *("validationRules", "completionPromise", "arguments", "command"),
}


def _any_text(schema: dict[str, Any]) -> Any:
    """Secrets as such an argument, if it has texts."""
    kinds = [schema.get("type"), *(each.get("type") for each in schema.get("anyOf", ()))]
    if "string" in kinds:
        return WORDS
    if "array" in kinds:
        return [_any_text(schema["items"])]
    if "object" in kinds and "properties" not in schema:
        return {"said": WORDS, "within": [{"said": WORDS}]}
    return None


GATES = """\
gates: {tries: 0}
task_types: {part: {}}
hooks:
  before_submit:
    - {name: plain, command: './leak.py plain; exit 1'}
    - {name: go, command: './leak.py go "$FAILURE"'}
    - {name: script, script: leak.py}
    - {name: python, python: 'policy:gate'}
    - {name: server, http: '@ADDRESS@/fails'}
    - {name: asked, agent: qa, prompt: 'Is it good?'}
    - gatekeeper: [qa]
    - run_tests: './leak.py; test -e @BOX@/passes'
    - create_pr
  before_merge: [{human: Well?}]
  after_merge: [{name: last, command: './leak.py; exit 1'}]
"""
REJECTING = ["plain", "go", "python", "server", "asked", "gatekeeper", "run_tests"]


@pytest.mark.torture
def test_gates_and_what_people_decide_at_them(cli: Cli, address: str) -> None:
    """Gates of every kind fail with all that they know, until a person overrides each."""
    line = Pipeline(cli)
    leaks = Leaks(cli)
    cli.env["FAILURE"] = '{"status": "failure"}'
    remark = {"file": "log", "line": 1, "comment": WORDS}
    verdict = {"verdict": "request_changes", "summary": WORDS, "comments": [remark]}
    (line.box / "verdict").write_text(json.dumps(verdict))
    with (cli.root / "policy.py").open("a") as policy:
        policy.write('def gate(event, context): return {"status": "failure", "message": text}\n')
    agents = keepers(line, qa=f"cat {line.box}/verdict")
    gates = GATES.replace("@ADDRESS@", address).replace("@BOX@", str(line.box))
    line.begin(gates, agents=agents)
    task = cli.add("a part", "--type", "part")
    line.turn('work; "$HOOKLINE_PROJECT/leak.py"\n')
    leaks("run", "--task", task)
    leaks("gate", "run", task, "before_submit", code=None)
    asked = []
    while leaks("submit", task, code=None).code == 3:
        asked.append(cli.json("gate", "list", task)[-1]["hook"])
        leaks("task", "show", task)
        leaks("gate", "override", task, asked[-1], "--reason", WORDS)
    assert [name.rpartition(":")[2] for name in asked] == REJECTING
    (line.box / "passes").touch()
    leaks("gate", "approve", task, "--comment", WORDS)
    leaks("merge", task, code=None)
    assert line.merges() == [task]
    for command in (("gate", "list", task), ("task", "show", task), ("why", task)):
        leaks(*command)
    leaks("attention", code=None)
    leaks("report", "--since", "1h", "--markdown")
    leaks("report", "a-part", "--html", "-")
    pull = (cli.root / ".hookline" / "pulls" / "1.md").read_text()
    log = line.git("log", "--format=%B", "main", at=line.remote)
    assert "Gate-Override: plain: [redacted OPENAI_API_KEY]" in log
    leaks.check(pull=pull, log=log, prompts="\n".join(line.prompts(task)))


SESSION = """\
agents:
  bot: {driver: command, command: "./leak.py; sh @BOX@/agent.sh; exit $(cat @BOX@/exit)"}
  judge: {driver: command, command: "env; echo '{\\"action\\": \\"continue\\"}'"}
hooks:
  session_start: [{name: python, python: "policy:feed", pipe_output: true}]
  pre_iteration: [{name: server, http: "@ADDRESS@/", pipe_output: true}]
  post_iteration: [{name: asked, agent: judge, prompt: "So?", pipe_output: true}]
  on_task_complete: [{name: complete, command: ./leak.py long, pipe_output: true}]
  on_error: [{name: error, command: ./leak.py json, pipe_output: true}]
  session_end: [{name: end, command: ./leak.py}, {name: refusing, http: "@ADDRESS@/fails"}]
  stop:
    - {name: fails, python: "policy:fails", when: iteration > 2}
    - {name: refuses, http: "@ADDRESS@/fails", when: iteration > 3}
    - {name: decides, agent: judge, prompt: "Is it done?"}
validation:
  - {name: pattern, type: content_pattern, pattern: nothing}
  - {name: custom, type: custom, python: "policy:fails"}
"""


def test_every_point_of_a_session_and_a_message_to_its_agent(cli: Cli, address: str) -> None:
    """In the views of people, too, and in the log of a session in the background."""
    leaks, rig = Leaks(cli), Rig(cli)
    with (cli.root / "policy.py").open("a") as policy:
        policy.write('def feed(event, context): return {"text": text}\n')
    cli.configure(SESSION.replace("@BOX@", str(rig.box)).replace("@ADDRESS@", address))
    (rig.box / "exit").write_text("0")
    message = f"{HOOKLINE} session message s - < {cli.put('message', WORDS)}"
    complete = rig.complete_child(WORDS)
    rig.turns(message, complete, f"echo 1 > {rig.box}/exit", f"echo 0 > {rig.box}/exit")
    leaks("run", WORDS, "--name", "s", "--agent", "bot", "--iterations", "4", "-vv", code=4)
    hooks = ("python", "server", "asked", "complete", "error", "end", "decides")
    assert {name: cli.calls(name)[0] for name in hooks} == dict.fromkeys(hooks, "ok")
    assert {cli.calls(name)[-1] for name in ("refusing", "fails")} == {"failed"}
    leaks("resume", "s", "--iterations", "9", "--detach")
    leaks("logs", "s", "--follow", "-vv", code=None)
    for command in (("session", "show", "s"), ("why", "s"), ("status",), ("attention",)):
        leaks(*command, code=None)
    page = cli.root.parent / "page.html"
    leaks("report", "s", "--html", str(page))
    leaks("report", "--since", "1h", "--markdown")
    leaks.check(page, prompts="\n".join(prompt.text for prompt in rig.prompts()))
