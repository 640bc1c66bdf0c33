"""A night of work for the page to show: sessions with every kind of end, gates, runs, hooks.

Everything is made by commands, with agents whose turns are in scripts.
"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from tests.e2e.conftest import eventually
from tests.e2e.gate_rig import Repo

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.e2e.conftest import Cli

PROMISE = "<promise>COMPLETE</promise>"
CART = """\
def total(items):
    return sum(price for _, price in items)
"""
CONFIG = """\
agents:
{agents}
agent: ada
flows:
  ship:
    steps:
      - {{id: test, run: "echo testing {{{{input.version}}}}"}}
      - id: both
        parallel:
          - {{id: docs, run: "echo 12 pages"}}
          - {{id: wheel, run: "echo shop-{{{{input.version}}}}.whl"}}
      - {{id: ok, breakpoint: "Ship {{{{input.version}}}} to everyone?"}}
      - {{id: out, run: "echo shipped", when: "steps.ok.answer"}}
task_types:
  text: {{hooks: {{before_submit: [{{name: spelling, command: "! grep -rn teh docs"}}]}}}}
  careful: {{hooks: {{before_merge: [human]}}}}
hooks:
  pre_iteration:
    - {{name: pages, command: "ls docs", pipe_output: true}}
    - {{name: style-guide, command: "cat docs/style.md", pipe_output: true, when: "iteration == 1"}}
  post_iteration:
    - {{name: tests, command: "sh check.sh", pipe_output: true, when: "changed('src/**')"}}
    - {{name: word-count, command: "wc -w docs/*.md"}}
  before_submit:
    - {{name: compiles, command: "python3 -m compileall -q src"}}
  task_completed:
    - {{name: tell-the-team, command: "echo no route to chat >&2; exit 7"}}
  task_failed:
    - {{name: page-someone, command: "true"}}
gates: {{test: "sh check.sh"}}
session: {{iterations: 6, budget: {{minutes: 60, usd: 2}}}}
"""
CHECK = """\
grep -q 'return sum' src/cart.py && echo "3 passed" && exit
echo "tests/test_cart.py::test_total FAILED"
echo "E   assert None == 30"
exit 1
"""


def says(
    text: str, run: str | None = None, tokens: int = 4_000, usd: float = 0.03
) -> dict[str, Any]:
    """A turn: what the agent says, the line that stands for its work, what it used."""
    used = {"inputTokens": tokens, "outputTokens": tokens // 8, "usd": usd}
    return {"text": text, "usage": used, **({"run": run} if run is not None else {})}


ADDS_SHIPPING = (
    "printf 'def shipping(items):\\n    return 0 if total(items) > 50 else 5\\n' >> src/cart.py"
)
BREAKS_TOTAL = "sed -i 's/    return sum/    sum/' src/cart.py"
REPAIRS_TOTAL = "sed -i 's/^    sum/    return sum/' src/cart.py"
WRITES_DOCS = "printf '# Prices\\n\\nEverything costs 5.\\n' > docs/$HOOKLINE_TASK_ID.md"
# The turns of each agent of the night.
AGENTS: Mapping[str, Sequence[dict[str, Any]]] = {
    "ada": [
        says("I added `shipping()`, and simplified the sum.", f"{ADDS_SHIPPING}; {BREAKS_TOTAL}"),
        says("One test fails: `total` returned nothing. I look at it.", usd=0.02),
        says(f"`total` returns its sum again. All tests pass. {PROMISE}", REPAIRS_TOTAL),
        says("Noted.") | {"repeat": True},
    ],
    "bea": [says(f"I wrote the page of prices. {PROMISE}", WRITES_DOCS) | {"repeat": True}],
    "cyd": [says("I am still looking for the cause.", tokens=9_000) | {"repeat": True}],
    "dot": [says("I cannot decide which currency counts. <promise>ESCALATE</promise>")],
    "eve": [says("") | {"error": "the model is overloaded", "repeat": True}],
    "fay": [
        says("I replace the prices, line by line.", f"{WRITES_DOCS}; seq 1 400 > src/prices.txt"),
        says(f"The comment is taken care of. {PROMISE}", "echo 'Thank you.' >> docs/thanks.md"),
        says(f"Done again. {PROMISE}", "echo again >> docs/thanks.md") | {"repeat": True},
    ],
}


class Night(Repo):
    """The project of that night."""

    def __init__(self, cli: Cli) -> None:
        super().__init__(cli)
        cli.put("src/cart.py", CART)
        cli.put("docs/style.md", "Short sentences. No exclamation marks.\n")
        cli.put("check.sh", CHECK)
        self.box = cli.root.parent / "box"
        self.box.mkdir()
        for name, turns in AGENTS.items():
            cli.put(f"agents/{name}.json", json.dumps(turns))
        self.slow()
        lines = [f"  {name}: {{driver: scripted, script: agents/{name}.json}}" for name in AGENTS]
        free, command = "prices: {input: 0, output: 0}", shlex.quote(f"sh {self.box}/gus")
        lines.append(f"  gus: {{driver: command, command: {command}, {free}}}")
        self.begin(CONFIG.format(agents="\n".join(lines)))

    def slow(self) -> None:
        """The agent `gus` keeps each prompt, and answers when the test lets it."""
        (self.box / "gus").write_text(
            f"cd {self.box}\nn=$(($(ls | grep -c prompt) + 1))\ncat > part && mv part prompt-$n\n"
            "echo working on it\nuntil [ -e go ]; do sleep 0.05; done\nrm go\necho a turn is over\n"
        )

    def go(self) -> None:
        """Let the turn of `gus` end."""
        (self.box / "go").touch()

    def prompts(self) -> list[str]:
        """What `gus` was told, turn by turn."""
        found = sorted(self.box.glob("prompt-*"), key=lambda path: int(path.name[7:]))
        return [path.read_text() for path in found]

    def session(self, name: str, goal: str, agent: str, *options: str) -> None:
        """A session from start to end, whatever that is."""
        self.cli("run", goal, "--name", name, "--agent", agent, *options, "--json")

    def pass_by(self) -> None:
        """All that happened in the night; what waits for a person waits now."""
        self.tasks()
        self.sessions()
        self.cli("flow", "start", "ship", "--input", '{"version": "1.4"}')
        self.cli("flow", "start", "ship", "--input", '{"version": "1.5-rc1"}')

    def sessions(self) -> None:
        """Sessions in the project's own folder."""
        self.session("shipping-costs", "Orders over 50 ship for free", "ada", "--iterations", "6")
        self.commit("shipping")
        self.session("price-page", "Write a page with all prices", "bea")
        self.commit("prices")
        self.session(
            "flaky-upload", "Find out why uploads fail now and then", "cyd", "--iterations", "5"
        )
        self.session("currency", "Show prices in the visitor's currency", "dot")
        self.session("overloaded", "Sort the search results", "eve", "--iterations", "2")
        self.session("typos", "Fix the typos in the documentation", "bea")
        self.commit("typos")
        self.session("readme", "Say in the readme how to start", "bea")
        self.commit("readme")
        self.session("colours", "Find colours with enough contrast", "cyd", "--iterations", "1")
        self.session("dead-code", "Remove code that nothing calls", "cyd", "--iterations", "2")

    def tasks(self) -> None:
        """A graph of tasks, of which a worker has done what it could."""
        rows: list[dict[str, Any]] = [
            {"key": "first", "goal": "Describe every product", "type": "text"},
            {"key": "second", "goal": "Change how discounts add up", "type": "careful"},
        ]
        for number in range(24):
            after = ("first", "second")[number % 2] if number < 4 else f"step-{number - 3}"
            about = {"labels": ["shop"]} if number % 3 else {"labels": ["docs"], "priority": 3}
            goal = f"Step {number + 1} of the new checkout"
            rows.append({"key": f"step-{number}", "goal": goal, "dependsOn": [after], **about})
        lines = "\n".join(json.dumps(row) for row in rows)
        self.cli.json("task", "add", "--from", "-", stdin=lines, quiet=False)
        self.cli("work", "--once", "--agent", "bea", "--tasks", "1", "--json")
        self.cli("work", "--once", "--agent", "fay", "--tasks", "1", "--json")

    def live(self) -> None:
        """A session whose agent is at work."""
        words = (
            "run",
            "Watch the checkout, and tell what you see",
            "--name",
            "watch",
            "--agent",
            "gus",
        )
        self.cli.start(*words, "--iterations", "4", "--json")
        eventually(lambda: len(self.prompts()) == 1, "the first turn")
