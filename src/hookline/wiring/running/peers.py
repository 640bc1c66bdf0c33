"""Who is behind a connection from this machine: a person's program, or an agent's."""

from __future__ import annotations

from ipaddress import ip_address

from hookline.adapters.processes.sockets import peers
from hookline.trust.people import started_by_agent


def is_agents(folder: str, client: tuple[str, int], server: tuple[str, int]) -> bool:
    """Whether an agent or a hook of a project, or what it started, holds the other end.

    One on this machine whose other end is closed counts as one: whoever asked does not wait for an
    answer. Whoever is on another machine is not known here.
    """
    found = peers(client, server)
    if found is None:
        return client[0] == server[0] or ip_address(client[0].partition("%")[0]).is_loopback
    return any(started_by_agent(pid, folder) for pid in found)
