"""People decide on the page, and what they said reaches agents and flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import eventually
from tests.e2e.gate_rig import Repo
from tests.page.conftest import Server

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Cli
    from tests.page.conftest import Window

PROMISE = "<promise>COMPLETE</promise>"
# It keeps every prompt, and does what it is told with one more line.
AGENT = """\
cd {box}
cat > part
mv part prompt-$(($(ls | grep -c prompt) + 1))
cd - > /dev/null
echo "line $(ls {box} | grep -c prompt)" >> story.txt
echo "{promise}"
"""
CONFIG = """\
agents: {{bot: {{driver: command, command: "sh {box}/agent"}}}}
flows:
  ship: {{steps: [{{id: ok, breakpoint: "Ship it?"}}, {{id: out, run: "echo shipped"}}]}}
hooks: {{before_merge: [human]}}
gates: {{test: "true"}}
"""


class Shop(Repo):
    """A project whose work waits for a person before it is merged."""

    def __init__(self, cli: Cli) -> None:
        super().__init__(cli)
        self.box: Path = cli.root.parent / "box"
        self.box.mkdir()
        (self.box / "agent").write_text(AGENT.format(box=self.box, promise=PROMISE))
        self.begin(CONFIG.format(box=self.box))

    def head(self) -> str:
        """The commit with the work on T-1."""
        return self.git("rev-parse", "hookline/T-1")

    def asks(self) -> bool:
        """Whether a gate asks a person."""
        return "gate" in [item["kind"] for item in self.cli("attention", "--json").json]

    def told(self) -> str:
        """All that the agent was told."""
        return "\n".join(self.prompts())

    def prompts(self) -> list[str]:
        """What the agent was told, turn by turn."""
        found = sorted(self.box.glob("prompt-*"), key=lambda path: int(path.name[7:]))
        return [path.read_text() for path in found]


def test_a_person_rejects_with_a_comment_on_a_line_and_then_approves(
    cli: Cli, window: Window
) -> None:
    shop = Shop(cli)
    cli.add("tell a story", quiet=False)
    cli("work", "--once", "--json")
    rejected = shop.head()
    page = window.tab(Server(cli)).open()
    page.get_by_role("button", name="Comment on line 1 of story.txt").click()
    page.get_by_label("Your comment").fill("Begin with: once upon a time")
    page.get_by_role("button", name="Add comment").click()
    page.get_by_role("button", name="Reject with 1 comment").click()
    page.get_by_label("What should be different?").fill("A story needs a beginning")
    page.locator(".form").get_by_role("button", name="Reject").click()
    eventually(lambda: "A story needs a beginning" in shop.told(), "the prompt to fix it")
    assert "Begin with: once upon a time" in shop.told()
    assert "story.txt" in shop.told()

    eventually(lambda: shop.head() != rejected and shop.asks(), "the question about the fix")
    page.get_by_text(shop.head()[:12], exact=True).wait_for()
    page.get_by_role("button", name="Approve", exact=True).click()
    eventually(lambda: cli.task("T-1")["state"] == "completed", "the merge")
    assert shop.merged() == ["story.txt"]
    said = [event["data"] for event in cli.events("gate_decided")]
    assert [each["decision"] for each in said] == ["reject", "approve"]
    assert {each["by"] for each in said} == {"Ada <ada@example.org>"}
    page.get_by_text("Nothing waits for you", exact=True).wait_for()


@pytest.mark.torture
def test_what_is_still_being_written_about_a_line_is_sent_and_what_is_cancelled_is_not(
    cli: Cli, window: Window
) -> None:
    shop = Shop(cli)
    agent = shop.box / "agent"
    agent.write_text("echo once >> story.txt; echo twice >> story.txt\n" + agent.read_text())
    cli.add("tell a story", quiet=False)
    cli("work", "--once", "--json")
    page = window.tab(Server(cli)).open()
    for line, text in ((2, "Say this in one word"), (3, "Never mind")):
        page.get_by_role("button", name=f"Comment on line {line} of story.txt").click()
        page.get_by_label("Your comment").last.fill(text)
    box = page.locator(".comment").last.bounding_box()
    lines = page.locator(".lines").bounding_box()
    assert box is not None
    assert lines is not None
    assert box["x"] + box["width"] <= lines["x"] + lines["width"]
    page.get_by_role("button", name="Cancel", exact=True).last.click()
    page.get_by_role("button", name="Reject with 1 comment").click()
    page.get_by_label("What should be different?").press("Control+Enter")
    eventually(lambda: "Say this in one word" in shop.told(), "the prompt to fix it")
    assert "Never mind" not in shop.told()


@pytest.mark.torture
def test_a_viewer_is_offered_nothing_that_is_refused(cli: Cli, window: Window) -> None:
    Shop(cli)
    cli.add("tell a story", quiet=False)
    cli("work", "--once", "--json")
    server = Server(cli, "--viewer-token")
    tab = window.tab(server)
    tab.page.goto(f"{server.viewer}&to=/attention")
    page = tab.page
    page.get_by_text("story.txt").first.wait_for()
    assert page.get_by_role("button", name="Comment on line").count() == 0
    for place, key in (("tasks", "c"), ("tasks/T-1", "e"), ("sessions", "c")):
        tab.go(f"/{place}")
        page.get_by_text("tell a story").first.wait_for()
        page.keyboard.press(key)
        assert page.locator("form.form").count() == 0
    for place in ("tasks?new=1", "sessions?start=1"):
        tab.go(f"/{place}")
        page.get_by_text("tell a story").first.wait_for()
        assert page.locator("form.form").count() == 0
    page.keyboard.press("Control+k")
    page.get_by_role("option", name="Dark or light").wait_for()
    assert page.get_by_role("option", name="Start a session").count() == 0


@pytest.mark.torture
def test_a_person_answers_a_breakpoint(cli: Cli, window: Window) -> None:
    Shop(cli)
    cli("flow", "start", "ship")
    page = window.tab(Server(cli)).open()
    page.get_by_role("button", name="with a note …").click()
    page.get_by_label("A note with your answer").fill("after lunch")
    page.get_by_role("button", name="Yes", exact=True).click()
    page.get_by_text("Nothing waits for you", exact=True).wait_for()
    cli("work", "--flows", "--once")
    answered = cli.events("effect_resolved")[0]["data"]["value"]
    assert (answered["answer"], answered["note"]) == (True, "after lunch")


def test_a_person_starts_a_session_on_the_page_and_talks_to_it(cli: Cli, window: Window) -> None:
    shop = Shop(cli)
    slow = "until [ -e {box}/go ]; do sleep 0.05; done; rm {box}/go; echo a turn is over\n"
    agent = AGENT.format(box=shop.box, promise="").replace('echo ""', slow.format(box=shop.box))
    (shop.box / "agent").write_text(agent)
    page = window.tab(Server(cli)).open("/sessions")
    page.get_by_role("button", name="Start one").first.click()
    page.get_by_label("Goal").fill("Watch the shop")
    page.get_by_label("Iterations, at most").fill("3")
    page.get_by_label("Name (optional)").fill("watch")
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_role("heading", name="watch", exact=True).wait_for()
    eventually(lambda: len(shop.prompts()) == 1, "the first turn")
    page.get_by_role("button", name="Message").click()
    page.get_by_label("Message to the agent").fill("Look at the back door, too")
    page.locator(".form").get_by_role("button", name="Message").click()
    page.get_by_text("next prompt: 1").wait_for()
    (shop.box / "go").touch()
    eventually(lambda: len(shop.prompts()) == 2, "the second turn")
    assert "Look at the back door, too" in shop.prompts()[1]
    page.get_by_text("Iteration 2").first.wait_for()
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Stop at once").click()
    page.locator(".goal .status", has_text="stopped").wait_for()


@pytest.mark.torture
def test_a_click_resumes_a_session_that_reached_its_limit(cli: Cli, window: Window) -> None:
    shop = Shop(cli)
    (shop.box / "agent").write_text(AGENT.format(box=shop.box, promise="not yet"))
    cli("run", "Count the stars", "--name", "stars", "--iterations", "1", "--json")
    page = window.tab(Server(cli)).open()
    page.get_by_text("It reached a limit").first.wait_for()
    page.get_by_role("button", name="Resume", exact=True).click()
    page.get_by_text("resumes in the background").wait_for()
    eventually(lambda: len(shop.prompts()) == 2, "the second turn")
    eventually(lambda: len(cli.events("session_ended")) == 2, "the second end")
    assert [event["data"]["iterations"] for event in cli.events("session_ended")] == [1, 2]


@pytest.mark.torture
def test_a_person_adds_changes_and_orders_tasks(cli: Cli, window: Window) -> None:
    Shop(cli)
    page = window.tab(Server(cli)).open("/tasks")
    for goal in ("sweep", "paint"):
        page.get_by_role("button", name="Add one").click()
        page.get_by_label("Goal").fill(goal)
        page.get_by_role("button", name="Add", exact=True).click()
        page.get_by_role("region", name="Task T-").get_by_text(goal).first.wait_for()
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Goal").fill("paint the door")
    page.get_by_label("Depends on").fill("T-1")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("region", name="Task T-2").get_by_text("paint the door").first.wait_for()
    assert cli.task("T-2")["dependsOn"] == ["T-1"]
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Depends on").fill("")
    page.get_by_role("button", name="Save").click()
    eventually(lambda: cli.task("T-2")["dependsOn"] == [], "no dependency")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="paint the door").hover()
    page.get_by_role("button", name="Take T-2 earlier").click()
    first = page.locator(".list li").first
    eventually(lambda: "T-2" in first.inner_text(), "the new order")
    assert cli.json("task", "next")["id"] == "T-2"
