"""A project whose record goes to a collector, and what an independent look at its rows says."""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from tests.collector import CollectorStandIn
from tests.e2e.session_rig import Rig
from tests.inbox import listening

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.collector import TakenSpan
    from tests.e2e.conftest import Cli

# A program that speaks like Claude Code: two tools at once, the second of them fails. If a
# file `hang` lies beside it, its turn does not end.
CLAUDE = """\
#!/usr/bin/env python3
import json, os, sys, time

sys.stdin.read()
session = "11111111-2222-3333-4444-555555555555"


def say(**line):
    print(json.dumps({"session_id": session, **line}), flush=True)


def result(tool, **more):
    say(type="user", message={"content": [{"type": "tool_result", "tool_use_id": tool, **more}]})


word = "COMPLETE" if os.environ["HOOKLINE_ITERATION"] == "2" else "CONTINUE"
tools = [("toolu_1", "Bash", {"command": "cat plans"}), ("toolu_2", "Read", {"file_path": "x"})]
used = [{"type": "tool_use", "id": key, "name": n, "input": given} for key, n, given in tools]
say(type="system", subtype="init", mcp_servers=[])
say(type="assistant", message={"id": "m1", "content": used})
result("toolu_2", is_error=True)
result("toolu_1")
hang = os.path.join(os.path.dirname(__file__), "hang")
if os.path.exists(hang):
    os.rename(hang, hang + "s")
    time.sleep(600)
said = f"the answer is opal <promise>{word}</promise>"
say(type="assistant", message={"id": "m2", "content": [{"type": "text", "text": said}]})
usage = {"input_tokens": 30, "output_tokens": 12}
say(type="result", subtype="success", result=said, total_cost_usd=0.0125, usage=usage)
"""


class TelemetryRig(Rig):
    """A project that sends its record to a stand-in for a collector."""

    def __init__(self, cli: Cli, collector: CollectorStandIn) -> None:
        super().__init__(cli)
        self.collector = collector

    def sends(self, hooks: dict[str, list[Any]] | None = None, **sections: Any) -> None:
        """Configure the project, so that its record is sent."""
        telemetry = {"endpoint": self.collector.url, **sections.pop("telemetry", {})}
        self.configure(hooks, telemetry=telemetry, **sections)

    @property
    def claude(self) -> dict[str, Any]:
        """The profile of an agent that uses tools."""
        program = self.file("claude")
        program.write_text(CLAUDE)
        program.chmod(0o755)
        return {"driver": "claude-code", "command": str(program), "model": "claude-opus-4"}


@pytest.fixture
def collector() -> Iterator[CollectorStandIn]:
    stand_in = CollectorStandIn()
    with ExitStack() as servers:
        servers.enter_context(listening(stand_in))
        yield stand_in


@pytest.fixture
def rig(cli: Cli, collector: CollectorStandIn) -> TelemetryRig:
    return TelemetryRig(cli, collector)


def check_all_sent(cli: Cli, collector: CollectorStandIn, after: int = 0) -> None:
    """Every call and turn in the rows after an event has its span, once, and a right parent."""
    sent, calls = _sent_calls(collector), _calls(cli, after)
    assert sent == calls, (sent - calls, calls - sent)
    assert _sent_turns(collector) == _turns(cli, after)
    check_parents(collector)


def check_parents(collector: CollectorStandIn) -> None:
    """Every span's parent is there, in the same trace; what belongs to a chapter is below it."""
    spans = collector.known
    roots = Counter(each.trace for each in spans.values() if not each.parent)
    assert set(roots.values()) <= {1}, roots
    for each in spans.values():
        assert each.start <= each.end
        if not each.parent:
            continue
        assert each.parent in spans, (each.name, each.attributes)
        assert spans[each.parent].trace == each.trace
        if each.name.startswith("execute_tool"):
            assert each.end <= spans[each.parent].end
        place = each.attributes.get("hookline.call", "").split("/")
        if len(place) > 2:  # a step of a chapter; what is told of an event is named by its position
            root = _root_of(each, spans)
            run, chapter = place[:2]
            assert (root["hookline.run"], root["hookline.chapter"]) == (run, int(chapter))


def _root_of(span: TakenSpan, spans: dict[str, TakenSpan]) -> dict[str, Any]:
    while span.parent:
        span = spans[span.parent]
    return span.attributes


def _calls(cli: Cli, after: int) -> Counter[tuple[int, str]]:
    """Calls that were made and are over, by the rows alone."""
    rows = cli.rows(
        "SELECT d.event_seq, d.hook, d.kind FROM deliveries d WHERE d.event_seq > ?"
        " AND d.status NOT IN ('skipped', 'pending', 'queued', 'cut')",
        after,
    )
    return Counter((seq, _shown(hook, kind)) for seq, hook, kind in rows)


def _shown(hook: str, kind: str) -> str:
    """A hook without a name has that of what is built in, else of its place."""
    place, mark, what = hook.partition("]:")
    if not mark:
        return hook
    return what if kind == "built-in" else f"{place}]"


def _turns(cli: Cli, after: int) -> Counter[str]:
    rows = cli.rows("SELECT data FROM events WHERE type = 'agent_turn' AND seq > ?", after)
    return Counter({json.loads(data)["turn"] for (data,) in rows})


def _sent_calls(collector: CollectorStandIn) -> Counter[tuple[int, str]]:
    spans = [each for each in collector.known.values() if "hookline.hook" in each.attributes]
    return Counter(
        (int(each.attributes["hookline.event"][-12:]), each.attributes["hookline.hook"])
        for each in spans
    )


def _sent_turns(collector: CollectorStandIn) -> Counter[str]:
    spans = (each.attributes for each in collector.known.values())
    return Counter(each["hookline.turn"] for each in spans if "hookline.turn" in each)


def words_of(collector: CollectorStandIn) -> str:
    """Everything that was sent, as text."""
    return re.sub(r"[^\x20-\x7e]+", " ", b"\n".join(collector.bodies).decode("latin-1"))
