"""A model that answers by a script, on loopback, for real agents that believe it.

    with ScriptedModel([Reply(calls=(Call("Write", {...}),)), Reply(text="done")]) as model: ...
    with ScriptedModel([Rule("FAILED", Reply(text="I fix it")), Rule("", Reply(text="ok"))]) as ...

Replies are given by their place: the first to a conversation without answers, the second to one
with one answer, and so on; the last serves for all that follow. Rules are asked in order: the
first whose expression is found in what the agent said since the last answer (or in all that it
said, with `anywhere`) gives the reply, `times` times at most. Nothing here depends on who asks
when, so that retries and several conversations at once are safe.
"""

from __future__ import annotations

import json
import re
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import msgspec

from tests.agents.dialects import DIALECTS, Asked, Call, Reply, read
from tests.agents.problems import http_error

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["Asked", "Call", "Reply", "Rule", "ScriptedModel"]

SIDE = Reply(text="ok")
SECRETS = {"authorization", "x-api-key", "cookie"}


class Rule(msgspec.Struct, frozen=True):
    """When to give a reply: a regular expression over what the agent said."""

    when: str
    reply: Reply
    anywhere: bool = False
    times: int | None = None


class ScriptedModel:
    """The server; `requests` are those that the script answered, in order."""

    def __init__(self, script: Sequence[Reply | Rule], port: int = 0) -> None:
        self.requests: list[Asked] = []
        self._given: list[tuple[Asked, Reply]] = []
        self._script = list(script)
        self._used: dict[int, int] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._asked = threading.Condition(self._lock)
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.model = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def port(self) -> int:
        """Where the model listens."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """The same as an address, without a path."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> ScriptedModel:
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def change(self, *script: Reply | Rule) -> None:
        """Answer by another script from now on."""
        with self._lock:
            self._script, self._used = list(script), {}

    def wait_for(self, count: int, timeout: float = 60) -> None:
        """Return when the script was asked this often."""
        with self._asked:
            if not self._asked.wait_for(lambda: len(self.requests) >= count, timeout):
                raise AssertionError(f"the model was asked {len(self.requests)} times")

    def hold(self, until: threading.Event | None = None) -> bool:
        """Keep whoever asked waiting until this has happened; False if the server ends before."""
        while not self._closing.wait(0.05):
            if until is not None and until.is_set():
                return True
        return False

    def given(self, asked: Asked, reply: Reply) -> None:
        """Note that a request was answered, by the script or beside it."""
        self._given.append((asked, reply))

    def counted(self, mark: str = "") -> tuple[int, int]:
        """The tokens, in and out, of all answers in conversations in which this was said."""
        usages = [reply.usage for asked, reply in self._given if re.search(mark, asked.history)]
        return sum(given for given, _ in usages), sum(made for _, made in usages)

    def answer(self, asked: Asked) -> Reply:
        """The reply to a request, by the script."""
        if not asked.tools:  # a title for the conversation, a probe: no part of the work
            first = self._script[0] if self._script else SIDE
            # An account that cannot be used is so for every request.
            return first if isinstance(first, Reply) and first.problem else SIDE
        with self._asked:
            self.requests.append(asked)
            self._asked.notify_all()
            for number, entry in enumerate(self._script):
                if isinstance(entry, Rule) and self._fits(number, entry, asked):
                    self._used[number] = self._used.get(number, 0) + 1
                    return entry.reply
        replies = [entry for entry in self._script if isinstance(entry, Reply)]
        if not replies:
            return Reply(text=f"no rule for: {asked.newest[:300]}")
        return replies[min(asked.answers, len(replies) - 1)]

    def _fits(self, number: int, rule: Rule, asked: Asked) -> bool:
        if rule.times is not None and self._used.get(number, 0) >= rule.times:
            return False
        return re.search(rule.when, asked.history if rule.anywhere else asked.newest) is not None

    # Environments in which agents speak to this model, and to nobody else

    def claude_env(self, home: Path) -> dict[str, str]:
        """For Claude Code, with a home of its own."""
        folder = home / ".claude"
        folder.mkdir(parents=True, exist_ok=True)
        return {
            "HOME": str(home),
            "CLAUDE_CONFIG_DIR": str(folder),
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": "sk-of-nobody",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",
        }

    def codex_home(self, home: Path) -> dict[str, str]:
        """For Codex, whose configuration is written into a home of its own."""
        folder = home / ".codex"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.toml").write_text(CODEX_CONFIG.replace("URL", self.url))
        return {"HOME": str(home), "CODEX_HOME": str(folder), "MODEL_KEY": "sk-of-nobody"}

    def opencode_env(self, home: Path) -> dict[str, str]:
        """For OpenCode, with its provider configured and nothing fetched."""
        _prepare_opencode(home, self.url)
        return {
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "XDG_DATA_HOME": str(home / ".local/share"),
            "XDG_CACHE_HOME": str(home / ".cache"),
            "XDG_STATE_HOME": str(home / ".local/state"),
            "OPENCODE_CONFIG": str(home / "opencode.json"),
            # Its own list, of thousands of models, costs it a second of every start.
            "OPENCODE_MODELS_PATH": str(home / "models.json"),
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            # Its index and its watcher of files can block its main thread for ever.
            "OPENCODE_DISABLE_FFF": "1",
            "OPENCODE_EXPERIMENTAL_DISABLE_FILEWATCHER": "1",
            # Nobody listens there: an install fails at once, and does not hang.
            "npm_config_registry": "http://127.0.0.1:9",
            "npm_config_fetch_retries": "0",
        }

    def gemini_env(self, home: Path) -> dict[str, str]:
        """For Gemini CLI, with an API key."""
        folder = home / ".gemini"
        folder.mkdir(parents=True, exist_ok=True)
        auth = {"selectedType": "gemini-api-key"}
        settings = {**QUIET, "security": {"auth": auth, "folderTrust": {"enabled": False}}}
        settings["general"] = {**QUIET["general"], "maxAttempts": 1, "retryFetchErrors": False}
        (folder / "settings.json").write_text(json.dumps(settings))
        return {
            "HOME": str(home),
            "GEMINI_CLI_HOME": str(home),
            "GEMINI_API_KEY": "of-nobody",
            "GOOGLE_GEMINI_BASE_URL": self.url,
            "GEMINI_CLI_NO_RELAUNCH": "true",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }

    def qwen_env(self, home: Path) -> dict[str, str]:
        """For Qwen Code, with a model of OpenAI's dialect."""
        folder = home / ".qwen"
        folder.mkdir(parents=True, exist_ok=True)
        auth = {"selectedType": "openai"}
        settings = {**QUIET, "security": {"auth": auth, "folderTrust": {"enabled": False}}}
        settings["model"] = {"generationConfig": {"maxRetries": 0}}
        (folder / "settings.json").write_text(json.dumps(settings))
        return {
            "HOME": str(home),
            "OPENAI_API_KEY": "sk-of-nobody",
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "OPENAI_MODEL": "scripted",
        }

    def copilot_env(self, home: Path) -> dict[str, str]:
        """For Copilot, with a provider of OpenAI's dialect in place of GitHub's."""
        return {
            "HOME": str(home),
            "COPILOT_HOME": str(home / ".copilot"),
            "COPILOT_PROVIDER_BASE_URL": f"{self.url}/v1",
            "COPILOT_PROVIDER_API_KEY": "sk-of-nobody",
            "COPILOT_MODEL": "scripted",
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
        }


QUIET = {
    "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
}
CODEX_CONFIG = """\
model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "URL/v1"
env_key = "MODEL_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false
[features]
plugins = false  # else it calls home at every start
apps = false
[analytics]
enabled = false
[feedback]
enabled = false
"""


# OpenCode's own plugin library: what is written here counts as installed.
OPENCODE_LOCK = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}


def _prepare_opencode(home: Path, url: str) -> None:
    """A home in which OpenCode finds nothing to install and no list of models to read."""
    installed = home / ".config/opencode"
    (installed / "node_modules").mkdir(parents=True, exist_ok=True)
    (installed / "package-lock.json").write_text(json.dumps(OPENCODE_LOCK))
    (home / "models.json").write_text("{}")
    (home / "opencode.json").write_text(json.dumps(_opencode_config(url)))


def _opencode_config(url: str) -> dict[str, Any]:
    limit = {"context": 200_000, "output": 8192}
    models = {"scripted": {"name": "Scripted", "tool_call": True, "limit": limit}}
    return {
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,  # its own undo, which takes several git processes a step
        "enabled_providers": ["scripted"],
        "provider": {
            "scripted": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "Scripted",
                "options": {"baseURL": f"{url}/v1", "apiKey": "sk-of-nobody"},
                "models": models,
            }
        },
    }


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # A handler that holds its agent ends with the server; nobody waits for it.
    block_on_close = False
    model: ScriptedModel

    def handle_error(self, request: Any, client_address: Any) -> None:
        """An agent that was killed breaks its connection; that is no failure of a test."""
        if isinstance(request, socket.socket):
            request.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: requests are kept, not printed."""

    def do_HEAD(self) -> None:
        self._empty(200)

    def do_CONNECT(self) -> None:
        self._empty(403)

    def do_GET(self) -> None:
        self._json(200, {"object": "list", "data": [], "models": []})

    def do_POST(self) -> None:
        path = self.path.split("?")[0]
        try:
            body = json.loads(self._body() or b"{}")
        except ValueError:
            return self._empty(400)
        if path.endswith("/count_tokens"):
            return self._json(200, {"input_tokens": 10})
        for ending, write in DIALECTS.items():
            if path.endswith(ending):
                return self._answer(path, body, write)
        return self._empty(404)

    def _answer(self, path: str, body: Any, write: Any) -> None:
        headers = {key.lower(): text for key, text in self.headers.items()}
        shown = {key: text for key, text in headers.items() if key not in SECRETS}
        model = self.server.model
        asked = read(path, shown, body)
        reply = model.answer(asked)
        if (reply.hold or reply.after) and not model.hold(reply.after):
            return None
        if reply.status != 200 or reply.problem is not None:
            wrong = http_error(path, reply)
            return self._json(wrong.status, wrong.body, reply.headers)
        model.given(asked, reply)
        answer = write(reply, body)
        if isinstance(answer, dict):
            return self._json(200, answer, reply.headers)
        self.send_response(200)
        for name, value in (("content-type", "text/event-stream"), *reply.headers):
            self.send_header(name, value)
        self.send_header("connection", "close")
        self.end_headers()
        for event in answer:
            self.wfile.write(event.encode())
            self.wfile.flush()
        self.close_connection = True
        return None

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _json(self, status: int, value: Any, headers: Any = ()) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        for name, text in (("content-type", "application/json"), *headers):
            self.send_header(name, text)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _empty(self, status: int) -> None:
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()
