"""What the engine is told about Hookline's own flows; it knows nothing else about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from hookline.domain.runs.model import FlowMistake, Run
from hookline.flows import journal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookline.ports.store import Transaction, View


def _refuse(tx: Transaction, run: Run, args: Mapping[str, Any]) -> NoReturn:
    raise FlowMistake(
        f"flow '{run.flow}' asks for an effect that only Hookline's own flows may use"
    )


class OwnFlow(NamedTuple):
    """A flow whose code is ours: as many of its steps as possible are one transaction.

    `perform` carries out what it does to the store, in the transaction that records its step.
    `origin` is what its events say besides their run, `asks_person` whether a parked run of it
    waits for a person. `break_off` is called for a run that failed or was cancelled, with why.
    """

    perform: Callable[[Transaction, Run, dict[str, Any]], Any] = _refuse
    origin: Callable[[Run], dict[str, Any]] = lambda run: {}
    asks_person: Callable[[View, Run], bool] = lambda view, run: False
    break_off: Callable[[Transaction, Run, str, str], None] = lambda tx, run, outcome, why: None


class OwnFlows:
    """Hookline's own flows by their names; for every other flow nothing special is done."""

    def __init__(self, flows: Mapping[str, OwnFlow]) -> None:
        self._flows = flows

    def __contains__(self, name: str) -> bool:
        return name in self._flows

    def of(self, run: Run) -> OwnFlow:
        """The own flow of a run."""
        return self._flows.get(run.flow, OwnFlow())

    def origin(self, base: Mapping[str, Any], run: Run) -> dict[str, Any]:
        """The metadata of what happens in a run."""
        return journal.origin(base, run, self.of(run).origin(run))
