"""Taking work from one clone of a project to another, if several share the store.

After each turn of an agent, and whenever its branch has moved, a copy of the work is kept. Another
clone that takes over continues from that, in new conversations.
"""

from __future__ import annotations

import asyncio
import os
import stat
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline.domain.sessions.model import FLOW as SESSION
from hookline.domain.tasks import OPEN
from hookline.domain.text.excerpts import first_few
from hookline.domain.work.places import TakenCopy, WorkCopy, WorkPlace
from hookline.domain.work.repository import RepositoryError
from hookline.domain.work.submissions import MERGE, SUBMIT
from hookline.errors import HooklineError, StoreCorrupt
from hookline.files import entry_at, read_regular
from hookline.hooks.builtin.gates.contents import looks_secret
from hookline.hooks.texts import told
from hookline.project import is_in_worktrees, path_here
from hookline.sessions.told.prompts import code, section
from hookline.sessions.told.task_file import export_task

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookline.domain.runs.model import Resolution, Run
    from hookline.domain.work.repository import Worktree
    from hookline.flows.attempt import Attempt
    from hookline.hooks.builtin.gates.arguments import Secrets
    from hookline.ports.agents import TurnRequest
    from hookline.ports.repository import Repository
    from hookline.ports.store import Blobs, Store, Transaction

    Change = Callable[[Callable[[Transaction], None]], Any]


WORK = frozenset({SESSION, SUBMIT, MERGE})
# The kinds of effects that touch the files of the work, and one that ends it.
TOUCHING, FINISHING = frozenset({"agent", "validate", "work", "hook", "repo"}), "repo"
MAX_COPY = 64 * 1024 * 1024
SHOWN = 10


class WorkElsewhere(HooklineError, code="work-elsewhere"):
    """The work is in another clone of the project, and cannot be continued here."""


class CloneSettings(NamedTuple):
    """A clone of a project among those that share its store.

    `name` is the clone's, `root` its folder. If it `copies`, others can continue the work in it;
    untracked files that hold `secrets` are left out, and a copy has at `most` so many bytes.
    """

    name: str
    root: str
    copies: bool
    secrets: Secrets
    most: int = MAX_COPY


class Takeover:
    """Takes work over from other clones, and keeps copies with which they can do the same."""

    def __init__(
        self, clone: CloneSettings, store: Store, blobs: Blobs, repository: Repository
    ) -> None:
        self._clone, self._store, self._blobs = clone, store, blobs
        self._repository = repository
        self._left_out = LeftOut(clone.secrets)
        self._moving = asyncio.Lock()

    @property
    def name(self) -> str:
        """What the other clones call this one."""
        return self._clone.name

    # Taking over

    async def enter(self, attempt: Attempt) -> None:
        """Before an effect that touches the files of some work: bring them here."""
        run = attempt.run
        if run.flow not in WORK or attempt.effect.kind not in TOUCHING:
            return
        self._refuse_outside(run)
        with self._store.read() as view:
            before = view.work_places.find(run.input["taskId"])
            task = view.graph.find(run.input["taskId"])
        if task is None or task.state not in OPEN:  # what is left is up to the last holder
            return
        if before is not None and before.holder == self._clone.name:
            return
        if not _is_own(run):
            self._hold(before, run, attempt.change)
            return
        # Who had just begun again from nothing has done nothing that could be lost.
        if self._clone.copies and before is not None and not (before.copy or before.was):
            raise WorkElsewhere(
                f"the work on {run.input['taskId']} is on {before.holder}, which has no copy of it",
                help=f"continue it there; `hookline flow cancel {run.run_id}` gives it up",
            )
        async with self._moving:
            brought = await self.bring(run.input["taskId"], attempt.change)
        folder = path_here(self._clone.root, run.input["worktree"])
        if not os.path.lexists(folder):  # it was lost before its place was noted
            await self._repository.worktrees.open(run.input["taskId"])
        if brought:
            notice = {"type": "notice", "text": brought}
            attempt.observe("agent", notice)

    def _refuse_outside(self, run: Run) -> None:
        """Whoever may write to the store cannot send agents and checks anywhere on this machine."""
        root, named = self._clone.root, run.input.get("worktree") or ""
        folder = path_here(root, named)
        if folder != root and not is_in_worktrees(root, folder):
            raise WorkElsewhere(
                f"{run.run_id} names a folder that is not a worktree of this project: {named}",
                help=f"`hookline flow cancel {run.run_id}` gives it up",
            )

    def begin(self, begun: Worktree, change: Change) -> None:
        """Note that the work on a task begins here: without more, another clone has all of it."""
        place = self._find(begun.task)
        if self._clone.copies and (place is None or (place.copy is None and place.was is None)):
            copy = WorkCopy(tip=begun.head, files=begun.head, tree="", taken_at=self._store.now())
            self._note(begun.task, place, WorkPlace(holder=self._clone.name, copy=copy), change)

    async def bring(self, task_id: str, change: Change) -> str | None:
        """Make the worktree of a task here, if another clone has it; what was done."""
        place, own = self._find(task_id), self._clone.name
        if place is None:
            self._note(task_id, None, WorkPlace(holder=own), change)
            return None
        if place.holder == own:
            return None
        copy, said = place.copy, f"{task_id} was taken over from {place.holder}"
        if copy is None:
            gone = await self._repository.worktrees.discard(task_id)
            rescued: Sequence[str] = getattr(gone, "rescued", ())
            await self._repository.worktrees.open(task_id)
            said += ", which had kept no copy of its work: it begins again"
        else:
            bundle = self._bundle(task_id, place, copy)
            restored = await self._repository.copies.restore(task_id, copy, bundle)
            rescued, folder = restored.rescued, restored.worktree.folder
            with self._store.read() as view:
                export_task(view, view.graph.task(task_id), folder)
            said += f", as its work was at {copy.taken_at}"
        if rescued:
            said += f"; what was here before is kept as {', '.join(rescued)}"
        moved = msgspec.structs.replace(place, holder=own, was=place.holder)
        self._note(task_id, place, moved, change, said)
        return said

    def _bundle(self, task_id: str, place: WorkPlace, copy: WorkCopy) -> bytes | None:
        try:
            return self._blobs.get(copy.blob) if copy.blob else None
        except StoreCorrupt as problem:
            why = f"the copy of the work on {task_id} cannot be read: {problem.message}"
            raise WorkElsewhere(why, help=f"continue it on {place.holder}") from problem

    def _hold(self, place: WorkPlace | None, run: Run, change: Change) -> None:
        """Work in the project's own folder stays where it began: nobody copies that."""
        if place is not None:
            raise WorkElsewhere(
                f"the work on {run.input['taskId']} is in the project's own folder on"
                f" {place.holder}, and not in a worktree",
                help=f"continue it there; or end it with `hookline flow cancel {run.run_id}`",
            )
        self._note(run.input["taskId"], None, WorkPlace(holder=self._clone.name), change)

    # What an agent is told

    def talk(self, attempt: Attempt, request: TurnRequest) -> TurnRequest:
        """The same turn for an agent that has no conversation here, or no longer its folder."""
        run = attempt.run
        place = self._find(run.input["taskId"]) if run.flow in WORK else None
        if place is None:
            return request
        begun, task_id = request.on_conversation, run.input["taskId"]

        def note(conversation: str) -> None:
            attempt.change(partial(self._note_conversation, task_id, conversation))
            begun(conversation)

        conversation = request.conversation
        if place.conversations.get(conversation or "") != self._clone.name:
            conversation = None
        opening = request.opening
        if place.was is not None:
            opening = f"{_moved(place)}\n{opening}" if opening else _moved(place)
        told = {"conversation": conversation, "opening": opening, "on_conversation": note}
        return msgspec.structs.replace(request, **told)

    def _note_conversation(self, task_id: str, conversation: str, tx: Transaction) -> None:
        place = tx.work_places.find(task_id)
        own = self._clone.name
        if place is not None and place.conversations.get(conversation) != own:
            known = {**place.conversations, conversation: own}
            tx.work_places.set(task_id, msgspec.structs.replace(place, conversations=known))

    # Copies

    async def leave(self, attempt: Attempt, result: Resolution) -> Resolution:
        """After an effect that may have changed some work: keep a copy, stored with its result."""
        run, kind = attempt.run, attempt.effect.kind
        if run.flow not in WORK or not _is_own(run) or kind not in TOUCHING:
            return result
        task_id, is_turn = run.input["taskId"], kind == "agent"
        if kind == FINISHING:
            self._forget_finished()
        place = self._find(task_id)
        if place is None or place.holder != self._clone.name:  # it is over, or ours no more
            return result
        folder = path_here(self._clone.root, run.input["worktree"])
        known = place.copy
        if not is_turn and known and await self._repository.copies.is_current(task_id, known):
            return result
        copy = await self._copied(attempt, place, folder)

        def keep(tx: Transaction) -> None:
            if result.also is not None:
                result.also(tx)
            found = tx.work_places.find(task_id)
            if found is None:
                return
            if is_turn and (result.value.get("tools") or result.value.get("text")):
                found = msgspec.structs.replace(found, was=None)
            tx.work_places.set(task_id, found.with_copy(copy) if copy is not None else found)

        return msgspec.structs.replace(result, also=keep)

    async def _copied(self, attempt: Attempt, place: WorkPlace, folder: str) -> WorkCopy | None:
        """A new copy, if there is something new to copy; what prevents it is told."""
        if not self._clone.copies:
            return None
        base, known = attempt.run.input["base"], place.copy
        try:
            taken = await self._repository.copies.take(folder, base, self._left_out.find, known)
        except (RepositoryError, OSError) as problem:
            _tell(attempt, f"no copy of the work was kept: {problem}")
            return None
        if taken.copy is known:
            return None
        return await self._stored(attempt, place, taken)

    async def _stored(
        self, attempt: Attempt, place: WorkPlace, taken: TakenCopy
    ) -> WorkCopy | None:
        bundle, but, size = taken.bundle, taken.copy.left_out, len(taken.bundle or b"")
        if size > self._clone.most:
            said = f"it has {size} bytes, more than {self._clone.most}"
            _tell(attempt, f"no copy of the work was kept: {said}")
            return None
        if but and (place.copy is None or place.copy.left_out != but):
            _tell(attempt, f"not in the copy of the work: {first_few(but, SHOWN)}")
        blob = await asyncio.to_thread(self._blobs.put, bundle) if bundle is not None else None
        # What was replaced before this copy was stored with a result is no longer named.
        for each in place.stale:
            if each != blob:
                self._blobs.drop(each)
        now = self._store.now()
        return msgspec.structs.replace(taken.copy, taken_at=now, blob=blob, size=size)

    def _forget_finished(self) -> None:
        """Remove the copies of work that is over."""
        with self._store.read() as view:
            over = view.work_places.over()
        for task_id, place in over.items():
            for blob in place.blobs:
                self._blobs.drop(blob)
            with self._store.write({}) as tx:
                tx.work_places.remove(task_id)

    # The store

    def _find(self, task_id: str) -> WorkPlace | None:
        with self._store.read() as view:
            return view.work_places.find(task_id)

    @staticmethod
    def _note(
        task_id: str, before: WorkPlace | None, place: WorkPlace, change: Change, said: str = ""
    ) -> None:
        """Note where work is now, unless it is over, or somewhere else than `before` by now.

        Whoever was cut off meanwhile may have lost it to another clone, which continues it.
        """

        def note(tx: Transaction) -> None:
            is_open = tx.graph.task(task_id).state in OPEN
            if not is_open or tx.work_places.find(task_id) != before:
                return
            tx.work_places.set(task_id, place)
            if said:
                tx.append("run_log", task_id, {"message": said})

        change(note)


def _is_own(run: Run) -> bool:
    """Whether work is in a worktree of its task, which any clone can make."""
    folder = run.input.get("worktree")
    return folder is not None and folder != os.curdir and not os.path.isabs(folder)


def _moved(place: WorkPlace) -> str:
    left_out = place.copy.left_out if place.copy is not None else ()
    listed = section("Files that did not come along", [f"- {code(n)}" for n in left_out[:SHOWN]])
    how = "moved" if place.copy is not None else "moved-empty"
    return f"{told('session', how)}\n{listed}"


def _tell(attempt: Attempt, text: str) -> None:
    attempt.observe("agent", {"type": "notice", "text": text})


# A search takes about a second for two megabytes; what is left over is searched after a later turn.
MAX_FILE, MAX_SEARCHED = 4 * 1024 * 1024, 16 * 1024 * 1024


class LeftOut:
    """Finds files that hold credentials, or are too long to be searched for them.

    What nobody has touched since the last time is not searched again.
    """

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._known: dict[str, tuple[tuple[int, ...], bool]] = {}

    def find(self, top: str, names: Sequence[str]) -> list[str]:
        """The files among these, named from the top of a worktree, that stay there."""
        left, found = MAX_SEARCHED, []
        for name in names:
            path = os.path.join(top, name)
            at = entry_at(path)
            if at is None or not stat.S_ISREG(at.st_mode):
                continue  # gone by now, or a link, whose content is where it leads
            stamp = (at.st_size, at.st_mtime_ns, at.st_ctime_ns, at.st_ino)
            if self._known.get(path, ((), False))[0] != stamp:
                left -= at.st_size
                if at.st_size > MAX_FILE or left < 0:
                    found.append(name)
                    continue
                self._known[path] = stamp, self._is_secret(name, path)
            if self._known[path][1]:
                found.append(name)
        return sorted(found)

    def _is_secret(self, name: str, path: str) -> bool:
        try:
            content = read_regular(path, MAX_FILE + 1)
        except (OSError, ValueError):  # nothing is known about it
            return True
        return len(content) > MAX_FILE or looks_secret(name, content, self._secrets)
