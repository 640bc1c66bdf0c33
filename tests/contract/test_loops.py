"""What every store must keep of loops, registered hooks, notes and checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hookline.domain.sessions.limits import SessionLimits
from hookline.errors import BadInput, IllegalTransition, UnknownTask
from hookline.tasks import checkpoints, loops, notes, planned, registrations, verbs
from hookline.tasks.checkpoints import CheckpointExpired, CheckpointState, UnknownCheckpoint
from hookline.tasks.loops import (
    LoopFinding,
    LoopLimit,
    LoopOver,
    LoopPlan,
    NotComplete,
    UnknownIteration,
)
from hookline.tasks.planned import TasksOpen
from hookline.tasks.registrations import Registration

if TYPE_CHECKING:
    from hookline.tasks.loops import Loop
    from hookline.testing.contracts.stores.place import OpenStore, Place


def change(store: OpenStore, verb: Any, *args: Any, **options: Any) -> Any:
    with store.write({"triggeredBy": "me"}) as tx:
        return verb(tx, *args, **options)


def begin(store: OpenStore, **limits: Any) -> Loop:
    task = change(store, verbs.add, "work")
    plan = LoopPlan(limits=SessionLimits(**{"iterations": 10, **limits}), base_tree="t0")
    loop: Loop = change(store, loops.start, task.id, plan)
    return loop


def found(loop: Loop, signal: Any = "CONTINUE", **more: Any) -> LoopFinding:
    decision = {"hookId": "h", "action": signal.lower(), "reason": "because"}
    return LoopFinding(iteration=loop.iteration, signal=signal, decision=decision, **more)


def test_a_loop_is_what_its_events_say(store: OpenStore) -> None:
    loop = begin(store)
    assert (loop.id, loop.task_id, loop.iteration) == ("IT-4", "T-1", 1)
    validated = change(store, loops.validated, loop.id, found(loop, fingerprint="t1"))
    assert validated.finding.signal == "CONTINUE"
    second = change(store, loops.advance, loop.id)
    assert (second.iteration, second.finding, second.progress.iterations) == (2, None, 1)
    with store.read() as view:
        assert loops.find(view.log, "it-4") == second
        assert view.graph.task("T-1").state == "active"


def test_limits_count_iterations_with_and_without_validation(store: OpenStore) -> None:
    loop = begin(store, iterations=3)
    change(store, loops.advance, loop.id)
    loop = change(store, loops.validated, loop.id, found(change_to(loop, 2)))
    change(store, loops.advance, loop.id)
    with pytest.raises(LoopLimit) as limit:
        change(store, loops.advance, loop.id)
    assert limit.value.reason == "iterations"
    with store.read() as view:
        assert loops.find(view.log, loop.id).iteration == 3


def change_to(loop: Loop, iteration: int) -> Loop:
    return loops.Loop(
        id=loop.id,
        task_id=loop.task_id,
        plan=loop.plan,
        started_at=loop.started_at,
        progress=loop.progress,
        iteration=iteration,
    )


@pytest.mark.parametrize(
    ("limit", "trees", "reason"),
    [
        ({"no_change": 2}, ["t0", "t0"], "no_change"),
        ({"identical_output": 2}, ["t0", "t0"], "identical_output"),
        ({"thrashing": 1}, ["t1", "t0"], "thrashing"),
    ],
)
def test_guards_look_at_the_files(
    store: OpenStore, limit: dict[str, int], trees: list[str], reason: str
) -> None:
    loop = begin(store, **limit)
    for tree in trees[:-1]:
        change(store, loops.validated, loop.id, found(loop, fingerprint=tree, output="same"))
        loop = change(store, loops.advance, loop.id)
    change(store, loops.validated, loop.id, found(loop, fingerprint=trees[-1], output="same"))
    with pytest.raises(LoopLimit) as reached:
        change(store, loops.advance, loop.id)
    assert reached.value.reason == reason


def test_a_validation_of_an_iteration_that_is_over(store: OpenStore) -> None:
    loop = begin(store)
    change(store, loops.advance, loop.id)
    with pytest.raises(IllegalTransition, match="continued with iteration 2"):
        change(store, loops.validated, loop.id, found(loop))


def test_the_end_forgets_the_registered_hooks(store: OpenStore) -> None:
    loop = begin(store)
    for _ in range(2):
        change(store, registrations.register, loop.task_id, Registration(hook_type="promise"))
    ended, cleared = change(store, loops.complete, loop.id, "<promise>COMPLETE</promise>")
    assert (ended.over, cleared) == ("ended with COMPLETE", 2)
    with store.read() as view:
        assert registrations.registered(view.log, loop.task_id) == []
    with pytest.raises(LoopOver):
        change(store, loops.advance, loop.id)


def test_a_guarded_loop_needs_consent_to_complete(store: OpenStore) -> None:
    loop = begin(store)
    for finding in (None, found(loop), found(loop, "ESCALATE")):
        if finding is not None:
            change(store, loops.validated, loop.id, finding)
        with pytest.raises(NotComplete):
            change(store, loops.complete, loop.id, "COMPLETE", guarded=True)
    change(store, loops.validated, loop.id, found(loop, "COMPLETE"))
    assert change(store, loops.complete, loop.id, "COMPLETE", guarded=True)[0].over


def test_consent_of_an_earlier_iteration_is_no_consent(store: OpenStore) -> None:
    loop = begin(store)
    change(store, loops.validated, loop.id, found(loop, "COMPLETE"))
    change(store, loops.advance, loop.id)
    with pytest.raises(NotComplete):
        change(store, loops.complete, loop.id, "COMPLETE", guarded=True)


def test_hooks_keep_their_order_and_their_ids(store: OpenStore) -> None:
    task = change(store, verbs.add, "work").id
    kinds = ("validation", "promise", "default")
    made = [change(store, registrations.register, task, Registration(hook_type=k)) for k in kinds]
    with store.read() as view:
        assert registrations.registered(view.log, task) == made
    assert [each.id for each in made] == ["HOOK-3", "HOOK-4", "HOOK-5"]
    assert change(store, registrations.clear, task) == 3
    assert change(store, registrations.clear, task) == 0


def test_names_of_nothing(store: OpenStore) -> None:
    begin(store)
    with store.read() as view:
        for name in ("IT-1", "IT-99", "CP-4", "IT-", "IT-x", "", "4"):
            with pytest.raises(UnknownIteration):
                loops.find(view.log, name)
        with pytest.raises(UnknownCheckpoint):
            checkpoints.get(view.log, "CP-4", store.now())
    with pytest.raises(UnknownTask):
        change(store, notes.add, "tip", "x", task="T-9")


def test_notes_of_a_task_and_of_all(store: OpenStore) -> None:
    one, two = (change(store, verbs.add, goal).id for goal in ("one", "two"))
    for kind, text, task in (("tip", "a", None), ("stuck", "b", one), ("tip", "c", two)):
        change(store, notes.add, kind, text, task=task)
    with store.read() as view:
        texts = [note.text for note in notes.listed(view.log, task=one)]
        assert texts == ["a", "b"]
        assert [note.text for note in notes.listed(view.log, kind="tip")] == ["a", "c"]
        assert [note.text for note in notes.listed(view.log, limit=1)] == ["c"]
        assert notes.listed(view.log)[0].created_by == "me"
    for kind, text in (("poem", "x"), ("tip", " "), ("tip", "x" * 9000)):
        with pytest.raises(BadInput):
            change(store, notes.add, kind, text)


def test_a_checkpoint_lasts_its_time(place: Place, store: OpenStore) -> None:
    task = change(store, verbs.add, "work").id
    standing = CheckpointState(execution_phase="build", execution_step=2, agent_context={"a": [1]})
    made = change(store, checkpoints.create, task, standing)
    assert (made.id, made.expires_at) == ("CP-3", "2026-01-24T12:00:00.000Z")
    place.clock.advance(7 * 86400 - 1)
    back = change(store, checkpoints.resume, made.id)
    assert (back.agent_context, back.expired) == ({"a": [1]}, False)
    place.clock.advance(86400)
    with pytest.raises(CheckpointExpired, match="7 days ago"):
        change(store, checkpoints.resume, made.id)
    with store.read() as view:
        assert [each.expired for each in checkpoints.listed(view.log, task, store.now())] == [True]


@pytest.mark.parametrize(
    "wrong",
    [
        {"agent_context": {"a": "x" * 70_000}},
        {"draft_content": "x" * 300_000},
        {"expires_in_minutes": 0},
        {"expires_in_minutes": 1e9},
    ],
)
def test_checkpoints_in_bounds(store: OpenStore, wrong: dict[str, Any]) -> None:
    task = change(store, verbs.add, "work").id
    with pytest.raises(BadInput):
        change(store, checkpoints.create, task, CheckpointState(**wrong))


def test_a_promise_waits_for_every_descendant(store: OpenStore) -> None:
    own = change(store, verbs.add, "own").id
    child = change(store, verbs.add, "child", parent=own).id
    grandchild = change(store, verbs.add, "grandchild", parent=child).id
    change(store, verbs.add, "stranger")
    change(store, verbs.complete, child)
    with pytest.raises(TasksOpen, match=grandchild):
        change(store, planned.promise_done, "R-1", own, "done")
    change(store, verbs.cancel, grandchild)
    event = change(store, planned.promise_done, "R-1", own, "done")
    assert (event.type, event.node_id) == ("session_promise", "R-1")
    assert event.data == {"type": "COMPLETE", "summary": "done"}
