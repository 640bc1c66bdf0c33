"""Work that changes what trust covers waits before it is merged, until a person has looked."""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from hookline.app import App
from hookline.errors import Untrusted
from hookline.wiring.project import trusting
from hookline.wiring.working import repositories
from tests.e2e.gate_rig import Repo

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Cli

SETTINGS = """\
hooks:
  before_submit: [{name: check, command: '"$HOOKLINE_PROJECT/tools/check.sh"'}]
  after_merge: [{name: told, command: "echo $HOOKLINE_TASK_ID >> $HOOKLINE_PROJECT/../told"}]
"""


@pytest.fixture
def repo(cli: Cli) -> Repo:
    made = Repo(cli)
    cli.put("tools/check.sh", "#!/bin/sh\nexit 0\n", 0o755)
    made.begin(SETTINGS)
    made.git("remote", "remove", "origin")
    return made


def work(repo: Repo, task: str, **files: str) -> Path:
    """A worktree with a commit that writes these files; `__` stands for a slash, `_` for a dot."""
    place = repo.cli.root / ".hookline" / "worktrees" / task
    repo.git("worktree", "add", "--quiet", "-b", f"hookline/{task}", str(place), "main")
    for name, text in files.items():
        path = place / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    repo.commit(f"work on {task}", at=place)
    return place


def waiting(cli: Cli, task: str) -> dict[str, Any]:
    """What attention says of a task."""
    found: list[dict[str, Any]] = cli("attention", "--json").json
    (item,) = (each for each in found if each["id"] == task)
    return item


NEW_GATE = f"version: 1\n{SETTINGS}  before_merge: [{{name: new, command: sh tools/new.sh}}]\n"


def test_a_changed_configuration_waits_for_its_reader(repo: Repo, cli: Cli) -> None:
    task, other = cli.add("change the gates"), cli.add("something else")
    work(repo, task, hookline_yaml=NEW_GATE, tools__new_sh="exit 0\n")
    before = repo.git("rev-parse", "main")
    result = cli("submit", task, "--json")
    assert (result.code, result.json["outcome"]) == (4, "waiting")
    assert repo.git("rev-parse", "main") == before
    assert cli.task(task)["state"] == "submitted"
    item = waiting(cli, task)
    assert item["command"] == f"hookline trust --task {task}"
    assert "the work changes what trust covers: hookline.yaml, tools/new.sh" in item["message"]

    # Others are merged meanwhile, and nobody can approve it unseen.
    work(repo, other, docs__check_md="text\n")
    assert cli("submit", other, "--json").json["outcome"] == "merged"
    assert (
        cli.refused("trust", "--task", other)[1]["message"] == f"{other} is not waiting for trust"
    )
    assert cli.refused("gate", "approve", task)[1]["help"].startswith(
        f"`hookline trust --task {task}"
    )
    for env in ({"HOOKLINE_AGENT": "bot"}, {"HOOKLINE_HOOK": "h"}):
        assert cli.refused("trust", "--task", task, "--yes", env=env)[0] == 4
    assert cli("merge", task, "--json").json["outcome"] == "waiting"

    result = cli("trust", "--task", task)
    assert result.code == 2
    assert "+  before_merge: [{name: new, command: sh tools/new.sh}]" in result.stdout
    assert "added: tools/new.sh" in result.stdout
    assert "+exit 0" in result.stdout
    assert f"hookline trust --task {task} --yes" in result.stderr
    assert cli("trust", "--task", task, "--yes").code == 0
    result = cli("merge", task, "--json")
    assert (result.code, result.json["outcome"]) == (0, "merged"), result
    # The very contents that were shown are trusted in the project, and nothing else is.
    assert cli.json("trust", "--show")["trusted"] is True
    assert (cli.root.parent / "told").read_text().split() == [other, task]
    cli.put("tools/new.sh", "exit 1\n")
    assert cli.json("trust", "--show")["trusted"] is False


def test_every_covered_file_counts(repo: Repo, cli: Cli) -> None:
    for files, named in (
        ({"tools__check_sh": "#!/bin/sh\nexit 1\n"}, "tools/check.sh"),
        ({"data__automation-hooks_json": "[]"}, "data/automation-hooks.json"),
    ):
        task = cli.add("change it")
        work(repo, task, **files)
        assert cli("submit", task, "--json").json["outcome"] == "waiting"
        assert named in waiting(cli, task)["message"]


def test_other_contents_than_those_that_were_trusted_wait_again(repo: Repo, cli: Cli) -> None:
    task = cli.add("change the check")
    place = work(repo, task, tools__check_sh="#!/bin/sh\nexit 0 # one\n")
    assert cli("submit", task, "--json").json["outcome"] == "waiting"
    cli.json("trust", "--task", task, "--yes")
    (place / "tools" / "check.sh").write_text("#!/bin/sh\nexit 0 # two\n")
    repo.commit("something else", at=place)
    assert cli("merge", task, "--json").json["outcome"] == "waiting"
    assert "two" not in repo.git("show", "main:tools/check.sh")
    assert "+exit 0 # two" in cli("trust", "--task", task, "--yes").stdout
    assert cli("merge", task, "--json").json["outcome"] == "merged"
    assert cli.json("trust", "--show")["trusted"] is True


def test_a_worker_begins_nothing_with_settings_of_before(repo: Repo, cli: Cli) -> None:
    agents = "agents: {bot: {driver: command, command: 'echo \"<promise>COMPLETE</promise>\"'}}\n"
    cli.configure(SETTINGS + agents)
    repo.commit("an agent")
    task = cli.add("change the gates")
    work(repo, task, hookline_yaml=f"{NEW_GATE}{agents}", tools__new_sh="exit 0\n")
    assert cli("submit", task, "--no-merge", "--json").json["outcome"] == "submitted"
    assert cli("work", "--once", "--json").code == 4
    cli.json("trust", "--task", task, "--yes")
    assert cli("work", "--once", "--json").code == 0  # nothing else is to be begun
    assert (cli.task(task)["state"], cli.json("trust", "--show")["trusted"]) == ("completed", True)
    assert cli("gate", "list", task, "--json").json[-1]["status"] == "success"


def test_who_trusts_a_folder_for_good_is_not_asked(repo: Repo, cli: Cli) -> None:
    cli.json("trust", "--always", "--yes")
    task = cli.add("change the gates")
    work(repo, task, hookline_yaml=NEW_GATE)
    assert cli("submit", task, "--json").json["outcome"] == "merged"


def test_a_first_configuration_waits_too(cli: Cli) -> None:
    repo = Repo(cli)
    repo.git("init", "--quiet")
    cli.put(".gitignore", ".hookline/\n")
    repo.commit("begin")
    task = cli.add("bring hooks")
    work(repo, task, hookline_yaml=f"version: 1\n{SETTINGS}")
    assert cli("submit", task, "--json").json["outcome"] == "waiting"
    cli.json("trust", "--task", task, "--yes")
    assert cli("merge", task, "--json").json["outcome"] == "merged"
    assert cli.json("trust", "--show")["trusted"] is True


def test_files_that_a_merge_is_writing_are_waited_for(repo: Repo, cli: Cli) -> None:
    script = cli.root / "tools/check.sh"
    trusted = script.read_text()

    async def verify_while_it_is_written() -> bool:
        with closing(App.open(str(cli.root), environ=cli.env)) as app:
            async with repositories.repository(app).merges.at_rest():  # as a merge holds it
                script.write_text(trusted[:5])
                verifying = asyncio.ensure_future(trusting.verifier(app)())
                await asyncio.sleep(0)
                began = not verifying.done()
                script.write_text(trusted)
            await verifying
        return began

    assert asyncio.run(verify_while_it_is_written())


def test_files_that_nobody_writes_are_not(repo: Repo, cli: Cli) -> None:
    async def verify_what_was_changed() -> None:
        with closing(App.open(str(cli.root), environ=cli.env)) as app:
            cli.put("tools/check.sh", "echo something else\n", 0o755)
            await trusting.verifier(app)()

    with pytest.raises(Untrusted, match=r"tools/check\.sh changed since it was verified"):
        asyncio.run(verify_what_was_changed())
