"""Whether someone is logged in to an agent: by its own command, or by its variables and files.

Nothing is sent to a model. Where an agent may have a login that cannot be seen, such as in a
system's keyring, the answer is that nothing is known.
"""

from __future__ import annotations

import os
import re
import tomllib
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline import typed
from hookline.adapters.agents.known_agents import CLAUDE, CODEX, COPILOT, GEMINI, OPENCODE, QWEN
from hookline.files import read_regular

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from hookline.ports.agents import HealthCheck

MAX_FILE = 1 << 20
_COPILOT_USER = re.compile(rb'"(?:lastLoggedInUser|loggedInUsers)"\s*:\s*[\[{]\s*[{"]')
_CREDENTIALS = re.compile(r"(\d+) (?:credentials?|environment variables?)\b")


class Login(NamedTuple):
    """Whether someone is logged in, None if unknown, and by what."""

    is_in: bool | None = None
    by: str = ""


class _ClaudeState(msgspec.Struct, rename="camel"):
    logged_in: bool
    auth_method: str = ""


async def _claude(program: str, check: HealthCheck) -> Login:
    done = await check.run((program, "auth", "status"))
    try:
        told = typed.decode(done.stdout if done else "", _ClaudeState)
    except msgspec.MsgspecError:
        return Login()
    return Login(told.logged_in, told.auth_method)


async def _codex(program: str, check: HealthCheck) -> Login:
    own = _codex_provider(check.env)
    if own is not None:  # a provider of the user's own needs no login, but may need a key
        name = own.get("env_key")
        is_in = not isinstance(name, str) or bool(check.env.get(name))
        return Login(is_in, str(name or own.get("name", "")))
    if name := _variable(check.env, "CODEX_API_KEY", "CODEX_ACCESS_TOKEN"):
        return Login(True, name)
    done = await check.run((program, "login", "status"))
    return Login() if done is None or done.timed_out else Login(done.exit_code == 0)


def _codex_provider(env: Mapping[str, str]) -> dict[str, Any] | None:
    """The model provider that the user's configuration defines and uses, if it does."""
    text = _read(env, env.get("CODEX_HOME") or ".codex", "config.toml") or b""
    try:
        config = tomllib.loads(text.decode())
        found = config["model_providers"][config["model_provider"]]
    except (ValueError, LookupError, TypeError):
        return None
    return found if isinstance(found, dict) else None


async def _opencode(program: str, check: HealthCheck) -> Login:
    """It has credentials, or keys in variables, or models that need neither."""
    env = {**check.env, "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    check = msgspec.structs.replace(check, env=env)
    done = await check.run((program, "auth", "list"))
    counts = [int(each) for each in _CREDENTIALS.findall(done.stdout if done else "")]
    if any(counts):
        return Login(True)
    models = await check.run((program, "models"))
    if models is None or models.exit_code or not counts:
        return Login()
    return Login(None, "some models need none") if models.stdout.strip() else Login(False)


async def _gemini(program: str, check: HealthCheck) -> Login:
    env = check.env
    if name := _variable(env, "GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_GCA"):
        return Login(True, name)
    folder = os.path.join(env.get("GEMINI_CLI_HOME", ""), ".gemini")
    if _read(env, folder, "oauth_creds.json"):
        return Login(True, "oauth_creds.json")
    # It may keep a login in a keyring, and a key in a file of variables.
    settings = _settings(env, folder)
    may_be = _auth(settings, "selectedType") or _read(env, folder, ".env") or _read(env, ".env")
    return Login(None if may_be else False)


async def _copilot(program: str, check: HealthCheck) -> Login:
    env = check.env
    names = ("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_BASE_URL")
    if name := _variable(env, *names):
        return Login(True, name)
    # A login is kept in a keyring; the file says whose.
    told = _read(env, env.get("COPILOT_HOME") or ".copilot", "config.json") or b""
    return Login(True, "config.json") if _COPILOT_USER.search(told) else Login()


async def _qwen(program: str, check: HealthCheck) -> Login:
    env = check.env
    names = (
        *("OPENAI_API_KEY", "BAILIAN_CODING_PLAN_API_KEY", "BAILIAN_TOKEN_PLAN_API_KEY"),
        *("OPENROUTER_API_KEY", "REQUESTY_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY"),
    )
    if name := _variable(env, *names):
        return Login(True, name)
    settings = _settings(env, ".qwen")
    if _auth(settings, "apiKey"):
        return Login(True, "settings.json")
    if _read(env, ".qwen", "oauth_creds.json"):
        return Login(True, "oauth_creds.json")
    may_be = settings.get("env") or settings.get("modelProviders") or _read(env, ".qwen", ".env")
    return Login(None if may_be else False)


LOGINS: dict[str, Callable[[str, HealthCheck], Awaitable[Login]]] = {
    CLAUDE.program: _claude,
    CODEX.program: _codex,
    OPENCODE.program: _opencode,
    GEMINI.program: _gemini,
    COPILOT.program: _copilot,
    QWEN.program: _qwen,
}


def _variable(env: Mapping[str, str], *names: str) -> str | None:
    """The first of these variables that has a value."""
    return next((name for name in names if env.get(name)), None)


def _read(env: Mapping[str, str], *parts: str) -> bytes | None:
    """A file in the user's home folder; None if there is none."""
    home = env.get("HOME") or os.path.expanduser("~")
    try:
        return read_regular(os.path.join(home, *parts), MAX_FILE)
    except OSError:
        return None


def _settings(env: Mapping[str, str], folder: str) -> dict[str, Any]:
    try:
        return typed.decode(_read(env, folder, "settings.json") or b"{}", dict)
    except msgspec.MsgspecError:
        return {}


def _auth(settings: dict[str, Any], key: str) -> Any:
    """What settings say about logging in."""
    try:
        return settings["security"]["auth"].get(key)
    except (LookupError, TypeError, AttributeError):
        return None
