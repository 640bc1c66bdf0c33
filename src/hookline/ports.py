"""What the core needs from the outside world. Adapters implement these; nothing else does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from hookline.domain.turns import AgentEvent

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter
    from collections.abc import Sequence
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    from hookline.domain.events import Event
    from hookline.domain.forge import CheckState, MergeMethod, MergeOutcome, PullRequest
    from hookline.domain.records import Action, Delivery, Outcome, StoredAction
    from hookline.domain.repository import (
        BaseMoved,
        Cleaned,
        Commit,
        Kept,
        MergeConflict,
        Merged,
        Prepared,
        Pushed,
        RebaseConflict,
        Rebased,
        Refused,
        RepositoryState,
        Worktree,
    )
    from hookline.domain.runs import JournalEffect, Run
    from hookline.domain.sessions import HeldOutput
    from hookline.domain.tasks import Edge, Task
    from hookline.domain.turns import AgentTurn
    from hookline.domain.work import WorkState, WorkTree


class ProcessGroup(msgspec.Struct, frozen=True):
    """A child's process group, named so that a reused pid is never mistaken for it."""

    pgid: int
    start_time: int
    boot_id: str


class Finished(msgspec.Struct, frozen=True):
    """A process that is over, with every process it started.

    stdout and stderr are capped, head and tail, with the cut marked; `blob` names the file that
    holds the whole of stdout when it was cut. A negative exit code is a signal's number.
    """

    argv: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str
    duration: float
    timed_out: bool = False
    stdout_bytes: int = 0
    blob: str | None = None


class CannotStart(Exception):
    """The program could not be started."""


class Dialogue(Protocol):
    """A running program that is spoken with: `writer` is its stdin, `reader` its stdout."""

    reader: StreamReader
    writer: StreamWriter
    timed_out: bool

    @property
    def exit_code(self) -> int | None:
        """How the program ended; None while it runs."""
        ...

    def stderr(self) -> str:
        """What the program complained about so far, capped."""
        ...

    async def end(self, grace: float) -> bool:
        """Close stdin and let the program end by itself; whether it did in time."""
        ...


class Processes(Protocol):
    """The one door through which programs are started."""

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        timeout: float,
        stdin: bytes = b"",
        on_start: Callable[[ProcessGroup], None] | None = None,
        on_output: Callable[[bytes], None] | None = None,
    ) -> Finished:
        """Run a program to its end or its deadline; then nothing of its group is left.

        `on_output` is given what the program prints on stdout, as it prints it.
        Raises CannotStart when there is no such program or it may not be executed.
        """
        ...

    def dialogue(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        timeout: float,
        line_limit: int,
        on_start: Callable[[ProcessGroup], None] | None = None,
    ) -> AbstractAsyncContextManager[Dialogue]:
        """Speak with a program; at the end of the block nothing of its group is left.

        It is killed at its deadline too. `line_limit` is how long a line of its stdout may be
        for those who read lines. Raises CannotStart as `run` does.
        """
        ...


class HttpReply(msgspec.Struct, frozen=True):
    """What a server answered, its body capped by the caller's limit."""

    status: int
    body: bytes


class CannotReach(Exception):
    """The server could not be asked, refused, or did not answer as it must."""


class Http(Protocol):
    """The one door to the network."""

    async def post(
        self, url: str, *, body: bytes, headers: Mapping[str, str], timeout: float, limit: int
    ) -> HttpReply:
        """POST to exactly this host; no redirect is followed, link-local is refused.

        Raises CannotReach, or TimeoutError when the deadline passed.
        """
        ...


class GraphView(Protocol):
    """Read access to the task graph, as hooks see it."""

    def task(self, identifier: str) -> Task:
        """The task, or UnknownTask."""
        ...

    def find(self, identifier: str) -> Task | None:
        """The task, or None."""
        ...

    def edges_to(self, identifier: str, edge_type: str | None = None) -> list[Edge]:
        """Edges that end at this task: who depends on it, what it spawned."""
        ...

    def edges_from(self, identifier: str, edge_type: str | None = None) -> list[Edge]:
        """Edges that start at this task: what it depends on, what spawned it."""
        ...

    def unmet(self, identifier: str) -> int:
        """How many dependencies still hold a task back."""
        ...


class EventLog(Protocol):
    """Read access to the log, as hooks see it."""

    def find(self, seq: int) -> Event | None:
        """The event at a place in the log."""
        ...

    def events(
        self,
        *,
        after: int = 0,
        types: Sequence[str] = (),
        node_id: str | None = None,
        limit: int | None = None,
    ) -> list[Event]:
        """Events in order, from `after` (exclusive)."""
        ...


class Graph(GraphView, Protocol):
    """The task graph inside a transaction."""

    def ready(self, limit: int, now: str) -> list[Task]:
        """The best tasks that anyone may take, those with an expired lease included."""
        ...

    def set_lease(self, identifier: str, until: str | None) -> None:
        """The perishable part of a claim; it is not in the log."""
        ...

    def make_room(self, from_id: str, to_id: str) -> None:
        """Keep every dependency ranked before its dependents, or refuse a cycle and show it."""
        ...


class Calls(Protocol):
    """The record of hook calls."""

    def freeze(self, event_seq: int, payload: dict[str, Any]) -> None:
        """Keep what the hooks of an event will see."""
        ...

    def open_dispatch(self, event_seq: int, node_id: str, owner: str | None) -> None:
        """Some hooks of this event have to run after the commit, perhaps in one process only."""
        ...

    def add(
        self,
        delivery: Delivery,
        *,
        actions: Sequence[Action] = (),
        actions_status: str = "pending",
    ) -> int:
        """A call that has to be made, or one that is over already; the number of its row."""
        ...

    def claim_next(
        self, owner: str, token: int, lease_until: float, is_free: Callable[[str, float], bool]
    ) -> int | None:
        """Lease the oldest dispatch that nobody alive works on; its event's place in the log."""
        ...

    def holds(self, event_seq: int, token: int) -> bool:
        """Whether a lease on a dispatch is still the current one."""
        ...

    def close_dispatch(self, event_seq: int, token: int) -> None:
        """All hooks of the event ran and all their actions were carried out."""
        ...

    def extend(self, event_seq: int, lease_until: float) -> None:
        """Hold a dispatch for longer."""
        ...

    def start(self, delivery_id: int, now: str) -> None:
        """An attempt begins."""
        ...

    def set_child(self, delivery_id: int, child: str) -> None:
        """The process group that works on a call, so that a successor can end it."""
        ...

    def finish(self, delivery: Delivery, outcome: Outcome, actions: Sequence[Action] = ()) -> None:
        """What the hook said and how it went, with the actions it asks for."""
        ...

    def open_actions(self, event_seq: int) -> list[StoredAction]:
        """Actions that still have to be carried out, in the order of their hooks."""
        ...

    def finish_action(
        self, event_seq: int, hook: str, position: int, *, error: str | None = None
    ) -> bool:
        """Mark an action as carried out, or as failed; False if it was no longer open."""
        ...

    def abandon(self, reason: str) -> int:
        """Make no call and carry out no action that still waits; how many calls those were."""
        ...

    def payload(self, event_seq: int) -> dict[str, Any] | None:
        """What the hooks of an event saw."""
        ...

    def deliveries(self, event_seq: int) -> list[Delivery]:
        """The calls of one event, in order."""
        ...

    def calls_of(self, hook: str, limit: int = 20) -> list[Delivery]:
        """The newest calls of one hook, newest first."""
        ...

    def actions(self, event_seq: int, hook: str) -> list[StoredAction]:
        """Every action that a hook asked for at an event, with what became of it."""
        ...

    def refreeze(self, event_seq: int, payload: dict[str, Any]) -> None:
        """Add to what the hooks of an event see, before the first of them is called."""
        ...

    def switches(self) -> dict[str, bool]:
        """Hooks switched on or off by hand."""
        ...

    def set_switch(self, hook: str, enabled: bool) -> None:
        """Switch a hook on or off by hand."""
        ...


class Runs(Protocol):
    """Runs of flows and their effects."""

    def find(self, identifier: str) -> Run:
        """The run, or UnknownRun."""
        ...

    def runs(self, *, status: str | None = None, limit: int = 100) -> list[Run]:
        """Runs, newest first."""
        ...

    def of_flow(self, flow: str, limit: int = 1000) -> list[Run]:
        """The newest runs of a flow, oldest first."""
        ...

    def effects(self, run: Run) -> list[JournalEffect]:
        """Every effect of the current chapter, in the order in which they were asked for."""
        ...

    def pending(self, run: Run) -> list[JournalEffect]:
        """The effects that have no result yet."""
        ...

    def effect(self, run: Run, effect_id: str) -> JournalEffect:
        """One effect of the current chapter, or UnknownEffect."""
        ...

    def resolved_since(self, run: Run, seq: int) -> list[tuple[str, str, Any, str | None, int]]:
        """(effect, status, value, error, place in the log) of results after a place, in order."""
        ...

    def signals(self, run: Run) -> list[tuple[int, str, Any]]:
        """(place in the log, name, value) of signals that nothing has taken yet."""
        ...

    def waiting_for_task(self, task: int) -> list[tuple[str, int, str]]:
        """(run, chapter, effect) of effects that wait for a task."""
        ...

    def due(self, now: float, is_free: Callable[[str, float], bool]) -> list[str]:
        """Runs that have something to do and that nobody alive works on."""
        ...

    def next_wake(self, now: float) -> float | None:
        """When the next parked run has something to do."""
        ...

    def holder(self, identifier: str) -> tuple[str | None, int, float]:
        """(owner, token, lease) of a run."""
        ...

    def take(self, identifier: str, owner: str, token: int, until: float) -> None:
        """Lease a run."""
        ...

    def renew(self, owner: str, until: float) -> None:
        """Hold all runs of a process for longer."""
        ...

    def let_go(self, identifier: str, token: int, wake_at: float | None) -> None:
        """End a lease; the run wakes at a moment, or when something happens to it."""
        ...

    def count_iteration(self, identifier: str) -> int:
        """Count a tick."""
        ...

    def begin_attempt(self, run: Run, effect_id: str) -> None:
        """An attempt at an effect begins."""
        ...

    def set_child(self, run: Run, effect_id: str, child: str | None) -> None:
        """The process group that works on an effect."""
        ...

    def set_conversation(self, run: Run, effect_id: str, conversation: str) -> None:
        """The agent's conversation, known before the turn ends."""
        ...

    def postpone(self, run: Run, effect_id: str, until: float) -> None:
        """Try an effect again later."""
        ...

    def choose(self, run: Run, effect_id: str) -> bool:
        """Ask whoever advances the run to carry an effect out; False if it has its result."""
        ...

    def bind_task(self, run: Run, effect_id: str, task: int) -> None:
        """The task that an effect waits for."""
        ...

    def consume_signal(self, seq: int) -> None:
        """A signal was taken."""
        ...

    def value(self, identifier: str, name: str) -> Any:
        """What hooks of a run remember under a name; None if nothing."""
        ...

    def set_value(self, identifier: str, name: str, value: Any) -> None:
        """What hooks of a run remember under a name."""
        ...


class Sessions(Protocol):
    """Sessions and the output that waits for their agents."""

    def live(self) -> list[str]:
        """The runs of sessions that are not over, the oldest first."""
        ...

    def newest(self, limit: int = 100) -> list[str]:
        """The runs of all sessions, the newest first."""
        ...

    def hold(self, identifier: str, held: HeldOutput) -> None:
        """Keep a hook's output for a session's next prompt; the same one is kept once."""
        ...

    def held(self, identifier: str) -> list[HeldOutput]:
        """What a session's agent has not been told yet, in the order in which it came."""
        ...

    def drain(self, identifier: str) -> list[HeldOutput]:
        """Take all that is held: from now on it stands in a prompt."""
        ...


class Blobs(Protocol):
    """Large values, named by their content."""

    def put(self, data: bytes) -> str:
        """Keep bytes; the name they can be fetched by."""
        ...

    def get(self, name: str) -> bytes:
        """The bytes of that name."""
        ...


class ToolServer(msgspec.Struct, frozen=True):
    """An MCP server that an agent is offered: how it is started, and what it must inherit."""

    argv: tuple[str, ...]
    env: Mapping[str, str]


class TurnRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent is asked in one turn, and how.

    With `conversation` the agent goes on with that one, where it can. A `read_only` agent may
    look at everything and change nothing. `schema` is the JSON Schema of the answer, for agents
    that can be held to one.
    """

    prompt: str
    env: Mapping[str, str]
    timeout: float
    cwd: str | None = None
    conversation: str | None = None
    read_only: bool = False
    schema: dict[str, Any] | None = None
    max_turns: int | None = None
    tools: ToolServer | None = None
    on_start: Callable[[ProcessGroup], None] = lambda group: None
    on_conversation: Callable[[str], None] = lambda conversation: None
    on_event: Callable[[AgentEvent], None] = lambda event: None


class Agents(Protocol):
    """The agents that the configuration names."""

    async def turn(self, name: str | None, request: TurnRequest) -> AgentTurn:
        """One turn of an agent; what goes wrong with it is part of the turn."""
        ...


class Work(Protocol):
    """What an agent did to the folder that it works in."""

    async def state(self, folder: str) -> WorkState:
        """The commit, and the files that differ from it."""
        ...

    async def between(self, folder: str, before: WorkState, after: WorkState) -> list[str]:
        """The files that changed from one state to the other."""
        ...

    async def tree(self, folder: str, base: str | None = None) -> WorkTree:
        """The content of a folder, and how it differs from a tree of before."""
        ...


class Wakeup(Protocol):
    """Learning that something may have been stored."""

    async def wait(self, timeout: float) -> bool:
        """Return when something may have been stored, or the time is over."""
        ...


class View(Protocol):
    """The store at one moment."""

    @property
    def graph(self) -> Graph:
        """The task graph."""
        ...

    @property
    def log(self) -> EventLog:
        """The event log."""
        ...

    @property
    def calls(self) -> Calls:
        """The record of hook calls."""
        ...

    @property
    def runs(self) -> Runs:
        """Runs of flows and their effects."""
        ...

    @property
    def sessions(self) -> Sessions:
        """Sessions and the output that waits for their agents."""
        ...


class Transaction(View, Protocol):
    """A change in the making: events are appended, and the tables follow them at once."""

    now: str
    metadata: dict[str, Any]
    events: list[Event]

    def append(
        self,
        event_type: str,
        node_id: str,
        data: dict[str, Any],
        *,
        metadata: dict[str, Any] | None = None,
    ) -> Event:
        """Write an event to the end of the log and bring the tables up to date with it."""
        ...

    def waits_for_task(self, identifier: str) -> bool:
        """Whether a run waits for a task."""
        ...

    def nested(self) -> AbstractContextManager[None]:
        """A part that can fail alone: its events and rows vanish, the rest stays."""
        ...

    def next_task_id(self) -> str:
        """A task id that was never used."""
        ...

    def next_run(self) -> int:
        """A run number that was never used."""
        ...

    def next_token(self) -> int:
        """A token greater than every one before it."""
        ...


class Store(Protocol):
    """Where everything is kept."""

    id: str

    def now(self) -> str:
        """The time, as it stands in the log."""
        ...

    def read(self) -> AbstractContextManager[View]:
        """A view of one moment."""
        ...

    def write(self, metadata: dict[str, Any]) -> AbstractContextManager[Transaction]:
        """A change that is stored whole or not at all."""
        ...


class Forge(Protocol):
    """Where pull requests live.

    Each act first looks whether it is done, so that a repeat after a crash never does it twice.
    All of them raise ForgeError: ForgeTemporary when a later try may succeed.
    """

    name: str
    push_remote: str | None
    merges: bool

    async def find_pull_request(self, branch: str, base: str) -> PullRequest | None:
        """The open pull request of a branch into a base."""
        ...

    async def pull_request(self, number: int) -> PullRequest:
        """A pull request as it is now, also when it is merged or closed; else ForgeMissing."""
        ...

    async def open_pull_request(self, branch: str, base: str, title: str, body: str) -> PullRequest:
        """The open pull request of a branch into a base, opened now if there is none."""
        ...

    async def update_pull_request(
        self, number: int, *, title: str | None = None, body: str | None = None
    ) -> PullRequest:
        """Change what is given; the pull request as it is then."""
        ...

    async def checks(self, of: PullRequest | str) -> CheckState:
        """What the checks of a commit, or of a pull request's head, say."""
        ...

    async def merge(self, pull_request: PullRequest, sha: str, method: MergeMethod) -> MergeOutcome:
        """Merge, or find that it is merged.

        Where the forge `merges`, `sha` is the head that was judged, and HeadMoved is raised when
        it is another one. Where it does not, git has merged, and `sha` is the commit that holds
        the work on the base: the forge records it.
        """
        ...

    async def comment(
        self, pull_request: PullRequest, text: str, *, key: str | None = None
    ) -> None:
        """Comment once per key; without a key, once per text."""
        ...


class Repository(Protocol):
    """The git repository of a project: a worktree per task, and what becomes of the work in it.

    Every act looks first, acts, and proves what it did. Repeated after a crash it is harmless;
    when it fails, the tree is clean and no commit is lost. `base` is the name of a branch.
    """

    async def describe(self, folder: str | None = None) -> RepositoryState:
        """The state of the repository that a folder lies in, with what stands in the way."""
        ...

    async def base_branch(self) -> str:
        """The branch that finished work goes into."""
        ...

    async def worktree(self, task_id: str, base: str | None = None) -> Worktree:
        """The task's worktree: the one it has, repaired if need be, or a new one off the base."""
        ...

    async def worktrees(self) -> list[Worktree]:
        """Every task's worktree, and every branch of a task whose worktree is gone."""
        ...

    async def unsaved(self, task_id: str) -> tuple[str, ...]:
        """What would be lost with a task's worktree."""
        ...

    async def clean(self, task_id: str) -> Cleaned | Kept:
        """Remove a task's worktree if nothing in it is unsaved, and its branch once merged."""
        ...

    async def commit_all(self, folder: str, message: str, author: str | None = None) -> str | None:
        """Commit all that is not ignored; the commit, or None when there was nothing."""
        ...

    async def commits_ahead(self, folder: str, base: str, head: str = "HEAD") -> int:
        """How many commits the work in a folder has that the base has not."""
        ...

    async def commits(self, folder: str, base: str, limit: int = 100) -> list[Commit]:
        """The newest commits that the work in a folder has and the base has not, oldest first."""
        ...

    async def changed_files(self, folder: str, base: str) -> list[str]:
        """The files that the commits in a folder change, from where they left the base."""
        ...

    async def diff(self, folder: str, base: str, limit: int = 65536) -> str:
        """What the commits in a folder change; of a longer diff the beginning and the end."""
        ...

    async def merge_base(self, folder: str, base: str) -> str:
        """The commit at which the work in a folder left the base."""
        ...

    async def rebase(self, folder: str, onto: str) -> Rebased | RebaseConflict:
        """Move the commits in a folder onto the newest base; after a conflict all is as before."""
        ...

    async def push(self, folder: str, branch: str, remote: str | None = None) -> Pushed | Refused:
        """Bring the remote's branch to ours, never over commits of others."""
        ...

    async def merge(
        self, head: str, base: str, message: str, method: MergeMethod = "merge"
    ) -> Merged | MergeConflict | BaseMoved | Refused:
        """Merge a commit into the base; of one that is merged already, say since when."""
        ...

    async def prepare_merge(
        self, head: str, base: str, message: str, method: MergeMethod = "merge"
    ) -> Prepared | MergeConflict:
        """Build what the base would become, to be tested in `scratch` before it is landed."""
        ...

    async def land(self, prepared: Prepared) -> Merged | BaseMoved | Refused:
        """Move the base to what was prepared, if it still is where it was then."""
        ...

    def scratch(self, sha: str) -> AbstractAsyncContextManager[str]:
        """A checkout of one commit that is gone at the end of the block; its path."""
        ...
