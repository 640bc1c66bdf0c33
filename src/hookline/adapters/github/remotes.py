"""Which repository of which host a git remote's URL names, and where its REST interface is."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urlsplit

from hookline.domain.work.forge import ForgeSetup

_NAME = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9_.-]{1,100}")
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_SCP_LIKE = re.compile(r"(?:[^/@:]+@)?(?P<host>[^/@:]+):(?P<path>[^:]+)")
_SCHEMES = ("https", "http", "ssh", "git", "git+ssh", "ssh+git")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class GitHubRepository(NamedTuple):
    """A repository of a forge."""

    host: str
    owner: str
    name: str

    def __str__(self) -> str:
        return f"{self.owner}/{self.name}"


def repository(remote: str) -> GitHubRepository:
    """The repository that a remote's URL names, in git's https and ssh forms."""
    host, path = _host_and_path(remote.strip())
    parts = path.strip("/").removesuffix(".git").split("/")
    if len(parts) != 2 or not _HOST.fullmatch(host) or not all(map(_NAME.fullmatch, parts)):
        # A remote may hold a password, so that it is not shown here.
        help = "it must look like https://github.com/OWNER/NAME or git@github.com:OWNER/NAME; "
        help += "`git remote -v` shows it"
        raise ForgeSetup("the remote's URL is not a GitHub repository", help=help)
    return GitHubRepository(host.lower(), *parts)


def _host_and_path(remote: str) -> tuple[str, str]:
    if "://" not in remote:
        found = _SCP_LIKE.fullmatch(remote)
        return (found["host"], found["path"]) if found else ("", "")
    try:
        parts = urlsplit(remote)
        host = parts.hostname or ""
    except ValueError:
        return "", ""
    plain = parts.scheme in _SCHEMES and not parts.query and not parts.fragment
    return (host, parts.path) if plain else ("", "")


def rest_address(host: str, named: str | None) -> str:
    """The address of the REST interface: the one that was named, else GitHub's own for the host.

    Another host is never guessed from the remote: a token would be sent there.
    """
    if named:
        return _checked(named)
    if host in ("github.com", "ssh.github.com", "www.github.com"):
        return "https://api.github.com"
    if host.endswith(".ghe.com"):
        return f"https://api.{host}"
    words = f"{host} is not github.com, and its REST API address is not set"
    help = f"set GITHUB_API_URL, for GitHub Enterprise Server https://{host}/api/v3"
    raise ForgeSetup(words, help=help)


def _checked(address: str) -> str:
    try:
        parts = urlsplit(address.strip().rstrip("/"))
        named = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        named = False
    if not named or parts.username or parts.password or parts.query or parts.fragment:
        help = "write it as https://HOST/api/v3, without user, password or query"
        raise ForgeSetup("the address of GitHub's REST API is not a plain URL", help=help)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(address)):
        words = f"the address of {parts.hostname} must begin with https://"
        raise ForgeSetup(f"{words}: a token is sent there")
    return parts.geturl()


def is_loopback(address: str) -> bool:
    """Whether an address stays on this machine."""
    return urlsplit(address).hostname in _LOOPBACK
