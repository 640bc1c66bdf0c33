"""One call of a tool: the project opened for it, and who calls."""

from __future__ import annotations

import sys
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from hookline.app import App
from hookline.domain.text.display import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_NAME = 60
_SESSION = ("HOOKLINE_SESSION", "HOOKLINE_RUN_ID", "HOOKLINE_TASK_ID")


class Visit(NamedTuple):
    """What a tool works with.

    `agent` is the profile that the server was started for, which a client cannot choose;
    `commands` is whether agents may have commands of their own run.
    """

    app: App
    agent: str | None = None
    commands: bool = True


def in_session(environ: Mapping[str, str]) -> bool:
    """Whether a server was started for the agent of a session."""
    return all(environ.get(name) for name in ("HOOKLINE_DIR", *_SESSION))


@contextmanager
def opened(environ: Mapping[str, str], client: str | None, *, commands: bool) -> Iterator[Visit]:
    """The project as it is now: configuration and trust may have changed since the last call."""
    with closing(App.open(environ=signed(environ, client))) as app:
        yield Visit(app, environ.get("HOOKLINE_AGENT"), commands)


def signed(environ: Mapping[str, str], client: str | None) -> Mapping[str, str]:
    """The environment in which the caller has a name: its session's agent, or what it says."""
    name = "".join(char for char in client or "" if char.isprintable())[:MAX_NAME].strip()
    if environ.get("HOOKLINE_AGENT") or not name:
        return environ
    return {**environ, "HOOKLINE_AGENT": name}


def note(text: str) -> None:
    """Tell whoever reads the server's stderr."""
    print(f"hookline mcp: {visible(text)}", file=sys.stderr, flush=True)
