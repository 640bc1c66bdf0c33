"""What agents record about a turn that failed and do not say over the Agent Client Protocol.

OpenCode leaves out the status that its model's server answered with. Copilot says the error as if
its model had said it, and ends the turn as if nothing was wrong. Both record a code. Qwen Code says
the same about every status 429, and records what the server said.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from typing import Any

import msgspec

from hookline import typed
from hookline.adapters.agents.problems import FailedRequest
from hookline.files import open_regular

TAIL = 1 << 18
MAX_BODY = 1 << 16
# How long a record that is being written is waited for.
PATIENCE = 0.5
# What Copilot calls an error whose only code is the status.
_ANY = "query"
_OPENCODE = """
    SELECT json_extract(data, '$.error') FROM message
    WHERE session_id = ? ORDER BY time_created DESC, id DESC LIMIT 1
"""


class _Vendor(msgspec.Struct):
    """What a vendor's server says about an error."""

    code: str | int | None = None
    type: str | None = None


class _VendorBody(msgspec.Struct):
    error: _Vendor


class _OpenCodeDetails(msgspec.Struct, rename="camel"):
    message: str = ""
    status_code: int | None = None
    response_body: str = ""


class _OpenCodeError(msgspec.Struct):
    name: str = ""
    data: _OpenCodeDetails = msgspec.field(default_factory=_OpenCodeDetails)


def opencode_error(env: Mapping[str, str], conversation: str) -> FailedRequest | None:
    """The error in OpenCode's record of the last answer in a conversation, if it is one."""
    home = env.get("XDG_DATA_HOME") or os.path.join(env.get("HOME", ""), ".local", "share")
    path = os.path.join(home, "opencode", "opencode.db")
    try:
        address = f"file:{_quoted(path)}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=PATIENCE)) as database:
            row = database.execute(_OPENCODE, (conversation,)).fetchone()
    except sqlite3.Error:  # an older version, or a newer one
        return None
    try:
        error = typed.decode(row[0] if row and row[0] else "{}", _OpenCodeError)
    except msgspec.MsgspecError:
        return None
    if not error.name:
        return None
    code = "authentication" if error.name == "ProviderAuthError" else None
    details = error.data
    return FailedRequest(
        details.message, details.status_code, code or vendor_code(details.response_body)
    )


def _quoted(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def vendor_code(body: str) -> str | None:
    """The code in what a vendor's server sent with an error."""
    try:
        error = typed.decode(body[:MAX_BODY], _VendorBody).error
    except msgspec.MsgspecError:
        return None
    return error.code if isinstance(error.code, str) else error.type


class _CopilotError(msgspec.Struct, rename="camel"):
    message: str = ""
    error_type: str = ""
    status_code: int | None = None


class _CopilotEvent(msgspec.Struct):
    type: str
    data: Any = None


def copilot_error(env: Mapping[str, str], conversation: str) -> FailedRequest | None:
    """The error in Copilot's record of a conversation, if its last prompt ended in one."""
    home = env.get("COPILOT_HOME") or os.path.join(env.get("HOME", ""), ".copilot")
    path = os.path.join(home, "session-state", os.path.basename(conversation), "events.jsonl")
    for line in reversed(_tail(path)):
        with suppress(msgspec.MsgspecError):
            event = typed.decode(line, _CopilotEvent)
            if event.type == "user.message":
                return None
            if event.type == "session.error":
                error = typed.convert(event.data, _CopilotError)
                code = None if error.error_type == _ANY else error.error_type
                return FailedRequest(error.message, error.status_code, code)
    return None


class _QwenRequest(msgspec.Struct):
    error_message: str = ""
    status_code: int | None = None


class _QwenPayload(msgspec.Struct, rename="camel"):
    ui_event: _QwenRequest = msgspec.field(default_factory=_QwenRequest)


class _QwenEntry(msgspec.Struct, rename="camel"):
    type: str
    system_payload: _QwenPayload = msgspec.field(default_factory=_QwenPayload)


def qwen_limit(env: Mapping[str, str], conversation: str) -> FailedRequest | None:
    """The last status 429 in Qwen Code's record of a conversation, since the last prompt."""
    home = env.get("QWEN_HOME") or os.path.join(env.get("HOME", ""), ".qwen")
    projects = os.path.join(env.get("QWEN_RUNTIME_DIR") or home, "projects")
    name = f"{os.path.basename(conversation)}.jsonl"
    with suppress(OSError):
        for project in os.listdir(projects):
            for line in reversed(_tail(os.path.join(projects, project, "chats", name))):
                with suppress(msgspec.MsgspecError):
                    entry = typed.decode(line, _QwenEntry)
                    if entry.type == "user":
                        return None
                    failed = entry.system_payload.ui_event
                    if failed.status_code == 429:
                        return FailedRequest(failed.error_message.removeprefix("429 "), 429)
    return None


def _tail(path: str) -> list[bytes]:
    with suppress(OSError), open(open_regular(path), "rb") as file:
        file.seek(max(os.fstat(file.fileno()).st_size - TAIL, 0))
        return file.read(TAIL).split(b"\n")
    return []
