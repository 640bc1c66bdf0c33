"""Which files trust covers: what the repository's hooks are made of and name literally."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hookline.domain.hooks.names import short_name
from hookline.errors import Untrusted
from hookline.files import text_of
from hookline.hooks.chains import with_children
from hookline.hooks.registry import FILE, FUNCTION, LINE, NOTHING, Hook
from hookline.plugins import KINDS
from hookline.trust.shell_paths import literal_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from hookline.project import Project

AUTOMATION_HOOKS = os.path.join("data", "automation-hooks.json")
COVERED_FOLDERS = ("hooks", "flows")
MAX_FILES = 4096
_MAX_BASES = 16
CODE_ENDINGS = frozenset(
    ".sh .bash .zsh .fish .py .pyw .js .mjs .cjs .ts .rb .pl .pm .php .lua .tcl .awk .sed .jq .sql"
    " .mk .cmake .gradle .groovy .r .ps1 .yml .yaml .toml .ini .cfg .conf".split()
)
CODE_NAMES = frozenset(
    "Makefile makefile GNUmakefile justfile Justfile Rakefile Dockerfile".split()
)
_LINE_KEYS = frozenset({"command", "run", "script", "args", "env", "options"})


def covered_uses(
    project: Project, hooks: Sequence[Hook], extra: Iterable[str] = ()
) -> dict[str, str]:
    """Absolute path -> its first use, for all that trust covers and that exists.

    `extra` are files that the configuration names elsewhere. Raises Untrusted when the hook
    folders hold more than anyone could look at.
    """
    uses: dict[str, str] = {}
    for path in (project.config, os.path.join(project.root, AUTOMATION_HOOKS)):
        if os.path.lexists(path):
            uses[path] = "configuration"
    for name in COVERED_FOLDERS:
        top = os.path.join(project.folder, name)
        uses.update(dict.fromkeys(_files_under(top), f"in the {name} folder"))
    for hook in with_children(hooks):
        if hook.layer == "project":
            for path in _hook_files(project, hook):
                uses.setdefault(path, f"hook {short_name(hook.name)}")
    for path in extra:
        for found in _whole(project, path):
            uses.setdefault(found, "named in the configuration")
    return uses


def named_files(project: Project, line: str) -> list[str]:
    """The project's files that a shell line names and could run or be steered by.

    Names count from the root or from a folder that the line names. A file that is only data,
    such as a report, does not count: many hooks write one, and would undo their own trust.
    """
    bases = [project.root]
    found: list[str] = []
    for word, is_script in literal_words(line):
        for base in tuple(bases):
            path = _inside(project.root, os.path.join(base, word))
            if path is None:
                continue
            if os.path.isfile(path):
                if is_script or _is_code(path):
                    found.append(path)
            elif os.path.isdir(path) and path not in bases and len(bases) < _MAX_BASES:
                bases.append(path)  # `cd tools && ./check.sh`
    return found


def _is_code(path: str) -> bool:
    name = os.path.basename(path)
    if name in CODE_NAMES or os.path.splitext(name)[1] in CODE_ENDINGS:
        return True
    try:
        if os.stat(path).st_mode & 0o111:
            return True
        with open(path, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return True  # what cannot be looked at may be anything


def module_files(project: Project, module: str) -> list[str]:
    """All that `import module` could load from the root, so that nothing can be put before it."""
    parts = module.split(".")
    if not all(part.isidentifier() for part in parts):
        return []
    found: list[str] = []
    folder = project.root
    for part in parts:
        found += _importable(folder, part)
        folder = os.path.join(folder, part)
        found += _importable(folder, "__init__")
    return found


def keyed_files(project: Project, data: object) -> Iterator[str]:
    """The project's files named anywhere in configuration data, under keys that are run or read.

    Other text, such as the goal of a task, may mention a file without using it.
    """
    if isinstance(data, dict):
        for key, value in data.items():
            if key in _LINE_KEYS:
                for line in _texts(value):
                    yield from _program_files(project, line)
            elif isinstance(value, str) and (key == "python" or (key == "flow" and ":" in value)):
                yield from _python_files(project, value)
            elif key in ("prompt", "promptFile") and isinstance(value, str):
                yield from _whole(project, value)
            else:
                yield from keyed_files(project, value)
    elif isinstance(data, list | tuple):
        for each in data:
            yield from keyed_files(project, each)


def command_lines(hook: Hook) -> Iterator[str]:
    """The shell lines of a hook that run where the work is, and what else they are given."""
    if hook.runs in (LINE, None):
        yield from _texts(_value(hook))
    yield from hook.env.values()
    yield from _keyed_lines(hook.metadata)


def _keyed_lines(data: object) -> Iterator[str]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _texts(value) if key in _LINE_KEYS else _keyed_lines(value)
    elif isinstance(data, list | tuple):
        for each in data:
            yield from _keyed_lines(each)


def _value(hook: Hook) -> tuple[str, object]:
    """Where a kind has put what its value says; one of a plugin may put it anywhere."""
    is_own = hook.kind in KINDS.own
    return hook.target, hook.metadata.get("arguments") if is_own else hook.metadata


def _hook_files(project: Project, hook: Hook) -> Iterator[str]:
    for text in _texts(_value(hook)):
        yield from _NAMED_BY[hook.runs](project, text)
    yield from keyed_files(project, {"env": hook.env, "metadata": hook.metadata})


def _python_files(project: Project, target: str) -> Iterator[str]:
    module = target.partition(":")[0]
    yield from module_files(project, module)
    yield from _whole(project, module)


def _program_files(project: Project, line: str) -> Iterator[str]:
    yield from _whole(project, line)  # a script's path may hold spaces
    yield from named_files(project, line)


def _any_files(project: Project, text: str) -> Iterator[str]:
    yield from _program_files(project, text)
    yield from _python_files(project, text)


def _texts(value: object) -> Iterator[str]:
    """Every text in a value, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def _whole(project: Project, path: str) -> list[str]:
    found = _inside(project.root, os.path.join(project.root, path)) if path else None
    return [found] if found is not None and os.path.isfile(found) else []


def _inside(root: str, path: str) -> str | None:
    """The existing path without `..`, if it is in the project; its last link is kept."""
    if not os.path.lexists(path):
        return None
    plain = os.path.normpath(path)
    # `link/..` is not where it seems to be, so only the file system can resolve it.
    if ".." not in path.split("/") and _is_under(root, plain):
        return plain
    real_root = os.path.realpath(root)
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    if os.path.basename(real) != ".." and _is_under(real_root, real):
        return os.path.join(root, os.path.relpath(real, real_root))
    return None


def _is_under(root: str, path: str) -> bool:
    return path.startswith(root.rstrip("/") + "/")


def _importable(folder: str, stem: str) -> list[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [
        os.path.join(folder, name)
        for name in names
        if name.startswith(f"{stem}.") and name.endswith((".py", ".pyc", ".so"))
    ]


def _files_under(top: str) -> list[str]:
    """Every file below, hidden ones too, through linked folders; such links are listed as well."""
    found: list[str] = []
    seen = 0
    pending: list[tuple[str, frozenset[tuple[int, int]]]] = [(top, frozenset())]
    while pending:
        folder, above = pending.pop()
        if os.path.islink(folder):
            found.append(folder)
        try:
            status = os.stat(folder)
            paths = [os.path.join(folder, name) for name in os.listdir(folder)]
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            found.append(folder)  # what cannot be listed still counts
            continue
        seen += len(paths)
        _check_count(top, seen)
        identity = (status.st_dev, status.st_ino)
        if identity in above:  # a link to a folder above itself would never end
            continue
        folders = [path for path in paths if os.path.isdir(path)]
        pending += [(path, above | {identity}) for path in folders]
        found += set(paths).difference(folders)
    return found


def _check_count(top: str, seen: int) -> None:
    if seen > MAX_FILES:
        message = f"{text_of(top)} holds more than {MAX_FILES} files, too many to be verified"
        raise Untrusted(message, help="keep only hooks there; check for a link to a large folder")


_NAMED_BY: dict[str | None, Callable[[Project, str], Iterable[str]]] = {
    LINE: _program_files,
    FILE: _whole,
    FUNCTION: _python_files,
    NOTHING: lambda project, text: (),
    None: _any_files,
}
