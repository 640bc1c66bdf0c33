"""Dependencies between tasks: adding and removing them without ever closing a cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.domain.tasks import CREATED, DEPENDS_ON, READY, SETTLED, Edge, edge_id
from hookline.errors import BadInput, UnknownEdge

if TYPE_CHECKING:
    from hookline.ports.store import Transaction


def link(tx: Transaction, from_id: str, to_id: str) -> Edge:
    """Let one task depend on another; a ready task goes back to waiting if that is unmet."""
    source, target = tx.graph.task(from_id), tx.graph.task(to_id)
    if target.id in source.depends_on:
        raise BadInput(f"{source.id} depends on {target.id} already")
    tx.graph.make_room(source.id, target.id)
    data: dict[str, Any] = {"fromId": source.id, "toId": target.id, "edgeType": DEPENDS_ON}
    if source.state == READY and target.state not in SETTLED:
        data["state"] = CREATED
    tx.append("dependency_added", source.id, data)
    return Edge(source.id, target.id)


def unlink(tx: Transaction, from_id: str, to_id: str) -> Edge:
    """Let one task no longer depend on another."""
    source = tx.graph.task(from_id)
    target = tx.graph.task(to_id)
    if target.id not in source.depends_on:
        raise UnknownEdge(f"{source.id} does not depend on {target.id}")
    data = {"edgeId": edge_id(source.id, target.id), "fromId": source.id, "toId": target.id}
    tx.append("dependency_removed", source.id, data)
    return Edge(source.id, target.id)
