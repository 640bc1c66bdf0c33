"""A journal in memory: what the engine keeps in the store, as small as replay needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.runs.model import ERROR, OK, PENDING, JournalEffect, Resolution, Run
from hookline.flows.context import Context
from hookline.flows.replay import Stepper

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    Flow = Callable[[Context], Coroutine[Any, Any, Any]]


class Journal:
    """Effects in order, and the stepper of the flow that asked for them."""

    def __init__(
        self, flow: Flow, *, state: Any = None, recorded: Sequence[JournalEffect] = (), seq: int = 0
    ) -> None:
        self.effects = {effect.effect_id: effect for effect in recorded}
        self.seq = seq
        self.state = state
        self.stepper = self.replay(flow)

    def replay(self, flow: Flow, *, by_older_code: bool = False) -> Stepper:
        """Run the flow again from what is recorded, as after a crash."""
        recorded = list(self.effects.values())
        self.stepper = replayed(flow, recorded, self.state, by_older_code=by_older_code)
        self.record()
        return self.stepper

    def record(self) -> None:
        """Write down what the flow asks for."""
        asked, self.stepper.requests = self.stepper.requests, []
        for each in asked:
            assert each.effect_id not in self.effects, "an effect id was given twice"
            self.seq += 1
            self.effects[each.effect_id] = JournalEffect(
                effect_id=each.effect_id,
                step=each.step,
                kind=each.kind,
                status=PENDING,
                args=each.args,
                digest=each.digest,
                metadata=each.metadata,
                policy=each.policy,
                requested_seq=self.seq,
                requested_at="",
                resolved_seq=None,
                resolved_at=None,
                value=None,
                error=None,
                attempts=0,
                next_try=None,
                chosen=0,
                task=None,
                child=None,
                conversation=None,
            )

    def resolve(self, effect_id: str, value: Any = None, *, error: str | None = None) -> None:
        """Record a result and hand it to the flow."""
        self.seq += 1
        result = Resolution(ERROR if error else OK, value, error)
        self.effects[effect_id] = msgspec.structs.replace(
            self.effects[effect_id],
            status=result.status,
            value=value,
            error=error,
            resolved_seq=self.seq,
        )
        self.stepper.resolve(effect_id, result)
        self.record()

    @property
    def pending(self) -> list[str]:
        """The effects that have no result, in the order in which they were asked for."""
        return [name for name, each in self.effects.items() if each.status == PENDING]

    @property
    def result(self) -> Any:
        """What the flow returned; its error is raised."""
        root = self.stepper.root
        assert root is not None
        assert root.done
        if root.error is not None:
            raise root.error
        return root.result


def replayed(
    flow: Flow, effects: list[JournalEffect], state: Any = None, *, by_older_code: bool = False
) -> Stepper:
    """A stepper that has run the flow against these effects."""
    stepper = Stepper(effects, by_older_code=by_older_code)
    try:
        stepper.start(
            flow(Context(stepper, Run(run_id="R-1", flow="f", status="running", state=state)))
        )
    except BaseException:
        stepper.close()
        raise
    return stepper
