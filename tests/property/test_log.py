"""The log is the truth: after any verbs, legal or not, folding it gives what the tables hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from hookline.adapters.store.sqlite import SqliteStore
from hookline.app import App
from hookline.domain.events import Event
from hookline.domain.projection import LISTS, Fold
from hookline.errors import HooklineError
from hookline.project import Project
from hookline.tasks import claims, verbs
from hookline.tasks.verbs import link, unlink
from hookline.testing import Clock
from tests.property.strategies import events, json_objects, texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.ports.store import Transaction

# Derived or perishable: these are not in the log.
OUTSIDE = {"number", "unmet", "rank", "lease_until"}
MET = ("completed", "cancelled")


@given(events)
def test_an_event_survives_the_wire(event: Event) -> None:
    assert msgspec.json.decode(msgspec.json.encode(event), type=Event) == event


@given(st.lists(st.tuples(json_objects, json_objects), max_size=4))
def test_an_event_survives_the_store(written: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    store = SqliteStore(":memory:")
    with store.write({"triggeredBy": "me"}) as tx:
        for data, metadata in written:
            tx.append("noted", "system", data, metadata=metadata)
        kept = list(tx.events)
    with store.read() as view:
        assert view.log.events() == kept
    assert [(each.data, each.metadata) for each in kept] == [
        (data, {"triggeredBy": "me", **metadata}) for data, metadata in written
    ]
    store.close()


def rows_of(store: SqliteStore) -> dict[str, dict[str, Any]]:
    """The tasks' table as it lies, without what is not in the log."""
    with store.read() as view:
        rows = list(view.graph.rows())
    return {
        f"T-{row['number']}": {
            column: tuple(msgspec.json.decode(value)) if column in LISTS else value
            for column, value in row.items()
            if column not in OUTSIDE
        }
        for row in rows
    }


def filled(folded: dict[str, Any], columns: set[str]) -> dict[str, Any]:
    """A folded task with the columns that no event has set yet."""
    empty = {column: () if column in LISTS else None for column in columns}
    return {**empty, **folded}


def picture(store: SqliteStore) -> tuple[Any, ...]:
    """Everything that a refused verb must leave as it was."""
    with store.read() as view:
        rows = list(view.graph.rows())
        return rows, view.graph.edges(), view.log.last(), view.calls.waiting()


WORKABLE = ("ready", "active", "needs_continuation")
# Each verb, and the states in which it is worth trying; one time in eight it is tried elsewhere.
TELL: dict[str, tuple[Callable[[Transaction, str], Any], tuple[str, ...]]] = {
    "start": (verbs.start, ("ready", "needs_continuation")),
    "submit": (verbs.submit, WORKABLE),
    "send back": (lambda tx, task: verbs.send_back(tx, task, reason="not yet"), ("submitted",)),
    "complete": (verbs.complete, (*WORKABLE, "submitted")),
    "fail": (verbs.fail, ("ready", "active", "blocked")),
    "cancel": (verbs.cancel, ("created", "ready", "failed")),
    "block": (
        lambda tx, task: verbs.block(tx, task, reason="stuck", required_knowledge=["k"]),
        ("created", "ready", "active"),
    ),
    "unblock": (verbs.unblock, ("blocked",)),
    "make ready": (verbs.make_ready, ("created",)),
    "release": (claims.release, ("ready", "active", "needs_continuation")),
    "delete": (verbs.delete, ("created", "ready", "active", "blocked", "completed")),
}
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "goal": texts,
        "labels": st.lists(st.sampled_from(["agent", "review"]), max_size=2),
        "priority": st.integers(-1, 3),
        "prUrl": st.none() | st.just("url"),
        "note": st.just("a note"),
    },
)


class Verbs(RuleBasedStateMachine):
    """Any verbs on any tasks, at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.store = SqliteStore(":memory:", clock=self.clock)
        self.app = App(Project("/dev/null", "/dev/null"), self.store, environ={})
        self.known = [self.app.change(verbs.add, f"task {n}").id for n in range(3)]

    def teardown(self) -> None:
        self.store.close()

    def attempt(self, verb: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Carry a verb out; one that is refused changes nothing."""
        before = picture(self.store)
        try:
            return self.app.change(verb, *args, **options)
        except HooklineError:
            assert picture(self.store) == before
            return None

    def pick(self, data: st.DataObject, states: tuple[str, ...] = ()) -> str:
        """A task, mostly in one of the states; now and then any, deleted ones included."""
        with self.app.read() as view:
            fitting = [task.id for task in view.graph.tasks(states=states)] if states else []
        anyhow = data.draw(st.integers(0, 7)) == 7
        return data.draw(st.sampled_from(self.known if anyhow or not fitting else fitting))

    @rule(goal=texts, labels=st.lists(st.sampled_from(["agent", "ui"]), max_size=2), data=st.data())
    def add(self, goal: str, labels: list[str], data: st.DataObject) -> None:
        needs = [self.pick(data, WORKABLE) for _ in range(data.draw(st.integers(0, 2)))]
        parent = data.draw(st.none() | st.sampled_from(self.known))
        task = self.attempt(verbs.add, goal, labels=labels, depends_on=needs, parent=parent)
        if task is not None:
            self.known.append(task.id)

    @rule(verb=st.sampled_from(sorted(TELL)), data=st.data())
    def tell(self, verb: str, data: st.DataObject) -> None:
        act, states = TELL[verb]
        self.attempt(act, self.pick(data, states))

    @rule(data=st.data())
    def add_dependency(self, data: st.DataObject) -> None:
        source = self.pick(data, ("ready", "active", "created"))
        self.attempt(link, source, self.pick(data, ("ready", "active", "completed")))

    @rule(data=st.data())
    def remove_dependency(self, data: st.DataObject) -> None:
        with self.app.read() as view:
            edges = [(edge.from_id, edge.to_id) for edge in view.graph.edges()]
        if edges:
            self.attempt(unlink, *data.draw(st.sampled_from(edges)))

    @rule(data=st.data(), lease=st.integers(0, 30), started=st.booleans())
    def claim(self, data: st.DataObject, lease: int, started: bool) -> None:
        task = self.pick(data, ("ready", "needs_continuation"))
        self.attempt(claims.claim, task, data.draw(st.sampled_from("ab")), lease)
        if started:
            self.attempt(verbs.start, task)

    @rule(agent=st.sampled_from("ab"))
    def claim_next(self, agent: str) -> None:
        with self.app.read() as view:
            waiting = bool(view.graph.ready(1, self.store.now()))
        assert (self.attempt(claims.claim_next, agent, 30) is not None) == waiting

    @rule(data=st.data(), changes=CHANGES)
    def update(self, data: st.DataObject, changes: dict[str, Any]) -> None:
        self.attempt(verbs.update, self.pick(data), changes)

    @rule(seconds=st.sampled_from([1, 30, 100]))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @invariant()
    def the_fold_equals_the_tables(self) -> None:
        rows = rows_of(self.store)
        with self.app.read() as view:
            log = view.log.events()
            edges = {(edge.from_id, edge.type, edge.to_id) for edge in view.graph.edges()}
        assert [event.seq for event in log] == list(range(1, len(log) + 1))
        fold = Fold().add_all(log)
        columns = set(next(iter(rows.values()), {}))
        assert {name: filled(task, columns) for name, task in fold.tasks.items()} == rows
        assert fold.edges == edges
        halfway = Fold().add_all(log[: len(log) // 2]).add_all(log[len(log) // 2 :])
        assert (halfway.tasks, halfway.edges) == (fold.tasks, fold.edges)

    @invariant()
    def the_graph_is_sound(self) -> None:
        with self.app.read() as view:
            graph = view.graph
            assert graph.misranked() == 0
            for row in graph.rows():
                task = graph.task(f"T-{row['number']}")
                unmet = sum(graph.task(each).state not in MET for each in task.depends_on)
                assert row["unmet"] == unmet
                if task.state == "created":
                    assert unmet > 0
                if task.state == "ready":
                    assert unmet == 0
            for task in graph.ready(1000, self.store.now()):
                assert all(graph.task(each).state in MET for each in task.depends_on)


Verbs.TestCase.settings = settings(stateful_step_count=30)
TestVerbs = Verbs.TestCase
