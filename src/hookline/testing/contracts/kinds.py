"""What every kind of hook does under each of the six rules, and what trust covers of it."""

from __future__ import annotations

import asyncio
import json
import os
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest

from hookline import typed
from hookline.adapters.agents.local_agents import LocalAgents
from hookline.adapters.network.http import HttpClient
from hookline.adapters.processes.process import LocalProcesses
from hookline.domain.hooks.records import Outcome, Reply
from hookline.domain.text.cleaning import Cleaner
from hookline.errors import HookFailure
from hookline.hooks.calls.call import CallSurroundings, HookCaller
from hookline.hooks.dispatch import dispatch
from hookline.hooks.frames import Frame, event_payload
from hookline.hooks.kinds import Call, World, Written, read_value
from hookline.hooks.registry import Hook
from hookline.hooks.rules import RULES
from hookline.plugins import KINDS
from hookline.points import POINTS
from hookline.project import Project
from hookline.testing import context, event
from hookline.trust.cover import covered_uses

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

SECRET, REDACTED = "swordfish-7310", "[redacted CONTRACT_TOKEN]"
EVENT = event("task_completed", "T-1", {"result": "fine"}, seq=7)


class Case(NamedTuple):
    """A point of a rule: what its hooks are shown, what one says, and the answer that gives."""

    point: str
    payload: dict[str, Any]
    says: dict[str, Any]
    answer: Any
    failed: Callable[[str], Any]


def _escalated(error: str) -> dict[str, Any]:
    return {
        "action": "escalate",
        "reason": f"Hook evaluation failed: {error}",
        "metadata": {"error": error},
        "hookId": "h",
    }


CASES = {
    "react": Case(
        "task_completed",
        event_payload(EVENT, None),
        {"actions": [{"type": "log", "payload": {"type": "seen"}}]},
        [{"type": "log", "payload": {"type": "seen"}}],
        lambda error: [],
    ),
    "feed": Case(
        "post_iteration",
        {"session": "s", "iteration": 3, "agent": "a"},
        {"text": "2 tests fail"},
        {"text": "2 tests fail"},
        lambda error: {"text": f"[hook h failed: {error}]"},
    ),
    "gate": Case(
        "before_submit",
        {"task_id": "T-1", "task_title": "Ship it", "commits_count": 2, "extra": {}},
        {"status": "failure", "message": "no", "remediationPrompt": "Fix it.", "retryAfter": 5},
        {"status": "failure", "message": "no", "remediationPrompt": "Fix it.", "retryAfter": 5},
        lambda error: {"status": "failure", "message": f"h failed: {error}"},
    ),
    "decide": Case(
        "stop",
        {"taskId": "T-1", "iteration": 3, "agentOutput": "done"},
        {"action": "complete", "reason": "all pass"},
        {"action": "complete", "reason": "all pass", "hookId": "h"},
        _escalated,
    ),
    "steer": Case(
        "on-iteration-start",
        {"runId": "r-1", "iteration": 3, "timestamp": "2026-01-17T12:00:00Z"},
        {"action": "executed-tasks", "count": 1, "tasks": ["e-1"]},
        {"action": "executed-tasks", "count": 1, "tasks": ["e-1"]},
        lambda error: {"action": "none", "reason": "no hook answered"},
    ),
    "guard": Case(
        "pre_tool_use",
        {"tool": "sh", "input": {"cmd": "rm -r x"}, "agent": "a"},
        {"verdict": "ask", "reason": "it deletes"},
        {"verdict": "ask", "reason": "it deletes"},
        lambda error: {"verdict": "deny", "reason": f"h failed: {error}"},
    ),
}


async def _never_ends(hook: Hook, call: Call, world: World) -> Reply:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


async def _no_changes(payload: Mapping[str, Any]) -> list[str]:
    return []


async def _trusts_every(hook: Hook) -> None:
    pass


def _caller(root: Path, agents: Mapping[str, Any]) -> HookCaller:
    cleaner = Cleaner({"CONTRACT_TOKEN": SECRET})
    processes = LocalProcesses(str(root / "blobs"), cleaner)
    return HookCaller(
        CallSurroundings(
            root=str(root),
            folder=str(root / ".hookline"),
            environ=dict(os.environ),
            processes=processes,
            http=HttpClient(cleaner),
            agents=LocalAgents(agents, None, str(root), processes, cleaner),
            repository=None,
            forge=None,
            verify=_trusts_every,
            cleaner=cleaner,
            changed_files=_no_changes,
            context=context,
        )
    )


def folded(
    root: Path, rule: str, hook: Hook, agents: Mapping[str, Any] = MappingProxyType({})
) -> tuple[Any, list[Outcome]]:
    """The answer of a point with one hook, and how its call went."""
    case, outcomes = CASES[rule], list[Outcome]()
    calls = _caller(root, agents)

    async def call(hook: Hook, payload: Any) -> Outcome:
        happened = EVENT if rule == "react" else None
        frame = Frame(case.point, RULES[rule], payload, "key-1", happened, 1)
        outcomes.append(await calls.call(hook, frame))
        return outcomes[-1]

    answer = asyncio.run(dispatch(RULES[rule], [hook], case.payload, call))
    return msgspec.to_builtins(answer), outcomes


every_rule = pytest.mark.parametrize("rule", CASES)


class KindContract:
    """A kind of hook: `name` is that of its entry point, the methods give values of its key.

    class TestMine(KindContract):
        name = "mine"
        failure = "there is no file missing.json"

        def answering(self, folder):
            return "answer.json"

        def failing(self, folder):
            return "missing.json"

    `failure` is what the call of the failing hook is recorded with. A kind that shows its payload
    to nobody says `sees_payload = False`; one that can take forever has a `hanging`, and so has
    each that says `KEEPS_TIME`; one whose value names files of the repository has `named`.
    """

    name: str
    failure: str
    sees_payload = True
    agents: Mapping[str, Any] = MappingProxyType({})

    def answering(self, folder: Path) -> Any:
        """The value of a hook that answers with `answer.json`, its payload in `seen.json`."""
        raise NotImplementedError

    def failing(self, folder: Path) -> Any:
        """The value of a hook that fails."""
        raise NotImplementedError

    def hanging(self, folder: Path) -> Any:
        """The value of a hook that takes forever, and None if there is none."""

    def named(self, folder: Path) -> Sequence[Path]:
        """The files that the answering hook is made of: if one changes, it has to be trusted."""
        return ()

    def hook(self, rule: str, folder: Path, value: Any, **more: Any) -> Hook:
        """A hook as the configuration reads it."""
        point, kind = POINTS[CASES[rule].point], KINDS.load(self.name)
        converted = typed.convert(value, kind.VALUE)
        prompt = "What do you say?" if self.agents else None
        read = read_value(
            self.name, Written(converted, point, str(folder), self.agents, prompt=prompt)
        )
        assert [each.message for each in read.faults] == []
        assert read.label
        return Hook(
            name="h",
            points=(point.name,),
            kind=self.name,
            target=read.target,
            metadata=read.metadata,
            runs=getattr(kind, "RUNS", None),
            pipe_output=True,
            **more,
        )

    def test_each_case_stands_at_a_point_of_its_rule(self) -> None:
        assert {rule: POINTS[case.point].rule for rule, case in CASES.items()} == {
            rule: rule for rule in RULES
        }

    @every_rule
    def test_its_answer_is_the_answer_of_the_rule(self, tmp_path: Path, rule: str) -> None:
        case = CASES[rule]
        (tmp_path / "answer.json").write_text(json.dumps(case.says))
        hook = self.hook(rule, tmp_path, self.answering(tmp_path))
        answer, (outcome,) = folded(tmp_path, rule, hook, self.agents)
        assert (outcome.status, outcome.error) == ("ok", None)
        assert answer == case.answer
        if self.sees_payload:
            seen = json.loads((tmp_path / "seen.json").read_text())
            assert seen == json.loads(json.dumps(case.payload))

    @every_rule
    def test_its_failure_is_what_the_rule_makes_of_it(self, tmp_path: Path, rule: str) -> None:
        hook = self.hook(rule, tmp_path, self.failing(tmp_path))
        answer, (outcome,) = folded(tmp_path, rule, hook, self.agents)
        assert (outcome.status, outcome.error) == ("failed", self.failure)
        self._check_failure(rule, answer, outcome)

    def test_no_secret_gets_into_its_record(self, tmp_path: Path) -> None:
        says = {"status": "failure", "message": f"it is {SECRET}", "remediationPrompt": SECRET}
        (tmp_path / "answer.json").write_text(json.dumps(says))
        hook = self.hook("gate", tmp_path, self.answering(tmp_path))
        answer, (outcome,) = folded(tmp_path, "gate", hook, self.agents)
        assert (outcome.status, answer["message"]) == ("ok", f"it is {REDACTED}")
        assert SECRET not in msgspec.json.encode(outcome).decode()

    def test_no_secret_gets_into_the_record_of_its_failure(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        kind = KINDS.load(self.name)
        if getattr(kind, "CLEANS", False):
            return  # it fails with what its doors have cleaned

        async def fails(hook: Hook, call: Call, world: World) -> Reply:
            raise HookFailure(f"it is {SECRET}", stdout=SECRET, stderr=SECRET)

        monkeypatch.setattr(kind, "run", fails)
        hook = self.hook("gate", tmp_path, self.failing(tmp_path))
        _, (outcome,) = folded(tmp_path, "gate", hook, self.agents)
        assert (outcome.status, outcome.error) == ("failed", f"it is {REDACTED}")
        assert SECRET not in msgspec.json.encode(outcome).decode()

    def test_it_is_stopped_when_its_time_is_over(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        kind, value = KINDS.load(self.name), self.hanging(tmp_path)
        if value is None:  # then Hookline keeps the time, whatever the kind does
            assert not getattr(kind, "KEEPS_TIME", False), "nothing shows that it keeps its time"
            monkeypatch.setattr(kind, "run", _never_ends)
            value = self.failing(tmp_path)
        hook = self.hook("gate", tmp_path, value, timeout=0.5)
        answer, (outcome,) = folded(tmp_path, "gate", hook, self.agents)
        assert outcome.status == "timeout"
        self._check_failure("gate", answer, outcome)

    def _check_failure(self, rule: str, answer: Any, outcome: Outcome) -> None:
        assert outcome.error
        expected = CASES[rule].failed(outcome.error)
        if rule == "feed":  # what it said before is reported as well
            assert answer["text"].startswith(expected["text"])
        else:
            assert answer == expected

    def test_trust_covers_what_it_names(self, tmp_path: Path) -> None:
        (tmp_path / "answer.json").write_text("{}")
        hook = self.hook("gate", tmp_path, self.answering(tmp_path))
        covered = covered_uses(Project(str(tmp_path), str(tmp_path / ".hookline")), [hook])
        assert sorted(covered) == sorted(map(str, self.named(tmp_path)))
