"""The agents that the configuration names: each profile's driver, found in one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.adapters.agents import command, scripted
from hookline.errors import BadInput, HooklineError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from hookline.domain.turns import AgentTurn
    from hookline.ports import Processes, ProcessGroup


class Talk(NamedTuple):
    """One turn as a driver is given it."""

    name: str
    prompt: str
    root: str
    env: Mapping[str, str]
    timeout: float
    processes: Processes
    on_start: Callable[[ProcessGroup], None]
    on_conversation: Callable[[str], None]


DRIVERS: dict[str, Callable[[Any, Talk], Awaitable[AgentTurn]]] = {
    "command": command.turn,
    "scripted": scripted.turn,
}


class LocalAgents:
    """Turns of agents on this machine."""

    def __init__(
        self, profiles: Mapping[str, Any], default: str | None, root: str, processes: Processes
    ) -> None:
        self._profiles = profiles
        self._default = default
        self._root = root
        self._processes = processes

    async def turn(
        self,
        name: str | None,
        prompt: str,
        *,
        env: Mapping[str, str],
        timeout: float,
        on_start: Callable[[ProcessGroup], None],
        on_conversation: Callable[[str], None],
    ) -> AgentTurn:
        """One turn of an agent; what goes wrong with it is part of the turn."""
        name, profile = self._profile(name)
        driver = DRIVERS.get(profile.driver)
        if driver is None:
            raise HooklineError(f"agents of driver '{profile.driver}' cannot run in this version")
        talk = Talk(
            name=name,
            prompt=prompt,
            root=self._root,
            env={**env, **profile.env, "HOOKLINE_AGENT": name},
            timeout=timeout,
            processes=self._processes,
            on_start=on_start,
            on_conversation=on_conversation,
        )
        return await driver(profile, talk)

    def _profile(self, name: str | None) -> tuple[str, Any]:
        wanted = name or self._default or next(iter(self._profiles), None)
        if wanted is None or wanted not in self._profiles:
            raise BadInput(
                f"there is no agent '{wanted}'" if wanted else "no agent is configured",
                help="agents are listed under `agents:` in hookline.yaml",
            )
        return wanted, self._profiles[wanted]
