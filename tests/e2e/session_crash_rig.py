"""Sessions whose process is killed or interrupted at random, and the proof that nothing was lost.

The agent keeps every prompt that it has read to its end, and holds a lock while it lives; so does
a process of its own that it leaves behind in another group. Hooks leave a trace, and pipe words
that can be found again in the prompts. What is slow is so only once, or nothing would ever end.
"""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.adapters.store.blobs import FileBlobs
from hookline.flows.journal import inside
from tests.e2e.conftest import PROGRAM, eventually
from tests.e2e.crash_rig import processes_of
from tests.e2e.session_rig import HOOKLINE

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

COMPLETED, STOPPED, LEFT, INTERRUPTED = "completed", "stopped", "left", 130
# Whoever has to wait longer for the lock meets another agent that is alive.
AGENT = f"""\
here=$(dirname "$0")
exec 9>> "$here/lock"
flock -w 0.1 9 || echo "$HOOKLINE_RUN_ID $$ meets another" >> "$here/overlaps"
box="$here/$HOOKLINE_RUN_ID"
mkdir -p "$box"
cat > "$box/.part-$$"
mv "$box/.part-$$" "$box/$(date +%s%N)"
setsid sleep 60 > /dev/null 2>&1 &
case "$HOOKLINE_ITERATION" in
  2) [ -e "$box/.part" ] || {{
       id=$({HOOKLINE} task add part --parent "$HOOKLINE_TASK_ID" --json | grep -o 'T-[0-9]*')
       {HOOKLINE} task complete $(echo $id | cut -d' ' -f1) > /dev/null 2>&1
       touch "$box/.part"
     }};;
  3) sleep 1;;
  1) ;;
  *) echo '<promise>COMPLETE</promise>';;
esac
sleep 0.1
"""
HOOK = """\
echo "begin $HOOKLINE_POINT ${{HOOKLINE_SESSION:--}} $HOOKLINE_IDEMPOTENCY_KEY" >> {trace}
exec 9>> "{trace}-$HOOKLINE_POINT"
flock -w 0.1 9 || echo "$HOOKLINE_POINT $$ meets another" >> {overlaps}
case $HOOKLINE_POINT-$(grep -c " $HOOKLINE_IDEMPOTENCY_KEY$" {trace}) in
  pre_iteration-1) sleep 0.5;;
  *) sleep 0.05;;
esac
echo "said<$HOOKLINE_POINT:$HOOKLINE_IDEMPOTENCY_KEY>"
echo "end $HOOKLINE_POINT ${{HOOKLINE_SESSION:--}} $HOOKLINE_IDEMPOTENCY_KEY" >> {trace}
"""
RULE = """\
exec 9>> {box}/rule-lock
flock -w 0.1 9 || echo "rule $$ meets another" >> {box}/overlaps
[ -e "{box}/$HOOKLINE_IDEMPOTENCY_KEY" ] || {{
  touch "{box}/$HOOKLINE_IDEMPOTENCY_KEY"
  sleep 0.5
}}
"""
SAID = re.compile(r"said<[^>]+>")
PIPED = ("session_start", "pre_iteration", "post_iteration")


class Turn(NamedTuple):
    """A turn as the journal holds it."""

    step: str
    prompt: str
    value: dict[str, Any]

    @property
    def is_whole(self) -> bool:
        """Whether nobody cut it short."""
        return not self.value.get("interrupted")


class SessionRig:
    """One project, one agent, and someone who ends whatever advances its sessions."""

    def __init__(self, cli: Cli, seed: int) -> None:
        self.cli = cli
        self._random = random.Random(seed)
        self._driver: subprocess.Popen[bytes] | None = None
        self.ends: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()
        self.box = cli.root.parent / "agent"
        self.box.mkdir()
        self.trace_file = self.box / "trace"
        self.overlaps = self.box / "overlaps"
        (self.box / "agent.sh").write_text(AGENT)
        line = HOOK.format(trace=self.trace_file, overlaps=self.overlaps)
        (self.box / "hook.sh").write_text(line)
        (self.box / "rule.sh").write_text(RULE.format(box=self.box))
        cli.configure(self._configuration())
        cli.add("the store is there from the first look on")

    def _configuration(self) -> str:
        hook = {"command": f"sh {self.box}/hook.sh"}
        piped = {point: [{**hook, "name": point, "pipe_output": True}] for point in PIPED}
        quiet = {point: [{**hook, "name": point}] for point in ("on_error", "session_end")}
        told = {"on_task_complete": [{**hook, "name": "told", "pipe_output": True}]}
        rule = {"name": "fine", "type": "command", "command": f"sh {self.box}/rule.sh"}
        sections = {
            "agents": {"bot": {"driver": "command", "command": f"sh {self.box}/agent.sh"}},
            "hooks": {**piped, **quiet, **told, "stop": ["promise"]},
            "validation": [rule],
            "session": {"guards": dict.fromkeys(("failures", "no_change", "identical_output"), 0)},
        }
        return "".join(f"{name}: {json.dumps(value)}\n" for name, value in sections.items())

    # Living and dying

    def drive(self, name: str) -> subprocess.Popen[bytes]:
        """A process that advances the session, which it begins if there is none."""
        begins = ("do it", "--agent", "bot")
        words = ("run", *(("--resume",) if self.run_of(name) else begins), "--name", name)
        with (self.box / "out").open("ab") as out, (self.box / "err").open("wb") as err:
            return subprocess.Popen(
                (*PROGRAM, *words, "--json"),
                cwd=self.cli.root,
                env=self.cli.env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )

    def live(self, name: str, at_work: bool) -> None:
        """Let the session go on for a random while, which begins once the driver is at work."""
        pause = self._random.uniform(0.02, 0.5)
        deadline = time.monotonic() + pause
        self._driver = self._driver or self.drive(name)
        while self._driver.poll() is None:
            if at_work and not self._is_driven(name):
                deadline = time.monotonic() + pause
            elif time.monotonic() >= deadline:
                return
            time.sleep(0.01)

    def _is_driven(self, name: str) -> bool:
        assert self._driver is not None
        rows = self.cli.rows("SELECT owner FROM runs WHERE number = ?", self.run_of(name) or 0)
        return bool(rows) and f":{self._driver.pid}:" in (rows[0][0] or "")

    def end(self) -> int:
        """Wait for the driver; its exit code."""
        assert self._driver is not None
        code = self._driver.wait(60)
        said = (self.box / "err").read_text()
        assert "Traceback" not in said, said
        assert "bug" not in said, said
        assert code in (0, INTERRUPTED, -signal.SIGKILL), (code, said)
        self._driver = None
        return code

    def is_over(self, name: str) -> bool:
        """Whether the session is completed."""
        rows = self.cli.rows("SELECT status FROM runs WHERE number = ?", self.run_of(name) or 0)
        return bool(rows) and rows[0][0] == COMPLETED

    def run_of(self, name: str) -> int | None:
        """The number of a session's run."""
        rows = self.cli.rows(
            "SELECT number FROM runs WHERE json_extract(input, '$.name') = ?", name
        )
        return int(rows[0][0]) if rows else None

    def close(self) -> None:
        """Nothing of this goes on."""
        if self._driver is not None and self._driver.poll() is None:
            self._driver.kill()
            self._driver.wait()

    def kill_often(self, kills: int) -> list[str]:
        """Session after session, until so many processes were killed; the names."""
        names: list[str] = []
        while self.ends["killed"] < kills:
            names.append(f"s{len(names) + 1}")
            while not self.is_over(names[-1]):
                # Most are to hit a driver at work, some one that has only just been started.
                self.live(names[-1], at_work=self._random.random() < 0.8)
                assert self._driver is not None
                if self._driver.poll() is None and self.ends["killed"] < kills:
                    self._driver.kill()
                    self.ends["killed"] += 1
                elif self._driver.poll() is None:
                    self._driver.wait(60)
                self.end()
        return names

    def interrupt_often(self, times: int) -> list[str]:
        """Session after session, each process interrupted once, twice or three times."""
        names: list[str] = []
        while self.ends.total() < times:
            names.append(f"s{len(names) + 1}")
            while not self.is_over(names[-1]):
                self.live(names[-1], at_work=True)
                if self.ends.total() < times:
                    self._interrupt(self._random.choice((1, 1, 2, 2, 3)))
                self.end()
        return names

    def _interrupt(self, times: int) -> None:
        assert self._driver is not None
        for _ in range(times):
            if self._driver.poll() is None:
                self._driver.send_signal(signal.SIGINT)
                time.sleep(self._random.uniform(0.0, 0.1))
        self.ends[f"^C {times} times"] += 1

    # What is known afterwards

    def events(self, run: int, *types: str) -> list[dict[str, Any]]:
        """The data of a run's events, in order, read past Hookline."""
        rows = self.cli.rows(
            "SELECT type, data FROM events WHERE node_id = ? ORDER BY seq", f"R-{run}"
        )
        return [{**json.loads(data), "type": kind} for kind, data in rows if kind in types]

    def results(self, run: int) -> dict[tuple[int, str], Any]:
        """The value of each result of a run, by chapter and effect."""
        blobs = FileBlobs(str(self.cli.root / ".hookline" / "blobs"))
        return {
            (each["chapter"], each["effectId"]): inside(each.get("value"), blobs)
            for each in self.events(run, "effect_resolved")
        }

    def turns(self, run: int) -> list[Turn]:
        """Every turn of the agent, as the journal holds it."""
        results = self.results(run)
        asked = [e for e in self.events(run, "effect_requested") if e["kind"] == "agent"]
        return [
            Turn(each["step"], each["args"]["prompt"], results[each["chapter"], each["effectId"]])
            for each in asked
        ]

    def read_prompts(self, run: int) -> list[str]:
        """What the agent has read, turn by turn."""
        box = self.box / f"R-{run}"
        return [path.read_text() for path in sorted(box.glob("[0-9]*"))]

    def trace(self, word: str, point: str, name: str) -> list[str]:
        """The keys of the calls of a hook that began, or that ended."""
        lines = [line.split() for line in self.trace_file.read_text().splitlines()]
        return [key for what, at, of, key in lines if (what, at, of) == (word, point, name)]

    # What must hold

    def check(self, name: str) -> None:
        """Everything that a session promises, whatever happened to its process."""
        run = self.run_of(name)
        assert run is not None
        self._check_iterations(run)
        self._check_buffer(run)
        self._check_hooks(run, name)
        self._check_errors(run)

    def check_all(self) -> None:
        """What must hold for the project as a whole."""
        assert not self.overlaps.exists(), self.overlaps.read_text()
        eventually(lambda: not processes_of(self.cli.root), "the end of every child")
        doctor = self.cli("doctor", "--json")
        wrong = [c for c in json.loads(doctor.stdout)["checks"] if c["status"] != "ok"]
        assert [c for c in wrong if c["status"] == "failed"] == [], wrong
        unusual = (
            "SELECT hook, status, attempts FROM deliveries"
            " WHERE status NOT IN ('ok', 'skipped', 'cut')"
        )
        given_up = self.cli.rows(unusual)
        assert set(given_up) <= {("told", "dead", 3)}, given_up
        self.seen["given up"] += len(given_up)
        assert self.cli.rows("SELECT * FROM dispatches") == []

    def _check_iterations(self, run: int) -> None:
        """Each iteration is counted once, in order."""
        ended = self._counted(run)
        assert ended == list(range(1, len(ended) + 1)), ended
        endings = self.events(run, "session_ended")
        assert endings[-1]["outcome"] == COMPLETED
        assert endings[-1]["iterations"] == len(ended)
        assert [each["outcome"] for each in endings[:-1]] == [STOPPED] * (len(endings) - 1)

    def _counted(self, run: int) -> list[int]:
        """The iterations that count: all but those that a person cut short.

        A third ^C kills the process as any other kill does: nobody is known to have asked for it.
        """
        turns = {
            (each["chapter"], each["effectId"])
            for each in self.events(run, "effect_requested")
            if each["kind"] == "agent"
        }
        counted, killed = [], False
        for each in self.events(run, "effect_resolved", "session_iteration_ended"):
            if each["type"] == "session_iteration_ended":
                cut = each["error"] == "the agent was interrupted" and each["status"] != "ok"
                if killed or not cut:
                    counted.append(each["iteration"])
                killed = False
            elif (each["chapter"], each["effectId"]) in turns:
                value = each.get("value") or {}
                killed = value.get("interrupted", False) and value.get("by") != "person"
        return counted

    def _check_buffer(self, run: int) -> None:
        """What was held was taken once, and the agent has read it."""
        rows = self.cli.rows("SELECT text, delivered FROM held_output WHERE run = ?", run)
        held = Counter(SAID.findall(" ".join(text for text, _ in rows)))
        assert set(held.values()) <= {1}, held
        assert {delivered for _, delivered in rows} == {1}
        taken = Counter(
            word
            for value in self.results(run).values()
            if isinstance(value, dict) and "held" in value
            for word in SAID.findall(json.dumps(value["held"]))
        )
        assert taken == held
        read = Counter(SAID.findall(" ".join(self.read_prompts(run))))
        assert not [word for word in held if not read[word]], (held, read)
        self.seen["held"] += len(held)
        whole = Counter(
            word for turn in self.turns(run) if turn.is_whole for word in SAID.findall(turn.prompt)
        )
        assert {whole[word] for word in held} == {1}, whole

    def _check_hooks(self, run: int, name: str) -> None:
        """Each call that came to its end has one record; only those cut short were made again."""
        rows = self.cli.rows(
            "SELECT d.point FROM deliveries d JOIN events e ON e.seq = d.event_seq"
            " WHERE e.node_id = ? AND e.type = 'point_fired' AND d.status <> 'cut'",
            f"R-{run}",
        )
        recorded = Counter(point for (point,) in rows)
        assert recorded["session_start"] == 1
        ended = len(self.events(run, "session_ended"))
        # One that a person ended may have come to its own end just before.
        whole = ended - self._cut_endings(run)
        assert whole <= recorded["session_end"] <= ended, (whole, recorded, ended)
        for point in (*PIPED, "session_end", "on_error"):
            began, over = self.trace("begin", point, name), self.trace("end", point, name)
            assert len(set(began)) >= recorded[point], point
            self.seen[f"{point} again"] += len(began) - len(set(began))
            assert set(over) <= set(began)

    def _cut_endings(self, run: int) -> int:
        """How often a person ended the hooks of session_end."""
        results = self.results(run)
        asked = [
            each
            for each in self.events(run, "effect_requested")
            if each["kind"] == "hook" and each["args"]["point"] == "session_end"
        ]
        found = [results[each["chapter"], each["effectId"]] for each in asked]
        return sum(each.get("by") == "person" for each in found)

    def _check_errors(self, run: int) -> None:
        """Hooks heard of each turn that was cut short, but for those that only set it right."""
        cut = [
            turn
            for turn in self.turns(run)
            if not turn.is_whole and turn.value.get("by") != "person" and turn.step != "recovery"
        ]
        heard = [e for e in self.events(run, "point_fired") if e["point"] == "on_error"]
        assert len(heard) == len(cut), [turn.step for turn in cut]
        self.seen["cut"] += len(cut)
        self.seen["turns"] += len(self.turns(run))
