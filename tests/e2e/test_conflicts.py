"""Conflicts with the base that an agent resolves by editing files; git's part is Hookline's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.conflict_rig import (
    BOTH,
    DECIDED,
    KINDS,
    MINE,
    MY_KINDS,
    NO_GIT,
    TEXT,
    THEIR_KINDS,
    THEIRS,
    WANTED,
    Sides,
)

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli


@pytest.fixture
def sides(cli: Cli) -> Sides:
    return Sides(cli)


@pytest.mark.examples(1)
@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_an_agent_without_git_resolves_a_conflict_in_one_of_its_commits(
    sides: Sides, method: str
) -> None:
    """The commits before the conflict stay; the others become one, with all that they say."""
    sides.start(TEXT, method)
    late = "sed -i 's/mine/mine/; $ a after' text; echo 3 > late"
    task = sides.part("echo 1 > early", MINE, late, theirs=f"{THEIRS}echo new > added")
    seen = 'git() { exit 1; }; cat text > "$here/seen"; cat added > "$here/added"\n'
    sides.turn(f"{NO_GIT}{seen}printf 'first\\nmine\\ntheirs\\nlast\\nafter\\n' > text\n")
    sides.submit(task)
    (prompt,) = sides.prompts(task)
    assert "- `text`: both sides changed the same lines." in prompt
    assert "File text\n--- your side:\nmine\n--- main:\ntheirs\n" in prompt
    onto = sides.git("rev-parse", "main~1" if method == "squash" else "main^1")
    if method != "rebase":
        assert f"newest main ({onto[:12]})" in prompt
    marked = "first\n<<<<<<< HEAD\nmine\n=======\ntheirs\n>>>>>>> "
    assert (sides.box / "seen").read_text().startswith(marked)
    assert (sides.box / "added").read_text() == "new\n"
    assert sides.shown("text") == "first\nmine\ntheirs\nlast\nafter"
    assert [sides.shown(name) for name in ("early", "late", "added")] == ["1", "3", "new"]
    told = sides.git("log", "--format=%B", "main").splitlines()
    if method == "squash":
        assert sides.merges() == [task]
    else:
        assert [line for line in told if line.startswith("mine")] == ["mine 2", "mine 3", "mine 1"]
        assert sides.git("log", "--format=%an", "--author=Ada", "-1", "main") == "Ada"
    assert not sides.place(task).exists()


def test_markers_that_are_left_are_told_by_their_lines_and_asked_for_again(sides: Sides) -> None:
    """A file's own text may look like markers, and is not taken for them."""
    own = "printf 'Example\\n=======\\n<<<<<<< HEAD\\n=======\\n>>>>>>> other\\n' > guide\n"
    sides.start(f"{TEXT}{own}", judge=WANTED)
    more = "echo mine >> guide; echo '<<<<<<< HEAD' >> guide"
    task = sides.part(f"{MINE}{more}", theirs=f"{THEIRS}echo theirs >> guide")
    first = "sed -i '/^>>>>>>> /d' text; mv text renamed; cp renamed text; mv guide moved"
    then = "printf 'Example\\n=======\\n<<<<<<< HEAD\\n=======\\n>>>>>>> other\\nmine\\n"
    then += "<<<<<<< HEAD\\ntheirs\\n' > guide; rm renamed moved"
    sides.turn(f"{NO_GIT}[ $n = 1 ] && {{ {first}; }} || {{ {then}\n{BOTH}}}\n")
    sides.submit(task)
    _, again = sides.prompts(task)
    assert "- `text`: markers are left in lines 2, 4. Make it contain what both sides" in again
    assert "- `moved`: markers are left in line" in again
    assert "`guide`: markers" not in again
    assert sides.shown("guide").splitlines()[-3:] == ["mine", "<<<<<<< HEAD", "theirs"]
    sides.check(task)


@pytest.mark.torture
def test_conflicts_without_lines_are_told_in_words_and_decided_by_the_files(sides: Sides) -> None:
    sides.start(KINDS)
    task = sides.part(MY_KINDS, theirs=THEIR_KINDS)
    sides.turn(f'{NO_GIT}ls -l > "$here/seen"\n{DECIDED}')
    sides.submit(task)
    (prompt,) = sides.prompts(task)
    told = {
        line[3:].partition("`")[0]: line.partition(": ")[2]
        for line in prompt.partition("Do not undo other changes")[0].splitlines()
        if line.startswith("- `")
    }
    assert "`picture~theirs` is main's, and is removed after your turn" in told["picture"]
    assert told["gone-here"].startswith("you deleted or renamed it, and main changed it.")
    assert told["gone-there"].startswith("main deleted or renamed it, and you changed it.")
    assert told["link"].startswith("both sides changed this link")
    assert "permissions 100644, main with 100755" in told["tool"]
    names = "you renamed it to `my-name`, and main renamed it to `their-name`."
    assert told["old-name"].startswith(names)
    assert not {"my-name", "their-name"} & set(told)
    listed = sides.git("ls-tree", "-r", "main").splitlines()
    tree = {line.partition("\t")[2]: line.split(" ")[0] for line in listed}
    assert {"gone-here", "their-name", "picture"} <= set(tree)
    assert not {"gone-there", "my-name", "old-name", "picture~theirs"} & set(tree)
    assert (tree["tool"], tree["link"]) == ("100755", "120000")
    assert (sides.shown("link"), sides.shown("gone-here")) == ("readme", "theirs")
    assert sides.shown("picture") == "a\0theirs"
    sides.check(task)


@pytest.mark.examples(1)
@pytest.mark.parametrize(
    ("turn", "turns"),
    [
        (f"{BOTH}git add --all; git commit --quiet --no-edit; echo more > more", 1),
        (
            f"onto=$(git rev-parse MERGE_HEAD); git merge --abort; git rebase -q $onto; {BOTH}"
            "git add --all; GIT_EDITOR=: git rebase --continue",
            1,
        ),
        (f"git reset -q; {BOTH}", 1),
        (f"[ $n = 1 ] && git merge --abort || {{ {BOTH} }}", 2),
        (
            f"[ $n = 1 ] && {{ git restore --source=HEAD --staged --worktree .; }} || {{ {BOTH} }}",
            2,
        ),
    ],
    ids=["commits", "rebases", "resets", "aborts", "undoes"],
)
def test_an_agent_that_runs_git_comes_to_the_same(sides: Sides, turn: str, turns: int) -> None:
    sides.start(TEXT, judge=WANTED)
    task = sides.part(MINE, theirs=f"{THEIRS}echo new > added")
    sides.turn(f"{{ {turn}\n}} > /dev/null 2>&1\n")
    sides.submit(task)
    assert len(sides.prompts(task)) == turns
    assert sides.shown("text") == "first\nmine\ntheirs\nlast"
    assert sides.shown("added") == "new"
    sides.check(task)


@pytest.mark.torture
def test_the_agent_s_own_unfinished_rebase_is_its_own_to_finish(sides: Sides) -> None:
    sides.start(TEXT, judge=WANTED)
    task = sides.part(MINE, theirs=THEIRS)
    begin = "onto=$(git rev-parse MERGE_HEAD); git merge --abort; git rebase $onto"
    end = f"{BOTH}git add --all; GIT_EDITOR=: git rebase --continue"
    sides.turn(f"{{ if [ $n = 1 ]; then {begin}; else {end}; fi; }} > /dev/null 2>&1\n")
    sides.submit(task)
    assert "Git is in the middle of a rebase" in sides.prompts(task)[1]
    sides.check(task)


def test_a_turn_that_failed_decides_nothing(sides: Sides) -> None:
    """Files without markers say nothing about whether somebody has looked at them."""
    sides.start("echo 1 > gone-there")
    task = sides.part("echo mine > gone-there", theirs="rm gone-there")
    sides.turn("[ $n = 1 ] && exit 3; rm gone-there\n")
    sides.submit(task, code=3)  # nothing is left of the work
    again = sides.prompts(task)[1]
    assert "Look at this:\n\n- `gone-there`: main deleted or renamed it" in again
    assert "no commit is left of the work" in sides.cli.task(task)["blockReason"]


@pytest.mark.torture
def test_what_nobody_resolves_is_undone_and_what_was_edited_is_kept(sides: Sides) -> None:
    sides.start(TEXT)
    task = sides.part(MINE, theirs=f"{THEIRS}echo new > added")
    place = sides.place(task)
    head = sides.git("rev-parse", "HEAD", at=place)
    sides.turn("sed -i 's/^mine/my half/' text; echo draft > draft\n")
    told = sides.submit(task, code=3)
    assert "markers are left in text (attempts to fix it: 3)" in told
    assert sides.git("rev-parse", "HEAD", at=place) == head
    assert sides.git("status", "--porcelain", at=place) == ""
    kept = sides.git("for-each-ref", "--format=%(refname)", "refs/hookline/rescued")
    assert f"in the git ref `{kept}`" in sides.cli("events", "--json").stdout
    assert "my half" in sides.git("show", f"{kept}:text")
    assert sides.git("show", f"{kept}:draft") == "draft"


@pytest.mark.torture
def test_a_hook_of_git_that_refuses_the_result_is_told_to_the_agent(sides: Sides) -> None:
    sides.start(TEXT, judge=WANTED)
    task = sides.part(MINE, theirs=f"{THEIRS}head -c 6000000 /dev/zero > large; touch noise")
    hook = sides.cli.root / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n[ -e changelog ] || { echo write a changelog; exit 1; }\n")
    hook.chmod(0o755)
    sides.turn(f"{BOTH}[ $n = 1 ] || echo x > changelog\n")
    sides.submit(task)
    _, again = sides.prompts(task)
    assert "write a changelog" in again
    assert "Do not abort the merge" in again
    assert sides.shown("changelog") == "x"
    sides.check(task)


# Kills: what was cut short is ours to go on with, or to undo.

STEPS = {
    "while files are written": ("driver", 3, 1),
    "after the files were written": ("driver", 4, 1),
    "in the agent's turn, before it edits": ("early", 1, 2),
    "in the agent's turn, after it edits": ("late", 1, 2),
    "before the result is committed": ("pre-commit", 1, 1),
    "when the result was committed": ("post-commit", 1, 1),
    "before the branch is moved": ("reference-transaction", 1, 1),
}


@pytest.mark.examples(1)
@pytest.mark.parametrize(
    "step",
    [
        pytest.param(step, marks=() if number % 3 == 0 else pytest.mark.torture)
        for number, step in enumerate(STEPS)
    ],
)
def test_a_kill_is_gone_on_with_and_loses_no_edits(sides: Sides, step: str) -> None:
    where, count, turns = STEPS[step]
    sides.start(f"{TEXT}echo 'text merge=marking' > .gitattributes", judge=WANTED)
    task = sides.part(MINE, theirs=f"{THEIRS}echo new > added")
    kill = f'kill -9 "$(cat {sides.box}/victim)"'
    driver = sides.box / "driver.sh"
    counted = f"echo >> {sides.box}/count; n=$(wc -l < {sides.box}/count)\n"
    at = count if where == "driver" else 0
    driver.write_text(
        f"{counted}[ $n = {at} ] && {kill}\nexec git merge-file -L HEAD -L x -L $4 $1 $2 $3\n"
    )
    sides.git("config", "merge.marking.driver", f"sh {driver} %A %O %B %Y")
    hook = sides.cli.root / ".git" / "hooks" / where
    if where in ("pre-commit", "post-commit", "reference-transaction"):
        hook.parent.mkdir(exist_ok=True)
        moved = '[ "$1" = prepared ] && grep -q refs/heads/hookline || exit 0\n'
        resolved = f"[ -e {sides.box}/resolved ] || exit 0\n"
        only = moved + "git cat-file -p HEAD | grep -c ^parent | grep -q 2 || exit 0\n"
        only = only if where == "reference-transaction" else ""
        hook.write_text(f"#!/bin/sh\n{resolved}{only}{kill}\n")
        hook.chmod(0o755)
    early = f"[ $n = 1 ] && {{ {kill}; sleep 5; exit; }}\n" if where == "early" else ""
    late = f"[ $n = 1 ] && {{ {kill}; sleep 5; exit; }}\n" if where == "late" else ""
    sides.turn(f'{early}{BOTH}touch "$here/resolved"\n{late}')
    sides.killed_at(task)
    if where in ("pre-commit", "post-commit", "reference-transaction"):
        hook.unlink()
    sides.submit(task)
    assert len(sides.prompts(task)) == turns
    assert sides.shown("added") == "new"
    sides.check(task)
