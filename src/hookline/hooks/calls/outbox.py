"""Notifications: calls that wait are sent together, once it is time, and again until they arrive.

What is sent is composed and stored first. So a process that dies leaves a notification that the
next one sends under the same key, with the same content.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hookline.domain.hooks.records import DEAD, OK, SKIPPED, Delivery, Outcome
from hookline.domain.timestamps import iso, seconds
from hookline.hooks.builtin.notify.content import Content, message_of
from hookline.hooks.calls.delivery import LEASE_MARGIN
from hookline.hooks.calls.release import OutboxRules, next_due
from hookline.hooks.calls.rows import report_hook_error
from hookline.hooks.frames import Frame, timeout_of
from hookline.hooks.rules import RULES
from hookline.points import REACT

if TYPE_CHECKING:
    from hookline.domain.events import Event
    from hookline.hooks.calls.record import Recorder
    from hookline.ports.notices import Notification
    from hookline.ports.store import Transaction, View

# Seconds between attempts that failed; after the last one it is a dead letter.
PAUSES = (10.0, 60.0, 300.0, 900.0, 3600.0, 10_800.0)
MOST_MESSAGES = 100


class Sender:
    """Sends what waits in the outbox of a store."""

    def __init__(self, recorder: Recorder, rules: OutboxRules, *, owner: str, project: str) -> None:
        self.recorder, self.rules = recorder, rules
        self.owner, self._project = owner, project

    async def send(self, *, leaving: bool = False) -> int:
        """Send everything that is due; how many notifications that were.

        A process that is `leaving` does not wait for a digest: nobody may be there to send it.
        """
        count, store = 0, self.recorder.store
        with store.read() as view:
            if next_due(view, self.rules, seconds(store.now()), leaving=leaving) is None:
                return 0
        while (sending := self.recorder.change(self._begin, leaving=leaving)) is not None:
            await sending.send()
            count += 1
        return count

    def _begin(self, tx: Transaction, *, leaving: bool) -> _Sending | None:
        """Take the next notification, composed now if it is not yet."""
        now = seconds(tx.now)
        due = next_due(tx, self.rules, now, leaving=leaving)
        if isinstance(due, str):
            due = self._compose(tx, due)
        if due is None:
            return None
        hook, token = self.rules.find(due.hook), tx.next_token()
        longest = timeout_of(hook, hook.points[0]) if hook is not None else 0.0
        tx.outbox.take(due.id, self.owner, token, now + longest + LEASE_MARGIN)
        return _Sending(self, due, token, self._gone(tx, due.hook))

    def _compose(self, tx: Transaction, hook: str) -> Notification | None:
        number, calls = tx.next_token(), tx.outbox.waiting(hook, MOST_MESSAGES)
        content = Content(
            key=f"{self.recorder.store.id}-{number}",
            at=tx.now,
            project=self._project,
            messages=tuple(message_of(_event_of(tx, each), self.rules.page) for each in calls),
        )
        said = msgspec.json.encode(content).decode()
        tx.outbox.compose(number, hook, seconds(tx.now), said, calls)
        return tx.outbox.find(number)

    def _gone(self, view: View, name: str) -> str | None:
        """Why nobody sends what a hook was to tell."""
        hook = self.rules.find(name)
        if hook is None:
            return "the hook is no longer configured"
        is_on = view.switches.all().get(name, hook.enabled)
        return None if is_on else "the hook was switched off"


def _event_of(view: View, delivery_id: int) -> Event:
    row = view.calls.find(delivery_id)
    event = view.log.find(row.event_seq) if row is not None else None
    assert event is not None  # a call is written with its event, and put into the outbox
    return event


class _Sending:
    """One attempt at one notification: the entry of its call in the record."""

    def __init__(
        self, sender: Sender, notification: Notification, token: int, gone: str | None
    ) -> None:
        self._sender, self._of, self._token, self._gone = sender, notification, token, gone
        self._change = sender.recorder.change

    async def send(self) -> None:
        """Call the hook, which sends it."""
        hook = self._sender.rules.find(self._of.hook)
        if hook is None or self._gone is not None:
            self.end(Outcome(self._of.hook, SKIPPED, None, self._gone))
            return
        content = msgspec.json.decode(self._of.content)
        frame = Frame(hook.points[0], RULES[REACT], content, content["key"], judged={})
        try:
            await self._sender.recorder.call(hook, frame, self)
        except BaseException:  # told to end: nobody knows whether it arrived, so it is sent again
            self._change(self._let_go)
            raise

    def begin(self) -> None:
        """The lease lasts for the attempt since it was taken."""

    def end(self, outcome: Outcome) -> None:
        """It was sent; or it is tried again later, and given up after a while."""
        self._change(self._end, outcome)

    def _let_go(self, tx: Transaction) -> None:
        if self._is_ours(tx):
            tx.outbox.let_go(self._of.id)

    def _is_ours(self, tx: Transaction) -> bool:
        found = tx.outbox.find(self._of.id)
        return found is not None and found.token == self._token

    def _end(self, tx: Transaction, outcome: Outcome) -> None:
        if not self._is_ours(tx):  # another process took it over, and records how it went
            return
        failures = self._of.failures + 1
        if outcome.status in (OK, SKIPPED):
            self._close(tx, outcome)
        elif failures <= len(PAUSES):
            self._try_again(tx, outcome.error or outcome.status, PAUSES[failures - 1])
        else:
            error = f"given up after {failures} attempts: {outcome.error}"
            self._close(tx, msgspec.structs.replace(outcome, status=DEAD, error=error))

    def _try_again(self, tx: Transaction, error: str, pause: float) -> None:
        at = seconds(tx.now) + pause
        tx.outbox.again(self._of.id, at, error)
        last = self._calls(tx)[-1]
        told = f"{error}; it is sent again at {iso(at)}"
        tx.calls.complain(last.event_seq, last.hook, last.point, told)

    def _close(self, tx: Transaction, outcome: Outcome) -> None:
        calls = self._calls(tx)
        for row in calls:
            tx.calls.start(row.id, tx.now)
            tx.calls.finish(row, msgspec.structs.replace(outcome, values=row.condition_values))
        tx.outbox.close(self._of.id)
        if outcome.status == DEAD:
            event = tx.log.find(calls[-1].event_seq)
            assert event is not None  # its call was written with it
            report_hook_error(tx, event, self._of.hook, outcome.error or DEAD)

    def _calls(self, tx: Transaction) -> list[Delivery]:
        found = [tx.calls.find(each) for each in tx.outbox.carried(self._of.id)]
        return [row for row in found if row is not None]
