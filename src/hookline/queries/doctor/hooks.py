"""The programs that configured hooks call: will the hooks find them?

Nothing is run or imported; words that the shell fills in are not checked.
"""

from __future__ import annotations

import os
import shutil
import socket
import stat
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hookline.config import load_settings
from hookline.domain.hooks.names import plain_names
from hookline.errors import HookFailure, HooklineError
from hookline.hooks.builtin import NOTIFY, notifies, secret_names
from hookline.hooks.builtin.notify.channels import desktop_program
from hookline.hooks.chains import with_children
from hookline.hooks.kinds import declares
from hookline.queries.doctor.checks import Diagnosis, failed, ok, skipped, warning
from hookline.wiring.working.inspection import is_refused
from hookline.wiring.working.profiles import first_program

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookline.hooks.registry import Hook
    from hookline.project import Project

_OWN_WORDS = frozenset(
    (
        *(".", ":", "[", "alias", "bg", "break", "case", "cd", "continue", "echo", "eval", "exit"),
        *("export", "false", "fg", "for", "getopts", "hash", "jobs", "kill", "printf", "pwd"),
        *("read", "readonly", "return", "set", "shift", "source", "test", "times", "trap", "true"),
        *("type", "ulimit", "umask", "unalias", "unset", "wait"),
    )
)
_UNKNOWN = frozenset("$`*?[{~")


_Found = Iterator[tuple["Hook", "Missing"]]


class Missing(Exception):
    """A hook's program is missing; `fix` says what to do about it."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.fix = fix


def path_checks(environ: Mapping[str, str]) -> Iterator[Diagnosis]:
    """PATH as hooks see it."""
    value = environ.get("PATH")
    if not value:
        yield warning("path", "PATH is not set: hooks find only the system's programs")
        return
    relative = [part for part in value.split(os.pathsep) if not os.path.isabs(part)]
    if relative:
        message = "PATH has relative folders: a repository could put programs before yours"
        yield warning("path", f"{message} ({value})", "remove empty and relative parts from PATH")
    else:
        yield ok("path", value)


def program_checks(project: Project, home: str, environ: Mapping[str, str]) -> Iterator[Diagnosis]:
    """Each configured hook: what it calls can be found."""
    hooks = load_settings(project, home).all_hooks
    if not hooks:
        yield skipped("hooks", "none is configured; the built-in ones run")
    called = plain_names(hook.name for hook in with_children(hooks))
    for hook in with_children(hooks):
        name = f"hook {called[hook.name]}"
        if not hook.enabled:
            yield skipped(name, "switched off")
        else:
            try:
                if (seen := _seen(hook, project, environ)) is not None:
                    yield ok(name, seen)
            except Missing as problem:
                yield failed(name, str(problem), f"{problem.fix} ({hook.origin})")


def _seen(hook: Hook, project: Project, environ: Mapping[str, str]) -> str | None:
    """What a hook would call; None if nothing is known of its kind."""
    look = _LOOKS.get(NOTIFY if notifies(hook) else hook.kind)
    if look is not None:
        return look(hook, project, environ)
    own = declares(hook.kind, "look")
    try:
        return None if own is None else str(own(hook, project.root, environ))
    except HooklineError as problem:
        raise Missing(problem.message, problem.help or "correct the hook") from problem


def missing(hooks: Sequence[Hook], project: Project, environ: Mapping[str, str]) -> _Found:
    """The hooks whose function, file or server cannot be called, wherever they are installed.

    Of notifications, those whose variables are not set. Scripts are checked when the configuration
    is read, programs on PATH by `doctor`.
    """
    for hook in with_children(hooks):
        word = first_program(hook.target) if hook.kind == "command" else None
        if hook.kind in ("python", "http") or (word is not None and "/" in word):
            try:
                _LOOKS[hook.kind](hook, project, environ)
            except Missing as problem:
                yield hook, problem
    # What cannot name a variable is reported as that, and may be a secret.
    named = [
        h for h in hooks if (names := secret_names(h)) and all(n.isidentifier() for n in names)
    ]
    yield from silent(named, project, environ)


def silent(hooks: Sequence[Hook], project: Project, environ: Mapping[str, str]) -> _Found:
    """The notifications that cannot be sent from this machine."""
    for hook in hooks:
        if notifies(hook) and hook.enabled:
            try:
                _notify(hook, project, environ)
            except Missing as problem:
                yield hook, problem


def _command(hook: Hook, project: Project, environ: Mapping[str, str]) -> str:
    word = first_program(hook.target)
    if word is None or word in _OWN_WORDS:
        return f"shell line: {hook.target}"
    if not _UNKNOWN.isdisjoint(word):
        return f"{word} is filled in when it runs"
    return f"calls {_found(word, project, _search_path(hook, environ))}"


def _search_path(hook: Hook, environ: Mapping[str, str]) -> str:
    return hook.env.get("PATH") or environ.get("PATH") or os.defpath


def _found(word: str, project: Project, path: str) -> str:
    if "/" in word:
        return _executable(os.path.join(project.root, word), word)
    found = shutil.which(word, path=path)
    if found is None:
        raise Missing(f"{word} is not on PATH", f"install {word}, or give its full path")
    return found


def _executable(path: str, shown: str) -> str:
    if not os.path.isfile(path):
        raise Missing(f"{shown} does not exist", "correct the path, or remove the hook")
    if not os.access(path, os.X_OK) or not os.stat(path).st_mode & stat.S_IXUSR:
        raise Missing(f"{shown} is not executable", f"chmod +x '{path}'")
    return path


def _script(hook: Hook, project: Project, environ: Mapping[str, str]) -> str:
    path = os.path.join(project.root, hook.target)
    shown = os.path.relpath(path, project.root) if hook.layer == "project" else path
    with open(_executable(path, shown), "rb") as file:
        line = file.readline(256)
    if not line.startswith(b"#!"):
        return f"runs {shown}"
    words = os.fsdecode(line[2:]).split()
    if words and os.path.basename(words[0]) == "env":
        words = [each for each in words[1:] if not each.startswith("-")]
    if not words or not shutil.which(words[0], path=_search_path(hook, environ)):
        named = words[0] if words else "nothing"
        raise Missing(f"{shown} needs {named}, which does not exist", "fix its first line")
    return f"runs {shown} with {words[0]}"


def _python(hook: Hook, project: Project, environ: Mapping[str, str]) -> str:
    module, _, function = hook.target.partition(":")
    if not module or not function:
        raise Missing(f"'{hook.target}' does not name a function", "write it as module:function")
    where = _module_place([project.root, *sys.path], module)
    if where is None:
        fix = f"create {module.replace('.', '/')}.py, or install it next to Hookline"
        raise Missing(f"there is no module '{module}' for {sys.executable}", fix)
    return f"calls {function} of {where}"


def _module_place(path: Sequence[str], module: str) -> str | None:
    """Where a module would be loaded from; its packages are not imported."""
    name, place = "", None
    if module.partition(".")[0] in sys.builtin_module_names or module in sys.modules:
        return module
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        spec = PathFinder.find_spec(part, list(path))
        if spec is None:
            return None
        place = spec.origin or name
        path = list(spec.submodule_search_locations or ())
    return place


def _http(hook: Hook, project: Project, environ: Mapping[str, str]) -> str:
    fix = "write it as https://HOST/PATH"
    try:
        parts = urlsplit(hook.target)
        host, _ = parts.hostname, parts.port
    except ValueError as problem:
        raise Missing(f"{hook.target} is not a URL: {problem}", fix) from problem
    if parts.scheme not in ("http", "https") or not host:
        raise Missing(f"{hook.target} is not an http or https URL", fix)
    if _is_refused(host):
        raise Missing(f"hooks may not call {host}, an address of the machine's own cloud", fix)
    return f"calls {host}; it was not contacted"


def _notify(hook: Hook, project: Project, environ: Mapping[str, str]) -> str:
    """What a notification needs on this machine; no server is contacted."""
    channel = str(hook.metadata["arguments"]["channel"])
    for name in secret_names(hook):
        if not environ.get(name):
            raise Missing(f"{name} is not set", f"set {name} where Hookline is started")
    if channel == "desktop":
        try:
            return f"shows notifications with {desktop_program({**environ, **hook.env})}"
        except HookFailure as problem:
            raise Missing(problem.message, "install notify-send, or use another channel") from None
    return f"notifies by {channel}; try it with `hookline hook test '{hook.name}'`"


def _is_refused(host: str) -> bool:
    """Whether a host is a refused address, in any notation."""
    try:
        found = socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)
    except OSError:  # a name, which is not resolved here
        return False
    return any(is_refused(str(each[4][0])) for each in found)


_LOOKS: dict[str, Callable[[Hook, Project, Mapping[str, str]], str]] = {
    "command": _command,
    "script": _script,
    "python": _python,
    "http": _http,
    NOTIFY: _notify,
}
