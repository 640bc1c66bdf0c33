"""Who is behind a connection from this machine: a person's program, or an agent's."""

from __future__ import annotations

from hookline.adapters.processes.sockets import peers
from hookline.trust.people import started_by_agent


def is_agents(folder: str, client: tuple[str, int], server: tuple[str, int]) -> bool:
    """Whether an agent or a hook of a project, or what it started, holds the other end.

    A connection whose other end is closed counts as one: whoever asked does not wait for an answer.
    """
    found = peers(client, server)
    return found is None or any(started_by_agent(pid, folder) for pid in found)
