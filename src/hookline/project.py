"""Where things are: the project's root and `.hookline/` folder, and the user's own folder.

Paths are plain strings here, because every command needs this module and few need pathlib.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from hookline.errors import NoProject
from hookline.files import DATA_FOLDERS, DATABASE

CONFIG_NAME = "hookline.yaml"
FOLDER_NAME = ".hookline"


_WORKTREES = os.path.join(os.sep + FOLDER_NAME, "worktrees", "")


class Project(msgspec.Struct, frozen=True):
    """A project's root folder and the folder of Hookline's own files."""

    root: str
    folder: str

    @property
    def config(self) -> str:
        """The project's configuration file."""
        return os.path.join(self.root, CONFIG_NAME)

    @property
    def database(self) -> str:
        """The embedded store."""
        return os.path.join(self.folder, "hookline.db")

    @property
    def store_url(self) -> str:
        """Where the store is."""
        return f"sqlite://{self.database}"

    @property
    def blobs(self) -> str:
        """Large values, named by their content."""
        return os.path.join(self.folder, "blobs")

    @property
    def runs(self) -> str:
        """The folders of runs, where steering hooks keep what they like."""
        return os.path.join(self.folder, "runs")

    @property
    def hook_log(self) -> str:
        """The log of calls that a person can tail."""
        return os.path.join(self.folder, "logs", "hooks.log")


def find_project(start: str, env: Mapping[str, str]) -> Project:
    """The project that `start` is in, like git: the nearest folder that is marked as one."""
    forced = env.get("HOOKLINE_DIR")
    if forced:
        return _forced(os.path.abspath(forced))
    # In the worktree of one of its tasks, a project is the one that the task belongs to.
    root = os.path.abspath(start).partition(_WORKTREES)[0]
    home = user_folder(env)
    while True:
        folder = os.path.join(root, FOLDER_NAME)
        marked = os.path.isdir(folder) or os.path.isfile(os.path.join(root, CONFIG_NAME))
        if marked and root != home:
            return Project(root, folder)
        parent = os.path.dirname(root)
        if parent == root:
            raise NoProject
        root = parent


def _forced(folder: str) -> Project:
    """The project that HOOKLINE_DIR names."""
    root, name = os.path.split(folder)
    is_marked = os.path.isdir(folder) or os.path.isfile(os.path.join(root, CONFIG_NAME))
    if name != FOLDER_NAME or not is_marked:
        inside = os.path.join(folder, FOLDER_NAME)
        near = f"did you mean {inside}? " if os.path.isdir(inside) else ""
        raise NoProject(
            f"HOOKLINE_DIR is not a project's {FOLDER_NAME} folder: {folder}",
            help=f"{near}set it to the {FOLDER_NAME} folder of a project, or unset it",
        )
    return Project(root, folder)


# Every clone of a project has its folders elsewhere, and what is recorded is true of all of them.


def recorded_path(root: str, path: str) -> str:
    """A path in a project as it is recorded: as seen from the project's root."""
    return os.path.relpath(path, root)


def path_here(root: str, recorded: str) -> str:
    """Where a recorded path is on this machine; 0.2 recorded where it was on its own."""
    return os.path.normpath(os.path.join(root, recorded))


def is_in_worktrees(root: str, path: str) -> bool:
    """Whether a path leads into the worktrees of a project's tasks."""
    return os.path.normpath(path).startswith(root + _WORKTREES)


def is_own(path: str) -> bool:
    """Whether a path leads to a `.hookline` itself, or to what only Hookline writes in it."""
    _, found, inside = f"/{path}/".partition(f"/{FOLDER_NAME}/")
    name = inside.partition("/")[0]
    known = name in DATA_FOLDERS or name == "worktrees" or name.startswith(DATABASE[0])
    return bool(found) and (not name or known)


def user_name(env: Mapping[str, str]) -> str:
    """Who acts, where no agent does: as the environment says, else as the system knows them."""
    if named := env.get("USER"):
        return named
    import pwd  # only where nothing names the user, as in a container

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"


def user_folder(env: Mapping[str, str]) -> str:
    """The user's folder: configuration, hooks, trust, caches."""
    forced = env.get("HOOKLINE_HOME")
    if forced:
        return os.path.abspath(forced)
    base = env.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "hookline")
