-- What the log says about how work goes: facts, each with its event, and tables that add them up.
-- A statement begins with the parts that it needs: see insights.py. Its values, in order: since,
-- until, type, agent and now. It may split the facts in several ways at once.
-- SQLite expects few rows of each type of event, and would join large parts row by row. So what is
-- joined has an index, and other parts are added to each other and grouped; it keeps the order of
-- a CROSS JOIN.

-- name: sessions
-- Every session, its task and its agent.
SELECT e.seq, e.timestamp AS at, e.node_id AS run, json_extract(e.data, '$.taskId') AS task,
    coalesce(json_extract(e.data, '$.agent'), '') AS by_agent
FROM events e WHERE e.type = 'session_started'

-- name: turns
-- What each turn used: its last record counts.
SELECT seq, timestamp AS at, node_id AS node, json_extract(data, '$.agent') AS by_agent,
    coalesce(CAST(json_extract(data, '$.inputTokens') AS BIGINT), 0)
        + coalesce(CAST(json_extract(data, '$.outputTokens') AS BIGINT), 0) AS tokens,
    CAST(round(CAST(json_extract(data, '$.usd') AS DOUBLE PRECISION) * 1000000) AS BIGINT)
        AS micro_usd
FROM (SELECT seq, timestamp, node_id, data,
        row_number() OVER (PARTITION BY json_extract(data, '$.turn') ORDER BY seq DESC) AS place
    FROM events WHERE type = 'agent_turn') AS each_record WHERE place = 1

-- name: iterations
-- Iterations that are over. One that was interrupted and made again counts once, its last end.
SELECT i.seq, i.at, i.run, json_extract(r.input, '$.taskId') AS task,
    coalesce(json_extract(r.input, '$.agent'), '') AS by_agent,
    json_extract(i.data, '$.status') AS status
FROM (SELECT seq, at, run, data, number,
        row_number() OVER (PARTITION BY run, number ORDER BY seq DESC) AS place
    FROM (SELECT seq, timestamp AS at, node_id AS run, data,
            CAST(json_extract(data, '$.iteration') AS BIGINT) AS number
        FROM events WHERE type = 'session_iteration_ended') AS each_end WHERE number > 0) AS i
JOIN runs r ON r.number = CAST(substr(i.run, 3) AS BIGINT) WHERE i.place = 1

-- name: firings
-- The points of gates that were fired for work.
SELECT seq, at, task, name, substr(name, 1, instr(name, '/') - 1) AS run
FROM (SELECT seq, timestamp AS at, node_id AS task, json_extract(data, '$.name') AS name,
        json_extract(data, '$.point') AS point
    FROM events WHERE type = 'point_fired') AS each_firing
WHERE point IN ('before_submit', 'before_merge') AND name LIKE 'R-%/%'

-- name: answers
-- What gates answered; what cannot be read says nothing.
SELECT f.seq, d.position, f.at, f.task, f.run, d.point, d.exit_code, d.status,
    CASE WHEN instr(d.hook, ']:') > 0 THEN substr(d.hook, instr(d.hook, ']:') + 2) ELSE d.hook END
        AS gate, CASE WHEN d.status = 'ok' AND json_valid(d.answer) THEN d.answer END AS answer
FROM firings f JOIN deliveries d ON d.event_seq = f.seq WHERE d.status NOT IN ('pending', 'cut')

-- name: asked
-- What each gate said to work at a point. A gate that waits is asked again.
SELECT seq, position, at, task, run, point, gate, json_extract(answer, '$.context.judgedHead')
        AS head,
    CASE WHEN json_extract(answer, '$.context.command') IS NULL AND exit_code IS NOT NULL
        THEN gate ELSE json_extract(answer, '$.context.command') END AS command,
    CASE WHEN json_extract(answer, '$.status') = 'success' THEN 'passed'
        WHEN json_extract(answer, '$.status') = 'skip' OR status = 'skipped' THEN 'skipped'
        WHEN json_extract(answer, '$.status') = 'pending' THEN 'waits'
        WHEN json_extract(answer, '$.status') = 'failure' AND coalesce(
            CAST(json_extract(answer, '$.context.noVerdict') AS TEXT), '0') IN ('0', 'false')
        THEN 'rejected' ELSE 'broke' END AS verdict
FROM answers

-- name: merges
-- How merges went: what tests the merged result is the gate `merge`.
SELECT seq, 0 AS position, at, task, run, 'merge' AS point, 'merge' AS gate,
    CAST(NULL AS TEXT) AS head, CAST(NULL AS TEXT) AS command,
    CASE WHEN status IN ('failed', 'conflict') THEN 'rejected' WHEN status = 'refused' THEN 'broke'
        WHEN status = 'merged' AND tested <> '[]' THEN 'passed' ELSE 'waits' END AS verdict
FROM (SELECT e.seq, e.timestamp AS at, e.node_id AS run, json_extract(r.input, '$.taskId') AS task,
        json_extract(e.data, '$.value.status') AS status,
        coalesce(json_extract(e.data, '$.value.testedBy'), '[]') AS tested
    FROM runs r CROSS JOIN events e
    WHERE r.flow = 'merge' AND e.node_id = 'R-' || r.number AND e.type = 'effect_resolved'
        AND (json_extract(e.data, '$.effectId') = 'merge'
            OR json_extract(e.data, '$.effectId') LIKE 'merge#%')) AS each_merge

-- name: verdicts
-- The verdicts of gates on work, and for how many times it had been submitted by then. A gate that
-- broke has not checked the work.
SELECT v.*, CASE WHEN v.submitted > 0 THEN v.submitted ELSE 1 END AS attempt,
    row_number() OVER (PARTITION BY v.task, v.point, v.gate,
        CASE WHEN v.verdict = 'skipped' THEN 1 ELSE 0 END ORDER BY v.seq, v.position) AS place
FROM (SELECT seq, position, at, task, run, point, gate, head, command, verdict, (
        SELECT count(*) FROM events b WHERE b.node_id = task AND b.type = 'submission_started'
        AND b.seq < a.seq AND json_extract(b.data, '$.flow') = 'submit') AS submitted
    FROM (SELECT * FROM asked UNION ALL SELECT * FROM merges) AS a WHERE verdict <> 'waits') AS v

-- name: completions
-- Completed tasks that sessions worked on, with all that was done for each: failed sessions,
-- reviews and fixes included. The first submission passed every gate if there was no other one.
SELECT max(seq) AS seq, max(at) AS at, task, CAST(NULL AS TEXT) AS by_agent,
    CAST(sum(sessions) AS BIGINT) AS sessions, CAST(sum(iterations) AS BIGINT) AS iterations,
    CAST(sum(turns) AS BIGINT) AS turns, CAST(sum(tokens) AS BIGINT) AS tokens,
    CAST(sum(micro_usd) AS BIGINT) AS micro_usd,
    CAST(sum(turns) - count(micro_usd) AS BIGINT) AS unpriced,
    max(submissions) AS submissions, CAST(sum(rejections) AS BIGINT) AS rejections
FROM (SELECT seq, timestamp AS at, node_id AS task, 0 AS sessions, 0 AS iterations, 0 AS turns,
        0 AS tokens, CAST(NULL AS BIGINT) AS micro_usd, 0 AS submissions, 0 AS rejections
    FROM events WHERE type = 'task_completed'
    UNION ALL SELECT NULL, NULL, task, 1, 0, 0, 0, NULL, 0, 0 FROM sessions
    UNION ALL SELECT NULL, NULL, task, 0, 1, 0, 0, NULL, 0, 0 FROM iterations
    UNION ALL SELECT NULL, NULL, node, 0, 0, 1, tokens, micro_usd, 0, 0 FROM turns
    UNION ALL SELECT NULL, NULL, task, 0, 0, 0, 0, NULL, attempt,
        CASE WHEN attempt = 1 AND verdict IN ('rejected', 'broke') THEN 1 ELSE 0 END
    FROM verdicts WHERE verdict <> 'skipped') AS everything
GROUP BY task HAVING max(seq) IS NOT NULL AND sum(sessions) > 0

-- name: tasks_facts
-- Each completed task.
SELECT seq, at, task, by_agent, sessions, iterations, turns, unpriced, tokens, micro_usd
FROM completions

-- name: tasks
-- Iterations and cost per completed task.
SELECT in_week AS week, of_type AS type, of_agent AS agent, count(*) AS tasks,
    CAST(sum(sessions) AS BIGINT) AS sessions, CAST(sum(iterations) AS BIGINT) AS iterations,
    CAST(sum(iterations) AS DOUBLE PRECISION) / count(*) AS iterations_per_task,
    CAST(sum(turns) AS BIGINT) AS turns, CAST(sum(tokens) AS BIGINT) AS tokens,
    CAST(sum(micro_usd) AS DOUBLE PRECISION) / 1000000 AS usd,
    CAST(sum(micro_usd) AS DOUBLE PRECISION) / 1000000 / count(*) AS usd_per_task,
    CAST(sum(unpriced) AS BIGINT) AS unpriced_turns, max(seq) AS latest
FROM facts GROUP BY split, in_week, of_type, of_agent ORDER BY split, in_week, of_type, of_agent

-- name: first_time_right_facts
-- Each completed task whose work a gate checked.
SELECT seq, at, task, by_agent, submissions, rejections,
    CASE WHEN submissions = 1 AND rejections = 0 THEN 1 ELSE 0 END AS first_time_right
FROM completions WHERE submissions > 0

-- name: first_time_right
-- Completed tasks whose first submission passed every gate.
SELECT in_week AS week, of_type AS type, of_agent AS agent, count(*) AS tasks,
    CAST(sum(first_time_right) AS BIGINT) AS first_time_right,
    100 * CAST(sum(first_time_right) AS DOUBLE PRECISION) / count(*) AS percent,
    max(seq) AS latest
FROM facts GROUP BY split, in_week, of_type, of_agent ORDER BY split, in_week, of_type, of_agent

-- name: moves
-- How tasks came into their states.
SELECT seq, timestamp AS at, node_id AS task, CASE type WHEN 'task_created' THEN 'created'
    WHEN 'task_ready' THEN 'ready' WHEN 'task_started' THEN 'active'
    WHEN 'task_blocked' THEN 'blocked' WHEN 'task_submitted' THEN 'submitted'
    WHEN 'task_needs_continuation' THEN 'needs_continuation'
    WHEN 'task_released' THEN json_extract(data, '$.state')
    WHEN 'task_unblocked' THEN json_extract(data, '$.state')
    WHEN 'dependency_added' THEN json_extract(data, '$.state') ELSE 'over' END AS state
FROM events WHERE type IN ('task_created', 'task_ready', 'task_started', 'task_blocked',
    'task_submitted', 'task_needs_continuation', 'task_released', 'task_unblocked',
    'dependency_added', 'task_completed', 'task_failed', 'task_cancelled', 'task_deleted')

-- name: stays
-- How long a task stayed in a state, as far as it was in the time that is asked for.
SELECT seq, task, state, was_in,
    CASE WHEN ?1 IS NOT NULL AND at < ?1 THEN ?1 ELSE at END AS came,
    CASE WHEN went IS NULL OR went > coalesce(?2, ?5) THEN coalesce(?2, ?5) ELSE went END AS went
FROM (SELECT seq, at, task, state, lag(state) OVER (PARTITION BY task ORDER BY seq) AS was_in,
        lead(at) OVER (PARTITION BY task ORDER BY seq) AS went
    FROM moves WHERE state IS NOT NULL) AS each_move WHERE state <> 'over'

-- name: states_facts
-- Each stay of a task in a state.
SELECT seq, came AS at, task, CAST(NULL AS TEXT) AS by_agent, state,
    CASE WHEN was_in = state THEN 0 ELSE 1 END AS times,
    CAST(round((julianday(went) - julianday(came)) * 86400000) AS BIGINT) AS ms
FROM stays WHERE came < went

-- name: states
-- Time in each state.
SELECT in_week AS week, of_type AS type, of_agent AS agent, state,
    CAST(sum(times) AS BIGINT) AS times, CAST(sum(ms) AS BIGINT) AS ms,
    100 * CAST(sum(ms) AS DOUBLE PRECISION)
        / sum(sum(ms)) OVER (PARTITION BY split, in_week, of_type, of_agent) AS percent,
    max(seq) AS latest
FROM facts GROUP BY split, in_week, of_type, of_agent, state
ORDER BY split, in_week, of_type, of_agent, ms DESC, state

-- name: gates_facts
-- Each verdict of a gate.
SELECT seq, at, task, CAST(NULL AS TEXT) AS by_agent, run, gate, point, verdict, attempt,
    CASE WHEN place = 1 AND attempt = 1 AND verdict <> 'skipped' THEN 1 ELSE 0 END AS is_first
FROM verdicts

-- name: gates
-- Which gate rejects what.
SELECT in_week AS week, of_type AS type, of_agent AS agent, gate, point,
    CAST(sum(CASE WHEN verdict <> 'skipped' THEN 1 ELSE 0 END) AS BIGINT) AS asked,
    CAST(sum(CASE WHEN verdict = 'rejected' THEN 1 ELSE 0 END) AS BIGINT) AS rejected,
    CAST(sum(CASE WHEN verdict = 'broke' THEN 1 ELSE 0 END) AS BIGINT) AS broke,
    CAST(sum(is_first) AS BIGINT) AS first_asked,
    CAST(sum(CASE WHEN verdict = 'rejected' THEN is_first ELSE 0 END) AS BIGINT) AS first_rejected,
    max(seq) AS latest
FROM facts GROUP BY split, in_week, of_type, of_agent, gate, point
ORDER BY split, in_week, of_type, of_agent, rejected DESC, asked DESC, gate, point

-- name: rules
-- What validation rules found in sessions, and the files that they saw.
SELECT e.seq, e.timestamp AS at, e.node_id AS run, json_extract(r.input, '$.taskId') AS task,
    coalesce(json_extract(r.input, '$.agent'), '') AS by_agent, 'rule' AS kind,
    json_extract(c.value, '$.name') AS name, json_extract(c.value, '$.command') AS command,
    json_extract(e.data, '$.files') AS files,
    CASE WHEN CAST(json_extract(c.value, '$.passed') AS TEXT) IN ('1', 'true') THEN 1 ELSE 0 END
        AS passed
FROM events e JOIN runs r ON r.number = CAST(substr(e.node_id, 3) AS BIGINT)
JOIN json_each(json_extract(e.data, '$.checks')) AS c ON 1 = 1
WHERE e.type = 'session_checked'

-- name: after_work
-- How programs of hooks ended that check each iteration of a session.
SELECT e.seq, e.timestamp AS at, e.node_id AS run, json_extract(r.input, '$.taskId') AS task,
    coalesce(json_extract(r.input, '$.agent'), '') AS by_agent, 'hook' AS kind,
    CASE WHEN instr(d.hook, ']:') > 0 THEN substr(d.hook, instr(d.hook, ']:') + 2) ELSE d.hook END
        AS name, CAST(NULL AS TEXT) AS command, CAST(NULL AS TEXT) AS files,
    CASE WHEN d.exit_code = 0 THEN 1 ELSE 0 END AS passed
FROM deliveries d JOIN events e ON e.seq = d.event_seq
JOIN runs r ON r.number = CASE WHEN e.node_id LIKE 'R-%' THEN CAST(substr(e.node_id, 3) AS BIGINT)
    END AND r.flow = 'session'
WHERE d.point IN ('post_iteration', 'stop') AND d.exit_code IS NOT NULL
    AND d.status IN ('ok', 'failed')

-- name: decided
-- Verdicts of gates as results of checks.
SELECT seq, at, run, task, CAST(NULL AS TEXT) AS by_agent, 'gate' AS kind, gate AS name, command,
    CASE WHEN command IS NULL THEN NULL WHEN head IS NOT NULL THEN head ELSE (
        SELECT json_extract(p.data, '$.value.head') FROM events p
        WHERE p.node_id = v.run AND p.type = 'effect_resolved' AND p.seq < v.seq
        AND (json_extract(p.data, '$.effectId') = 'prepare'
            OR json_extract(p.data, '$.effectId') LIKE 'prepare#%')
        ORDER BY p.seq DESC LIMIT 1) END AS files,
    CASE WHEN verdict = 'passed' THEN 1 ELSE 0 END AS passed
FROM verdicts v WHERE verdict IN ('passed', 'rejected')

-- name: checks_facts
-- Each result of a check, and whether it failed after it had passed.
SELECT seq, at, task, by_agent, run, kind, name, passed,
    CASE WHEN passed = 0 AND lag(passed) OVER (PARTITION BY run, kind, name ORDER BY seq) = 1
        THEN 1 ELSE 0 END AS regression
FROM (SELECT * FROM rules UNION ALL SELECT * FROM after_work UNION ALL SELECT * FROM decided)
    AS each_result

-- name: checks
-- Checks that catch regressions.
SELECT in_week AS week, of_type AS type, of_agent AS agent, name, kind, count(*) AS results,
    CAST(sum(1 - passed) AS BIGINT) AS failed, CAST(sum(regression) AS BIGINT) AS regressions,
    max(seq) AS latest
FROM facts GROUP BY split, in_week, of_type, of_agent, name, kind
ORDER BY split, in_week, of_type, of_agent, regressions DESC, failed DESC, name, kind

-- name: flaky_facts
-- Each result of a command that passed and failed on the same files.
SELECT seq, at, task, by_agent, run, kind, name, command, files, passed, is_first
FROM (SELECT *, min(passed) OVER (PARTITION BY kind, name, command, files) AS lowest,
        max(passed) OVER (PARTITION BY kind, name, command, files) AS highest,
        CASE WHEN row_number() OVER (PARTITION BY kind, name, command, files ORDER BY seq) = 1
            THEN 1 ELSE 0 END AS is_first
    FROM (SELECT * FROM rules UNION ALL SELECT * FROM decided) AS each_result
    WHERE command IS NOT NULL AND files IS NOT NULL) AS seen
WHERE lowest = 0 AND highest = 1

-- name: flaky
-- Flaky checks: the same command passed and failed on the same files.
SELECT in_week AS week, of_type AS type, of_agent AS agent, name, kind, command,
    CAST(sum(is_first) AS BIGINT) AS trees, count(*) AS results,
    CAST(sum(1 - passed) AS BIGINT) AS failed, max(seq) AS latest
FROM facts GROUP BY split, in_week, of_type, of_agent, name, kind, command
ORDER BY split, in_week, of_type, of_agent, trees DESC, results DESC, name, kind, command

-- name: agents_facts
-- What each agent did: sessions begun, iterations ended, turns in any role, and completed tasks.
SELECT seq, at, task, by_agent, run, 'session' AS kind, 0 AS is_failed, 0 AS is_checked,
    0 AS is_right, 0 AS tokens, CAST(NULL AS BIGINT) AS micro_usd FROM sessions
UNION ALL SELECT seq, at, task, by_agent, run, 'iteration',
    CASE WHEN status = 'ok' THEN 0 ELSE 1 END, 0, 0, 0, NULL FROM iterations
UNION ALL SELECT seq, at, node, by_agent, NULL, 'turn', 0, 0, 0, tokens, micro_usd FROM turns
UNION ALL SELECT seq, at, task, by_agent, NULL, 'task', 0,
    CASE WHEN submissions > 0 THEN 1 ELSE 0 END,
    CASE WHEN submissions = 1 AND rejections = 0 THEN 1 ELSE 0 END, 0, NULL FROM completions

-- name: agents
-- Agents side by side.
SELECT in_week AS week, of_type AS type, of_agent AS agent,
    CAST(sum(CASE WHEN kind = 'task' THEN 1 ELSE 0 END) AS BIGINT) AS tasks,
    CAST(sum(is_checked) AS BIGINT) AS checked, CAST(sum(is_right) AS BIGINT) AS first_time_right,
    CAST(sum(CASE WHEN kind = 'session' THEN 1 ELSE 0 END) AS BIGINT) AS sessions,
    CAST(sum(CASE WHEN kind = 'iteration' THEN 1 ELSE 0 END) AS BIGINT) AS iterations,
    CAST(sum(is_failed) AS BIGINT) AS failed_iterations,
    CAST(sum(CASE WHEN kind = 'turn' THEN 1 ELSE 0 END) AS BIGINT) AS turns,
    CAST(sum(tokens) AS BIGINT) AS tokens,
    CAST(sum(micro_usd) AS DOUBLE PRECISION) / 1000000 AS usd,
    CAST(sum(CASE WHEN kind = 'turn' AND micro_usd IS NULL THEN 1 ELSE 0 END) AS BIGINT)
        AS unpriced_turns, max(seq) AS latest
FROM facts GROUP BY split, in_week, of_type, of_agent ORDER BY split, in_week, of_type, of_agent

-- name: told
-- Facts with the type of their task and their agent: who did it, or who took the task last.
SELECT f.*, date(at, 'weekday 0', '-6 days') AS week, coalesce((SELECT k.type FROM tasks k
        WHERE k.number = CASE WHEN task LIKE 'T-%' THEN CAST(substr(task, 3) AS BIGINT) END), '')
        AS type,
    coalesce(by_agent, (SELECT json_extract(c.data, '$.agent') FROM events c
        WHERE c.node_id = task AND c.type = 'task_claimed' ORDER BY c.seq DESC LIMIT 1), '')
        AS agent
FROM {facts} f WHERE (?1 IS NULL OR at >= ?1) AND (?2 IS NULL OR at < ?2)

-- name: facts
-- The facts that were asked for, once for each way to split them.
SELECT t.*, split, CASE WHEN by_week = 1 THEN week ELSE '' END AS in_week,
    CASE WHEN by_type = 1 THEN type ELSE '' END AS of_type,
    CASE WHEN is_by_agent = 1 THEN agent ELSE '' END AS of_agent
FROM told t CROSS JOIN splits WHERE (?3 IS NULL OR type = ?3) AND (?4 IS NULL OR agent = ?4)

-- name: split
-- One way to split the facts.
SELECT {number} AS split, {week} AS by_week, {type} AS by_type, {agent} AS is_by_agent
