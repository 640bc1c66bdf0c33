"""The task graph's tables: reading them, and applying events to them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.adapters.store.statements import SQL, Table
from hookline.domain.projection import LISTS, changes
from hookline.domain.tasks import (
    DEPENDS_ON,
    HELD_UP,
    OPEN,
    SETTLED,
    SPAWNED_BY,
    Claim,
    Edge,
    Task,
    task_id,
    task_number,
)
from hookline.errors import CycleError, UnknownTask

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hookline.adapters.store.statements import StatementRows, StatementRunner
    from hookline.domain.events import Event
    from hookline.domain.projection import Columns

# What a new task is given, in the order of `insert_task`.
_GIVEN = (
    *("state", "goal", "labels", "priority", "type", "desired_deliverables"),
    *("parent", "notes", "created_at", "changes"),
)
# The columns of the table, and where they are in what `task` finds; its edges come last.
_COLUMNS = (
    *("number", "state", "priority", "goal", "labels", "type", "desired_deliverables", "parent"),
    *("created_at", "started_at", "completed_at", "result", "artifacts", "block_reason"),
    *("required_knowledge", "notes", "pr_url", "commits_count", "turns_used", "claim_agent"),
    *("claim_token", "lease_until", "unmet", "rank", "changes"),
)
_PLACES = {name: place for place, name in enumerate(_COLUMNS)}
# So many rows are remembered within a transaction.
_MOST_KNOWN = 1000
_EMPTY: Columns = dict.fromkeys(_COLUMNS) | dict.fromkeys(LISTS, "[]")
_decode_list = typed.decoder(tuple[str, ...])


@cache
def update_of_task(columns: tuple[str, ...]) -> str:
    """The statement that sets columns of a task."""
    # Their names come from the projection's own table, never from input.
    assignments = ", ".join(f"{column} = ?" for column in columns)
    return f"UPDATE tasks SET {assignments} WHERE number = ?"  # noqa: S608  # of constants


class GraphTables(Table):
    """Tasks and edges in one connection."""

    def __init__(self, connection: StatementRunner, *, remembers: bool = False) -> None:
        """`remembers`: nobody else changes anything meanwhile."""
        super().__init__(connection)
        self._known = KnownTasks() if remembers else None
        self.projection = GraphProjection(connection, self._known or KnownTasks())

    # Reading

    def find(self, identifier: str) -> Task | None:
        number = task_number(identifier)
        if self._known is not None and (known := self._known.rows.get(number)) is not None:
            return _build(known)
        row = self._asked(number).fetchone()
        if row and self._known is not None:
            self._known.learn(number, row)
        return _build(row) if row else None

    def expect(self, identifier: str) -> None:
        """Ask for a task whose answer is wanted later."""
        if self._known is not None:
            number = task_number(identifier)
            self._known.expected[number] = self._run(SQL["task"], (number,))

    def _asked(self, number: int) -> StatementRows:
        expected = self._known.expected.pop(number, None) if self._known is not None else None
        return self._run(SQL["task"], (number,)) if expected is None else expected

    def forget(self) -> None:
        """Part of the changes was taken back."""
        if self._known is not None:
            self._known.forget()

    def task(self, identifier: str) -> Task:
        found = self.find(identifier)
        if found is None:
            raise UnknownTask(f"there is no task {identifier}")
        return found

    def ready(self, limit: int, now: str) -> list[Task]:
        # Both are asked before one is answered: a server has them in one go.
        free, lost = self._run(SQL["ready"], (limit,)), self._run(SQL["expired"], (now, limit))
        rows, expired = free.fetchall(), lost.fetchall()
        if expired:
            rows = sorted(rows + expired, key=lambda row: (row[2], row[0]))[:limit]
        return self._tasks(rows)

    def stranded(self) -> list[str]:
        return [task_id(number) for (number,) in self._run(SQL["stranded"])]

    def tasks(
        self,
        *,
        states: Iterable[str] = OPEN,
        label: str | None = None,
        task_type: str | None = None,
        limit: int = -1,
    ) -> list[Task]:
        wanted = sorted(states)
        conditions = [f"state IN ({', '.join('?' * len(wanted))})"]
        values: list[Any] = list(wanted)
        if label is not None:
            conditions.append("EXISTS (SELECT 1 FROM json_each(labels) WHERE value = ?)")
            values.append(label)
        if task_type is not None:
            conditions.append("type = ?")
            values.append(task_type)
        where = " AND ".join(conditions)  # made of the constants above; values stay parameters
        sql = f"{SQL['tasks']} WHERE {where} ORDER BY number LIMIT ?"
        return self._tasks(self._run(sql, (*values, limit)).fetchall())

    def counts(self) -> dict[str, int]:
        """How many tasks are in each state."""
        return dict(self._run("SELECT state, count(*) FROM tasks GROUP BY state"))

    def unmet(self, identifier: str) -> int:
        number = task_number(identifier)
        if self._known is not None and (known := self._known.unmet.get(number)) is not None:
            return known
        row = self._run(SQL["unmet_of"], (number,)).fetchone()
        if row is None:
            raise UnknownTask(f"there is no task {identifier}")
        return int(row[0])

    def edges_from(self, identifier: str, edge_type: str | None = None) -> list[Edge]:
        return self._edges("edges_from", identifier, edge_type)

    def edges_to(self, identifier: str, edge_type: str | None = None) -> list[Edge]:
        return self._edges("edges_to", identifier, edge_type)

    def edges(self) -> list[Edge]:
        return _edges(self._run("SELECT from_task, to_task, type FROM edges ORDER BY 1, 2, 3"))

    def rows(self) -> Iterator[Columns]:
        """Every row as it lies, for the check against the log."""
        found = self._run("SELECT * FROM tasks ORDER BY number")
        names = [column[0] for column in found.description]
        for row in found:
            yield dict(zip(names, row, strict=True))

    def misranked(self) -> int:
        """How many edges break the maintained order; none, unless the file was tampered with."""
        row = self._run(
            "SELECT count(*) FROM edges e JOIN tasks f ON f.number = e.from_task"
            " JOIN tasks t ON t.number = e.to_task"
            " WHERE e.type = 'depends_on' AND t.rank >= f.rank"
        ).fetchone()
        return int(row[0])

    # Writing

    def set_lease(self, identifier: str, until: str | None) -> None:
        self.projection.set_lease(task_number(identifier), until)

    def any_lease_ends(self, after: str, until: str) -> bool:
        return self._run(SQL["any_lease_ends"], (after, until)).fetchone() is not None

    def make_room(self, from_id: str, to_id: str) -> None:
        """Keep every dependency ranked before its dependents, or refuse a cycle and show it.

        Only tasks ranked between the two ends are looked at (Pearce and Kelly's algorithm), so
        the cost does not grow with the graph.
        """
        source, target = task_number(from_id), task_number(to_id)
        low, high = self._rank(source), self._rank(target)
        if source == target:
            raise CycleError(f"{from_id} cannot depend on itself")
        if high < low:
            return
        after = self._walk("dependents_below", source, low, high, target)
        before = self._walk("dependencies_above", target, high, low, None)
        moved = sorted(before, key=before.__getitem__) + sorted(after, key=after.__getitem__)
        ranks = sorted([*before.values(), *after.values()])
        for number, rank in zip(moved, ranks, strict=True):
            self._run(SQL["set_rank"], (rank, number))

    def _walk(
        self, query: str, start: int, start_rank: int, bound: int, forbidden: int | None
    ) -> dict[int, int]:
        seen = {start: start_rank}
        came_from: dict[int, int] = {}
        queue = [start]
        while queue:
            here = queue.pop()
            for number, rank in self._run(SQL[query], (here, bound)).fetchall():
                if number in seen:
                    continue
                seen[number] = rank
                came_from[number] = here
                if number == forbidden:
                    raise CycleError(_show_cycle(start, number, came_from))
                queue.append(number)
        return seen

    def _rank(self, number: int) -> int:
        row = self._run(SQL["rank"], (number,)).fetchone()
        if row is None:
            raise UnknownTask(f"there is no task {task_id(number)}")
        return int(row[0])

    def _edges(self, query: str, identifier: str, edge_type: str | None) -> list[Edge]:
        edges = _edges(self._run(SQL[query], (task_number(identifier),)))
        return [edge for edge in edges if edge_type in (None, edge.type)]

    def _tasks(self, rows: Sequence[tuple[Any, ...]]) -> list[Task]:
        return [_build(row) for row in rows]


class KnownTasks:
    """Rows that a transaction has read or written, as they are now: it need not ask again.

    What else depends on the edges of others is not kept up to date: `rank`, and `unmet` but for
    tasks that are new.
    """

    def __init__(self) -> None:
        self.rows: dict[int, tuple[Any, ...]] = {}
        self.unmet: dict[int, int] = {}
        # Rows that were asked for, as long as nothing was changed since.
        self.expected: dict[int, StatementRows] = {}

    def forget(self) -> None:
        """Know nothing."""
        self.expected.clear()
        self.rows.clear()
        self.unmet.clear()

    def learn(self, number: int, row: tuple[Any, ...]) -> None:
        """A row was read, or made."""
        if len(self.rows) >= _MOST_KNOWN:
            self.forget()
        self.rows[number] = row

    def change(self, number: int, new: Columns) -> None:
        """Columns of a row were set."""
        if (row := self.rows.get(number)) is not None:
            values = list(row)
            for column, value in new.items():
                values[_PLACES[column]] = value
            self.rows[number] = tuple(values)

    def state(self, number: int) -> str | None:
        """The state of a task that is known."""
        row = self.rows.get(number)
        return None if row is None else row[_PLACES["state"]]


class GraphProjection(Table):
    """The events of tasks, brought into the tables."""

    def __init__(self, connection: StatementRunner, known: KnownTasks) -> None:
        super().__init__(connection)
        self._known = known

    def apply(self, event: Event, timestamp: str) -> None:
        """Bring the tables up to date with an event of the log."""
        self._known.expected.clear()
        new = changes(event.type, event.data, timestamp)
        number = task_number(event.node_id)
        if event.type == "task_created":
            self._insert(number, new)
        elif event.type == "task_deleted":
            self._delete(number)
        elif event.type == "dependency_added":
            self._link("add_edge", number, task_number(event.data["toId"]), 1)
        elif event.type == "dependency_removed":
            self._link("remove_edge", number, task_number(event.data["toId"]), -1)
        if new and event.type != "task_created":
            self._update(number, new)

    def set_lease(self, number: int, until: str | None) -> None:
        """The perishable part of a claim."""
        self._known.expected.clear()
        self._run(SQL["set_lease"], (until, number))
        self._known.change(number, {"lease_until": until})

    def _insert(self, number: int, new: Columns) -> None:
        row = {k: _encode_list(new[k]) if k in LISTS else new[k] for k in _GIVEN}
        self._run(SQL["insert_task"], (number, number, *row.values()))
        row = {**_EMPTY, **row, "number": number, "unmet": 0, "rank": number}
        self._known.learn(number, (*row.values(), None))
        self._known.unmet[number] = 0
        if new["parent"]:
            self._run(SQL["add_edge"], (number, SPAWNED_BY, task_number(new["parent"])))

    def _update(self, number: int, new: Columns) -> None:
        if new.get("state") in SETTLED and self._holds_back(number):
            self._settle_dependents(number)
        row = {k: _encode_list(v) if k in LISTS else v for k, v in new.items()}
        self._run(update_of_task(tuple(new)), (*row.values(), number))
        self._known.change(number, row)
        if "claim_agent" in new and new["claim_agent"] is None:
            self.set_lease(number, None)

    def _delete(self, number: int) -> None:
        if self._holds_back(number):
            self._settle_dependents(number)
        self._run(SQL["delete_task_edges"], (number,))
        self._run(SQL["delete_task"], (number,))
        self._known.forget()

    def _link(self, query: str, source: int, target: int, change: int) -> None:
        self._run(SQL[query], (source, DEPENDS_ON, target))
        self._known.rows.pop(source, None)
        if self._holds_back(target):
            self._run(SQL["shift_unmet"], (change, source))
            if source in self._known.unmet:
                self._known.unmet[source] += change

    def _settle_dependents(self, number: int) -> None:
        self._run(SQL["settle_dependents"], (number,))
        self._known.unmet.clear()

    def _holds_back(self, number: int) -> bool:
        state = self._known.state(number)
        if state is None:
            row = self._run("SELECT state FROM tasks WHERE number = ?", (number,)).fetchone()
            state = row[0] if row else None
        return state is not None and state not in SETTLED


def _build(row: tuple[Any, ...]) -> Task:
    # The columns of the table, then its edges; a loop over names costs every change too much.
    number, state, priority, goal, labels, task_type, deliverables, parent = row[:8]
    created_at, started_at, completed_at, result, artifacts, block_reason, knowledge = row[8:15]
    notes, pr_url, commits_count, turns_used, agent, token, lease_until = row[15:22]
    _unmet, _rank, marked, edges = row[22:]
    return Task(
        id=task_id(number),
        goal=goal,
        state=state,
        labels=_list(labels),
        priority=priority,
        type=task_type,
        desired_deliverables=_list(deliverables),
        parent_task_id=parent,
        depends_on=tuple(map(task_id, sorted(map(int, edges.split(","))))) if edges else (),
        created_at=created_at,
        started_at=started_at,
        completed_at=completed_at,
        result=result,
        artifacts=_list(artifacts),
        # The column keeps the last reason; it counts while the task stays where that put it.
        block_reason=block_reason if state in HELD_UP else None,
        required_knowledge=_list(knowledge),
        notes=_list(notes),
        claim=Claim(agent, token, lease_until or "") if agent else None,
        pr_url=pr_url,
        commits_count=commits_count,
        turns_used=turns_used,
        changes=marked,
    )


def _edges(rows: Iterable[tuple[int, int, str]]) -> list[Edge]:
    return [Edge(task_id(a), task_id(b), kind) for a, b, kind in rows]


def _list(text: str) -> tuple[str, ...]:
    return () if text == "[]" else _decode_list(text)


def _encode_list(values: Sequence[str]) -> str:
    return msgspec.json.encode(values).decode() if values else "[]"


def _show_cycle(source: int, target: int, came_from: dict[int, int]) -> str:
    chain = [target]
    while chain[-1] != source:
        chain.append(came_from[chain[-1]])
    # The new edge leads from the source to the target; the chain leads from the target back.
    steps = " -> ".join(task_id(n) for n in (source, *chain))
    return f"{task_id(source)} cannot depend on {task_id(target)}: {steps} would be a cycle"
