"""Secrets that only the configuration holds, under `env` of an agent or a hook, as people type."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

AGENTS = "agents: {bot: {driver: command, command: 'true', env: {DEPLOY_TOKEN: hunter2-hunter}}}\n"
HOOKS = (
    "hooks: {task_created: [{name: mail, command: 'true', env: {MAIL_PASSWORD: horse-staple}}]}\n"
)


def kept(cli: Cli) -> bytes:
    """All that lies in the project's folder of Hookline."""
    files = (path for path in (cli.root / ".hookline").rglob("*") if path.is_file())
    return b"".join(path.read_bytes() for path in files)


def test_what_a_person_types_is_cleaned_of_secrets_of_the_configuration(cli: Cli) -> None:
    cli.configure(AGENTS + HOOKS)
    added = cli("task", "add", "log in with hunter2-hunter", "--label", "horse-staple")
    assert added.code == 0
    assert "redacted: DEPLOY_TOKEN" in added.stderr
    assert "redacted: MAIL_PASSWORD" in added.stderr
    assert cli.task("T-1")["goal"] == "log in with [redacted DEPLOY_TOKEN]"
    assert "DEPLOY_TOKEN" in cli("note", "add", "it is hunter2-hunter").stderr
    assert "MAIL_PASSWORD" in cli("note", "add", "-", stdin="it is horse-staple\n").stderr
    assert "MAIL_PASSWORD" in cli("task", "complete", "T-1", "--result", "horse-staple").stderr
    for secret in (b"hunter2-hunter", b"horse-staple"):
        assert secret not in kept(cli)


def test_a_configuration_of_the_user_counts_as_well(cli: Cli) -> None:
    cli.home.mkdir(parents=True, exist_ok=True)
    (cli.home / "hookline.yaml").write_text(f"version: 1\n{HOOKS}", encoding="utf-8")
    assert "MAIL_PASSWORD" in cli("task", "add", "log in with horse-staple").stderr
    assert b"horse-staple" not in kept(cli)


def test_a_configuration_that_cannot_be_read_changes_nothing(cli: Cli) -> None:
    (cli.root / "hookline.yaml").write_text("env: [", encoding="utf-8")
    assert cli("task", "add", "whatever is typed").code == 0
    (cli.root / "hookline.yaml").unlink()
    (cli.root / "hookline.yaml").mkdir()
    assert cli("task", "add", "whatever is typed").code == 0


def test_config_show_does_not_show_them(cli: Cli) -> None:
    cli.configure(AGENTS + HOOKS)
    shown = cli("config", "show")
    assert 'agents.bot.env.DEPLOY_TOKEN = "[redacted DEPLOY_TOKEN]"' in shown.stdout
    assert '"MAIL_PASSWORD":"[redacted MAIL_PASSWORD]"' in shown.stdout
    assert "secrets are shown as [redacted NAME]" in shown.stderr
    values = {each["key"]: each["value"] for each in cli.json("config", "show", quiet=False)}
    assert values["agents.bot.env.DEPLOY_TOKEN"] == "[redacted DEPLOY_TOKEN]"
    for secret in ("hunter2-hunter", "horse-staple"):
        assert secret not in shown.stdout + str(values)


def test_config_show_says_nothing_of_secrets_where_there_are_none(cli: Cli) -> None:
    cli.configure("agents: {bot: {driver: command, command: 'true', env: {COLOUR: dark-green}}}\n")
    assert "dark-green" in cli("config", "show").stdout
    assert cli("config", "show").stderr == ""


NAMED = """\
task_types: {postgres: {hooks: {before_submit: [{command: exit 1}]}}}
hooks:
  before_submit: []
agents: {postgres: {driver: command, command: 'true'}}
"""


@pytest.mark.parametrize(
    "variables",
    [{"DB_PASSWORD": "postgres"}, {"DATABASE_URL": "db://me:postgres@localhost/shop"}],
    ids=["whole", "in a URL"],
)
def test_names_of_the_project_are_no_secrets(cli: Cli, variables: dict[str, str]) -> None:
    cli.configure(NAMED)
    cli.env |= variables
    added = cli("task", "add", "a part", "--type", "postgres")
    assert "redacted" not in added.stderr
    assert cli.task("T-1")["type"] == "postgres"
    assert cli.json("task", "claim", "T-1", "--agent", "postgres")["claim"]["agent"] == "postgres"


def test_a_gate_of_a_type_stands_whatever_a_password_is(cli: Cli) -> None:
    line = Pipeline(cli)
    line.begin("task_types: {postgres: {hooks: {before_submit: [{command: exit 1}]}}}\n")
    cli.env["DB_PASSWORD"] = "postgres"
    task = cli.add("a part", "--type", "postgres")
    line.by_hand(task)
    assert cli("submit", task, "--agent", "bot").code == 3
    assert cli.task(task)["state"] != "completed"


def test_steps_are_chosen_by_their_names(cli: Cli) -> None:
    chosen = json.dumps({"action": "executed-tasks", "tasks": ["postgres"]})
    cli.put("choose.sh", f"echo '{chosen}'\n")
    cli.configure(
        "flows: {ship: {steps: [{id: postgres, run: 'true'}]}}\n"
        "hooks: {on-iteration-start: [{name: choose, command: sh choose.sh}]}\n"
    )
    cli.env["DB_PASSWORD"] = "postgres"
    assert cli.json("flow", "start", "ship")["status"] == "completed"
