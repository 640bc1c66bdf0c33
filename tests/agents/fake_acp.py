"""An agent that speaks the Agent Client Protocol and behaves as its first argument says.

A program of its own: `python fake_acp.py BEHAVIOUR`. What it is told it writes to `told.jsonl` in
its folder, so that tests read what an agent really received. It speaks the protocol by hand: the
library takes longer to load than most of these conversations last.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from queue import SimpleQueue
from typing import Any, NoReturn

CONVERSATION = "conversation-1"
OPTIONS = [
    {"optionId": "1", "name": "Always", "kind": "allow_always"},
    {"optionId": "2", "name": "Once", "kind": "allow_once"},
    {"optionId": "3", "name": "No", "kind": "reject_once"},
]
ANSWERS = {"1": "always", "2": "once", "3": "no"}
INTRODUCED = ("agentInfo", "authMethods")
END = {"stopReason": "end_turn"}
CANCELLED = {"stopReason": "cancelled"}


def note(**told: Any) -> None:
    """Write down what the agent was told."""
    with open("told.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(told) + "\n")


def send(**message: Any) -> None:
    """Say one thing to the client, in one write so that threads do not mix theirs."""
    os.write(1, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


class Refused(Exception):
    """An error that one side answers the other with."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.answer = {"code": code, "message": message, "data": data}


class Fake:
    """The agent's side of the protocol."""

    def __init__(self, behaviour: str) -> None:
        self._behaviour = behaviour
        # What a real agent answered, if that is to be played.
        self._played: dict[str, Any] = json.loads(os.environ.get("FAKE_PLAYS", "{}"))
        self._session = ""
        self._cancelled = threading.Event()
        self._answers: SimpleQueue[dict[str, Any]] = SimpleQueue()

    def serve(self) -> None:
        """Answer until the client hangs up."""
        for line in sys.stdin:
            message = json.loads(line)
            if "method" not in message:
                self._answers.put(message)
            elif message["method"] == "session/prompt":
                threading.Thread(target=self._answer, args=(message,), daemon=True).start()
            else:
                self._answer(message)

    def _answer(self, message: dict[str, Any]) -> None:
        act = getattr(self, "on_" + message["method"].replace("/", "_"))
        try:
            found = {"result": act(message["params"])}
        except Refused as refusal:
            found = {"error": refusal.answer}
        if "id" in message:
            send(id=message["id"], **found)

    def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        send(id=1, method=method, params={"sessionId": self._session, **params})
        answer = self._answers.get()
        if "error" in answer:
            raise Refused(answer["error"]["code"], answer["error"]["message"])
        found: dict[str, Any] = answer["result"]
        return found

    def _update(self, name: str, /, **fields: Any) -> None:
        update = {"sessionUpdate": name, **fields}
        send(method="session/update", params={"sessionId": self._session, "update": update})

    # What the client asks for

    def on_initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        note(method="initialize", version=params["protocolVersion"])
        can_resume: dict[str, Any] = {"resume": {}} if self._behaviour == "resumes" else {}
        login = {"id": "login", "name": "Log in", "description": "Run `fake login`"}
        return {
            "protocolVersion": 2 if self._behaviour == "newer" else params["protocolVersion"],
            "agentCapabilities": {
                "loadSession": self._behaviour in ("loads", "forgets"),
                "sessionCapabilities": can_resume,
            },
            "authMethods": [login],
            **{name: told for name, told in self._played.items() if name in INTRODUCED},
        }

    def on_session_new(self, params: dict[str, Any]) -> dict[str, Any]:
        if "new" in self._played:
            raise Refused(**self._played["new"])
        if self._behaviour == "locked":
            raise Refused(-32000, "Authentication required", {"message": "no account"})
        note(method="new", cwd=params["cwd"], servers=params["mcpServers"])
        self._session = CONVERSATION
        found: dict[str, Any] = {"sessionId": self._session}
        if "configOptions" in self._played:
            found["configOptions"] = self._played["configOptions"]
        if self._behaviour == "modes":
            modes = [{"id": "auto", "name": "Auto"}, {"id": "read-only", "name": "Read"}]
            found["modes"] = {"availableModes": modes, "currentModeId": "auto"}
        if self._behaviour == "models":
            sizes = [{"name": name, "value": name} for name in ("small", "large")]
            model = {"id": "m", "name": "Model", "category": "model", "type": "select"}
            found["configOptions"] = [{**model, "currentValue": "a", "options": sizes}]
        return found

    def on_session_load(self, params: dict[str, Any]) -> dict[str, Any]:
        self._session = params["sessionId"]
        note(method="load", session=self._session)
        if self._behaviour == "forgets":
            raise Refused(-32002, "Resource not found", {"uri": self._session})
        self._say("old words COMPLETE")
        self._tool("old", "old tool", kind="edit", status="completed")
        self._cost(1.5)
        return {}

    def on_session_resume(self, params: dict[str, Any]) -> dict[str, Any]:
        self._session = params["sessionId"]
        note(method="resume", session=self._session)
        return {}

    def on_session_set_config_option(self, params: dict[str, Any]) -> dict[str, Any]:
        note(method="option", option=params["configId"], value=params["value"])
        return {"configOptions": []}

    def on_session_set_mode(self, params: dict[str, Any]) -> dict[str, Any]:
        note(method="mode", mode=params["modeId"])
        return {}

    def on_session_cancel(self, params: dict[str, Any]) -> None:
        note(method="cancel", session=params["sessionId"])
        self._cancelled.set()

    def on_session_prompt(self, params: dict[str, Any]) -> dict[str, Any]:
        self._session = params["sessionId"]
        note(method="prompt", session=self._session, text=params["prompt"][0]["text"])
        act = getattr(self, f"_{self._behaviour}", self._works)
        answer: dict[str, Any] = act()
        return answer

    # How it behaves

    def _works(self) -> dict[str, Any]:
        self._say("I look at it. ")
        self._tool("t1", "write", kind="edit", status="pending")
        for status in ("in_progress", "completed"):
            self._tool_goes_on("t1", status, rawInput={"command": "make it"})
        self._tool("t2", "test", kind="execute", status="failed")
        self._say("It is ")
        self._say("done.")
        self._cost(1.75)
        used = {"totalTokens": 46, "inputTokens": 30, "outputTokens": 9, "cachedReadTokens": 7}
        return {**END, "usage": used}

    def _plays(self) -> dict[str, Any]:
        for update in self._played.get("updates", ()):
            send(method="session/update", params={"sessionId": self._session, "update": update})
        if "error" in self._played:
            raise Refused(**self._played["error"])
        answer: dict[str, Any] = self._played["result"]
        return answer

    def _asks(self) -> dict[str, Any]:
        heard = []
        for kind in ("read", "search", "edit", "execute", "delete", "other", "switch_mode"):
            call = {"toolCallId": kind, "title": f"a {kind}", "kind": kind}
            chosen = self._ask("session/request_permission", toolCall=call, options=OPTIONS)
            heard.append(f"{kind}={ANSWERS.get(chosen['outcome'].get('optionId'), 'none')}")
        self._say(" ".join(heard))
        return END

    def _allows_only(self) -> dict[str, Any]:
        call = {"toolCallId": "x", "title": "an edit", "kind": "edit"}
        chosen = self._ask("session/request_permission", toolCall=call, options=OPTIONS[:2])
        self._say(chosen["outcome"]["outcome"])
        return END

    def _waits(self) -> dict[str, Any]:
        self._say("half")
        self._cancelled.wait()
        return CANCELLED

    def _toils(self) -> dict[str, Any]:
        number = 0
        while not self._cancelled.is_set():
            number += 1
            both = [f"{number}{half}" for half in "ab"]
            for name in both:
                self._tool(name, f"dig {name}", kind="execute", status="pending")
            for name in both:
                self._tool_goes_on(name, "completed")
        return CANCELLED

    def _hangs(self) -> NoReturn:
        subprocess.Popen(("sleep", "600"))
        self._say("half")
        threading.Event().wait()
        raise AssertionError

    def _refuses(self) -> dict[str, Any]:
        self._say("I will not.")
        return {"stopReason": "refusal"}

    def _stops(self) -> dict[str, Any]:
        return CANCELLED

    def _silent(self) -> dict[str, Any]:
        return END

    def _limited(self) -> NoReturn:
        raise Refused(429, "You have reached your usage limit")

    def _throttled(self) -> NoReturn:
        raise Refused(503, "Slow down")

    def _overloaded(self) -> NoReturn:
        raise Refused(-32603, "Internal error", {"details": "529 Overloaded"})

    def _broken(self) -> NoReturn:
        raise Refused(-32603, "Internal error", {"details": "no such file"})

    def _dies(self) -> NoReturn:
        self._say("half")
        print("a bad end", file=sys.stderr, flush=True)
        os._exit(3)

    def _garbles(self) -> dict[str, Any]:
        for line in (b"loading...", b"[1, 2]", b'{"id": {}}', b"\xff\xfe", b"[" * 5000, b""):
            os.write(1, line + b"\n")
        unknown = {"sessionUpdate": "from_the_future", "x": 1}
        updates: list[Any] = [unknown, {"sessionUpdate": "agent_message_chunk"}, 7, None]
        for update in updates:
            send(method="session/update", params={"sessionId": self._session, "update": update})
        send(method="session/from_the_future", params={})
        send(method="session/update", params="no object")
        return self._works()

    def _floods(self) -> NoReturn:
        while True:
            os.write(1, b"y\n" * 4096)

    def _endless(self) -> NoReturn:
        while True:
            os.write(1, b"y" * 65536)

    def _wants_files(self) -> dict[str, Any]:
        try:
            self._ask("fs/read_text_file", path="/etc/hostname")
        except Refused as refusal:
            self._say(str(refusal))
        return {"stopReason": "max_tokens"}

    # What it tells meanwhile

    def _say(self, text: str) -> None:
        self._update("agent_message_chunk", content={"type": "text", "text": text})

    def _tool(self, name: str, title: str, **fields: str) -> None:
        self._update("tool_call", toolCallId=name, title=title, **fields)

    def _tool_goes_on(self, name: str, status: str, **fields: Any) -> None:
        self._update("tool_call_update", toolCallId=name, status=status, **fields)

    def _cost(self, amount: float) -> None:
        cost = {"amount": amount, "currency": "USD"}
        self._update("usage_update", used=1, size=2, cost=cost)


if __name__ == "__main__":
    Fake(sys.argv[1]).serve()
