"""Running a flow against its journal: the same steps, the same order, or a clear complaint.

Pure and synchronous. A flow is stepped by hand until every branch waits for an effect; effects
that the journal has resolved are handed back in the order in which they were resolved. Whatever
the flow asks for beyond the journal is new. The engine does the rest.
"""

from __future__ import annotations

import types
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.digest import sha256
from hookline.domain.runs import Divergence, EffectFailed, FlowMistake, Request, Resolution

if TYPE_CHECKING:
    from collections.abc import Coroutine, Generator, Sequence

    from hookline.domain.runs import JournalEffect

_encode = msgspec.json.Encoder(order="deterministic").encode


class Next(BaseException):
    """The end of a chapter. Not an Exception, so that a flow's own `except` does not catch it."""

    def __init__(self, state: Any) -> None:
        self.state = state


class Asked(NamedTuple):
    """An effect as the context asks for it."""

    kind: str
    args: dict[str, Any]
    step: str
    metadata: dict[str, Any]
    policy: dict[str, Any]


class Wait:
    """What a branch hands to its driver: the effect, or the branches, that it waits for."""

    def __init__(self, effect_id: str = "", branches: Sequence[Branch] = ()) -> None:
        self.effect_id = effect_id
        self.branches = branches


class Branch:
    """A line of execution of a flow: the whole, or one part of a `parallel`."""

    def __init__(self, path: str, coroutine: Coroutine[Any, Any, Any], parent: Branch | None):
        self.path = path
        self.coroutine = coroutine
        self.parent = parent
        self.missing = 0
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None


class Driver:
    """Steps one chapter of a flow."""

    def __init__(self, recorded: Sequence[JournalEffect]) -> None:
        self._recorded = {effect.effect_id: effect for effect in recorded}
        self._unseen = dict.fromkeys(self._recorded)
        self._ordinals: dict[str, int] = {}
        self._waiting: dict[str, Branch] = {}
        self._versions: dict[str, bool] = {}
        self._current: Branch | None = None
        self.requests: list[Request] = []
        self.root: Branch | None = None

    # What the engine does

    def start(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Begin, and replay everything that the journal has resolved."""
        self.root = Branch("", coroutine, None)
        self._step(self.root)
        resolved = [e for e in self._recorded.values() if e.resolved_seq is not None]
        for effect in sorted(resolved, key=lambda each: each.resolved_seq or 0):
            self.resolve(effect.effect_id, Resolution(effect.status, effect.value, effect.error))
        self._complain_about_leftovers()

    def resolve(self, effect_id: str, resolution: Resolution) -> None:
        """Hand a result to the branch that waits for it."""
        branch = self._waiting.pop(effect_id, None)
        if branch is None:
            raise Divergence(
                f"the journal has a result for '{effect_id}', but the flow does not ask for it",
                effect_id,
            )
        if resolution.status == "ok":
            self._step(branch, value=resolution.value)
        else:
            self._step(branch, error=EffectFailed(effect_id, resolution.error or "failed"))

    @property
    def finished(self) -> bool:
        """Whether the flow, or this chapter of it, is over."""
        return self.root is not None and self.root.done

    def close(self) -> None:
        """Let go of every branch without running its code any further."""
        for branch in [*self._waiting.values(), *([self.root] if self.root else [])]:
            branch.coroutine.close()

    # What the context does

    def effect(self, asked: Asked) -> Generator[Wait, Any, Any]:
        """Ask for an effect from the branch that runs now, and wait for it."""
        kind, args, step = asked.kind, asked.args, asked.step
        effect_id = f"version:{step}" if kind == "version" else self._name(step)
        request = Request(
            effect_id, step, kind, args, asked.metadata, asked.policy, digest(kind, args)
        )
        known = self._recorded.get(effect_id)
        if known is None:
            self.requests.append(request)
        elif known.digest != request.digest:
            raise Divergence(
                f"step '{effect_id}' differs: the journal has {known.kind} {_shown(known.args)},"
                f" the flow now asks for {kind} {_shown(args)}",
                effect_id,
            )
        self._unseen.pop(effect_id, None)
        return (yield Wait(effect_id))

    def fork(
        self, step: str, coroutines: Sequence[Coroutine[Any, Any, Any]], names: Sequence[str]
    ) -> Generator[Wait, Any, list[Any]]:
        """Run branches side by side and wait for all; the first error is raised afterwards."""
        path = self._name(step)
        here = self._current
        branches = [
            Branch(f"{path}/{name}" if name else path, coroutine, here)
            for name, coroutine in zip(names, coroutines, strict=True)
        ]
        yield Wait(branches=branches)
        for branch in branches:
            if branch.error is not None:
                raise branch.error
        return [branch.result for branch in branches]

    def knows_version(self, name: str) -> bool | None:
        """Whether this run has a version of the code; None: that must be recorded now.

        A run that has steps ahead of it in the journal passed here with older code.
        """
        if name not in self._versions and f"version:{name}" not in self._recorded:
            branch = self._current.path if self._current else ""
            if any(_branch_of(effect_id) == branch for effect_id in self._unseen):
                self._versions[name] = False
        return self._versions.get(name)

    def remember_version(self, name: str) -> None:
        """From now on this run has that version of the code."""
        self._versions[name] = True

    # How it works

    def _step(self, branch: Branch, value: Any = None, error: BaseException | None = None) -> None:
        ready: deque[tuple[Branch, Any, BaseException | None]] = deque([(branch, value, error)])
        while ready:
            branch, value, error = ready.popleft()
            before, self._current = self._current, branch
            try:
                wait = branch.coroutine.throw(error) if error else branch.coroutine.send(value)
            except StopIteration as done:
                branch.result = done.value
            except (Divergence, FlowMistake):
                raise
            except (Exception, Next) as problem:  # noqa: BLE001  # the flow's own failure
                branch.error = problem
            else:
                ready.extend((new, None, None) for new in self._suspend(branch, wait))
                continue
            finally:
                self._current = before
            branch.done = True
            parent = branch.parent
            if parent is not None:
                parent.missing -= 1
                if parent.missing == 0:
                    ready.append((parent, None, None))

    def _suspend(self, branch: Branch, wait: object) -> Sequence[Branch]:
        if not isinstance(wait, Wait):
            raise FlowMistake(
                f"the flow waits for {type(wait).__name__}, which is no effect",
                help="await only what the context offers: ctx.sleep instead of asyncio.sleep",
            )
        if wait.effect_id:
            self._waiting[wait.effect_id] = branch
            return ()
        branch.missing = len(wait.branches)
        return wait.branches

    def _name(self, step: str) -> str:
        path = self._current.path if self._current else ""
        base = f"{path}/{step}" if path else step
        count = self._ordinals[base] = self._ordinals.get(base, 0) + 1
        return base if count == 1 else f"{base}#{count}"

    def _complain_about_leftovers(self) -> None:
        left = [e for e in self._unseen if not e.startswith("version:")]
        if left:
            raise Divergence(
                f"the journal has step '{left[0]}', which the flow no longer asks for", left[0]
            )


@types.coroutine
def effect(driver: Driver, asked: Asked) -> Generator[Wait, Any, Any]:
    """An effect as something that a flow can await."""
    return (yield from driver.effect(asked))


@types.coroutine
def fork(
    driver: Driver,
    step: str,
    coroutines: Sequence[Coroutine[Any, Any, Any]],
    names: Sequence[str],
) -> Generator[Wait, Any, list[Any]]:
    """Branches as something that a flow can await."""
    return (yield from driver.fork(step, coroutines, names))


def digest(kind: str, args: dict[str, Any]) -> str:
    """What an effect asks for, as a short name that changes when it does."""
    return str(sha256(_encode((kind, args))).hexdigest()[:16])


def _branch_of(effect_id: str) -> str:
    return effect_id.rpartition("/")[0]


def _shown(args: dict[str, Any]) -> str:
    text = msgspec.json.encode(args).decode()
    return text if len(text) <= 160 else text[:159] + "…"
