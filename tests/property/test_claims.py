"""Claims under a clock that jumps: one live holder at most, and stale tokens always refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hookline.adapters.store.sqlite import SqliteStore
from hookline.errors import ClaimRefused, HooklineError, StaleClaim
from hookline.tasks import claims, verbs
from hookline.tasks.verbs import Holder
from hookline.testing import Clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.ports.store import Transaction

TASK = "T-1"
WRITES: dict[str, Callable[[Transaction, Holder], Any]] = {
    "start": lambda tx, holder: verbs.start(tx, TASK, holder=holder),
    "update": lambda tx, holder: verbs.update(tx, TASK, {"priority": 1}, holder=holder),
    "submit": lambda tx, holder: verbs.submit(tx, TASK, holder=holder),
    "release": lambda tx, holder: claims.release(tx, TASK, holder=holder),
    "renew": lambda tx, holder: claims.renew(tx, TASK, holder.token or 0, 20),
}

agents = st.sampled_from(["ann", "bob", "cy"])
waits = st.integers(1, 30_000).map(lambda millis: millis / 1000)


class Issued(NamedTuple):
    """A claim as the model knows it; times are milliseconds since the test began."""

    agent: str
    token: int
    until: int


class Claims(RuleBasedStateMachine):
    """Agents that come, work, fall asleep and wake up too late, on one task."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.store = SqliteStore(":memory:", clock=self.clock)
        self.now = 0
        self.issued: list[Issued] = []
        self.current: Issued | None = None
        with self.store.write({}) as tx:
            verbs.add(tx, "wanted by many")

    def teardown(self) -> None:
        self.store.close()

    @property
    def live(self) -> bool:
        return self.current is not None and self.current.until > self.now

    @rule(seconds=waits)
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.now += round(seconds * 1000)

    @rule(agent=agents, lease=st.integers(1, 20))
    def claim(self, agent: str, lease: int) -> None:
        if self.live:
            with pytest.raises(ClaimRefused), self.store.write({}) as tx:
                claims.claim(tx, TASK, agent, lease)
            return
        try:
            with self.store.write({}) as tx:
                made = claims.claim(tx, TASK, agent, lease)
        except HooklineError:
            return  # submitted work is not for the taking
        assert all(made.token > old.token for old in self.issued)
        self.current = Issued(agent, made.token, self.now + lease * 1000)
        self.issued.append(self.current)

    @precondition(lambda self: self.issued)
    @rule(write=st.sampled_from(sorted(WRITES)), data=st.data())
    def write_with_a_token(self, write: str, data: st.DataObject) -> None:
        used = data.draw(st.sampled_from(self.issued))
        is_current = self.current is not None and used.token == self.current.token
        problem = self.attempt(write, Holder(used.agent, used.token))
        assert isinstance(problem, StaleClaim) == (not is_current)
        if problem is None:
            self.follow(write, used)

    @rule(write=st.sampled_from(["start", "update", "submit", "release"]), agent=agents)
    def write_by_name(self, write: str, agent: str) -> None:
        shut_out = self.live and self.current is not None and self.current.agent != agent
        problem = self.attempt(write, Holder(agent))
        assert isinstance(problem, ClaimRefused) == shut_out
        if problem is None and write == "release":
            self.current = None

    @rule()
    def send_back(self) -> None:
        try:
            with self.store.write({}) as tx:
                verbs.send_back(tx, TASK, reason="not yet")
        except HooklineError:
            return
        self.current = None

    def attempt(self, write: str, holder: Holder) -> HooklineError | None:
        try:
            with self.store.write({}) as tx:
                WRITES[write](tx, holder)
        except HooklineError as problem:
            return problem
        return None

    def follow(self, write: str, used: Issued) -> None:
        if write == "release":
            self.current = None
        elif write == "renew":
            self.current = used._replace(until=self.now + 20_000)

    @invariant()
    def the_store_knows_the_one_holder(self) -> None:
        with self.store.read() as view:
            held = view.graph.task(TASK).claim
            ready = [task.id for task in view.graph.ready(9, self.store.now())]
        known = None if held is None else (held.agent, held.token)
        assert known == (None if self.current is None else self.current[:2])
        assert (held is not None and held.lease_until > self.clock.now) == self.live
        if self.live:
            assert ready == []


Claims.TestCase.settings = settings(stateful_step_count=30)
TestClaims = Claims.TestCase
