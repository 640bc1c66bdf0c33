"""`hookline mcp`: the tools that agents call, over stdin and stdout or over HTTP."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hookline.errors import UsageError
from hookline.surfaces.cli.command import Command

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_SERVER = "hookline.surfaces.mcp"


def _arguments(p: ArgumentParser) -> None:
    help = "which tools to offer (default: all; inside a session: session)"
    p.add_argument("--tools", choices=("session", "core", "all"), help=help)
    p.add_argument("--no-commands", action="store_true", help="do not run commands from agents")
    p.add_argument(
        "--http", type=int, metavar="PORT", help="serve streamable HTTP; 0 takes any free port"
    )
    p.add_argument("--host", default="127.0.0.1", help="with --http (default 127.0.0.1)")
    help = "with --http: a file with the bearer token that clients send"
    p.add_argument("--token-file", metavar="F", help=help)


def _mcp(args: Namespace) -> int:
    given = {"tools": args.tools, "commands": not args.no_commands}
    if args.http is None:
        if args.token_file is not None or args.host != "127.0.0.1":
            raise UsageError("--host and --token-file need --http")
        return _serve("stdio", **given)
    if not 0 <= args.http <= 65535:
        raise UsageError(f"{args.http} is not a port")
    return _serve("http", host=args.host, port=args.http, token_file=args.token_file, **given)


def _serve(module: str, **given: Any) -> int:
    # Surfaces do not import each other; the server brings the protocol's library along.
    code: int = import_module(f"{_SERVER}.{module}").main(os.environ, **given)
    return code


COMMANDS = {"mcp": Command("serve tools to agents (MCP)", _arguments, _mcp)}
