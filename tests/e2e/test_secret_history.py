"""What an agent took out of its files again is in no commit that is merged or pushed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

# Made up, in the shape of a real one; put together so that no scanner takes this file for a leak.
TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gH3jK5"
CONFIG = "hooks: {before_submit: [%s]}\n"
COMMIT = "git add --all; git commit --quiet --message 'my own words'"
# Without git it edits files only; with git it does as the history wants it.
LEAKS = (
    'if [ "$n" = 1 ]; then work; echo "key = \'' + TOKEN + "'\" > settings.py\n"
    "else rm settings.py; echo from-env > settings.txt; fi\n"
)


@pytest.fixture
def line(cli: Cli) -> Pipeline:
    return Pipeline(cli)


def held(line: Pipeline, *where: str) -> str:
    """The commits that hold the credential, of all that lead to these."""
    return line.git("log", "--format=%H %s", f"-S{TOKEN}", *where, at=line.main)


@pytest.mark.examples(1)
@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_a_credential_is_in_no_commit_that_is_merged(line: Pipeline, cli: Cli, method: str) -> None:
    line.begin(CONFIG % "rebase_on_main, secrets, create_pr" + f"gates: {{method: {method}}}\n")
    line.turn(LEAKS)
    task = cli.add("a part")
    assert line.worker()["merged"] == [task]
    _, second = line.prompts(task)
    assert "You need not do anything about them" in second
    assert "git reset" not in second
    assert held(line, "--all") == ""
    assert line.git("show", "main:settings.txt", at=line.main) == "from-env"
    said = line.git("log", "--format=%B", "main", at=line.main)
    assert f"Task: {task}" in said
    assert "revoke" not in cli("attention").stdout


@pytest.mark.examples(1)
@pytest.mark.parametrize("resets", [True, False])
def test_an_agent_with_git_comes_to_the_same(line: Pipeline, cli: Cli, resets: bool) -> None:
    """It commits its fix on top, or replaces its commits."""
    line.begin(CONFIG % "secrets")
    reset = 'if [ "$n" = 2 ]; then git reset --quiet $(git merge-base HEAD main); fi\n'
    line.turn(f"{LEAKS}{reset if resets else ''}{COMMIT}\n")
    task = cli.add("a part")
    assert line.worker()["merged"] == [task]
    assert held(line, "--all") == ""
    assert "my own words" in line.git("log", "--format=%B", "main", at=line.main)


def test_commits_that_lead_to_clean_work_are_looked_through(line: Pipeline, cli: Cli) -> None:
    """The agent put it in and took it out in one turn, also in the commit of a merge."""
    line.begin(CONFIG % "secrets")
    line.turn(
        f"work; {COMMIT}; git switch --quiet -c side; echo side > side; {COMMIT}\n"
        f"git switch --quiet -; git merge --quiet --no-ff --no-commit side; echo {TOKEN} > key\n"
        f"{COMMIT}; rm key; {COMMIT}; git branch --quiet -D side\n"
    )
    task = cli.add("a part")
    assert line.worker()["merged"] == [task]
    assert len(line.prompts(task)) == 1
    assert held(line, "--all", "-m") == ""
    assert line.git("show", "main:side", at=line.main) == "side"
    assert "the work is one commit now, without them" in cli("gate", "list", task).stdout


@pytest.mark.torture
def test_what_was_pushed_has_to_be_revoked_by_a_person(line: Pipeline, cli: Cli) -> None:
    line.begin(CONFIG % "secrets")
    push = f'if [ "$n" = 1 ]; then {COMMIT}; git push --quiet origin HEAD:refs/heads/mine; fi\n'
    line.turn(LEAKS + push)
    task = cli.add("a part")
    assert line.worker()["merged"] == [task]
    assert held(line, "main") == ""
    told = cli("attention").stdout
    assert "Credentials were pushed before they were taken out, revoke them" in told
    assert "settings.py:1: github-token" in " ".join(told.split())
    assert TOKEN not in told
    assert cli("gate", "approve", task).code == 0
    assert "revoke" not in cli("attention").stdout


def test_your_own_branch_is_not_rewritten(line: Pipeline, cli: Cli) -> None:
    line.begin(CONFIG % "secrets" + "gates: {tries: 0}\n")
    task = cli.add("a part")
    line.work("thing")
    cli.put("key", TOKEN)
    line.commit("by mistake")
    (cli.root / "key").unlink()
    line.commit("out again")
    before = line.git("rev-parse", "HEAD")
    assert cli("submit", task).code == 3
    assert line.git("rev-parse", "HEAD") == before
    assert "1 credentials in earlier commits" in str(cli.task(task)["blockReason"])
    assert line.merged() == ["Makefile", "check.sh", "log", "parts/.keep"]
