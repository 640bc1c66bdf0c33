"""Stores in which work went in a known way: what insights say of it can be counted by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.domain.timestamps import seconds
from hookline.flows import journal
from hookline.tasks import claims, verbs
from hookline.testing.contracts.stores.place import delivery

if TYPE_CHECKING:
    from hookline.testing.contracts.stores.place import OpenStore, Place


class Story:
    """Writes what sessions, submissions and gates write, at moments that a test chooses."""

    def __init__(self, place: Place) -> None:
        self.place, self.store = place, place.open()

    def at(self, moment: str) -> Story:
        """Let the clock show a moment, such as `2026-03-02T10:00`."""
        self.place.clock.advance(seconds(f"{moment}:00.000Z") - self.place.clock())
        return self

    def task(self, kind: str | None = None) -> str:
        """A task that is ready."""
        with self.store.write({}) as tx:
            return verbs.add(tx, "work", task_type=kind).id

    def session(self, task: str, agent: str) -> str:
        """A session that claims its task and begins."""
        given = {"name": f"{task}-{agent}", "goal": "work", "taskId": task, "agent": agent}
        with self.store.write({}) as tx:
            if tx.graph.task(task).claim is None:
                claims.claim(tx, task, agent)
            run = journal.start(tx, "session", given, {}, code_digest="1")
            tx.append("session_started", run, given)
        return run

    def event(self, kind: str, node: str, **data: Any) -> int:
        """Any event; its position."""
        with self.store.write({}) as tx:
            return tx.append(kind, node, data).seq

    def iteration(self, run: str, number: int, status: str = "ok") -> int:
        """The end of an iteration."""
        return self.event("session_iteration_ended", run, iteration=number, status=status)

    def turn(self, node: str, agent: str, name: str, usd: float | None, tokens: int = 0) -> None:
        """A turn, which is recorded twice: while it is under way, and when it is over."""
        known = {"turn": name, "role": "implementer", "agent": agent}
        self.event("agent_turn", node, **known, inputTokens=1, usd=99.0, unfinished=True)
        used = {"inputTokens": tokens, "outputTokens": tokens} if tokens else {}
        price = {} if usd is None else {"usd": usd}
        self.event("agent_turn", node, **known, **used, **price, seconds=1.5)

    def submission(self, task: str, flow: str = "submit") -> str:
        """A submission or a merge that begins."""
        with self.store.write({}) as tx:
            run = journal.start(tx, flow, {"taskId": task}, {}, code_digest="1")
            tx.append("submission_started", task, {"run": run, "flow": flow})
        return run

    def prepared(self, run: str, head: str) -> None:
        """The commit that the next gates are asked about."""
        value = {"goal": "work", "head": head}
        self._resolved(run, "prepare", value)

    def merge(self, run: str, **value: Any) -> None:
        """How an attempt to merge went."""
        self._resolved(run, "merge", value)

    def _resolved(self, run: str, step: str, value: dict[str, Any]) -> None:
        with self.store.write({}) as tx:
            found = tx.runs.find(run)
            count = sum(each.step == step for each in tx.runs.effects(found))
            name = step if not count else f"{step}#{count + 1}"
            asked = {"chapter": 1, "effectId": name, "step": step, "kind": "repo", "args": {}}
            more = {"digest": "0", "metadata": {}, "policy": {}}
            journal.write(tx, "effect_requested", run, {**asked, **more})
            ended = {"chapter": 1, "effectId": name, "status": "ok", "value": value}
            journal.write(tx, "effect_resolved", run, ended)

    def gate(
        self,
        task: str,
        run: str,
        name: str,
        said: str | None,
        point: str = "before_submit",
        **more: Any,
    ) -> int:
        """A call of a gate: what it said, or how it ended without saying anything."""
        context = more.pop("context", {})
        answer = {"status": said, "message": "", "context": context} if said else None
        known = {"status": "ok", "point": point, "answer": answer, **more}
        with self.store.write({}) as tx:
            firing = {"point": point, "name": f"{run}/1/{point}"}
            seq = tx.append("point_fired", task, firing).seq
            tx.calls.add(delivery(seq, name, **known))
        return seq

    def checked(self, run: str, number: int, files: str | None, **passed: bool) -> int:
        """A validation, and what each of its rules found; each runs a command of its own name."""
        checks = [
            {"name": name, "type": "command", "command": f"make {name}", "passed": found}
            for name, found in passed.items()
        ]
        return self.event("session_checked", run, iteration=number, files=files, checks=checks)

    def hook(
        self, run: str, name: str, exit_code: int | None, point: str = "post_iteration"
    ) -> int:
        """A program of a hook that ended."""
        with self.store.write({}) as tx:
            seq = tx.append("point_fired", run, {"point": point, "name": f"{run}/1/{point}"}).seq
            tx.calls.add(delivery(seq, name, status="ok", point=point, exit_code=exit_code))
        return seq

    def do(self, verb: str, task: str, **more: Any) -> None:
        """Use a verb of tasks, such as `complete`."""
        with self.store.write({}) as tx:
            getattr(verbs, verb)(tx, task, **more)

    def done(self, task: str) -> int:
        """Complete a task; the position of that event."""
        self.do("complete", task)
        with self.store.read() as view:
            return view.log.last()


def opened(store: OpenStore) -> int:
    """The position of the newest event."""
    with store.read() as view:
        return view.log.last()
