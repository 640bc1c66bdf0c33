"""The driver `acp`: any agent that speaks the Agent Client Protocol, such as OpenCode or Gemini.

`command` holds the words that start it, such as `opencode acp`. The agent is offered neither our
file system nor a terminal: it works on the files itself, and is asked what it does.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from acp import PROTOCOL_VERSION, RequestError
from acp.connection import Connection

from hookline import typed
from hookline.adapters.agents import acp_session, acp_updates, problems
from hookline.adapters.agents.acp_failures import (
    AUTH_REQUIRED,
    AcpFailure,
    hung_up,
    refused,
    unable,
)
from hookline.adapters.agents.acp_lines import LINE_LIMIT, AcpLines
from hookline.adapters.agents.acp_session import Introduced, Opened
from hookline.adapters.agents.agent_records import copilot_error
from hookline.adapters.agents.health import examined
from hookline.adapters.agents.known_agents import COPILOT, OPENCODE, by_acp_name, by_command
from hookline.adapters.agents.lines import timed_out
from hookline.adapters.agents.problems import cause_of, problem
from hookline.adapters.agents.steps import STOPPED, StepCount
from hookline.domain.sessions.turns import AgentTurn
from hookline.ports.processes import CannotStart
from hookline.version import __version__

if TYPE_CHECKING:
    from hookline.ports.agents import AgentHealth, DriverTurn, HealthCheck, Profile, Reports
    from hookline.ports.processes import Dialogue

Answer = TypeVar("Answer")

# How long an agent may take to obey a cancellation, and to end when there is nothing more to do.
NEEDS = ("command",)
GRACE_SECONDS = 2.0
# What the model itself decided is not a failure of the turn: whoever reads the
# stop reason decides what follows. A cancellation that nobody here asked for is one.
SILENCE = "the agent ended its turn without saying anything or using a tool"
STOPS = frozenset({"end_turn", "max_tokens", "max_turn_requests", "refusal"})


def reports(profile: Profile) -> Reports | None:
    """What is known of the agent; the protocol allows for both, and requires neither."""
    return by_command(profile.command).reports


async def health(profile: Profile, check: HealthCheck) -> AgentHealth:
    """The version of an agent that Hookline knows, and whether someone is logged in."""
    return await examined(profile.command or "", check)


async def turn(profile: Profile, talk: DriverTurn) -> AgentTurn:
    """Start the agent, give it the prompt in its conversation, and hear what it does."""
    request = talk.request
    permissions = "read" if request.read_only else profile.permissions
    if not (profile.command or "").strip():
        words = "`driver: acp` needs a `command`, such as `opencode acp`"
        return AgentTurn(error=words, stop_reason="error")
    try:
        argv = (*shlex.split(profile.command), *profile.args)
        env = dict(request.env)
        if permissions == "read":
            env = acp_session.read_only_environment(env)
    except (ValueError, msgspec.MsgspecError) as why:
        return AgentTurn(error=f"the agent cannot be started: {why}", stop_reason="error")
    try:
        async with talk.processes.dialogue(
            argv,
            cwd=talk.folder,
            env=env,
            timeout=request.timeout + 2 * GRACE_SECONDS,
            line_limit=LINE_LIMIT,
            on_start=request.on_start,
        ) as dialogue:
            return await _Turn(argv[0], profile.model, permissions, talk, dialogue).take()
    except CannotStart as why:
        return problems.unable(problem(by_command(profile.command), "missing", str(why)))


class _Turn:
    """One turn of one agent: both sides of the dialogue."""

    def __init__(
        self,
        program: str,
        model: str | None,
        permissions: str,
        talk: DriverTurn,
        dialogue: Dialogue,
    ) -> None:
        self._program = program
        self._agent = by_command(shlex.quote(program))
        self._env = {**os.environ, **talk.request.env}
        self._model = model
        self._permissions = permissions
        self._talk = talk
        self._request = talk.request
        self._dialogue = dialogue
        self._steps = StepCount(talk.request.max_turns)
        self._heard = acp_updates.Heard(talk.request, self._steps)
        self._lines = AcpLines(dialogue.reader, dialogue.writer, self._stray)
        self._connection = Connection(self._asked, self._lines)
        self._introduced: Introduced | None = None
        self._conversation: str | None = None
        self._prompting: asyncio.Task[Any] | None = None
        self._enough: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._is_cancelled = False

    async def take(self) -> AgentTurn:
        """The turn, whatever becomes of it."""
        try:
            result = await self._within_its_time()
        except AcpFailure as failed:
            return self._failed(failed)
        finally:
            await self._connection.close()
        await self._dialogue.end(GRACE_SECONDS)
        if self._agent is COPILOT and (found := copilot_error(self._env, self._conversation or "")):
            failure = AcpFailure(f"the agent reports: {found.said}", cause_of(COPILOT, found))
            return self._failed(failure, text="")  # the text is its own, not its model's
        reason = str(result.get("stopReason"))[:100]
        if reason not in STOPS:
            words = f"the agent ended its turn: {reason}"
            return self._told(error=words, stop_reason=reason)
        usage = self._heard.usage(result)
        error = None if self._heard.text or self._heard.tools else SILENCE
        return self._told(error=error, stop_reason=reason, usage=usage)

    def _failed(self, failed: AcpFailure, **more: Any) -> AgentTurn:
        cause, reason = failed.cause, failed.stop_reason
        error = {"error": str(failed), "wait": cause.wait, "problem": cause.problem}
        return self._told(stop_reason=reason, **error, **more)

    def _told(self, **more: Any) -> AgentTurn:
        known = {"text": self._heard.text, "usage": self._heard.usage(), **more}
        return AgentTurn(conversation=self._conversation, tools=self._heard.tools, **known)

    async def _within_its_time(self) -> dict[str, Any]:
        try:
            async with asyncio.timeout(self._request.timeout):
                return await self._speak()
        except TimeoutError:
            await self._cancel()
            raise AcpFailure(timed_out(self._request.timeout)) from None
        except (AcpFailure, asyncio.CancelledError):
            await self._cancel()
            raise
        except RequestError as error:
            logins = self._introduced.logins if self._introduced is not None else []
            raise refused(self._agent, error, logins, self._conversation, self._env) from error
        except ConnectionError as error:
            wrong = self._lines.problem
            raise await hung_up(self._agent, self._program, self._dialogue, wrong) from error

    async def _speak(self) -> dict[str, Any]:
        """The dialogue from its first word to the end of the turn."""
        self._introduced = await self._introduce()
        opened, is_new = await self._open(self._introduced)
        self._conversation = opened.session_id
        self._request.on_conversation(opened.session_id)
        await self._set_up(opened, self._introduced)
        self._heard.begin(is_new=is_new)
        request = self._request.afresh() if is_new else self._request
        prompt = [{"type": "text", "text": acp_session.worded(request.prompt)}]
        params = {"sessionId": opened.session_id, "prompt": prompt}
        asking = self._connection.send_request("session/prompt", params)
        self._prompting = asyncio.create_task(asking)
        # The answer to the prompt is still awaited when the turn is cancelled.
        await asyncio.wait((self._prompting, self._enough), return_when=asyncio.FIRST_COMPLETED)
        if self._steps.ending:
            raise AcpFailure(self._steps.ending, stop_reason=STOPPED)
        result = self._prompting.result()
        return result if isinstance(result, dict) else {}

    async def _introduce(self) -> Introduced:
        files = {"readTextFile": False, "writeTextFile": False}
        params = {
            "protocolVersion": PROTOCOL_VERSION,
            "clientCapabilities": {"fs": files, "terminal": False},
            "clientInfo": {"name": "hookline", "version": __version__},
        }
        introduced = await self._ask("initialize", params, Introduced)
        if introduced.agent_info is not None:
            named = by_acp_name(introduced.agent_info.name)
            self._agent = named if named.program else self._agent
        if introduced.protocol_version != PROTOCOL_VERSION:
            spoken = introduced.protocol_version
            raise AcpFailure(f"the agent speaks version {spoken} of the protocol, not 1")
        return introduced

    async def _open(self, introduced: Introduced) -> tuple[Opened, bool]:
        """The conversation, and whether it is a new one."""
        where = acp_session.place(os.path.abspath(self._talk.folder), self._request.tools)
        wanted = self._request.conversation
        if wanted and introduced.resuming is None:
            self._heard.notice("the agent cannot resume a conversation; starting a new one")
        elif wanted and introduced.resuming is not None:
            try:
                params = {"sessionId": wanted, **where}
                opened = await self._ask(introduced.resuming, params, Opened)
            except RequestError as error:
                if error.code == AUTH_REQUIRED:
                    raise
                self._heard.notice(f"the conversation is lost; starting a new one: {error}")
            else:
                opened.session_id = wanted
                return opened, False
        opened = await self._ask("session/new", where, Opened)
        if not opened.session_id:
            raise AcpFailure("the agent started a conversation without an id")
        return opened, True

    async def _set_up(self, opened: Opened, introduced: Introduced) -> None:
        """The model that the profile names, and a mode that changes nothing where there is one."""
        if opened.has_no_model:
            raise unable(problem(self._agent, "login", "it has no model"))
        if self._permissions == "read":
            modes = opened.choices("mode")
            mode = next((name for name in acp_session.READ_ONLY_MODES if name in modes), None)
            if mode is not None:
                await self._choose(opened, modes[mode])
            elif self._agent is OPENCODE:
                raise AcpFailure("this version of OpenCode cannot be made read-only")
        if self._model is not None:
            models = opened.choices("model")
            if self._model in models:
                await self._choose(opened, models[self._model])
            elif models:
                known = ", ".join(list(models)[:10])[:300]
                said = f"there is no '{self._model}'; there is {known}"
                raise unable(problem(self._agent, "model", said))
            else:
                self._heard.notice(
                    "the agent does not let Hookline choose its model; try `args` or `env`"
                )

    async def _choose(self, opened: Opened, choice: tuple[str, dict[str, str]]) -> None:
        method, params = choice
        await self._connection.send_request(method, {"sessionId": opened.session_id, **params})

    async def _ask(self, method: str, params: dict[str, Any], kind: type[Answer]) -> Answer:
        answer = await self._connection.send_request(method, params)
        try:
            return typed.convert(answer or {}, kind)
        except msgspec.ValidationError as why:
            raise AcpFailure(f"the agent's answer to {method} cannot be read: {why}") from None

    async def _cancel(self) -> None:
        """Let the agent end its turn in order, if it does so at once."""
        self._is_cancelled = True
        prompting = self._prompting
        if prompting is None:
            return
        try:
            if not prompting.done():
                async with asyncio.timeout(GRACE_SECONDS):
                    params = {"sessionId": self._conversation}
                    await self._connection.send_notification("session/cancel", params)
                    await asyncio.wait((prompting,))
        except (TimeoutError, ConnectionError):
            pass
        finally:
            # What it still says is dropped.
            if not prompting.cancel() and not prompting.cancelled():
                prompting.exception()

    def _stray(self, line: str) -> None:
        self._heard.notice(f"the agent printed something that is not a message: {line}")

    async def _asked(self, method: str, params: Any, is_notification: bool) -> Any:
        """What the agent wants of us; it was offered nothing but an ear and permissions."""
        if method == "session/update":
            self._heard.update(params)
            if self._steps.ending and not self._enough.done():
                self._enough.set_result(None)
        elif method == "session/request_permission" and not is_notification:
            return self._permit(params)
        elif not is_notification:
            raise RequestError.method_not_found(method)
        return None

    def _permit(self, params: Any) -> acp_session.Permission:
        try:
            asked = typed.convert(params, _Question)
        except msgspec.ValidationError as why:
            raise RequestError.invalid_params({"details": str(why)}) from None
        if self._is_cancelled:
            return acp_session.cancelled()
        tool = asked.tool_call
        kind = tool.kind or self._heard.kind_of(tool.tool_call_id) or "other"
        wanted = acp_session.verdict(self._permissions, kind)
        if wanted == "reject":
            self._heard.notice(f"refused, because it may change something: {tool.title or kind}")
        return acp_session.answer(wanted, asked.options)


class _Question(msgspec.Struct, rename="camel"):
    tool_call: acp_updates.Update
    options: list[acp_session.Option] = []
