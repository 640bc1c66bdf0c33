"""Every git process of ours: the environment it gets, what it may run, and how it fails."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from hookline.adapters.git.checkout import checkout_of
from hookline.adapters.git.door import Git, GitFailed
from hookline.adapters.git.repository.git_repository import GitRepository
from hookline.adapters.git.work import GitWork
from hookline.adapters.processes.process import LocalProcesses
from hookline.domain.work.repository import RepositoryError
from hookline.errors import HooklineError
from tests.integration.repository_rig import Place, do

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hookline.domain.work.repository import WorkState, WorkTree

# Writes down what it was called with, then does what it was asked.
RECORDER = """#!/bin/sh
echo "$*|$LC_ALL|${LANGUAGE-unset}|$GIT_TERMINAL_PROMPT|$GIT_DIR" >> %s
exec %s "$@"
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    made.begin()
    made.publish()
    return made


def work_in(place: Place, env: Mapping[str, str] | None = None) -> GitWork:
    processes = LocalProcesses(str(place.folder / "blobs"))
    return GitWork(processes, env or place.env, str(place.folder / "objects"))


def look(
    place: Place, env: Mapping[str, str] | None = None
) -> tuple[WorkState, WorkTree, list[str]]:
    """Everything that sessions, loops and conditions ask."""
    work, root = work_in(place, env), str(place.root)
    before = do(work.state(root))
    place.write("looked", "x")
    base = do(work.tree(root)).tree
    do(work.between(root, before, do(work.state(root))))
    return do(work.state(root)), do(work.tree(root, base)), do(work.changed_files(root))


def whole_task(place: Place, env: Mapping[str, str]) -> None:
    """A task's way from its worktree to the base."""
    processes, root = LocalProcesses(str(place.folder / "blobs")), str(place.root)
    repository = GitRepository(processes, root, f"{root}/.hookline", env)
    do(repository.describe())
    made = do(repository.worktrees.open("T-1"))
    place.write("work", "done\n", at=made.path)
    sha = do(repository.changes.commit_all(made.folder, "work"))
    assert sha
    place.elsewhere("other", "x\n")
    do(repository.changes.rebase(made.folder, "main"))
    do(repository.history.diff(made.folder, "main"))
    do(repository.history.commits(made.folder, "main"))
    do(repository.history.changed_files(made.folder, "main"))
    do(repository.pushes.push(made.folder, made.branch))
    head = place.git("rev-parse", "HEAD", at=made.path)
    do(repository.merges.merge(head, "main", "T-1"))
    do(repository.worktrees.list())
    do(repository.worktrees.clean("T-1"))


def test_every_command_runs_in_the_same_locale_and_asks_nobody(place: Place) -> None:
    log, programs = place.folder / "log", place.folder / "programs"
    programs.mkdir()
    (programs / "git").write_text(RECORDER % (log, shutil.which("git")))
    (programs / "git").chmod(0o755)
    ours = {
        **place.env,
        "PATH": f"{programs}{os.pathsep}{place.env['PATH']}",
        "LANG": "de_DE.UTF-8",
        "LC_ALL": "de_DE.UTF-8",
        "LANGUAGE": "de",
        "GIT_DIR": "/nowhere",
    }
    look(place, ours)
    whole_task(place, ours)
    calls = [line.split("|") for line in log.read_text().splitlines()]
    names = {word for call in calls for word in call[0].split()}
    assert {"status", "write-tree", "diff-tree", "rev-parse", "fetch", "worktree"} <= names
    assert {"add", "commit", "rebase", "push", "ls-remote", "update-ref", "diff", "log"} <= names
    assert [call for call in calls if call[1:4] != ["C.UTF-8", "unset", "0"]] == []
    assert [call for call in calls if not call[4].startswith(f"{place.root}/.git")] == []


def test_looking_runs_nothing_that_the_repository_names(place: Place) -> None:
    trap = place.write("../trap", f'#!/bin/sh\necho "$0 $*" >> {place.folder}/sprung\n')
    trap.chmod(0o755)
    made = do(place.repository().worktrees.open("T-1"))
    place.commit("work", "done\n", at=made.path)
    place.write(".gitattributes", "* diff=trap\n")
    for name in ("core.fsmonitor", "diff.external", "diff.trap.textconv", "gpg.program"):
        place.git("config", name, str(trap))
    place.git("config", "log.showSignature", "true")
    place.hook("post-index-change", f"exec {trap}")
    (place.folder / "sprung").unlink(missing_ok=True)
    repository = place.repository()
    look(place)
    do(repository.describe())
    do(repository.history.diff(made.folder, "main"))
    do(repository.history.commits(made.folder, "main"))
    do(repository.history.changed_files(made.folder, "main"))
    assert not (place.folder / "sprung").exists()


def test_looking_at_a_large_repository_leaves_nothing_behind(place: Place) -> None:
    for number in range(1500):
        place.write(f"a-rather-long-name-of-a-file-{number}", "x")
    state, _, names = look(place)
    assert len(state.stamps) == len(names) == 1501
    assert not (place.folder / "blobs").exists()


@pytest.mark.parametrize("config", ["[broken", "[core]\n\tbare = perhaps\n"])
def test_a_repository_that_git_cannot_read_is_told_and_not_taken_for_none(
    place: Place, config: str
) -> None:
    (place.root / ".git" / "config").write_text(config)
    work, root = work_in(place), str(place.root)
    with pytest.raises(RepositoryError, match=r"which files changed is unknown: git says: .*bad "):
        do(work.changed_files(root))
    assert not do(work.state(root)).in_repository
    tree = do(work.tree(root))
    assert not tree.in_repository
    assert tree.error is not None
    assert "what was done is unknown: git says: " in tree.error
    blocking = do(place.repository().describe()).blocking
    assert blocking is not None
    assert (blocking.code, "git init" in blocking.help) == ("unreadable", False)
    assert "bad config" in blocking.message or "bad boolean" in blocking.message


def test_a_failure_carries_the_command_its_code_and_both_outputs(place: Place) -> None:
    git = Git(LocalProcesses(str(place.folder / "blobs")), place.env)
    with pytest.raises(GitFailed) as failed:
        do(git.run(checkout_of(str(place.root)), "merge-base", "nothing", "HEAD", doing="no base"))
    said = failed.value.said
    assert (said.command[0], said.command[-3:]) == ("git", ("merge-base", "nothing", "HEAD"))
    assert (said.code, said.out) == (128, b"")
    assert "Not a valid object name nothing" in said.err
    assert isinstance(failed.value, HooklineError)
    assert failed.value.message == f"no base: git says: {said.err}"


def test_a_git_that_hangs_is_ended_and_named(place: Place) -> None:
    hanging = place.write("../hanging/git", "#!/bin/sh\nsleep 60\n")
    hanging.chmod(0o755)
    env = {**place.env, "PATH": f"{hanging.parent}{os.pathsep}{place.env['PATH']}"}
    git = Git(LocalProcesses(str(place.folder / "blobs")), env)
    with pytest.raises(GitFailed, match=r"git status timed out after 0\.2 s"):
        do(git.run(checkout_of(str(place.root)), "status", timeout=0.2))


# What changed


def test_an_edit_beside_a_commit_of_another_file_is_not_overlooked(place: Place) -> None:
    place.write("readme", "edited\n")
    work, root = work_in(place), str(place.root)
    before = do(work.state(root))
    place.write("readme", "edited again\n")
    place.write("other", "x\n")
    place.git("add", "other")
    place.git("commit", "--quiet", "--message", "other")
    assert do(work.between(root, before, do(work.state(root)))) == ["other", "readme"]


def test_committing_what_was_edited_before_is_no_change(place: Place) -> None:
    place.write("readme", "edited\n")
    place.write("new", "x\n")
    work, root = work_in(place), str(place.root)
    before = do(work.state(root))
    place.commit("other", "x\n")
    assert do(work.between(root, before, do(work.state(root)))) == ["other"]


def test_names_that_are_no_text_are_files_like_others(place: Place) -> None:
    path = os.fsencode(place.root) + b"/caf\xe9"
    with open(path, "w") as file:
        file.write("1")
    work, root = work_in(place), str(place.root)
    before = do(work.state(root))
    with open(path, "w") as file:
        file.write("2")
    assert do(work.between(root, before, do(work.state(root)))) == ["caf\N{REPLACEMENT CHARACTER}"]


def test_our_own_files_are_left_out_whatever_git_ignores(place: Place) -> None:
    for name in (".gitignore", "hookline.db", "hooks/mine.sh", "flows/mine.py", "logs/x"):
        place.write(f".hookline/{name}", "")
    found = do(work_in(place).changed_files(str(place.root)))
    assert found == [".hookline/flows/mine.py", ".hookline/hooks/mine.sh"]
