"""The driver `codex`: Codex's `exec`, its events as a stream of JSON lines.

`read` and `work` are its own sandbox, read-only and workspace-write (which keeps .git and the
network closed), with nobody to ask; `full` means without a sandbox. Where the sandbox cannot work,
as in many containers, none of its commands runs, and the turn says so as its error.
"""

from __future__ import annotations

import re
import shlex
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.adapters.agents import lines
from hookline.adapters.agents.codex_record import Tokens
from hookline.adapters.agents.codex_tokens import TurnTokens
from hookline.adapters.agents.health import examined
from hookline.adapters.agents.known_agents import CODEX
from hookline.adapters.agents.problems import (
    NOT_STARTED,
    Cause,
    FailedRequest,
    cause_of,
    problem,
    unable,
)
from hookline.adapters.agents.steps import STOPPED
from hookline.domain.sessions.turns import AgentTurn
from hookline.ports.processes import CannotStart

if TYPE_CHECKING:
    from hookline.ports.agents import (
        AgentHealth,
        DriverTurn,
        HealthCheck,
        JsonSchema,
        Profile,
        Reports,
        ToolServer,
    )
    from hookline.ports.processes import Finished

PROGRAM = "codex"
KEEPS_FILES = True
SERVER = "mcp_servers.hookline"
CONVERSATION = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
UNKNOWN = "no rollout found"
NO_SANDBOX = "bwrap: "
# The sandbox is made of namespaces, which many containers forbid.
NAMESPACE = ("unshare", "--user", "--map-root-user", "true")
# How Codex words what its code does not tell from a usage limit.
NO_CREDIT = "Quota exceeded. Check your plan and billing details."
# How older versions, which record no codes, name the status that a server answered with.
STATUS = re.compile(r"(?:unexpected status|exceeded retry limit, last status:) (\d{3})\b")
TOOLS = ("command_execution", "file_change", "mcp_tool_call", "collab_tool_call", "web_search")


def reports(profile: Profile) -> Reports:
    """Codex counts tokens; it says nothing about money."""
    return "tokens"


async def health(profile: Profile, check: HealthCheck) -> AgentHealth:
    """Its version, whether someone is logged in, and whether its sandbox can work here."""
    found = await examined(profile.command or PROGRAM, check)
    if found.version is None or found.problem is not None or profile.permissions == "full":
        return found
    done = await check.run(NAMESPACE)
    if done is None or done.exit_code == 0:  # unknown without that tool
        return found
    wrong = problem(CODEX, "sandbox", "this machine does not allow new namespaces")
    return msgspec.structs.replace(found, problem=wrong)


def takes_schema(schema: JsonSchema) -> bool:
    """Whether the models take a schema: its objects have these fields, all of them, and no other.

    With any other schema the whole turn would be refused.
    """
    if schema.get("type") == "object":
        fields = schema.get("properties", {})
        if schema.get("additionalProperties") is not False:
            return False
        if set(schema.get("required", ())) != set(fields):
            return False
        return all(map(takes_schema, fields.values()))
    parts = (*schema.get("anyOf", ()), *((schema["items"],) if "items" in schema else ()))
    return all(map(takes_schema, parts))


async def turn(profile: Profile, talk: DriverTurn) -> AgentTurn:
    """One turn of Codex, in its conversation if it knows it, else in a new one."""
    wanted = talk.request.conversation
    resume = None
    if wanted and CONVERSATION.fullmatch(wanted):
        talk.request.on_conversation(wanted)
        resume = partial(_ask, profile, talk, ["resume", wanted])
    return await lines.in_conversation(talk, resume, partial(_ask, profile, talk.afresh(), []))


async def _ask(profile: Profile, talk: DriverTurn, which: list[str]) -> AgentTurn | None:
    """The turn in a conversation; None if it was to be resumed, and Codex has none such."""
    hearing = _CodexTurn(talk)
    tools = talk.request.tools
    with ExitStack() as files:
        argv = [*shlex.split(profile.command or PROGRAM), *_arguments(profile, talk, files)]
        argv += [*profile.args, *which, "-"]
        try:
            env = tools.env if tools else None
            done = await lines.listen(argv, talk, hearing.take, env, hearing.steps)
        except CannotStart as why:
            return unable(problem(CODEX, "missing", str(why)))
    return None if which and UNKNOWN in done.stderr else hearing.turn(done)


def _arguments(profile: Profile, talk: DriverTurn, files: ExitStack) -> list[str]:
    request = talk.request
    # Without a network it would try again forever; Hookline waits, and says so.
    bounded = _setting("features.unbounded_connection_retries", False)
    arguments = ["exec", "--json", "--skip-git-repo-check", *bounded]
    if profile.model:
        arguments += ["--model", profile.model]
    if request.schema is not None and takes_schema(request.schema):
        schema = files.enter_context(lines.private_file(msgspec.json.encode(request.schema)))
        arguments += ["--output-schema", schema]
    if request.tools is not None:
        arguments += _server(request.tools)
    if profile.permissions == "full" and not request.read_only:
        return [*arguments, "--dangerously-bypass-approvals-and-sandbox"]
    if request.read_only:  # the project's files must not instruct a gatekeeper
        arguments += _setting("project_doc_max_bytes", 0)
    is_read = request.read_only or profile.permissions == "read"
    sandbox = "read-only" if is_read else "workspace-write"
    return [*arguments, *_setting("approval_policy", "never"), *_setting("sandbox_mode", sandbox)]


def _server(tools: ToolServer) -> list[str]:
    """Our tools; their environment is inherited by name, so that no value shows in a listing."""
    program, *arguments = tools.argv
    return [
        *_setting(f"{SERVER}.command", program),
        *_setting(f"{SERVER}.args", arguments),
        *_setting(f"{SERVER}.env_vars", sorted({**tools.secrets, **tools.env})),
        *_setting(f"{SERVER}.default_tools_approval_mode", "approve"),
        # Without it Codex continues without the tools, and says nothing.
        *_setting(f"{SERVER}.required", True),
    ]


def _setting(name: str, value: Any) -> list[str]:
    """A setting on the command line; JSON is TOML for texts, lists of them and truth values."""
    return ["-c", f"{name}={msgspec.json.encode(value).decode()}"]


# The lines, as far as they are read


class _OutputLine(msgspec.Struct):
    type: str = ""


class _Started(msgspec.Struct):
    thread_id: str


class _Completed(msgspec.Struct):
    usage: Tokens


class _Complaint(msgspec.Struct):
    message: str = ""


class _Failed(msgspec.Struct):
    error: _Complaint


class _ChangedPath(msgspec.Struct):
    path: str = ""


class _Item(msgspec.Struct):
    id: str = ""
    type: str = ""
    text: str = ""
    message: str = ""
    command: str = ""
    aggregated_output: str = ""
    changes: list[_ChangedPath] = []
    server: str = ""
    tool: str = ""
    arguments: Any = None
    query: str = ""
    status: str = ""


class _ItemLine(msgspec.Struct):
    item: _Item


class _CodexTurn(lines.HeardTurn):
    """What a turn's lines said so far."""

    def __init__(self, talk: DriverTurn) -> None:
        super().__init__(talk)
        self._conversation: str | None = None
        self._total: Tokens | None = None
        self._tokens = TurnTokens(talk)
        self._problem: str | None = None
        self._open: set[str] = set()
        self._commands_ran = False
        self._no_sandbox: str | None = None

    def take(self, line: bytes) -> None:
        """One line of output; a line that is not a message raises."""
        kind = typed.decode(line, _OutputLine).type
        if kind == "thread.started":
            self._began(typed.decode(line, _Started).thread_id)
        elif kind == "item.started":
            self._item_began(typed.decode(line, _ItemLine).item)
        elif kind == "item.completed":
            self._item_ended(typed.decode(line, _ItemLine).item)
        elif kind == "turn.completed":
            self._total = typed.decode(line, _Completed).usage
        elif kind == "turn.failed":
            self._problem = typed.decode(line, _Failed).error.message
        elif kind == "error":
            self._problem = typed.decode(line, _Complaint).message
            lines.notice(self._talk, self._problem)

    def turn(self, done: Finished) -> AgentTurn:
        """The whole turn, once the program is over."""
        error = self._error(done)
        ending = STOPPED if self.steps.ending else "timeout" if done.timed_out else "error"
        cause = self._cause(error, done) if error and ending == "error" else Cause()
        return AgentTurn(
            text=self._text,
            error=cause.problem.told if cause.problem else error,
            stop_reason=ending if error else "end_turn",
            conversation=self._conversation,
            usage=self._tokens.used(self._total),
            tools=self._tools,
            wait=cause.wait,
            problem=cause.problem,
        )

    def _began(self, conversation: str) -> None:
        if CONVERSATION.fullmatch(conversation):
            self._conversation = conversation
            self._tokens.begin(conversation)
            self._talk.request.on_conversation(conversation)

    def _item_began(self, item: _Item) -> None:
        if item.type in TOOLS:
            self.steps.act()
            self._text = ""  # what is said before a tool is used is not the last word
            self._tools += 1
            self._open.add(item.id)
            name, detail = _described(item, self._talk.folder)
            self._tell("tool", name=name, detail=detail, id=item.id)

    def _item_ended(self, item: _Item) -> None:
        if item.type == "agent_message":
            self.steps.act()
            self._text = item.text
            self._tell("text", text=item.text)
        elif item.type == "error":
            lines.notice(self._talk, item.message)
        elif item.type in TOOLS:
            if item.id not in self._open:
                self._item_began(item)
            self._open.discard(item.id)
            self.steps.answer()
            self._watch_sandbox(item)
            self._tokens.tell()
            name, _ = _described(item, self._talk.folder)
            self._tell("tool_result", name=name, ok=item.status != "failed", id=item.id)

    def _watch_sandbox(self, item: _Item) -> None:
        if item.type != "command_execution":
            return
        if item.status == "failed" and item.aggregated_output.startswith(NO_SANDBOX):
            self._no_sandbox = self._no_sandbox or item.aggregated_output
        else:
            self._commands_ran = True

    def _error(self, done: Finished) -> str | None:
        ended = lines.failure(done, self._talk.request.timeout)
        if done.timed_out or self.steps.ending:
            return self.steps.ending or ended
        if self._total is None and self._problem:
            return lines.shown(self._problem)
        if self._is_shut_in:
            return lines.shown(self._no_sandbox or "")
        return ended or (None if self._total else "the agent ended without a result")

    def _cause(self, error: str, done: Finished) -> Cause:
        """Why the turn failed, by the code that Codex has recorded."""
        if self._conversation is None and done.exit_code in NOT_STARTED:
            return Cause(problem=problem(CODEX, "missing", error))
        if self._total is None and self._problem:
            return cause_of(CODEX, self._failed(self._problem))
        if self._is_shut_in:
            return Cause(problem=problem(CODEX, "sandbox", self._no_sandbox or ""))
        return Cause()

    @property
    def _is_shut_in(self) -> bool:
        """Whether its sandbox let none of its commands run."""
        return self._no_sandbox is not None and not self._commands_ran

    def _failed(self, said: str) -> FailedRequest:
        if said == NO_CREDIT:
            return FailedRequest(said, code="insufficient_quota")
        record = self._tokens.record
        if record is not None and (told := record.error(said)) is not None:
            return FailedRequest(said, told.status, told.code)
        status = STATUS.match(said)
        return FailedRequest(said, int(status[1]) if status else None)


def _described(item: _Item, folder: str) -> tuple[str, str]:
    """A tool's name and what it works on."""
    if item.type == "command_execution":
        return "shell", lines.brief(_inner(item.command))
    if item.type == "file_change":
        paths = (change.path.removeprefix(f"{folder}/") for change in item.changes)
        return "edit", lines.brief(", ".join(paths))
    if item.type == "mcp_tool_call":
        return lines.brief(f"{item.server}.{item.tool}"), lines.described(item.arguments)
    return lines.brief(item.tool or item.type), lines.brief(item.query)


def _inner(command: str) -> str:
    """The line inside `bash -lc '...'`, which is how Codex runs all of them."""
    with suppress(ValueError):
        words = shlex.split(command[: 4 * lines.DETAIL])
        if len(words) == 3 and words[1] in ("-c", "-lc"):
            return words[2]
    return command
