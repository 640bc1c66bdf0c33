"""The effects that one stretch of a run carries out at the moment."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from hookline.domain.runs import WAITING

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from hookline.domain.runs import JournalEffect


class Hands:
    """Begins effects, and sees to it that none ends unnoticed."""

    def __init__(self, carry_out: Callable[[JournalEffect], Coroutine[Any, Any, None]]) -> None:
        self._carry_out = carry_out
        self.running: dict[str, asyncio.Task[None]] = {}

    def is_able(self, effect: JournalEffect) -> bool:
        """Whether an effect can be begun now."""
        return (
            effect.effect_id not in self.running
            and effect.kind not in WAITING
            and not effect.task
            and (effect.next_try or 0) <= time.time()
        )

    def begin(self, pending: list[JournalEffect], tasks: tuple[str, ...] = ()) -> None:
        """Begin what was chosen, by name and in the order of the names, or in the store."""
        places = {effect_id: place for place, effect_id in enumerate(tasks)}
        for effect in sorted(pending, key=lambda each: places.get(each.effect_id, len(places))):
            if (effect.chosen or effect.effect_id in places) and self.is_able(effect):
                self.running[effect.effect_id] = asyncio.ensure_future(self._carry_out(effect))

    def reap(self) -> bool:
        """Forget the effects that are over; what went wrong with one of them is raised."""
        over = [effect_id for effect_id, task in self.running.items() if task.done()]
        for effect_id in over:
            self.running.pop(effect_id).result()
        return bool(over)

    async def drop(self, names: Iterable[str]) -> None:
        """These effects do not go on; their processes are killed."""
        tasks = [self.running.pop(name) for name in names if name in self.running]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def stop(self) -> None:
        """Nothing goes on: the processes of every effect are killed."""
        await self.drop(list(self.running))
