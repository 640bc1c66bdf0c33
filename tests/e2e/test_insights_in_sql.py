"""Every figure of `hookline insights`, asked of the record by other statements than its own.

They read events and calls only, and are written from what docs/insights.md says.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from hookline import App
from hookline.insights import TABLES, Selection, insights
from tests.e2e.session_rig import Rig

if TYPE_CHECKING:
    from tests.e2e.conftest import Cli

UNTIL = "2099-01-01T00:00:00.000Z"
USED = {"usage": {"inputTokens": 1000, "outputTokens": 200, "usd": 0.25}}
DONE = "<promise>COMPLETE</promise>"
# In each run: work, then what the gate `noted` asks for.
ADA = [
    {"run": "echo $$ >> work-$HOOKLINE_TASK_ID", "text": DONE, **USED},
    {"run": "echo $HOOKLINE_TASK_ID >> notes", "text": DONE, **USED, "repeat": True},
]
# It changes nothing, fails once, and does not always say what it cost.
BO = [
    {"text": "looking", **USED},
    {"error": "the connection was lost"},
    {"text": "still looking", **USED},
    {"text": "looking on", "repeat": True},
]
# One type whose gate rejects, one whose gate passes, and one whose gate cannot check anything.
GATES = {
    "text": {"name": "noted", "command": "grep -q {{task_id}} notes"},
    "plain": {"name": "fine", "command": "true"},
    "odd": {"name": "gone", "command": "no-such-program"},
}

RECORD = """
WITH session AS (
    SELECT DISTINCT node_id AS run, json_extract(data, '$.taskId') AS task,
        json_extract(data, '$.agent') AS agent
    FROM events WHERE type = 'session_started'
), iteration AS (
    SELECT node_id AS run, json_extract(data, '$.status') AS status, max(seq)
    FROM events WHERE type = 'session_iteration_ended'
    GROUP BY node_id, json_extract(data, '$.iteration')
), turn AS (
    SELECT node_id AS task, json_extract(data, '$.agent') AS agent,
        json_extract(data, '$.usd') AS usd, ifnull(json_extract(data, '$.inputTokens'), 0)
            + ifnull(json_extract(data, '$.outputTokens'), 0) AS tokens, max(seq)
    FROM events WHERE type = 'agent_turn' GROUP BY json_extract(data, '$.turn')
), done AS (
    SELECT node_id AS task, (
        SELECT json_extract(c.data, '$.agent') FROM events c WHERE c.node_id = e.node_id
        AND c.type = 'task_claimed' AND c.seq < e.seq ORDER BY c.seq DESC LIMIT 1) AS agent
    FROM events e WHERE type = 'task_completed'
), verdict AS (
    SELECT e.seq, e.node_id AS task, d.hook AS gate, d.point,
        CASE WHEN d.status <> 'ok' THEN 'broke'
            WHEN json_extract(d.answer, '$.status') = 'success' THEN 'passed'
            ELSE 'rejected' END AS said
    FROM deliveries d JOIN events e ON e.seq = d.event_seq WHERE d.point = 'before_submit'
    UNION ALL
    SELECT e.seq, s.node_id, 'merge', 'merge', 'passed' FROM events e
    JOIN events s ON s.type = 'submission_started' AND json_extract(s.data, '$.run') = e.node_id
    WHERE e.type = 'effect_resolved' AND json_extract(e.data, '$.effectId') = 'merge'
        AND json_extract(e.data, '$.value.testedBy') IS NOT NULL
), first AS (
    SELECT *, min(seq) FROM verdict GROUP BY task, gate
), checked AS (
    SELECT done.task, agent, NOT EXISTS (
        SELECT 1 FROM first WHERE first.task = done.task AND said <> 'passed') AS is_right
    FROM done WHERE task IN (SELECT task FROM verdict)
), result AS (
    SELECT e.seq, e.node_id AS place, json_extract(c.value, '$.name') AS name, 'rule' AS kind,
        json_extract(c.value, '$.command') AS command, json_extract(e.data, '$.files') AS files,
        json_extract(c.value, '$.passed') AS passed
    FROM events e, json_each(e.data, '$.checks') c WHERE e.type = 'session_checked'
    UNION ALL
    SELECT e.seq, e.node_id, d.hook, 'hook', NULL, NULL, d.exit_code = 0
    FROM deliveries d JOIN events e ON e.seq = d.event_seq
    WHERE d.point IN ('post_iteration', 'stop') AND d.exit_code IS NOT NULL
    UNION ALL
    SELECT seq, task, gate, 'gate', NULL, NULL, said = 'passed' FROM verdict WHERE said <> 'broke'
), following AS (
    SELECT *, lag(passed) OVER (PARTITION BY place, kind, name ORDER BY seq) AS before FROM result
), mixed AS (
    SELECT name, kind, command, count(*) AS results, sum(NOT passed) AS failed FROM result
    WHERE files IS NOT NULL GROUP BY name, kind, command, files
    HAVING sum(passed) > 0 AND sum(NOT passed) > 0
), change AS (
    SELECT seq, node_id AS task, timestamp AS at, CASE type WHEN 'task_started' THEN 'active'
        WHEN 'task_released' THEN json_extract(data, '$.state') ELSE substr(type, 6) END AS state
    FROM events WHERE type IN ('task_created', 'task_ready', 'task_started', 'task_submitted',
        'task_released', 'task_completed', 'task_needs_continuation')
), stay AS (
    SELECT state, CAST(round((julianday(ifnull(lead(at) OVER of_task, :until))
        - julianday(at)) * 86400000) AS INTEGER) AS ms
    FROM (SELECT *, lag(state) OVER of_task AS was FROM change
        WINDOW of_task AS (PARTITION BY task ORDER BY seq))
    WHERE state IS NOT was WINDOW of_task AS (PARTITION BY task ORDER BY seq)
)
"""
FIGURES = {
    "tasks": """
        SELECT count(*) AS tasks, sum(sessions) AS sessions, sum(iterations) AS iterations,
            1.0 * sum(iterations) / count(*) AS iterations_per_task, sum(turns) AS turns,
            sum(tokens) AS tokens, sum(usd) AS usd, sum(usd) / count(*) AS usd_per_task,
            sum(unpriced) AS unpriced_turns
        FROM (SELECT (SELECT count(*) FROM session s WHERE s.task = d.task) AS sessions,
            (SELECT count(*) FROM iteration i JOIN session s USING (run)
                WHERE s.task = d.task) AS iterations,
            (SELECT count(*) FROM turn t WHERE t.task = d.task) AS turns,
            (SELECT sum(tokens) FROM turn t WHERE t.task = d.task) AS tokens,
            (SELECT sum(usd) FROM turn t WHERE t.task = d.task) AS usd,
            (SELECT count(*) FROM turn t WHERE t.task = d.task AND usd IS NULL) AS unpriced
            FROM done d)""",
    "first-time-right": """
        SELECT count(*) AS tasks, sum(is_right) AS first_time_right,
            100.0 * sum(is_right) / count(*) AS percent FROM checked""",
    "states": """
        SELECT state, count(*) AS times, sum(ms) AS ms,
            100.0 * sum(ms) / sum(sum(ms)) OVER () AS percent
        FROM stay WHERE ms > 0 AND state <> 'completed' GROUP BY state""",
    "gates": """
        SELECT v.gate, v.point, count(*) AS asked, sum(v.said = 'rejected') AS rejected,
            sum(v.said = 'broke') AS broke, sum(f.seq IS NOT NULL) AS first_asked,
            sum(f.seq IS NOT NULL AND v.said = 'rejected') AS first_rejected
        FROM verdict v LEFT JOIN first f ON f.seq = v.seq AND f.gate = v.gate
        GROUP BY v.gate, v.point""",
    "checks": """
        SELECT name, kind, count(*) AS results, sum(NOT passed) AS failed,
            sum(before AND NOT passed) AS regressions FROM following GROUP BY name, kind""",
    "flaky": """
        SELECT name, kind, command, count(*) AS trees, sum(results) AS results,
            sum(failed) AS failed FROM mixed GROUP BY name, kind, command""",
    "agents": """
        SELECT agent, (SELECT count(*) FROM done d WHERE d.agent = a.agent) AS tasks,
            (SELECT count(*) FROM checked c WHERE c.agent = a.agent) AS checked,
            (SELECT ifnull(sum(is_right), 0) FROM checked c WHERE c.agent = a.agent)
                AS first_time_right,
            (SELECT count(*) FROM session s WHERE s.agent = a.agent) AS sessions,
            (SELECT count(*) FROM iteration i JOIN session s USING (run)
                WHERE s.agent = a.agent) AS iterations,
            (SELECT count(*) FROM iteration i JOIN session s USING (run)
                WHERE s.agent = a.agent AND status = 'failed') AS failed_iterations,
            count(*) AS turns, sum(tokens) AS tokens, sum(usd) AS usd,
            sum(usd IS NULL) AS unpriced_turns
        FROM turn a GROUP BY agent""",
}


def begin(cli: Cli) -> None:
    for name, turns in (("ada", ADA), ("bo", BO)):
        cli.put(f"{name}.json", json.dumps(turns))
    rig = Rig(cli)
    rig.configure(
        {"post_iteration": [{"name": "look", "command": "exit 1"}], "before_submit": []},
        agents={n: {"driver": "scripted", "script": f"{n}.json"} for n in ("ada", "bo")},
        validation=[
            {"name": "tests", "type": "command", "command": "test $HOOKLINE_ITERATION != 3"}
        ],
        task_types={name: {"hooks": {"before_submit": [gate]}} for name, gate in GATES.items()},
        gates={"test": "true"},
    )
    rig.repository()


def week(cli: Cli) -> None:
    """Work that went well and not so well, of two agents."""
    begin(cli)
    for name in (*GATES, "plain"):
        cli.add(f"write the {name} part", "--type", name)
    cli("work", "--once", "--agent", "ada")
    for name in ("one", "two"):
        cli("run", "look at it", "--name", name, "--agent", "bo", "--iterations", "4")
    cli.add("not begun")


def told(cli: Cli, name: str) -> list[dict[str, Any]]:
    """The rows of a table, without the columns that lead to its events or split it."""
    with closing(App.open(str(cli.root), environ=cli.env, read_only=True)) as app:
        (found,) = insights(app, Selection(until=UNTIL), (name,)).tables
    names = [column.name for column in found.columns]
    rows = [dict(zip(names, row, strict=True)) for row in found.rows]
    left_out = {"week", "type", "latest", *(() if name == "agents" else ("agent",))}
    return [{key: row[key] for key in row if key not in left_out} for row in rows]


def asked(cli: Cli, statement: str) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(cli.database)) as raw:
        raw.row_factory = sqlite3.Row
        return [dict(row) for row in raw.execute(RECORD + statement, {"until": UNTIL})]


def test_every_figure_is_found_again(cli: Cli) -> None:
    week(cli)
    for name in TABLES:
        rows, expected = told(cli, name), asked(cli, FIGURES[name])
        assert rows, name
        keys = [key for key, value in rows[0].items() if isinstance(value, str)]
        rows.sort(key=lambda row: [row[key] for key in keys])
        expected.sort(key=lambda row: [row[key] for key in keys])
        assert rows == [pytest.approx(row) for row in expected], name
