"""URLs of stores on a server: what is in them, and how they are shown."""

from __future__ import annotations

import re

import msgspec

from hookline.errors import BadInput

SCHEMES = ("postgresql", "postgres")
PARAMETER = "project"
WAIT = "wait"
# What names the store in `.hookline/`.
EMBEDDED = "embedded"
_HOST = r"(?:\[[^\]@/?#]*\]|[^@:/?#,\[\]]*)(?::\d*)?"
_URL = re.compile(
    rf"(?:{'|'.join(SCHEMES)})://(?:[^@/?#]*@)?{_HOST}(?:,{_HOST})*(?:/[^@?#]*)?(?:\?[^#]*)?"
)
_PASSWORD = re.compile(r"(//[^:@/?#]*):[^@/?#]*@")
# What may be shown of what follows the question mark.
_HARMLESS = frozenset(
    {
        *("host", "hostaddr", "port", "user", "dbname", PARAMETER, WAIT),
        *("sslmode", "target_session_attrs", "connect_timeout"),
    }
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SECONDS = re.compile(r"[0-9]{1,5}")
_FORM = "postgresql://USER@HOST/DATABASE?project=NAME; write special characters as %40 and the like"


class StoreUrl(msgspec.Struct, frozen=True):
    """A database on a server, and the project in it, if the URL names one.

    `wait` is for how many seconds a server that went away is waited for.
    """

    server: str
    project: str | None
    shown: str
    wait: float | None = None


def read_store_url(url: str) -> StoreUrl:
    """The parts of a URL; what cannot be one is not repeated, because it may hold a password."""
    if _URL.fullmatch(url) is None:
        raise BadInput("this is not the URL of a store", help=_FORM)
    place, _, query = url.partition("?")
    found = [each for each in query.split("&") if each]
    ours = [each for each in found if each.startswith((f"{PARAMETER}=", f"{WAIT}="))]
    kept = "&".join(each for each in found if each not in ours)
    named = dict(each.split("=", 1) for each in ours)
    project, wait = named.get(PARAMETER), named.get(WAIT)
    if wait is not None and _SECONDS.fullmatch(wait) is None:
        raise BadInput("wait= in the URL of the store is not a number of seconds", help=_FORM)
    if project is not None and _NAME.fullmatch(project) is None:
        raise BadInput(f"project={project[:40]} in the URL of the store is not a name", help=_FORM)
    seconds = None if wait is None else float(wait)
    return StoreUrl(f"{place}?{kept}" if kept else place, project, shown_url(url), seconds)


def shown_url(url: str) -> str:
    """A URL without its password; what is not one is not shown."""
    if url == EMBEDDED:
        return url
    if _URL.fullmatch(url) is None:
        return "(not a URL)"
    place, mark, query = _PASSWORD.sub(r"\1:***@", url).partition("?")
    pairs = (each.partition("=") for each in query.split("&"))
    shown = (f"{name}={value if name in _HARMLESS else '***'}" for name, _, value in pairs)
    return f"{place}{mark}{'&'.join(shown) if query else ''}"


def with_project(url: str, name: str) -> str:
    """A URL that names a project, this one unless it names another."""
    if read_store_url(url).project is not None:
        return url
    return f"{url}{'&' if '?' in url else '?'}{PARAMETER}={name}"


def project_name(folder: str) -> str:
    """What a project is called if nobody says more than where it is."""
    return re.sub(r"[^A-Za-z0-9]+", "-", folder).strip("-")[:100] or PARAMETER
