"""The drivers by name: any program, and a script of turns for demos and tests."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.turns import AgentTurn
from hookline.errors import BadInput, HooklineError
from hookline.ports import CannotStart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookline.ports import Processes, ProcessGroup


class LocalAgents:
    """Turns of the agents that the configuration names."""

    def __init__(
        self, profiles: Mapping[str, Any], default: str | None, root: str, processes: Processes
    ) -> None:
        self._profiles = profiles
        self._default = default
        self._root = root
        self._processes = processes

    async def turn(
        self,
        name: str | None,
        prompt: str,
        *,
        env: Mapping[str, str],
        timeout: float,
        on_start: Callable[[ProcessGroup], None],
        on_conversation: Callable[[str], None],
    ) -> AgentTurn:
        """One turn of an agent; what goes wrong with it is part of the turn."""
        profile = self._profile(name)
        if profile.driver == "scripted":
            return self._scripted(profile, env)
        if profile.driver != "command":
            raise HooklineError(f"agents of driver '{profile.driver}' cannot run in this version")
        on_conversation(env.get("HOOKLINE_IDEMPOTENCY_KEY", ""))
        return await self._command(profile, prompt, {**env, **profile.env}, timeout, on_start)

    def _profile(self, name: str | None) -> Any:
        wanted = name or self._default or next(iter(self._profiles), None)
        if wanted is None or wanted not in self._profiles:
            raise BadInput(
                f"there is no agent '{wanted}'" if wanted else "no agent is configured",
                help="agents are listed under `agents:` in hookline.yaml",
            )
        return self._profiles[wanted]

    async def _command(
        self,
        profile: Any,
        prompt: str,
        env: Mapping[str, str],
        timeout: float,
        on_start: Callable[[ProcessGroup], None],
    ) -> AgentTurn:
        line, stdin, path = profile.command, b"", None
        if profile.input == "stdin":
            stdin = prompt.encode("utf-8", "replace")
        elif profile.input == "argument":
            line = f'{line} "$HOOKLINE_PROMPT"'
            env = {**env, "HOOKLINE_PROMPT": prompt}
        else:
            path = _prompt_file(prompt)
            env = {**env, "HOOKLINE_PROMPT_FILE": path}
        try:
            done = await self._processes.run(
                ("/bin/sh", "-c", line),
                cwd=self._root,
                env=env,
                timeout=timeout,
                stdin=stdin,
                on_start=on_start,
            )
        except CannotStart as problem:
            return AgentTurn(text="", error=str(problem))
        finally:
            if path is not None:
                os.unlink(path)
        error = None
        if done.timed_out:
            error = f"the agent did not end within {timeout:g} s; it was killed"
        elif done.exit_code:
            error = f"the agent exited {done.exit_code}: {done.stderr.strip()[-300:]}"
        return AgentTurn(text=done.stdout, error=error)

    def _scripted(self, profile: Any, env: Mapping[str, str]) -> AgentTurn:
        """The turn that a file has for this effect, or its next one by ordinal."""
        path = os.path.join(self._root, profile.script)
        try:
            with open(path, "rb") as file:
                turns = msgspec.json.decode(file.read(), type=list[AgentTurn])
        except (OSError, msgspec.MsgspecError) as problem:
            raise BadInput(f"{profile.script} is no script of turns: {problem}") from problem
        _, _, ordinal = env.get("HOOKLINE_EFFECT_ID", "").partition("#")
        number = int(ordinal) - 1 if ordinal.isdigit() else 0
        if not turns:
            raise BadInput(f"{profile.script} has no turns")
        return turns[min(number, len(turns) - 1)]


def _prompt_file(prompt: str) -> str:
    handle, path = tempfile.mkstemp(prefix="hookline-prompt-", suffix=".md")
    with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
        file.write(prompt)
    return path
