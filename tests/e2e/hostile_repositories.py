"""Forty-five repositories that try to run their own code, or to be written through, when looked at.

Whatever runs leaves a file in `canary`; whatever is written through a link changes `outside`.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from hookline.adapters.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GIT_HOOKS = (
    *("pre-commit", "post-commit", "post-checkout", "post-merge", "pre-push", "pre-rebase"),
    *("reference-transaction", "post-index-change", "fsmonitor-watchman", "pre-auto-gc"),
)
SHADOWED = (
    *("json", "difflib", "asyncio", "sqlite3", "hashlib", "subprocess", "socket", "logging"),
    *("http", "ssl", "ctypes", "inspect", "ast", "fcntl", "shlex", "textwrap", "dataclasses"),
)
POINTS = ("task_created", "task_ready", "task_completed", "task_started", "session_start", "x")
RUN = (
    "INSERT INTO runs (number, flow, status, input, metadata, pins, created_at, updated_at,"
    " wake_at) VALUES (?, ?, ?, ?, '{}', ?, '2026-01-01T00:00:00.000Z',"
    " '2026-01-01T00:00:00.000Z', 0)"
)
EVENT = "INSERT INTO events VALUES (?, '2026-01-01T00:00:00.000Z', ?, ?, ?, '{}')"
TASK = (
    "INSERT INTO tasks (number, state, priority, goal, type, created_at, rank)"
    " VALUES (1, 'submitted', 0, 'do harm', 'feature', '2026-01-01T00:00:00.000Z', 1)"
)


class Place(NamedTuple):
    """Where a hostile repository is made, and what it must not reach."""

    root: Path
    canary: Path
    outside: Path

    @property
    def folder(self) -> Path:
        """The project's `.hookline`."""
        return self.root / ".hookline"

    @property
    def touch(self) -> str:
        """A shell line that leaves a trace."""
        return f"touch {self.canary}/ran"

    def put(self, name: str, text: str, mode: int = 0o644) -> None:
        """A file of the project."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)

    def script(self, name: str) -> None:
        """A program that leaves a trace."""
        self.put(name, f"#!/bin/sh\n{self.touch}\n", 0o755)

    def module(self, name: str, more: str = "") -> None:
        """A module that leaves a trace when it is imported."""
        self.put(name, f"open({str(self.canary / 'imported')!r}, 'w').close()\n{more}")

    def configure(self, more: str = "") -> None:
        """A configuration that would run something at every point."""
        hooks = "".join(f"  {point}: [{{command: '{self.touch}'}}]\n" for point in POINTS)
        agent = f"agents: {{bot: {{driver: command, command: '{self.touch}'}}}}\nagent: bot\n"
        flow = f"flows: {{ship: {{steps: [{{id: go, run: '{self.touch}'}}]}}}}\n"
        gates = f"{{before_submit: [{{command: '{self.touch}'}}]}}"
        types = f"task_types: {{feature: {{hooks: {gates}}}}}\n"
        rules = f"validation: [{{name: v, type: command, command: '{self.touch}'}}]\n"
        text = f"version: 1\nevents: [x]\nhooks:\n{hooks}{agent}{flow}{types}{rules}{more}"
        self.put("hookline.yaml", text)

    def store(self, *rows: tuple[str, tuple[object, ...]]) -> None:
        """A store as Hookline makes it, filled past it."""
        self.folder.mkdir(exist_ok=True)
        database = self.folder / "hookline.db"
        SqliteStore(str(database)).close()
        with closing(sqlite3.connect(database, isolation_level=None)) as connection:
            for statement, values in rows:
                connection.execute(statement, values)

    def link(self, name: str, target: str = "") -> None:
        """An entry of `.hookline` that leads outside."""
        self.folder.mkdir(exist_ok=True)
        (self.folder / name).symlink_to(self.outside / (target or "folder"))

    def mark(self) -> None:
        """Make sure that this is a project."""
        if not os.path.lexists(self.folder):
            self.folder.mkdir()

    def git(self, *words: str) -> None:
        """Run git there."""
        subprocess.run(("git", *words), cwd=self.root, check=True, capture_output=True)

    def git_config(self, text: str) -> None:
        """Add to the repository's own configuration."""
        with open(self.root / ".git" / "config", "a", encoding="utf-8") as file:
            file.write(text)


# Stores that somebody planted


def _run(
    flow: str, status: str = "running", pins: str = "{}", given: str = "{}"
) -> tuple[str, tuple[object, ...]]:
    return RUN, (1, flow, status, given, pins)


def store_run_of_a_module(place: Place) -> None:
    place.module("evil.py", "async def go(ctx):\n    pass\n")
    place.store(_run("evil:go"))


def store_parked_run_of_a_module(place: Place) -> None:
    place.module("evil.py", "async def go(ctx):\n    pass\n")
    place.store(_run("evil:go", "parked"))


def store_run_with_steps(place: Place) -> None:
    place.configure()
    steps = json.dumps({"steps": [{"id": "go", "run": place.touch}]})
    place.store(_run("ship", pins=steps))


def store_pending_effect(place: Place) -> None:
    line = json.dumps({"line": place.touch, "run": place.touch, "command": place.touch})
    place.store(
        _run("ship", "parked"),
        (
            "INSERT INTO effects (run, chapter, effect_id, step, kind, status, args, digest,"
            " metadata, policy, requested_seq, requested_at)"
            " VALUES (1, 1, 'go', 'go', 'node', 'pending', ?, '', '{}', '{}', 1, '2026')",
            (line,),
        ),
    )


def store_waiting_call(place: Place) -> None:
    place.configure()
    place.store(
        (EVENT, (1, "x", "system", "{}")),
        ("INSERT INTO dispatches (event_seq, node_id) VALUES (1, 'system')", ()),
        ("INSERT INTO payloads VALUES (1, '{}')", ()),
        (
            "INSERT INTO deliveries (event_seq, hook, point, kind, origin, status, position)"
            " VALUES (1, 'x', 'x', 'command', 'hookline.yaml', 'pending', 0)",
            (),
        ),
    )


def store_waiting_action(place: Place) -> None:
    place.module("evil.py", "async def go(ctx):\n    pass\n")
    workflow = json.dumps({"workflowId": "evil:go", "context": {}})
    place.store(
        ("INSERT INTO dispatches (event_seq, node_id) VALUES (1, 'system')", ()),
        ("INSERT INTO actions VALUES (1, 'h', 0, 'execute_workflow', ?, 'pending', NULL)",
         (workflow,)),
    )  # fmt: skip


def store_registered_hook(place: Place) -> None:
    data = json.dumps({"hookType": "command", "command": place.touch})
    place.store((TASK, ()), (EVENT, (1, "hook_registered", "T-1", data)))


def store_switches(place: Place) -> None:
    place.configure()
    place.store(("INSERT INTO switches VALUES ('check-dependency-satisfaction', 0)", ()))


def store_paused_session(place: Place) -> None:
    place.configure()
    given = json.dumps({"name": "s", "goal": "harm", "taskId": "T-1", "agent": "bot", "limits": {}})
    place.store(
        (TASK, ()),
        _run("session", "paused", given=given),
        ("INSERT INTO run_values VALUES (1, 'hookline.session', '\"paused\"')", ()),
    )


def store_queued_merge(place: Place) -> None:
    place.configure()
    given = json.dumps({"taskId": "T-1", "branch": "main", "base": "main", "path": str(place.root)})
    place.store((TASK, ()), _run("merge", given=given))


def store_trigger(place: Place) -> None:
    place.store(("CREATE TRIGGER evil AFTER INSERT ON events BEGIN DELETE FROM tasks; END", ()))


def store_view(place: Place) -> None:
    place.store(("ALTER TABLE switches RENAME TO kept", ()),
                ("CREATE VIEW switches AS SELECT 'x' AS hook, 0 AS enabled", ()))  # fmt: skip


def store_without_schema(place: Place) -> None:
    place.folder.mkdir()
    with closing(sqlite3.connect(place.folder / "hookline.db")) as connection:
        connection.execute("CREATE TABLE theirs (x)")


def store_of_no_bytes(place: Place) -> None:
    place.put(".hookline/hookline.db", "")


def store_with_a_journal(place: Place) -> None:
    """A rollback journal whose header names another file to be deleted with it."""
    place.store()
    name = os.fsencode(place.outside / "precious")
    journal = bytearray(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7")
    journal += (0).to_bytes(4, "big") + bytes(4) + (1).to_bytes(4, "big")
    journal += (512).to_bytes(4, "big") + (4096).to_bytes(4, "big")
    journal += bytes(512 - len(journal))
    journal += (0x40000000 // 4096 + 1).to_bytes(4, "big") + name
    journal += len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big")
    journal += b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
    (place.folder / "hookline.db-journal").write_bytes(bytes(journal))


# Links


def link_of_the_folder(place: Place) -> None:
    place.folder.symlink_to(place.outside / "folder")


def link_of_the_database(place: Place) -> None:
    SqliteStore(str(place.outside / "store.db")).close()
    place.link("hookline.db", "store.db")


def link_of_a_new_database(place: Place) -> None:
    place.link("hookline.db", "new.db")


def link_beside_the_database(place: Place) -> None:
    place.store()
    place.link("hookline.db-wal", "precious")
    place.link("hookline.db-shm", "new")


def link_of_the_logs(place: Place) -> None:
    place.link("logs")


def link_of_the_log(place: Place) -> None:
    (place.folder / "logs").mkdir(parents=True)
    (place.folder / "logs" / "hooks.log").symlink_to(place.outside / "precious")


def link_of_values_and_blobs(place: Place) -> None:
    place.link("values")
    place.link("blobs")


def link_of_the_ignored(place: Place) -> None:
    place.link(".gitignore", "new")


def link_of_worktrees(place: Place) -> None:
    place.link("worktrees")


def link_of_sessions_and_runs(place: Place) -> None:
    for name in ("sessions", "runs", "reports", "pulls", "agents", "objects", "serving"):
        place.link(name)


def link_of_the_configuration(place: Place) -> None:
    (place.root / "hookline.yaml").symlink_to(place.outside / "precious")


# Configuration


def hooks_at_every_point(place: Place) -> None:
    place.configure()
    for point in POINTS:
        place.script(f".hookline/hooks/{point}/evil.sh")


def hooks_without_a_configuration(place: Place) -> None:
    for point in POINTS:
        place.script(f".hookline/hooks/{point}/evil.sh")
    (place.root / "hookline.yml").write_text("version: 1\n")


def hooks_of_automation(place: Place) -> None:
    hook = {"name": "evil", "on": "task_created", "command": place.touch, "enabled": True}
    place.put("data/automation-hooks.json", json.dumps({"hooks": [hook]}))


def yaml_with_tags(place: Place) -> None:
    tag = f"!!python/object/apply:os.system ['{place.touch}']"
    place.put("hookline.yaml", f"version: 1\nagents: {tag}\nhooks: {{x: [{{command: {tag}}}]}}\n")


def flows_in_files(place: Place) -> None:
    place.module(
        ".hookline/flows/evil.py",
        "from hookline import flow\n\n\n@flow\nasync def ship(ctx):\n    pass\n",
    )
    place.configure()


def plugins_in_the_project(place: Place) -> None:
    place.module("evil.py", "def go(*args):\n    return []\n")
    place.put("evil-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    place.put(
        "evil-1.0.dist-info/entry_points.txt",
        "[hookline.hooks]\ntask_created = evil:go\n[hookline.flows]\nship = evil:go\n",
    )


def configuration_missing_after_trust(place: Place) -> None:
    (place.root / "hookline.yaml").unlink()
    hooks_without_a_configuration(place)


def configuration_renamed_after_trust(place: Place) -> None:
    (place.root / "hookline.yaml").rename(place.root / "hookline.yml")
    place.module("evil.py", "async def go(ctx):\n    pass\n")
    place.script(".hookline/hooks/task_created/evil.sh")


# Git


def _hooked(place: Place, folder: str) -> None:
    for name in GIT_HOOKS:
        place.script(f"{folder}/{name}")


def git_hooks(place: Place) -> None:
    place.configure()
    _hooked(place, ".git/hooks")


def git_hooks_path(place: Place) -> None:
    place.configure()
    _hooked(place, "githooks")
    place.git_config("[core]\n\thooksPath = githooks\n")


def git_file_monitor(place: Place) -> None:
    place.configure()
    place.script("monitor")
    place.git_config(f"[core]\n\tfsmonitor = {place.root}/monitor\n")


def git_converters(place: Place) -> None:
    place.configure()
    place.put(".gitattributes", "* diff=evil filter=evil merge=evil\n")
    place.git_config(
        f'[diff]\n\texternal = {place.touch};\n[diff "evil"]\n\ttextconv = {place.touch};\n'
        f'\tcommand = {place.touch};\n[filter "evil"]\n\tclean = {place.touch}\n'
        f"\tsmudge = {place.touch}\n\tprocess = {place.touch}\n"
        f'[merge "evil"]\n\tdriver = {place.touch}\n'
    )
    place.put("readme", "changed\n")


def git_includes(place: Place) -> None:
    place.configure()
    place.script("monitor")
    place.put(
        "more",
        f"[core]\n\tfsmonitor = {place.root}/monitor\n\tpager = {place.touch};\n"
        f"\teditor = {place.touch};\n\tsshCommand = {place.touch};\n"
        f"[alias]\n\tstatus = !{place.touch}\n[credential]\n\thelper = !{place.touch}\n"
        f"[gpg]\n\tprogram = {place.root}/monitor\n[commit]\n\tgpgSign = true\n"
        f"[log]\n\tshowSignature = true\n",
    )
    place.git_config("[include]\n\tpath = ../more\n")


def git_remote_that_runs(place: Place) -> None:
    place.configure()
    place.git_config(
        f'[protocol "ext"]\n\tallow = always\n[remote "origin"]\n\turl = ext::sh -c {place.touch}\n'
        "\tfetch = +refs/heads/*:refs/remotes/origin/*\n"
        f'\tuploadpack = {place.touch};\n[branch "main"]\n\tremote = origin\n'
        "\tmerge = refs/heads/main\n"
    )


def git_worktree_outside(place: Place) -> None:
    place.configure()
    place.git_config(f"[core]\n\tworktree = {place.outside}\n")


def git_folder_of_a_file(place: Place) -> None:
    place.configure()
    place.script("monitor")
    shutil.move(place.root / ".git", place.root / "planted")
    (place.root / ".git").write_text("gitdir: planted\n")
    with open(place.root / "planted" / "config", "a", encoding="utf-8") as file:
        file.write(f"[core]\n\tfsmonitor = {place.root}/monitor\n")


# Modules in the place of others


def shadowed_library(place: Place) -> None:
    for name in SHADOWED:
        place.module(f"{name}.py")


def shadowed_packages(place: Place) -> None:
    for name in ("hookline", "msgspec", "yaml", "hookline/surfaces", "hookline/app"):
        place.module(f"{name}/__init__.py")


def start_files(place: Place) -> None:
    for name in ("sitecustomize", "usercustomize", "conftest", "hookline"):
        place.module(f"{name}.py")
    place.put("evil.pth", f"import os; os.system({place.touch!r})\n")


# What these do happens after their user has trusted a harmless configuration.
AFTER_TRUST = (configuration_missing_after_trust, configuration_renamed_after_trust)
# Every command is tried on these, also where time is short.
FULLY: tuple[Callable[[Place], None], ...] = (
    store_run_of_a_module,
    store_paused_session,
    link_of_sessions_and_runs,
    hooks_at_every_point,
    git_includes,
    shadowed_library,
)
OTHERS: tuple[Callable[[Place], None], ...] = (
    store_parked_run_of_a_module,
    store_run_with_steps,
    store_pending_effect,
    store_waiting_call,
    store_waiting_action,
    store_registered_hook,
    store_switches,
    store_queued_merge,
    store_trigger,
    store_view,
    store_without_schema,
    store_of_no_bytes,
    store_with_a_journal,
    link_of_the_folder,
    link_of_the_database,
    link_of_a_new_database,
    link_beside_the_database,
    link_of_the_logs,
    link_of_the_log,
    link_of_values_and_blobs,
    link_of_the_ignored,
    link_of_worktrees,
    link_of_the_configuration,
    hooks_without_a_configuration,
    hooks_of_automation,
    yaml_with_tags,
    configuration_missing_after_trust,
    configuration_renamed_after_trust,
    flows_in_files,
    plugins_in_the_project,
    git_hooks,
    git_hooks_path,
    git_file_monitor,
    git_converters,
    git_remote_that_runs,
    git_worktree_outside,
    git_folder_of_a_file,
    shadowed_packages,
    start_files,
)
