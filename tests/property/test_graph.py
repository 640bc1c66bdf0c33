"""Random task graphs through the real store: no cycle, a valid order, an honest ready set."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from hookline.adapters.store.sqlite import SqliteStore
from hookline.app import App
from hookline.errors import CycleError, HooklineError
from hookline.project import Project
from hookline.tasks import verbs
from hookline.tasks.verbs import link, unlink
from hookline.testing import FakeGraph

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.domain.tasks import Edge
    from hookline.ports.store import View

Edges = set[tuple[int, int]]

SIZE = 7
numbers = st.integers(1, SIZE)
links = st.lists(st.tuples(numbers, numbers), max_size=25)
MET = ("completed", "cancelled")


@contextmanager
def project() -> Iterator[App]:
    """A project whose store is gone when the test is over, with nothing but the built-in hooks."""
    app = App(Project("/dev/null", "/dev/null"), SqliteStore(":memory:"), environ={})
    try:
        yield app
    finally:
        app.close()


@contextmanager
def tasks(count: int = SIZE) -> Iterator[App]:
    with project() as app:
        for number in range(count):
            app.change(verbs.add, f"task {number}")
        yield app


def name(number: int) -> str:
    return f"T-{number}"


def reaches(edges: Edges, start: int, goal: int) -> bool:
    """Whether a chain of dependencies leads from one task to another."""
    seen, queue = {start}, [start]
    while queue:
        here = queue.pop()
        for source, target in edges:
            if source == here and target not in seen:
                seen.add(target)
                queue.append(target)
    return goal in seen


def stored_edges(view: View) -> Edges:
    return {(int(e.from_id[2:]), int(e.to_id[2:])) for e in view.graph.edges()}


@given(links)
def test_a_dependency_is_refused_exactly_when_it_would_close_a_cycle(
    wanted: list[tuple[int, int]],
) -> None:
    edges: Edges = set()
    with tasks() as app:
        for source, target in wanted:
            if (source, target) in edges:
                continue
            closes = reaches(edges, target, source)
            try:
                app.change(link, name(source), name(target))
            except CycleError as refused:
                assert closes
                assert_shown(refused.message, edges, source, target)
            else:
                assert not closes
                edges.add((source, target))
            with app.read() as view:
                assert stored_edges(view) == edges
                assert view.graph.misranked() == 0


def assert_shown(message: str, edges: Edges, source: int, target: int) -> None:
    if source == target:
        assert message == f"{name(source)} cannot depend on itself"
        return
    shown = message.split(": ")[1].removesuffix(" would be a cycle").split(" -> ")
    chain = [int(each[2:]) for each in shown]
    assert chain[:2] == [source, target]
    assert chain[-1] == source
    assert set(pairwise(chain)) <= edges | {(source, target)}


steps = st.lists(
    st.tuples(
        st.sampled_from(["link", "link", "link", "unlink", "complete", "cancel", "delete", "add"]),
        numbers,
        numbers,
    ),
    max_size=30,
)


def do(app: App, verb: str, first: int, second: int) -> None:
    if verb == "link":
        app.change(link, name(first), name(second))
    elif verb == "unlink":
        app.change(unlink, name(first), name(second))
    elif verb == "complete":
        app.change(verbs.complete, name(first))
    elif verb == "cancel":
        app.change(verbs.cancel, name(first))
    elif verb == "delete":
        app.change(verbs.delete, name(first))
    else:
        app.change(verbs.add, "new", depends_on=[name(first)], parent=name(second))


def changed_at_random(app: App, wanted: list[tuple[str, int, int]]) -> Iterator[View]:
    for step in wanted:
        try:
            do(app, *step)
        except HooklineError:
            continue
        with app.read() as view:
            yield view


@given(steps)
def test_the_ready_set_never_breaks_a_dependency_and_misses_nobody(
    wanted: list[tuple[str, int, int]],
) -> None:
    with tasks() as app:
        for view in changed_at_random(app, wanted):
            ready = {task.id for task in view.graph.ready(1000, app.store.now())}
            free = {
                task.id
                for task in view.graph.tasks()
                if all(view.graph.task(target).state in MET for target in task.depends_on)
            }
            assert ready == free


@given(steps)
def test_counters_and_order_agree_with_the_edges(wanted: list[tuple[str, int, int]]) -> None:
    with tasks() as app:
        for view in changed_at_random(app, wanted):
            assert view.graph.misranked() == 0
            for row in view.graph.rows():
                identifier = name(row["number"])
                naive = sum(
                    view.graph.task(target).state not in MET
                    for target in view.graph.task(identifier).depends_on
                )
                assert row["unmet"] == view.graph.unmet(identifier) == naive


@given(steps)
def test_the_fake_graph_reads_like_the_real_one(wanted: list[tuple[str, int, int]]) -> None:
    with tasks() as app:
        for _ in changed_at_random(app, wanted):
            pass
        with app.read() as view:
            real = view.graph
            everything = real.tasks(states=["created", "ready", "completed", "cancelled"])
            fake = FakeGraph({task.id: msgspec.to_builtins(task) for task in everything})
            for task in everything:
                assert fake.task(task.id) == task
                assert fake.unmet(task.id) == real.unmet(task.id)
                for kind in (None, "depends_on"):
                    assert ids(fake.edges_from(task.id, kind)) == ids(
                        real.edges_from(task.id, kind)
                    )
                    assert ids(fake.edges_to(task.id, kind)) == ids(real.edges_to(task.id, kind))


def ids(edges: list[Edge]) -> list[str]:
    return sorted(edge.id for edge in edges)
