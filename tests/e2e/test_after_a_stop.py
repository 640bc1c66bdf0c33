"""What people see and are told to type when work stopped: nobody to do it, trust, a question."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from tests.e2e.conftest import eventually, kill
from tests.e2e.session_rig import Rig, in_order
from tests.e2e.test_work import ADA, Workshop, of, shop

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

__all__ = ["shop"]
TYPES = "agent: ada\ntask_types: {zonly: {agents: {implementer: [zed]}}}\n"
ZED = f"{ADA}  zed: {{driver: command, command: 'no-such-agent --go'}}\n"


def test_a_task_that_nobody_here_can_take_has_a_reason(shop: Workshop) -> None:
    shop.configure(TYPES, ZED)
    task = shop.cli.add("for zed", "--type", "zonly")
    why = "agent here may take it: agent 'zed' needs the program no-such-agent"
    _, ended = shop.work(code=4)
    assert why in ended["why"][task]
    assert f"{task:5} no {why}" in shop.cli("work", "--once").stderr
    (item,) = shop.cli("attention", "--json").json
    assert (item["id"], item["command"]) == (task, "hookline doctor")
    assert why in item["message"]
    assert why in shop.cli("why", task).stdout
    assert why in shop.cli("task", "show", task).stdout


def test_work_says_that_a_merge_waits_for_trust(shop: Workshop) -> None:
    shop.configure("gates: {test: 'true'}\n")
    shop.cli.put(
        "agent.sh", "cat > /dev/null; echo '# more' >> hookline.yaml; cat ../../../../say\n"
    )
    shop.commit()
    shop.cli("trust", "--yes")
    shop.cli.add("edit it")
    records, _ = shop.work(code=4)
    (asked,) = of(records, "asks_person")
    assert "hookline.yaml" in asked["reason"]
    assert asked["command"] == "hookline trust --task T-1"
    again = shop.cli("why", "T-1")
    assert "hookline trust --task T-1" in again.stdout


def test_a_question_is_answered_before_an_agent_is_paid_again(cli: Cli) -> None:
    rig = Rig(cli)
    rig.turns("echo 'I need the password. <promise>BLOCKED</promise>'")
    rig.configure({})
    rig.run(name="one")
    told = 'hookline session message one "YOUR ANSWER" && hookline run --resume --name one'
    (item,) = cli("attention", "--json").json
    assert item["command"] == told
    assert f"Try: {told}" in cli("why", "one").stdout
    # Whoever begins anew knows what was asked.
    cli("task", "unblock", "T-1")
    cli("run", "--task", "T-1", "--name", "two")
    first = rig.prompts("R-2")[0].text
    assert in_order(first, "# Asked before", "Why it stopped", "I need the password.")
    assert "sent back" not in first


def test_work_without_a_commit_names_the_way_to_say_that_this_is_right(shop: Workshop) -> None:
    shop.configure("gates: {without_commits: park}\n")
    shop.cli.put("agent.sh", "cat > /dev/null; cat ../../../../say\n")
    shop.commit()
    shop.cli("trust", "--yes")
    task = shop.cli.add("nothing to do")
    shop.work(code=4)
    (item,) = [each for each in shop.cli("attention", "--json").json if each["id"] == task]
    assert (
        item["command"] == f"hookline task update {task} --changes none && hookline submit {task}"
    )


def test_what_a_killed_worker_had_begun_is_seen_while_it_goes_on(shop: Workshop) -> None:
    flag = shop.outside / "asked"
    shop.configure(
        f"hooks: {{before_submit: [{{name: slow, command: 'touch {flag}; sleep 1.5'}}]}}\n"
        "gates: {test: 'true'}\n"
    )
    shop.cli.add("first")
    worker = shop.cli.start("work", "--once")
    eventually(flag.exists, "the gate is asked")
    kill(worker)
    assert worker.wait() == -signal.SIGKILL
    records, ended = shop.work()
    kinds = [each["type"] for each in records]
    assert kinds.index("submission_started") < kinds.index("gate")
    assert [each["status"] for each in of(records, "gate") if each["hook"] == "slow"] == ["success"]
    assert ended["merged"] == ["T-1"]
