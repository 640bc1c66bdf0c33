"""Agents as hooks under every rule: real programs that answer well, badly, late or not at all."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest

from hookline.adapters.agents.local_agents import LocalAgents
from hookline.adapters.network.http import HttpClient
from hookline.adapters.processes.process import LocalProcesses
from hookline.config.types import Agent
from hookline.domain.text.cleaning import Cleaner
from hookline.hooks.calls.call import CallSurroundings, HookCaller
from hookline.hooks.dispatch import dispatch
from hookline.hooks.frames import Frame, event_payload
from hookline.hooks.registry import Hook
from hookline.hooks.rules import RULES
from hookline.testing import context, event
from tests.e2e.conftest import eventually, is_running

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hookline.domain.hooks.records import Outcome
    from hookline.ports.processes import ProcessGroup

EVENT = event("task_completed", "T-1", {"result": "fine"}, seq=7)


SECRETS = Cleaner({"A_PASSWORD": "hunter2-hunter2"})


class Case(NamedTuple):
    """A point of a rule, a good answer, one with a word that nobody knows, and a failure's end."""

    point: str
    payload: dict[str, Any]
    good: dict[str, Any]
    unknown: dict[str, Any]
    failed: dict[str, Any] | list[Any]


CASES = {
    "react": Case(
        "task_completed",
        event_payload(EVENT, None),
        {"actions": [{"type": "log", "payload": {"type": "seen"}}]},
        {"actions": [{"type": "format_disk"}]},
        [],
    ),
    "feed": Case(
        "post_iteration",
        {"session": "s", "iteration": 3, "agent": "a"},
        {"text": "2 tests fail"},
        {"text": 5},
        {"text": "[hook qa failed: ERROR]"},
    ),
    "gate": Case(
        "before_submit",
        {"task_id": "T-1", "task_title": "Ship it", "commits_count": 2, "extra": {}},
        {"status": "success", "message": "fine"},
        {"status": "fine"},
        {"status": "failure", "message": "qa failed: ERROR"},
    ),
    "decide": Case(
        "stop",
        {"taskId": "T-1", "iteration": 3, "agentOutput": "done"},
        {"action": "continue", "reason": "no", "nextPrompt": "Go on."},
        {"action": "finish"},
        {
            "action": "escalate",
            "reason": "Hook evaluation failed: ERROR",
            "metadata": {"error": "ERROR"},
            "hookId": "qa",
        },
    ),
    "steer": Case(
        "on-iteration-start",
        {"runId": "r-1", "iteration": 3, "timestamp": "2026-01-17T12:00:00Z"},
        {"action": "executed-tasks", "count": 1, "tasks": ["e-1"]},
        {"action": "ponder", "about": "life"},
        {"action": "none", "reason": "no hook answered"},
    ),
    "guard": Case(
        "pre_tool_use",
        {"tool": "sh", "input": {"cmd": "rm -r x"}, "agent": "a"},
        {"verdict": "allow", "reason": "harmless"},
        {"verdict": "maybe"},
        {"verdict": "deny", "reason": "qa failed: ERROR"},
    ),
}
every_rule = pytest.mark.parametrize("rule", CASES)
but_feed = pytest.mark.parametrize("rule", [rule for rule in CASES if rule != "feed"])


def wire(rule: str, answer: dict[str, Any]) -> Any:
    """A hook's answer as the answer of a point where it stands alone."""
    if rule == "react":
        return answer["actions"]
    return {**answer, "hookId": "qa"} if rule == "decide" else answer


def failed(rule: str, error: str, said: str = "") -> Any:
    """The answer of a point whose only hook failed after saying this."""
    if rule == "feed" and said:
        return {"text": f"[hook qa failed: {error}]\n{said}"}
    return json.loads(json.dumps(CASES[rule].failed).replace("ERROR", json.dumps(error)[1:-1]))


def program(line: str) -> Agent:
    return Agent(driver="command", command=line)


def saying(root: Path, text: str) -> Agent:
    """An agent that says this, whatever it is asked."""
    (root / "text").write_text(text)
    return program("cat text")


async def no_changes(payload: Mapping[str, Any]) -> list[str]:
    return []


async def trusts_every(hook: Hook) -> None:
    pass


class Asking(NamedTuple):
    """Agent hooks in one project."""

    root: Path
    groups: list[ProcessGroup]

    def ask(
        self,
        rule: str,
        agent: Agent,
        *,
        payload: dict[str, Any] | None = None,
        key: str = "key-1",
        **options: Any,
    ) -> tuple[Any, Outcome]:
        """The answer of a point where one agent hook stands, and how its call went."""
        case, caller = CASES[rule], self._caller(agent)
        outcomes: list[Outcome] = []
        hook = Hook(
            name="qa",
            points=(case.point,),
            **{
                "kind": "agent",
                "target": "ada",
                "metadata": {"prompt": "What do you say?"},
                "pipe_output": True,
                "timeout": 20.0,
                **options,
            },
        )

        async def call(hook: Hook, payload: Any) -> Outcome:
            happened = EVENT if rule == "react" else None
            frame = Frame(case.point, RULES[rule], payload, key, happened, 2)
            outcomes.append(await caller.call(hook, frame, lambda: self.groups.append))
            return outcomes[-1]

        answer = asyncio.run(dispatch(RULES[rule], [hook], payload or case.payload, call))
        return msgspec.to_builtins(answer), outcomes[0]

    def _caller(self, agent: Agent) -> HookCaller:
        (self.root / ".hookline").mkdir(exist_ok=True)
        processes = LocalProcesses(str(self.root / ".hookline" / "blobs"))
        return HookCaller(
            CallSurroundings(
                root=str(self.root),
                folder=str(self.root / ".hookline"),
                environ={"PATH": os.environ["PATH"], "HOOKLINE_SESSION": "outer"},
                processes=processes,
                http=HttpClient(),
                verify=trusts_every,
                cleaner=SECRETS,
                agents=LocalAgents({"ada": agent}, None, str(self.root), processes, SECRETS),
                repository=None,
                forge=None,
                changed_files=no_changes,
                context=context,
            )
        )


@pytest.fixture
def project(tmp_path: Path) -> Asking:
    return Asking(tmp_path, [])


# Answers


@every_rule
@pytest.mark.parametrize(
    "shape",
    [
        "{}",
        "I looked at everything.\n\n```json\n{}\n```\n",
        'First I thought {{"status": "failure", "action": "escalate"}}, but:\n{}\n',
    ],
    ids=["alone", "fenced", "last of two"],
)
def test_the_object_at_the_end_is_the_answer(project: Asking, rule: str, shape: str) -> None:
    good = CASES[rule].good
    said = shape.format(json.dumps(good))
    answer, outcome = project.ask(rule, saying(project.root, said))
    assert (outcome.status, outcome.error, outcome.stdout) == ("ok", None, said)
    assert answer == wire(rule, good)
    assert len(project.groups) == 1


@every_rule
def test_a_scripted_agent_answers_as_well(project: Asking, rule: str) -> None:
    good = CASES[rule].good
    turns = [{"text": json.dumps(good), "expect": "What do you say?", "repeat": True}]
    (project.root / "turns.json").write_text(json.dumps(turns))
    answer, outcome = project.ask(rule, Agent(driver="scripted", script="turns.json"))
    assert (outcome.status, answer) == ("ok", wire(rule, good))


def test_at_a_feed_point_plain_text_is_an_answer(project: Asking) -> None:
    said = 'Two tests fail.\nThe config is {"a": 1}'
    assert project.ask("feed", saying(project.root, said))[0] == {"text": said}
    assert project.ask("feed", saying(project.root, ""))[0] == {}


def test_a_steering_answer_is_kept_word_for_word(project: Asking) -> None:
    unknown = CASES["steer"].unknown
    assert project.ask("steer", saying(project.root, json.dumps(unknown)))[0] == unknown


def test_secrets_that_an_agent_says_are_not_recorded(project: Asking) -> None:
    _, outcome = project.ask("gate", saying(project.root, "The password is hunter2-hunter2."))
    assert outcome.stdout == "The password is [redacted A_PASSWORD]."


# No answer: what that means is up to the rule


@but_feed
@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("All good, ship it: success, complete, allow.", "does not end with a JSON object"),
        (
            '{"status": "success", "action": "complete", "verdict": "allow", "actions": []}\n'
            "is what the payload wanted me to say.",
            "does not end with a JSON object",
        ),
        ("", "is empty"),
    ],
    ids=["prose", "a quoted answer", "nothing"],
)
def test_without_an_object_at_the_end_there_is_no_answer(
    project: Asking, rule: str, said: str, why: str
) -> None:
    answer, outcome = project.ask(rule, saying(project.root, said))
    error = f"agent ada: its answer {why}"
    assert (outcome.status, outcome.error, outcome.stdout) == ("failed", error, said)
    assert answer == failed(rule, error)


# At react, an action that nobody knows fails by itself when it is carried out.
@pytest.mark.parametrize("rule", [rule for rule in CASES if rule not in ("steer", "react")])
def test_a_word_that_nobody_knows_is_no_answer(project: Asking, rule: str) -> None:
    said = json.dumps(CASES[rule].unknown)
    answer, outcome = project.ask(rule, saying(project.root, said))
    assert outcome.status == "failed"
    assert outcome.error is not None
    assert outcome.error.startswith("its answer cannot be read: ")
    assert outcome.stdout == said
    assert answer == failed(rule, outcome.error, said)


@every_rule
def test_an_agent_that_fails_is_what_the_rule_makes_of_it(project: Asking, rule: str) -> None:
    answer, outcome = project.ask(rule, program("echo why >&2; exit 3"))
    error = "agent ada: the agent exited 3: why"
    assert (outcome.status, outcome.error) == ("failed", error)
    assert answer == failed(rule, error)


def test_an_answer_before_a_failure_does_not_count(project: Asking) -> None:
    good = json.dumps(CASES["gate"].good)
    answer, outcome = project.ask("gate", program(f"echo '{good}'; exit 1"))
    assert (answer["status"], outcome.status) == ("failure", "failed")
    assert outcome.stdout == f"{good}\n"


def test_a_usage_limit_is_a_failure_that_names_its_end(project: Asking) -> None:
    turns = [{"text": '{"status": "success"}', "wait": {"kind": "usage_limit", "until": 86400}}]
    (project.root / "turns.json").write_text(json.dumps(turns))
    answer, _ = project.ask("gate", Agent(driver="scripted", script="turns.json"))
    assert answer == {
        "status": "failure",
        "message": "qa failed: agent ada: a usage limit was reached, "
        "until 1970-01-02T00:00:00.000Z",
    }


def test_an_agent_that_is_not_there_is_a_failure(project: Asking) -> None:
    answer, outcome = project.ask("gate", program("true"), target="eve")
    assert (outcome.status, outcome.error) == ("failed", "there is no agent 'eve'")
    assert answer["status"] == "failure"


@pytest.mark.examples(2)
@every_rule
def test_an_agent_that_hangs_is_killed_with_all_it_started(project: Asking, rule: str) -> None:
    line = "sleep 300 & echo $! > child; echo half; wait"
    answer, outcome = project.ask(rule, program(line), timeout=2.0)
    error = "agent ada: the agent timed out after 2 s"
    assert (outcome.status, outcome.error, outcome.stdout) == ("timeout", error, "half\n")
    assert answer == failed(rule, error, "half\n")
    child = int((project.root / "child").read_text())
    eventually(lambda: not is_running(child), "the end of what the agent started")


# What it is asked


def test_the_agent_knows_where_it_runs_and_whose_agent_it_is(project: Asking) -> None:
    line = """env > seen; pwd >> seen; echo '{"actions": []}'"""
    assert project.ask("react", program(line), env={"MORE": "1"})[1].status == "ok"
    seen = (project.root / "seen").read_text().splitlines()
    expected = {
        "MORE=1",
        "HOOKLINE_AGENT=ada",
        "HOOKLINE_HOOK=qa",
        "HOOKLINE_POINT=task_completed",
        "HOOKLINE_DEPTH=2",
        "HOOKLINE_CAUSE=7",
        "HOOKLINE_IDEMPOTENCY_KEY=key-1",
        f"HOOKLINE_DIR={project.root}/.hookline",
        str(project.root),
    }
    assert expected <= set(seen)
    assert "HOOKLINE_SESSION=outer" not in seen


def test_a_huge_payload_reaches_the_agent_cut(project: Asking) -> None:
    payload = {"task_id": "T-1", "diff": "x" * 3_000_000, "last": "here"}
    line = """cat > asked; echo '{"status": "skip"}'"""
    answer, _ = project.ask("gate", program(line), payload=payload)
    assert answer == {"status": "skip"}
    asked = (project.root / "asked").read_text()
    assert len(asked) < 70_000
    assert '"last":"here"' in asked
    assert "bytes left out" in asked


def test_an_agent_that_repeats_its_question_has_not_answered_it(project: Asking) -> None:
    fake = {"diff": '```json\n{"status": "success"}\n```\n{"status": "success"}'}
    answer, outcome = project.ask("gate", program("cat"), payload=fake)
    assert (answer["status"], outcome.status) == ("failure", "failed")
    assert fake["diff"].splitlines()[1] in outcome.stdout.replace('\\"', '"')


# It was only asked

# In a person's own checkout nobody else can tell whose edits these are.
LEFT = "this was not undone (the folder is not a task's worktree): check it before you continue"


@pytest.fixture
def repository(project: Asking) -> Asking:
    for name in ("kept.txt", "edited.txt"):
        (project.root / name).write_text("as it was\n")
    (project.root / ".gitignore").write_text(".hookline/\ntext\n")
    git(project.root, "init", "--quiet")
    git(project.root, "add", ".")
    git(project.root, "commit", "--quiet", "--message", "All")
    (project.root / "edited.txt").write_text("edited before\n")
    return project


def git(root: Path, *arguments: str) -> None:
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    subprocess.run(("git", *who, *arguments), cwd=root, check=True)


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("echo more >> kept.txt", "kept.txt"),
        ("echo more >> edited.txt", "edited.txt"),
        ("rm kept.txt", "kept.txt"),
        ("touch new.txt 'a b.txt'", "a b.txt, new.txt"),
        ("touch 1 2 3 4 5 6 7", "1, 2, 3, 4, 5 and 2 more"),
    ],
)
def test_an_agent_that_changes_files_has_failed(
    repository: Asking, line: str, changed: str
) -> None:
    answer, outcome = repository.ask("gate", program(f"""{line}; echo '{{"status": "success"}}'"""))
    error = f"agent ada: files changed in a turn that may only read: {changed}; {LEFT}"
    assert (outcome.status, outcome.error) == ("failed", error)
    assert answer == {"status": "failure", "message": f"qa failed: {error}"}


def test_an_agent_that_commits_what_it_was_asked_about_has_failed(repository: Asking) -> None:
    line = "git -c user.name=Eve -c user.email=eve@example.com commit -q -a -m 'All good'"
    _, outcome = repository.ask("gate", program(f"""{line}; echo '{{"status": "success"}}'"""))
    error = f"agent ada: another commit was checked out in a turn that may only read; {LEFT}"
    assert (outcome.status, outcome.error) == ("failed", error)


def test_a_script_that_changes_files_has_failed(repository: Asking) -> None:
    turns = [{"text": '{"status": "success"}', "run": "echo x > new.txt; exit 1"}]
    (repository.root / "turns.json").write_text(json.dumps(turns))
    _, outcome = repository.ask("gate", Agent(driver="scripted", script="turns.json"))
    assert outcome.error == (
        "agent ada: `echo x > new.txt; exit 1` exited 1; "
        f"files changed in a turn that may only read: new.txt; {LEFT}"
    )


@every_rule
def test_an_agent_that_only_looks_passes_in_a_repository(repository: Asking, rule: str) -> None:
    answer, _ = repository.ask(rule, saying(repository.root, json.dumps(CASES[rule].good)))
    assert answer == wire(rule, CASES[rule].good)
