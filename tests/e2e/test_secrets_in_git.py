"""Secrets in what an agent tells git: they reach no record, no pull request and no terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

SECRET = "correct-horse-staple"


def test_messages_of_commits_and_names_of_branches_and_files(cli: Cli) -> None:
    line = Pipeline(cli)
    cli.env["DEPLOY_TOKEN"] = SECRET
    line.begin("")
    cli.add("part 1")
    line.turn(
        f"echo one > {SECRET}.txt\ngit add .\ngit commit -qm 'Use {SECRET}' -m 'and {SECRET}'\n"
    )
    line.worker()
    pull = (cli.root / ".hookline/pulls/1.md").read_text(encoding="utf-8")
    assert "Use [redacted DEPLOY_TOKEN]" in pull
    assert "- [redacted DEPLOY_TOKEN].txt" in pull
    cli.add("part 2")
    line.turn(
        f"git switch -qc {SECRET}\necho two > two.txt\ngit add .\ngit commit -qm 'Now {SECRET}'\n"
    )
    done = cli("work", "--once")
    seen = [done, *(cli(*words) for words in (("attention",), ("why", "T-2"), ("gate", "list")))]
    assert not [each for each in seen if SECRET in each.stdout + each.stderr]
    assert "[redacted DEPLOY_TOKEN]" in seen[1].stdout
    kept = [path for path in (cli.root / ".hookline").rglob("*") if path.is_file()]
    ours = [path for path in kept if not {"worktrees", "objects"} & set(path.parts)]
    assert not [path for path in ours if SECRET.encode() in path.read_bytes()]
