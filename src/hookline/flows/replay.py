"""Runs a flow against its journal: the same steps in the same order, or a clear error.

Pure and synchronous. A flow is stepped by hand until every branch waits for an effect; effects
that the journal has resolved are returned in the order in which they were resolved. What the flow
asks for beyond the journal is new. The engine does the rest.
"""

from __future__ import annotations

import types
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.digest import sha256
from hookline.domain.runs.model import Divergence, EffectFailed, FlowMistake, Request, Resolution
from hookline.domain.text.display import shortened

if TYPE_CHECKING:
    from collections.abc import Coroutine, Generator, Mapping, Sequence

    from hookline.domain.runs.model import JournalEffect

_encode = msgspec.json.Encoder(order="deterministic").encode
_VERSION = "version"


class Next(BaseException):
    """The end of a chapter. Not an Exception, so that a flow's own `except` does not catch it."""

    def __init__(self, state: Any) -> None:
        self.state = state


class Asked(NamedTuple):
    """An effect as the context asks for it."""

    kind: str
    args: Mapping[str, Any]
    step: str
    metadata: Mapping[str, Any]
    policy: dict[str, Any]


class Wait(NamedTuple):
    """What a branch yields: an effect or branches to wait for, or a problem.

    A problem is yielded rather than raised, so that no `except` of the flow can swallow it.
    """

    effect_id: str = ""
    branches: Sequence[Branch] = ()
    problem: Divergence | FlowMistake | None = None


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


class Stepper:
    """Steps one chapter of a flow.

    A chapter that an older version of our own flows recorded has that version's steps, in its
    order: then a result counts for the step of its name and kind, whenever that is asked for.
    """

    def __init__(self, recorded: Sequence[JournalEffect], *, by_older_code: bool = False) -> None:
        self._by_older_code = by_older_code
        self._recorded = {effect.effect_id: effect for effect in recorded}
        self._unseen = dict.fromkeys(self._recorded)
        self._ordinals: dict[str, int] = {}
        self._waiting: dict[str, Branch] = {}
        self._early: dict[str, Resolution] = {}
        self._versions: dict[tuple[str, str], bool] = {}
        # The digest of what the flow asks for in each step; older code may have asked for more.
        self.asked = {each.effect_id: each.digest for each in recorded if by_older_code}
        self._open: dict[Branch, None] = {}
        self._current: Branch | None = None
        self._closing = False
        self.requests: list[Request] = []
        self.root: Branch | None = None

    # What the engine does

    def start(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Begin, and replay everything that the journal has resolved."""
        self.root = Branch("", coroutine, None)
        self._step(self.root)
        if self._by_older_code:
            self._catch_up()
            return
        resolved = [e for e in self._recorded.values() if e.resolved_seq is not None]
        for effect in sorted(resolved, key=lambda each: each.resolved_seq or 0):
            if effect.kind == _VERSION and effect.effect_id not in self._waiting:
                continue  # the question was removed from the code, which is allowed
            self.resolve(effect.effect_id, effect.resolution)
        self._complain_about_leftovers()

    def resolve(self, effect_id: str, resolution: Resolution) -> None:
        """Give a result to the branch that waits for it."""
        if self._by_older_code and effect_id not in self._waiting:
            self._early[effect_id] = resolution  # newer code asks for it later, or never
            return
        self._hand_over(effect_id, resolution)
        if self._by_older_code:
            self._catch_up()

    @property
    def finished(self) -> bool:
        """Whether the flow, or this chapter of it, is over."""
        return self.root is not None and self.root.done

    def close(self) -> None:
        """Close every branch; effects that its `finally` asks for are not carried out."""
        self._closing = True
        while self._open:
            branch, _ = self._open.popitem()
            # An error of a flow that is being dropped is not reported.
            with suppress(Exception):
                branch.coroutine.close()

    # What the context does

    def effect(self, asked: Asked) -> Generator[Wait, Any, Any]:
        """Ask for an effect from the branch that runs now, and wait for it."""
        if self._closing:
            raise GeneratorExit
        request = self._request(asked)
        if isinstance(request, FlowMistake | Divergence):
            return (yield Wait(problem=request))
        if request.effect_id not in self._recorded:
            self.requests.append(request)
        self._unseen.pop(request.effect_id, None)
        return (yield Wait(request.effect_id))

    @types.coroutine
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
        self._open.update(dict.fromkeys(branches))
        if self._closing:
            raise GeneratorExit
        if mistake := _bad_name(step):
            yield Wait(problem=mistake)
        if branches:
            yield Wait(branches=branches)
        for branch in branches:
            if branch.error is not None:
                raise branch.error
        return [branch.result for branch in branches]

    @types.coroutine
    def version(self, name: str) -> Generator[Wait, Any, bool]:
        """Whether this run reached this point with that version of the code.

        A branch that has steps ahead of it in the journal passed here with older code. Each
        branch is asked once, and its own branches go by its answer.
        """
        path = self._current.path if self._current else ""
        known = self._known_version(path, name)
        if known is None:
            step = f"{_VERSION}:{name}"
            ahead = (each for each in self._unseen if not path or each.startswith(f"{path}/"))
            known = (f"{path}/{step}" if path else step) in self._recorded or not any(ahead)
            if known:
                yield from self.effect(Asked(_VERSION, {"name": name}, step, {}, {}))
            self._versions[path, name] = known
        return known

    @types.coroutine
    def refuse(self, mistake: FlowMistake) -> Generator[Wait, Any, Any]:
        """Stop the flow because of something that cannot be journaled."""
        return (yield Wait(problem=mistake))

    # How it works

    def _hand_over(self, effect_id: str, resolution: Resolution) -> None:
        branch = self._waiting.pop(effect_id, None)
        if branch is None:
            raise self._gone(effect_id)
        if resolution.status == "ok":
            self._step(branch, value=resolution.value)
        else:
            self._step(branch, error=EffectFailed(effect_id, resolution.error or "failed"))

    def _catch_up(self) -> None:
        """Give the flow results from the journal as long as it asks for them."""
        while known := [
            (effect_id, result)
            for effect_id in self._waiting
            if (result := self._known_result(effect_id)) is not None
        ]:
            for effect_id, result in known:
                self._hand_over(effect_id, result)

    def _known_result(self, effect_id: str) -> Resolution | None:
        effect = self._recorded.get(effect_id)
        if effect is not None and effect.resolved_seq is not None:
            return effect.resolution
        return self._early.get(effect_id)

    def _request(self, asked: Asked) -> Request | FlowMistake | Divergence:
        if mistake := _bad_name(asked.step):
            return mistake
        effect_id = self._name(asked.step)
        try:
            # A copy: later changes of the flow to its own lists are not in the journal.
            args, metadata = plain(asked.args), plain(asked.metadata)
        except (TypeError, ValueError, RecursionError) as problem:
            return FlowMistake(
                f"step '{effect_id}' is given a value that is not JSON: {problem}",
                help="give effects text, numbers, lists and dictionaries",
            )
        given = digest(asked.kind, args)
        known = self._recorded.get(effect_id)
        is_same = known is not None and self._by_older_code and known.kind == asked.kind
        if known is not None and known.digest != given and not is_same:
            return Divergence(
                f"step '{effect_id}' differs: the journal has {known.kind} {_shown(known.args)},"
                f" the flow now asks for {asked.kind} {_shown(args)}",
                effect_id,
            )
        self.asked[effect_id] = known.digest if known is not None else given
        return Request(effect_id, asked.step, asked.kind, args, metadata, asked.policy, given)

    def _known_version(self, path: str, name: str) -> bool | None:
        while True:
            if (path, name) in self._versions:
                return self._versions[path, name]
            if not path:
                return None
            path = path.rpartition("/")[0]

    def _step(self, branch: Branch, value: Any = None, error: BaseException | None = None) -> None:
        ready: deque[tuple[Branch, Any, BaseException | None]] = deque([(branch, value, error)])
        self._open[branch] = None
        while ready:
            branch, value, error = ready.popleft()
            before, self._current = self._current, branch
            try:
                wait = branch.coroutine.throw(error) if error else branch.coroutine.send(value)
            except StopIteration as done:
                branch.result = done.value
            except (Exception, SystemExit, Next) as problem:  # noqa: BLE001  # the flow's own
                branch.error = problem
            else:
                ready.extend((new, None, None) for new in self._suspend(branch, wait))
                continue
            finally:
                self._current = before
            if self._end(branch) and branch.parent is not None:
                ready.append((branch.parent, None, None))

    def _suspend(self, branch: Branch, wait: object) -> Sequence[Branch]:
        if not isinstance(wait, Wait):
            raise FlowMistake(
                f"the flow waits for {_what(wait)}, which is not an effect",
                help="await only what the context offers: ctx.sleep instead of asyncio.sleep,"
                " ctx.parallel instead of asyncio.gather, ctx.call for your own work",
            )
        if wait.problem is not None:
            raise wait.problem
        if wait.effect_id:
            self._waiting[wait.effect_id] = branch
            return ()
        branch.missing = len(wait.branches)
        return wait.branches

    def _end(self, branch: Branch) -> bool:
        """Note that a branch is over; whether its parent can continue."""
        branch.done = True
        self._open.pop(branch, None)
        if branch.parent is not None:
            branch.parent.missing -= 1
            return branch.parent.missing == 0
        try:
            if isinstance(branch.error, Next):
                branch.error.state = plain(branch.error.state)
            branch.result = plain(branch.result)
        except (TypeError, ValueError, RecursionError) as problem:
            raise FlowMistake(
                f"the flow returns a value that is not JSON: {problem}",
                help="return text, numbers, lists and dictionaries",
            ) from problem
        return False

    def _name(self, step: str) -> str:
        path = self._current.path if self._current else ""
        base = f"{path}/{step}" if path else step
        count = self._ordinals[base] = self._ordinals.get(base, 0) + 1
        return base if count == 1 else f"{base}#{count}"

    def _complain_about_leftovers(self) -> None:
        for effect_id in self._unseen:
            if self._recorded[effect_id].kind != _VERSION:
                raise self._gone(effect_id)

    def _gone(self, effect_id: str) -> Divergence:
        now = next((request.effect_id for request in self.requests), None)
        instead = f"; it asks for '{now}' instead" if now else ""
        return Divergence(
            f"the journal has step '{effect_id}', which the flow no longer asks for{instead}",
            effect_id,
        )


@types.coroutine
def effect(stepper: Stepper, asked: Asked) -> Generator[Wait, Any, Any]:
    """An effect as something that a flow can await."""
    return (yield from stepper.effect(asked))


def plain(value: Any) -> Any:
    """A value as the journal keeps it; TypeError or ValueError if it cannot."""
    return msgspec.json.decode(_encode(value))


def digest(kind: str, args: Mapping[str, Any]) -> str:
    """A digest of what an effect asks for."""
    return str(sha256(_encode((kind, args))).hexdigest()[:16])


def _bad_name(step: str) -> FlowMistake | None:
    if step and step.isprintable() and not {"/", "#"} & set(step):
        return None
    return FlowMistake(
        f"a step cannot be called {step[:80]!r}", help="'/' and '#' are taken in step names"
    )


def _what(wait: object) -> str:
    return "nothing" if wait is None else f"an asyncio {type(wait).__name__}"


def _shown(args: Mapping[str, Any]) -> str:
    return shortened(msgspec.json.encode(args).decode(), 160)
