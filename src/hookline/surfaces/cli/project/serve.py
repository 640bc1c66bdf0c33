"""`hookline serve`: the page of a project, with its API."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from argparse import ArgumentParser, Namespace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hookline.domain.text.display import visible
from hookline.errors import INTERRUPTED, BadInput, UsageError
from hookline.project import user_folder
from hookline.surfaces.cli.command import Command
from hookline.surfaces.cli.opening import writing
from hookline.surfaces.cli.output import answer, note
from hookline.trust.page_tokens import PageTokens, page_file, page_tokens
from hookline.trust.people import refuse_agents

if TYPE_CHECKING:
    from socket import socket

_SERVER = "hookline.surfaces.web.server"
_TOOLS = "hookline.surfaces.mcp.http"
_SHARED = "hookline.surfaces.serving"
PORT = 8787
_ANY = ("0.0.0.0", "::")  # noqa: S104  # they are compared
_URL = re.compile(r"https?://[a-z0-9.-]+(?::[0-9]{1,5})?|https?://\[[0-9a-f:]+\](?::[0-9]{1,5})?")
TUNNEL = "ssh -L 8787:127.0.0.1:8787 HOST"


def _arguments(p: ArgumentParser) -> None:
    p.add_argument("--host", default="127.0.0.1", help="where to listen (default 127.0.0.1)")
    help = f"the port (default {PORT}); 0 takes any that is free"
    p.add_argument("--port", type=int, default=PORT, metavar="N", help=help)
    p.add_argument("--tls-cert", metavar="F", help="the certificate, for other machines")
    p.add_argument("--tls-key", metavar="F", help="the key of the certificate")
    help = "the URL of a proxy in front, which encrypts what leaves this machine"
    p.add_argument("--behind-proxy", metavar="URL", help=help)
    help = "also show an address for viewers, who can look but not decide"
    p.add_argument("--viewer-token", action="store_true", help=help)
    help = "replace the tokens: addresses that you shared stop working"
    p.add_argument("--new-tokens", action="store_true", help=help)
    help = "let N agents work on tasks at the same time, like `work`"
    p.add_argument("--agents", type=int, metavar="N", help=help)
    p.add_argument("--mcp", action="store_true", help="also serve the tools for agents, at /mcp")
    p.add_argument("--open", action="store_true", help="open the page in your browser")


def _serve(args: Namespace) -> int:
    refuse_agents(os.environ, "serve")
    _check(args)
    with writing() as app:
        root = app.project.root
        tokens = page_tokens(user_folder(os.environ), root, renew=args.new_tokens)
    shared, web = import_module(_SHARED), import_module(_SERVER)
    with shared.listening(args.host, args.port, "--port") as bound:
        url = _url(args, shared, *bound.getsockname()[:2])
        server = web.PageServer(_served(args, root, web, bound, url, tokens))
        page = f"{url}/#token={tokens.person}"
        _tell(args, url, page, tokens, bound.getsockname()[1])
        if args.open:
            _open(page_file(user_folder(os.environ), root, page))
        if args.agents is None:
            asyncio.run(server.serve())
            return INTERRUPTED
        with server.in_background():
            return _work(args)


def _check(args: Namespace) -> None:
    """Refuse what would send tokens and work over a network as plain text."""
    if not 0 <= args.port <= 65535:
        raise UsageError(f"{args.port} is not a port")
    if (args.tls_cert is None) != (args.tls_key is None):
        raise UsageError("--tls-cert and --tls-key need each other")
    if args.behind_proxy is not None and not _URL.fullmatch(args.behind_proxy):
        raise UsageError(
            "--behind-proxy needs the URL that browsers use, without a path",
            help="such as --behind-proxy https://hookline.example.org",
        )
    for path in (args.tls_cert, args.tls_key):
        if path is not None and not os.path.isfile(path):
            raise BadInput(f"there is no file {visible(path)}")
    if args.host in _ANY and args.behind_proxy is None and args.tls_cert is not None:
        raise UsageError(
            f"{args.host} is every address of this machine, and no name of it",
            help="give the name or address that browsers use: --host 192.0.2.7",
        )
    is_safe = args.tls_cert is not None or args.behind_proxy is not None
    if not is_safe and not import_module(_SHARED).is_loopback(args.host):
        raise UsageError(
            f"{visible(args.host)} can be reached from other machines, and nothing is encrypted",
            help=f"leave --host out and use `{TUNNEL}`; or give --tls-cert and --tls-key,"
            " or --behind-proxy URL",
        )


def _url(args: Namespace, shared: Any, name: str, port: int) -> str:
    if args.behind_proxy is not None:
        return str(args.behind_proxy)
    scheme = "http" if args.tls_cert is None else "https"
    host = name if shared.is_loopback(name) else args.host
    return f"{scheme}://{shared.as_in_url(host)}:{port}"


def _served(
    args: Namespace, root: str, web: Any, bound: socket, url: str, tokens: PageTokens
) -> Any:
    environ = dict(os.environ)
    return web.Served(
        root=root,
        environ=environ,
        roles=tokens.roles,
        bound=bound,
        url=url,
        note=lambda text: note(visible(text)),
        tools=_tools(web, environ) if args.mcp else None,
        tls=(args.tls_cert, args.tls_key) if args.tls_cert else None,
    )


def _tools(web: Any, environ: dict[str, str]) -> Any:
    def make() -> Any:
        # Surfaces do not import each other; the protocol's library is loaded only for this.
        desk, app = import_module(_TOOLS).endpoint(environ)
        return web.Tools(app, desk.close)

    return make


def _tell(args: Namespace, url: str, page: str, tokens: PageTokens, port: int) -> None:
    told = {"url": page, "port": port, "viewer": None, "tools": None}
    lines = [page]
    if args.viewer_token:
        told["viewer"] = f"{url}/#token={tokens.viewer}"
        lines.append(f"for viewers: {told['viewer']}")
    if args.mcp:
        told["tools"] = f"{url}/mcp"
        told["toolsToken"] = tokens.agent
        lines.append(f"tools for agents: {url}/mcp, with the bearer token {tokens.agent}")
    answer(args, told, *lines)
    sys.stdout.flush()
    if not args.json:
        note("anyone with such an address can do what its page can; ^C stops the server")


def _open(path: str) -> None:
    import webbrowser  # few want that
    from pathlib import Path

    webbrowser.open(Path(path).as_uri())


def _work(args: Namespace) -> int:
    """Let agents work meanwhile, as `hookline work` does."""
    from hookline.surfaces.cli.work.work import COMMANDS as WORK  # only with --agents

    parser = ArgumentParser()
    WORK["work"].arguments(parser)
    words = ["--agents", str(args.agents)]
    return WORK["work"].run(parser.parse_args(words, Namespace(json=args.json, words=words))) or 0


COMMANDS = {"serve": Command("show this project on a page in your browser", _arguments, _serve)}
