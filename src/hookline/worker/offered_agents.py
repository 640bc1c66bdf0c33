"""Which of its agents a worker offers on this host: logins are per host, and come and go."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from hookline.errors import BadInput
from hookline.hooks.calls.call import base_environment
from hookline.wiring.project.stores import is_here
from hookline.wiring.working.inspection import agent_health

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from hookline.app import App
    from hookline.domain.sessions.turns import AgentProblem

# How often it is looked whether they can work; sooner, while one of them cannot.
LOOK_AGAIN, LOOK_SOON = 600.0, 60.0


class OfferedAgents:
    """Asks each agent whether it can work, without a turn; one that cannot is not offered.

    `look_again` asks for another look now, because a turn has shown that an agent cannot work.
    """

    def __init__(self, app: App, names: Sequence[str], tell: Callable[[str], None]) -> None:
        self._app, self._names, self._tell = app, names, tell
        self._doubt = asyncio.Event()
        self.problems: Mapping[str, AgentProblem] = {}

    def now(self) -> list[str]:
        """Those that are offered."""
        return [name for name in self._names if name not in self.problems]

    def look_again(self) -> None:
        """One of them could not work: look soon, and not only when it is time to."""
        self._doubt.set()

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Look now, and then now and again; refuse to begin if none can work.

        A store in a file has no other host, so that nobody else could work there instead.
        """
        if is_here(self._app.store):
            yield
            return
        found = await self._found()
        if len(found) == len(self._names):
            name, problem = next(iter(found.items()))
            raise BadInput(f"{name} cannot work on this host: {problem.message}", help=problem.help)
        self._note(found)
        looking = asyncio.ensure_future(self._keep_looking())
        try:
            yield
        finally:
            looking.cancel()
            await asyncio.wait({looking})
        if not looking.cancelled():
            looking.result()

    async def _keep_looking(self) -> None:
        while True:
            with suppress(TimeoutError):
                pause = LOOK_SOON if self.problems else LOOK_AGAIN
                await asyncio.wait_for(self._doubt.wait(), pause)
            self._doubt.clear()
            self._note(await self._found())

    async def _found(self) -> Mapping[str, AgentProblem]:
        profiles: Mapping[str, Any] = self._app.sections.agents
        inherited = base_environment(self._app.environ)
        asking = (
            agent_health(profiles[name], {**inherited, **profiles[name].env})
            for name in self._names
        )
        found = zip(self._names, await asyncio.gather(*asking), strict=True)
        return {name: health.problem for name, health in found if health.problem}

    def _note(self, found: Mapping[str, AgentProblem]) -> None:
        before, self.problems = self.problems, found
        for name in found.keys() - before.keys():
            self._tell(f"{name} is not offered by this host: {found[name].told}")
        for name in before.keys() - found.keys():
            self._tell(f"{name} is offered by this host again")
