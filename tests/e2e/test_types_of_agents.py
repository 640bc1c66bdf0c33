"""Which types of tasks agents may use: their own task's, and those that its type allows."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.mcp_rig import Agent
from tests.e2e.pipeline_rig import Pipeline

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

TYPES = """\
task_types:
  feature: {may_create: [bug], hooks: {before_submit: [{name: no, command: "exit 1"}]}}
  bug: {may_create: [chore]}
  chore: {hooks: {before_submit: []}}
"""


def session(cli: Cli, task: str) -> dict[str, str]:
    """What an agent's environment says in a session on a task."""
    return {
        "HOOKLINE_DIR": str(cli.root / ".hookline"),
        "HOOKLINE_SESSION": "night",
        "HOOKLINE_RUN_ID": "R-1",
        "HOOKLINE_TASK_ID": task,
        "HOOKLINE_AGENT": "bot",
    }


def made(answer: dict[str, Any]) -> tuple[str | None, str | None]:
    """The parent and the type of a task."""
    return answer["parentTaskId"], answer["type"]


def lines(*specs: dict[str, str]) -> str:
    """A file of tasks."""
    return "".join(f"{json.dumps(spec)}\n" for spec in specs)


@pytest.fixture
def typed(cli: Cli) -> Cli:
    cli.configure(TYPES)
    return cli


def test_an_agent_cannot_change_a_type(typed: Cli) -> None:
    own, other = typed.add("mine", "--type", "feature"), typed.add("free", "--type", "feature")
    for env in (session(typed, own), {"HOOKLINE_AGENT": "bot"}, {"HOOKLINE_HOOK": "h"}):
        code, error = typed.refused("task", "update", other, "--type", "chore", env=env)
        assert (code, error["code"]) == (4, "people-only")
    assert typed.task(other)["type"] == "feature"
    typed.json("task", "update", other, "--type", "chore")
    assert typed.task(other)["type"] == "chore"


def test_a_new_task_of_a_session_belongs_to_it_and_has_its_type(typed: Cli) -> None:
    own, chore = typed.add("mine", "--type", "feature"), typed.add("easy", "--type", "chore")
    env = session(typed, own)
    assert made(typed.json("task", "add", "a part", env=env)) == (own, "feature")
    bug = typed.json("task", "add", "a bug", "--type", "bug", env=env)
    assert made(bug) == (own, "bug")
    assert made(typed.json("task", "add", "x", "--parent", bug["id"], env=env)) == (
        bug["id"],
        "bug",
    )
    for words in (
        ("--type", "chore"),
        ("--parent", chore),  # whose type has no gates
        ("--parent", bug["id"], "--type", "chore"),  # which only agents on a bug may create
    ):
        code, error = typed.refused("task", "add", "around the gates", *words, env=env)
        assert (code, error["code"]) == (4, "people-only"), words
        assert "task_types.feature.may_create" in error["help"]
    _, error = typed.refused("task", "add", "odd", "--type", "featrue", env=env)
    assert (error["code"], "did you mean 'feature'?" in error["message"]) == ("bad-input", True)
    assert len(typed.json("task", "list", "--all")) == 5


def test_files_of_tasks_are_held_to_the_same(typed: Cli) -> None:
    own = typed.add("mine", "--type", "feature")
    env = session(typed, own)
    specs = lines({"goal": "one", "key": "a"}, {"goal": "two", "parent": "a", "type": "bug"})
    first, second = typed.json("task", "add", "--from", "-", stdin=specs, env=env)
    assert (made(first), made(second)) == ((own, "feature"), (first["id"], "bug"))
    bad = lines({"goal": "fine"}, {"goal": "around", "type": "chore"})
    _, error = typed.refused("task", "add", "--from", "-", stdin=bad, env=env)
    assert error["code"] == "people-only"
    assert len(typed.json("task", "list", "--all")) == 3


def test_tools_are_held_to_the_same(typed: Cli) -> None:
    own = typed.add("mine", "--type", "feature")
    with Agent.in_process(typed, env=session(typed, own)) as agent:
        assert made(agent("task_create", goal="a part")) == (own, "feature")
        refused = agent.refused("task_create", goal="around", type="chore")
        assert refused["error"]["code"] == "people-only"
    with Agent.in_process(typed) as agent:  # in no session: whoever plans may use what there is
        assert made(agent("task_create", goal="a plan", type="chore")) == (None, "chore")
        refused = agent.refused("task_create", goal="a plan", type="chroe")
        assert "did you mean 'chore'?" in refused["error"]["message"]
        refused = agent.refused("task_create", goal="a part", type="chore", parentTaskId=own)
        assert refused["error"]["code"] == "people-only"


def test_what_nobody_has_trusted_allows_nothing(typed: Cli) -> None:
    own = typed.add("mine", "--type", "feature")
    typed.configure(TYPES.replace("[bug]", "[bug, chore]"), trust=False)
    for kind in ("bug", "chore"):
        result = typed("task", "add", "x", "--type", kind, "--json", env=session(typed, own))
        assert (result.code, result.stdout) == (4, "")


def test_hooks_and_people_use_any_type(cli: Cli) -> None:
    follow = {"goal": "follow up", "type": "chore", "parentTaskId": "T-1"}
    answer = json.dumps({"actions": [{"type": "create_task", "payload": follow}]})
    retype = {"taskId": "T-1", "action": "update", "payload": {"type": "bug"}}
    other = json.dumps({"actions": [{"type": "update_task", "payload": retype}]})
    cli.put("a.json", answer)
    cli.put("b.json", other)
    cli.configure(
        f"{TYPES}hooks:\n  task_created:\n"
        "    - {name: a, command: cat a.json, when: \"task.goal == 'mine'\"}\n"
        "    - {name: b, command: cat b.json, when: \"task.goal == 'mine'\"}\n"
    )
    cli.json("task", "add", "mine", "--type", "feature", env={"HOOKLINE_AGENT": "bot"})
    assert cli.task("T-1")["type"] == "bug"
    assert made(cli.task("T-2")) == ("T-1", "chore")
    result = cli("task", "add", "odd", "--type", "featrue")
    assert (result.code, cli.task("T-3")["type"]) == (0, "featrue")
    assert "warning: no type of task is called 'featrue': did you mean 'feature'?" in result.stderr
    result = cli("task", "update", "T-3", "--type", "choer")
    assert "did you mean 'chore'?" in result.stderr
    result = cli("task", "add", "--from", "-", stdin=lines({"goal": "g", "type": "bgu"}))
    assert "did you mean 'bug'?" in result.stderr
    assert cli("task", "update", "T-3", "--note", "n").stderr == ""


def test_without_configured_types_a_type_is_a_word(cli: Cli) -> None:
    assert cli("task", "add", "x", "--type", "anything").stderr == ""
    env = {"HOOKLINE_AGENT": "bot"}
    assert cli.json("task", "add", "y", "--type", "anything", env=env)["type"] == "anything"
    _, error = cli.refused("task", "add", "z", "--type", "another", env=session(cli, "T-1"))
    assert error["code"] == "people-only"  # conditions of gates may look at it


def test_check_names_types_that_nobody_can_create(cli: Cli) -> None:
    cli.configure("task_types:\n  feature: {may_create: [bgu]}\n  bug: {}\n")
    found = cli("check", "--format", "json").json["problems"]
    (problem,) = (each for each in found if each["code"] == "unknown-type")
    assert problem["severity"] == "warning"
    assert "did you mean 'bug'?" in problem["help"]


SPLITS = """\
hookline="{python} -m hookline"
part=$($hookline task add "a part" --json | sed 's/.*"id":"\\(T-[0-9]*\\)".*/\\1/')
$hookline task complete "$part"
$hookline task complete T-2 > "$box/other"
work
"""


def test_a_part_of_a_sessions_work_is_judged_with_it(cli: Cli) -> None:
    line = Pipeline(cli)
    line.begin("task_types: {feature: {hooks: {before_submit: []}}}\n", remote=False)
    line.turn(SPLITS.format(python=sys.executable))
    own, other = (cli.add(goal, "--type", "feature") for goal in ("mine", "another"))
    assert line.worker("--tasks", "1", code=4)["waiting"] == [other]
    assert cli.task(own)["state"] == "completed"
    (part,) = (each for each in cli.json("task", "list", "--all") if each["goal"] == "a part")
    assert (part["state"], made(part)) == ("completed", (own, "feature"))
    assert cli.task(other)["state"] == "submitted"  # which nobody split off
    assert line.merges() == [own]


# How an agent may try to look like nobody in particular, or like another one.
DISGUISES = {
    "no variables": """env -i {keeps} "$@\"""",
    "no session": """env -u HOOKLINE_SESSION "$@\"""",
    "only its name": """env -i {keeps} HOOKLINE_AGENT=bot "$@\"""",
    "empty": """HOOKLINE_SESSION= HOOKLINE_AGENT= HOOKLINE_TASK_ID= "$@\"""",
    "another task": """HOOKLINE_TASK_ID=T-2 sh -c '"$@"; exit' sh "$@\"""",
    "a link": """env -i {keeps} HOOKLINE_DIR={box}/link/.hookline "$@\"""",
}
ESCAPES = """\
say() {{ disguised {python} -m hookline "$@" 2>&1 | head -1 >> "$here/said"; }}
disguised() {{ {disguise}; }}
echo '{{"goal": "around", "type": "chore"}}' > "$here/tasks.jsonl"
(
  cd "{root}"
  say task add around --type chore
  say task add --from "$here/tasks.jsonl"
  say task update T-3 --label review
  say task update T-3 --changes none
  say task update T-3 --type chore
  say run --task T-3 --agent lax
  say task add "a part" --label review
)
work
"""


@pytest.mark.examples(1)
@pytest.mark.parametrize("disguise", DISGUISES)
def test_an_agent_that_drops_its_variables_is_known(cli: Cli, disguise: str) -> None:
    line = Pipeline(cli)
    lax = "{driver: command, command: 'true', hooks: {before_submit: []}}"
    agents = f"agents: {{bot: {line.profile}, lax: {lax}}}\nagent: bot\n"
    line.begin(TYPES, remote=False, agents=agents)
    (line.box / "link").symlink_to(cli.root)
    keeps = " ".join(f"{name}='{cli.env[name]}'" for name in ("PATH", "HOOKLINE_HOME"))
    hidden = DISGUISES[disguise].format(keeps=keeps, box=line.box)
    line.turn(ESCAPES.format(disguise=hidden, python=sys.executable, root=cli.root))
    own = cli.add("mine", "--type", "feature", "--priority", "1")
    for kind in ("chore", "feature"):
        cli.add("another", "--type", kind, "--priority", "3")
    cli("run", "--task", own, "--iterations", "1")
    *refused, added = (line.box / "said").read_text().splitlines()[:7]
    words = ("may not create", "may not create", "only a person", "only a person", "keeps its type")
    for text, word in zip(refused, (*words, "only a person can run"), strict=True):
        assert word in text, refused
    (part,) = cli.json("task", "list", "--all")[3:]
    assert (made(part), part["id"] in added) == ((own, "feature"), True)
    by = cli.events("task_created")[-1]["metadata"]
    assert (by["session"], by["triggeredBy"]) == ("mine", "bot")
    third = cli.task("T-3")
    assert (third["type"], third["labels"], third["state"]) == ("feature", [], "ready")


TOOLS = """\
ask() {{ printf '{{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}}\\n' "$1" "$2" "$3"; }}
hello='{{"protocolVersion":"2025-06-18","capabilities":{{}},"clientInfo":{{"name":"c","version":"1"}}}}'
add='{{"name":"task_create","arguments":{{"goal":"around","type":"chore"}}}}'
label='{{"name":"task_update","arguments":{{"taskId":"T-2","labels":["review"]}}}}'
answered() {{ grep -q '"id":3' "$here/said"; }}
{{ ask 1 initialize "$hello"; ask 2 tools/call "$add"; ask 3 tools/call "$label"
  until answered; do sleep 0.05; done; }} |
  env -i {keeps} HOOKLINE_DIR="{root}/.hookline" {python} -m hookline mcp > "$here/said" 2>&1
"""


def test_the_tools_of_an_agent_that_drops_its_variables(cli: Cli) -> None:
    line = Pipeline(cli)
    line.begin(TYPES, remote=False)
    keeps = " ".join(f"{name}='{cli.env[name]}'" for name in ("PATH", "HOOKLINE_HOME"))
    line.turn(TOOLS.format(keeps=keeps, python=sys.executable, root=cli.root))
    own, other = (cli.add(goal, "--type", "feature") for goal in ("mine", "another"))
    cli("run", "--task", own, "--iterations", "1")
    said = (line.box / "said").read_text()
    assert f"you work on {own}" in said
    assert f"only a person can label {other} as review" in said
    assert len(cli.json("task", "list", "--all")) == 2


CHECKED = """\
cd "$(dirname "$HOOKLINE_DIR")"
for disguise in env "env HOOKLINE_HOOK=h" "env -i {keeps} HOOKLINE_HOOK=h"; do
  $disguise {python} -m hookline task add around --type chore
  $disguise {python} -m hookline run --task T-2 --agent lax
done > "{box}/said" 2>&1
"""


def test_what_checks_the_work_may_not_do_more_than_its_agent(cli: Cli) -> None:
    line = Pipeline(cli)
    lax = "{driver: command, command: 'true', hooks: {before_submit: []}}"
    agents = f"agents: {{bot: {line.profile}, lax: {lax}}}\nagent: bot\n"
    rule = "{name: tests, type: command, command: 'eval \"$(cat cheat.txt)\"'}"
    line.begin(f"{TYPES}validation: [{rule}]\n", remote=False, agents=agents)
    keeps = " ".join(f"{name}={cli.env[name]}" for name in ("PATH", "HOOKLINE_HOME"))
    cheat = CHECKED.format(keeps=keeps, python=sys.executable, box=line.box)
    (line.box / "cheat").write_text(cheat)
    line.turn('cp "$here/cheat" cheat.txt\n')
    own = cli.add("mine", "--type", "feature")
    cli.add("another", "--type", "feature")
    cli("run", "--task", own, "--iterations", "1")
    said = (line.box / "said").read_text()
    assert said.count("may not create") == 3
    assert said.count("only a person can run `hookline run`") == 3
    assert len(cli.json("task", "list", "--all")) == 2
