"""The driver `codex`: Codex's `exec`, its events as a stream of JSON lines.

`read` and `work` are its own sandbox, read-only and workspace-write (which keeps .git and the
network closed), with nobody to ask; `full` is no sandbox at all. Where the sandbox cannot work,
as in many containers, none of its commands runs, and the turn says so as its error.
"""

from __future__ import annotations

import re
import shlex
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.adapters.agents.codex_tokens import Tokens, TurnTokens
from hookline.adapters.agents.lines import (
    DETAIL,
    described,
    failure,
    listen,
    notice,
    private_file,
    shown,
)
from hookline.adapters.agents.steps import STOPPED, Steps
from hookline.adapters.agents.waits import model_wait
from hookline.domain.turns import AgentEvent, AgentTurn
from hookline.ports.processes import CannotStart

if TYPE_CHECKING:
    from hookline.adapters.agents.drivers import Talk
    from hookline.ports.agents import ToolServer
    from hookline.ports.processes import Finished

SERVER = "mcp_servers.hookline"
CONVERSATION = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
UNKNOWN = "no rollout found"
NO_SANDBOX = "bwrap: "
TOOLS = ("command_execution", "file_change", "mcp_tool_call", "collab_tool_call", "web_search")


def takes_schema(schema: dict[str, Any]) -> bool:
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


async def turn(profile: Any, talk: Talk) -> AgentTurn:
    """One turn of Codex, in its conversation if it knows it, else in a new one."""
    wanted = talk.request.conversation
    if wanted and CONVERSATION.fullmatch(wanted):
        talk.request.on_conversation(wanted)
        heard = await _ask(profile, talk, ["resume", wanted])
        if heard is not None:
            return heard
    if wanted:
        notice(talk, f"conversation {wanted} is not known here; the agent begins a new one")
    heard = await _ask(profile, talk.afresh(), [])
    assert heard is not None
    return heard


async def _ask(profile: Any, talk: Talk, which: list[str]) -> AgentTurn | None:
    """The turn in a conversation; None if it was to be resumed, and Codex has none such."""
    hearing = _Hearing(talk)
    tools = talk.request.tools
    with ExitStack() as files:
        argv = [*shlex.split(profile.command or "codex"), *_arguments(profile, talk, files)]
        argv += [*profile.args, *which, "-"]
        try:
            env = tools.env if tools else None
            done = await listen(argv, talk, hearing.take, env, hearing.steps)
        except CannotStart as problem:
            return AgentTurn(error=f"{problem}; `command:` names the program", stop_reason="error")
    if which and UNKNOWN in done.stderr:
        return None
    return hearing.turn(done)


def _arguments(profile: Any, talk: Talk, files: ExitStack) -> list[str]:
    request = talk.request
    arguments = ["exec", "--json", "--skip-git-repo-check"]
    if profile.model:
        arguments += ["--model", profile.model]
    if request.schema is not None and takes_schema(request.schema):
        arguments += ["--output-schema", files.enter_context(private_file(request.schema))]
    if request.tools is not None:
        arguments += _server(request.tools)
    if profile.permissions == "full" and not request.read_only:
        return [*arguments, "--dangerously-bypass-approvals-and-sandbox"]
    if request.read_only:  # who is judged must not instruct the judge by the files of the project
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
        *_setting(f"{SERVER}.env_vars", sorted(tools.env)),
        *_setting(f"{SERVER}.default_tools_approval_mode", "approve"),
        # Without it Codex goes on without the tools, and says nothing.
        *_setting(f"{SERVER}.required", True),
    ]


def _setting(name: str, value: Any) -> list[str]:
    """A setting on the command line; JSON is TOML for texts, lists of them and truth values."""
    return ["-c", f"{name}={msgspec.json.encode(value).decode()}"]


# The lines, as far as they are read


class _Line(msgspec.Struct):
    type: str = ""


class _Started(msgspec.Struct):
    thread_id: str


class _Completed(msgspec.Struct):
    usage: Tokens


class _Problem(msgspec.Struct):
    message: str = ""


class _Failed(msgspec.Struct):
    error: _Problem


class _Change(msgspec.Struct):
    path: str = ""


class _Item(msgspec.Struct):
    id: str = ""
    type: str = ""
    text: str = ""
    message: str = ""
    command: str = ""
    aggregated_output: str = ""
    changes: list[_Change] = []
    server: str = ""
    tool: str = ""
    arguments: Any = None
    query: str = ""
    status: str = ""


class _ItemLine(msgspec.Struct):
    item: _Item


class _Hearing:
    """What a turn's lines said so far."""

    def __init__(self, talk: Talk) -> None:
        self.steps = Steps(talk.request.max_turns)
        self._talk = talk
        self._conversation: str | None = None
        self._text = ""
        self._total: Tokens | None = None
        self._tokens = TurnTokens(talk)
        self._problem: str | None = None
        self._tools = 0
        self._open: set[str] = set()
        self._commands_ran = False
        self._no_sandbox: str | None = None

    def take(self, line: bytes) -> None:
        """One line of output; a line that is no message raises."""
        kind = msgspec.json.decode(line, type=_Line).type
        if kind == "thread.started":
            self._began(msgspec.json.decode(line, type=_Started).thread_id)
        elif kind == "item.started":
            self._item_began(msgspec.json.decode(line, type=_ItemLine).item)
        elif kind == "item.completed":
            self._item_ended(msgspec.json.decode(line, type=_ItemLine).item)
        elif kind == "turn.completed":
            self._total = msgspec.json.decode(line, type=_Completed).usage
        elif kind == "turn.failed":
            self._problem = msgspec.json.decode(line, type=_Failed).error.message
        elif kind == "error":
            self._problem = msgspec.json.decode(line, type=_Problem).message
            notice(self._talk, self._problem)

    def turn(self, done: Finished) -> AgentTurn:
        """The whole turn, once the program is over."""
        error = self._error(done)
        ending = STOPPED if self.steps.ending else "timeout" if done.timed_out else "error"
        blamed = self._problem if self._total is None and ending == "error" else None
        return AgentTurn(
            text=self._text,
            error=error,
            stop_reason=ending if error else "end_turn",
            conversation=self._conversation,
            usage=self._tokens.used(self._total),
            tools=self._tools,
            wait=model_wait(blamed) if blamed else None,
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
            self._talk.request.on_event(AgentEvent(type="tool", name=name, detail=detail))

    def _item_ended(self, item: _Item) -> None:
        if item.type == "agent_message":
            self.steps.act()
            self._text = item.text
            self._talk.request.on_event(AgentEvent(type="text", text=item.text))
        elif item.type == "error":
            notice(self._talk, item.message)
        elif item.type in TOOLS:
            if item.id not in self._open:
                self._item_began(item)
            self._open.discard(item.id)
            self.steps.answer()
            self._watch_sandbox(item)
            self._tokens.tell()
            name, _ = _described(item, self._talk.folder)
            ok = item.status != "failed"
            self._talk.request.on_event(AgentEvent(type="tool_result", name=name, ok=ok))

    def _watch_sandbox(self, item: _Item) -> None:
        if item.type != "command_execution":
            return
        if item.status == "failed" and item.aggregated_output.startswith(NO_SANDBOX):
            self._no_sandbox = self._no_sandbox or item.aggregated_output
        else:
            self._commands_ran = True

    def _error(self, done: Finished) -> str | None:
        ended = failure(done, self._talk.request.timeout)
        if done.timed_out or self.steps.ending:
            return self.steps.ending or ended
        if self._total is None and self._problem:
            return _explained(self._problem)
        if self._no_sandbox and not self._commands_ran:
            why = f"Codex's sandbox cannot work here ({shown(self._no_sandbox, DETAIL)})"
            return f"{why}, so none of its commands ran; `permissions: full` needs no sandbox"
        return ended or (None if self._total else "the agent ended without a result")


def _explained(problem: str) -> str:
    said = shown(problem)
    if re.search(r"\b401\b", said):
        return f"the model refused the agent's key (401): {said}; sign in with `codex login`"
    return said


def _described(item: _Item, folder: str) -> tuple[str, str]:
    """A tool's name and what it works on."""
    if item.type == "command_execution":
        return "shell", shown(_inner(item.command), DETAIL)
    if item.type == "file_change":
        paths = (change.path.removeprefix(f"{folder}/") for change in item.changes)
        return "edit", shown(", ".join(paths), DETAIL)
    if item.type == "mcp_tool_call":
        return shown(f"{item.server}.{item.tool}", DETAIL), described(item.arguments)
    return shown(item.tool or item.type, DETAIL), shown(item.query, DETAIL)


def _inner(command: str) -> str:
    """The line inside `bash -lc '...'`, which is how Codex runs all of them."""
    with suppress(ValueError):
        words = shlex.split(command[: 4 * DETAIL])
        if len(words) == 3 and words[1] in ("-c", "-lc"):
            return words[2]
    return command
