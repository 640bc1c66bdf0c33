"""Many tasks at once, from a parsed file: all are stored, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.domain.tasks import READY, Task
from hookline.errors import BadInput
from hookline.tasks import verbs
from hookline.tasks.types import ANY_TYPE, Types
from hookline.tasks.verbs import link

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.domain.pages.taskfile import TaskSpec
    from hookline.ports.store import Transaction


def add_all(tx: Transaction, specs: Sequence[TaskSpec], *, types: Types = ANY_TYPE) -> list[Task]:
    """Add tasks that may refer to one another by key, in any order."""
    ids: dict[str, str] = {}
    added: list[str] = []
    for spec in specs:
        task = verbs.add(
            tx,
            spec.goal,
            deliverables=spec.deliverables,
            labels=spec.labels,
            priority=spec.priority,
            task_type=spec.type,
            parent=ids.get(spec.parent, spec.parent) if spec.parent else None,
            notes=spec.notes,
            types=types,
            waits=True,
        )
        added.append(task.id)
        if spec.key:
            ids[spec.key] = task.id
    for identifier, spec in zip(added, specs, strict=True):
        for target in dict.fromkeys(spec.depends_on):
            link(tx, identifier, ids.get(target, target))
    for identifier in added:
        verbs.promote(tx, identifier)
    _check_off(tx, [i for i, spec in zip(added, specs, strict=True) if spec.done])
    return [tx.graph.task(identifier) for identifier in added]


def _check_off(tx: Transaction, done: list[str]) -> None:
    """Complete what was checked off in the file, dependencies first."""
    while done:
        possible = [i for i in done if verbs.promote(tx, i).state == READY]
        if not possible:
            raise BadInput(f"{', '.join(done)}: checked off, but what they depend on is not")
        for identifier in possible:
            verbs.complete(tx, identifier, result="checked off before it was added")
        done = [i for i in done if i not in possible]
