-- What the log says about how work goes: facts, each with its event, and the tables that add them up.
-- A statement begins with the parts that it needs: see insights.py. Its values, in order: since,
-- until, type, agent, now, and whether to split by week, by type and by agent.

-- name: kinds
-- The type of each task.
SELECT 'T-' || number AS task, coalesce(type, '') AS type FROM tasks

-- name: sessions
-- Every session, its task and its agent.
SELECT node_id AS run, seq, timestamp AS at, json_extract(data, '$.taskId') AS task,
    coalesce(json_extract(data, '$.agent'), '') AS agent
FROM events WHERE type = 'session_started'

-- name: owners
-- The agent of each task's last session, to which the task counts.
SELECT task, agent, total AS sessions FROM (SELECT task, agent,
        row_number() OVER (PARTITION BY task ORDER BY seq DESC) AS place,
        count(*) OVER (PARTITION BY task) AS total
    FROM sessions) AS each_session WHERE place = 1

-- name: turns
-- What each turn used: its last record counts.
SELECT seq, timestamp AS at, node_id AS node, json_extract(data, '$.agent') AS agent,
    coalesce(CAST(json_extract(data, '$.inputTokens') AS BIGINT), 0)
        + coalesce(CAST(json_extract(data, '$.outputTokens') AS BIGINT), 0) AS tokens,
    CAST(round(CAST(json_extract(data, '$.usd') AS DOUBLE PRECISION) * 1000000) AS BIGINT)
        AS micro_usd
FROM (SELECT seq, timestamp, node_id, data, row_number()
        OVER (PARTITION BY json_extract(data, '$.turn') ORDER BY seq DESC) AS place
    FROM events WHERE type = 'agent_turn') AS each_record WHERE place = 1

-- name: iterations
-- Iterations that are over. One that was interrupted and made again counts once, its last end.
SELECT seq, at, run, status FROM (SELECT seq, timestamp AS at, node_id AS run,
        json_extract(data, '$.status') AS status,
        CAST(json_extract(data, '$.iteration') AS BIGINT) AS number,
        row_number() OVER (PARTITION BY node_id, json_extract(data, '$.iteration')
            ORDER BY seq DESC) AS place
    FROM events WHERE type = 'session_iteration_ended') AS each_end
WHERE place = 1 AND number > 0

-- name: completions
-- Tasks that were completed after a session worked on them.
SELECT e.seq, e.timestamp AS at, e.node_id AS task, k.type, o.agent, o.sessions
FROM events e JOIN owners o ON o.task = e.node_id JOIN kinds k ON k.task = e.node_id
WHERE e.type = 'task_completed'

-- name: submissions
-- Every submission and merge of a task's work, and how often it had been submitted by then.
SELECT seq, task, run, flow, sum(CASE WHEN flow = 'submit' THEN 1 ELSE 0 END)
    OVER (PARTITION BY task ORDER BY seq) AS attempt
FROM (SELECT seq, node_id AS task, json_extract(data, '$.run') AS run,
        json_extract(data, '$.flow') AS flow
    FROM events WHERE type = 'submission_started') AS each_start

-- name: firings
-- The points of gates that submissions and merges fired.
SELECT seq, at, task, CASE WHEN instr(name, '/') > 0 THEN substr(name, 1, instr(name, '/') - 1) END
    AS run
FROM (SELECT seq, timestamp AS at, node_id AS task, json_extract(data, '$.name') AS name,
        json_extract(data, '$.point') AS point
    FROM events WHERE type = 'point_fired') AS each_firing
WHERE point IN ('before_submit', 'before_merge')

-- name: asked
-- What each gate said to work at a point. A gate that waits is asked again.
SELECT f.seq, d.position, f.at, f.task, f.run, d.point, d.exit_code, d.status,
    CASE WHEN instr(d.hook, ']:') > 0 THEN substr(d.hook, instr(d.hook, ']:') + 2) ELSE d.hook END
        AS gate,
    CASE WHEN d.status = 'ok' AND json_valid(d.answer) THEN json_extract(d.answer, '$.status') END
        AS said,
    CASE WHEN d.status = 'ok' AND json_valid(d.answer)
        THEN json_extract(d.answer, '$.context.noVerdict') END AS no_verdict,
    CASE WHEN d.status = 'ok' AND json_valid(d.answer)
        THEN json_extract(d.answer, '$.context.judgedHead') END AS head,
    CASE WHEN d.status = 'ok' AND json_valid(d.answer)
        THEN json_extract(d.answer, '$.context.command') END AS command
FROM firings f JOIN deliveries d ON d.event_seq = f.seq

-- name: merges
-- How merges went: what tests the merged result is the gate `merge`.
SELECT e.seq, 0 AS position, e.timestamp AS at, s.task, s.run, 'merge' AS point,
    CASE WHEN json_extract(e.data, '$.value.status') IN ('failed', 'conflict') THEN 'rejected'
        WHEN json_extract(e.data, '$.value.status') = 'refused' THEN 'broke'
        WHEN json_extract(e.data, '$.value.status') = 'merged'
            AND coalesce(json_extract(e.data, '$.value.testedBy'), '[]') <> '[]' THEN 'passed'
    END AS verdict
FROM submissions s JOIN events e ON e.node_id = s.run AND e.type = 'effect_resolved'
WHERE s.flow = 'merge' AND (json_extract(e.data, '$.effectId') = 'merge'
    OR json_extract(e.data, '$.effectId') LIKE 'merge#%')

-- name: verdicts
-- The verdicts of gates on work, in the order of the log; one that broke has not checked the work.
SELECT v.seq, v.position, v.at, v.task, v.run, v.point, v.gate, v.verdict, v.head, v.command,
    coalesce(s.attempt, 1) AS attempt, k.type, coalesce(o.agent, '') AS agent,
    row_number() OVER (PARTITION BY v.task, v.point, v.gate ORDER BY v.seq, v.position) AS place
FROM (SELECT seq, position, at, task, run, point, gate, head,
        CASE WHEN command IS NULL AND exit_code IS NOT NULL THEN gate ELSE command END AS command,
        CASE WHEN said = 'success' THEN 'passed' WHEN status = 'skipped' OR said = 'skip'
            THEN 'skipped' WHEN said = 'failure'
            AND coalesce(CAST(no_verdict AS TEXT), '0') IN ('0', 'false') THEN 'rejected'
            ELSE 'broke' END AS verdict
    FROM asked WHERE status NOT IN ('pending', 'cut') AND (said IS NULL OR said <> 'pending')
    UNION ALL SELECT seq, position, at, task, run, point, 'merge', NULL, NULL, verdict
    FROM merges WHERE verdict IS NOT NULL) AS v
JOIN submissions s ON s.run = v.run JOIN kinds k ON k.task = v.task
LEFT JOIN owners o ON o.task = v.task

-- name: task_facts
-- Each completed task, with all that was done for it: failed sessions and turns included.
SELECT c.seq, c.at, c.task AS id, c.type, c.agent, c.sessions,
    coalesce(i.iterations, 0) AS iterations, coalesce(t.turns, 0) AS turns,
    coalesce(t.unpriced, 0) AS unpriced, coalesce(t.tokens, 0) AS tokens, t.micro_usd
FROM completions c
LEFT JOIN (SELECT s.task, count(*) AS iterations FROM iterations i JOIN sessions s ON s.run = i.run
    GROUP BY s.task) AS i ON i.task = c.task
LEFT JOIN (SELECT node AS task, count(*) AS turns, CAST(sum(tokens) AS BIGINT) AS tokens,
        count(*) - count(micro_usd) AS unpriced, CAST(sum(micro_usd) AS BIGINT) AS micro_usd
    FROM turns GROUP BY node) AS t ON t.task = c.task

-- name: tasks
-- Iterations and cost per completed task.
SELECT in_week AS week, of_type AS type, of_agent AS agent, count(*) AS tasks,
    CAST(sum(sessions) AS BIGINT) AS sessions, CAST(sum(iterations) AS BIGINT) AS iterations,
    CAST(sum(iterations) AS DOUBLE PRECISION) / count(*) AS iterations_per_task,
    CAST(sum(turns) AS BIGINT) AS turns, CAST(sum(tokens) AS BIGINT) AS tokens,
    CAST(sum(micro_usd) AS DOUBLE PRECISION) / 1000000 AS usd,
    CAST(sum(micro_usd) AS DOUBLE PRECISION) / 1000000 / count(*) AS usd_per_task,
    CAST(sum(unpriced) AS BIGINT) AS unpriced_turns, max(seq) AS latest
FROM facts GROUP BY in_week, of_type, of_agent ORDER BY in_week, of_type, of_agent

-- name: first_time_right_facts
-- Each completed task whose work a gate checked, and whether its first submission passed every one.
SELECT c.seq, c.at, c.task AS id, c.type, c.agent, v.submissions, v.rejections,
    CASE WHEN v.submissions = 1 AND v.rejections = 0 THEN 1 ELSE 0 END AS first_time_right
FROM completions c JOIN (SELECT task, max(attempt) AS submissions,
        sum(CASE WHEN attempt = 1 AND verdict IN ('rejected', 'broke') THEN 1 ELSE 0 END)
            AS rejections
    FROM verdicts WHERE verdict <> 'skipped' GROUP BY task) AS v ON v.task = c.task

-- name: first_time_right
-- Completed tasks whose first submission passed every gate.
SELECT in_week AS week, of_type AS type, of_agent AS agent, count(*) AS tasks,
    CAST(sum(first_time_right) AS BIGINT) AS first_time_right,
    100 * CAST(sum(first_time_right) AS DOUBLE PRECISION) / count(*) AS percent,
    max(seq) AS latest
FROM facts GROUP BY in_week, of_type, of_agent ORDER BY in_week, of_type, of_agent

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
SELECT s.seq, s.came AS at, s.task AS id, coalesce(k.type, '') AS type,
    coalesce(o.agent, '') AS agent, s.state,
    CASE WHEN s.was_in = s.state THEN 0 ELSE 1 END AS times,
    CAST(round((julianday(s.went) - julianday(s.came)) * 86400000) AS BIGINT) AS ms
FROM stays s LEFT JOIN kinds k ON k.task = s.task LEFT JOIN owners o ON o.task = s.task
WHERE s.came < s.went

-- name: states
-- Time in each state.
SELECT in_week AS week, of_type AS type, of_agent AS agent, state,
    CAST(sum(times) AS BIGINT) AS times, CAST(sum(ms) AS BIGINT) AS ms,
    100 * CAST(sum(ms) AS DOUBLE PRECISION)
        / sum(sum(ms)) OVER (PARTITION BY in_week, of_type, of_agent) AS percent,
    max(seq) AS latest
FROM facts GROUP BY in_week, of_type, of_agent, state
ORDER BY in_week, of_type, of_agent, ms DESC, state

-- name: gates_facts
-- Each verdict of a gate.
SELECT seq, at, task AS id, run, type, agent, gate, point, verdict, attempt,
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
FROM facts GROUP BY in_week, of_type, of_agent, gate, point
ORDER BY in_week, of_type, of_agent, rejected DESC, asked DESC, gate, point

-- name: rules
-- What validation rules found in sessions, and the files that they saw.
SELECT e.seq, s.run, s.task, s.agent, e.timestamp AS at, json_extract(e.data, '$.files') AS files,
    json_extract(c.value, '$.name') AS name, json_extract(c.value, '$.command') AS command,
    CASE WHEN CAST(json_extract(c.value, '$.passed') AS TEXT) IN ('1', 'true') THEN 1 ELSE 0 END
        AS passed
FROM events e JOIN sessions s ON s.run = e.node_id
JOIN json_each(json_extract(e.data, '$.checks')) AS c ON 1 = 1
WHERE e.type = 'session_checked'

-- name: after_work
-- How programs of hooks ended that check each iteration of a session.
SELECT d.event_seq AS seq, s.run, s.task, s.agent, coalesce(d.started_at, s.at) AS at,
    CASE WHEN instr(d.hook, ']:') > 0 THEN substr(d.hook, instr(d.hook, ']:') + 2) ELSE d.hook END
        AS name, CASE WHEN d.exit_code = 0 THEN 1 ELSE 0 END AS passed
FROM deliveries d JOIN events e ON e.seq = d.event_seq JOIN sessions s ON s.run = e.node_id
WHERE d.point IN ('post_iteration', 'stop') AND d.exit_code IS NOT NULL
    AND d.status IN ('ok', 'failed')

-- name: results
-- Every result of a check, the session or the submission that it belongs to, and what it saw.
SELECT seq, at, run, task, agent, 'rule' AS kind, name, command, files, passed FROM rules
UNION ALL SELECT seq, at, run, task, agent, 'hook', name, NULL, NULL, passed FROM after_work
UNION ALL SELECT seq, at, run, task, agent, 'gate', gate, command, head,
    CASE WHEN verdict = 'passed' THEN 1 ELSE 0 END
FROM verdicts WHERE verdict IN ('passed', 'rejected')

-- name: checks_facts
-- Each result of a check, and whether it failed after it had passed.
SELECT r.seq, r.at, r.task AS id, r.run, coalesce(k.type, '') AS type, r.agent, r.kind, r.name,
    r.passed, CASE WHEN r.passed = 0 AND lag(r.passed)
        OVER (PARTITION BY r.run, r.kind, r.name ORDER BY r.seq) = 1 THEN 1 ELSE 0 END AS regression
FROM results r LEFT JOIN kinds k ON k.task = r.task

-- name: checks
-- Checks that catch regressions.
SELECT in_week AS week, of_type AS type, of_agent AS agent, name, kind, count(*) AS results,
    CAST(sum(1 - passed) AS BIGINT) AS failed, CAST(sum(regression) AS BIGINT) AS regressions,
    max(seq) AS latest
FROM facts GROUP BY in_week, of_type, of_agent, name, kind
ORDER BY in_week, of_type, of_agent, regressions DESC, failed DESC, name, kind

-- name: seen
-- Results of commands, and the files or the commit that each of them saw.
SELECT seq, at, run, task, agent, 'rule' AS kind, name, command, files, passed FROM rules
WHERE command IS NOT NULL AND files IS NOT NULL
UNION ALL SELECT seq, at, run, task, agent, 'gate', gate, command, coalesce(head, (
        SELECT json_extract(p.data, '$.value.head') FROM events p
        WHERE p.node_id = run AND p.type = 'effect_resolved' AND p.seq < v.seq
        AND (json_extract(p.data, '$.effectId') = 'prepare'
            OR json_extract(p.data, '$.effectId') LIKE 'prepare#%')
        ORDER BY p.seq DESC LIMIT 1)), CASE WHEN verdict = 'passed' THEN 1 ELSE 0 END
FROM verdicts v WHERE verdict IN ('passed', 'rejected') AND command IS NOT NULL

-- name: flaky_facts
-- Each result of a command that passed and failed on the same files.
SELECT s.seq, s.at, s.task AS id, s.run, coalesce(k.type, '') AS type, s.agent, s.kind, s.name,
    s.command, s.files, s.passed, s.is_first
FROM (SELECT seq, at, run, task, agent, kind, name, command, files, passed,
        min(passed) OVER (PARTITION BY kind, name, command, files) AS least,
        max(passed) OVER (PARTITION BY kind, name, command, files) AS most,
        CASE WHEN row_number() OVER (PARTITION BY kind, name, command, files ORDER BY seq) = 1
            THEN 1 ELSE 0 END AS is_first
    FROM seen WHERE files IS NOT NULL) AS s LEFT JOIN kinds k ON k.task = s.task
WHERE s.least = 0 AND s.most = 1

-- name: flaky
-- Flaky checks: the same command passed and failed on the same files.
SELECT in_week AS week, of_type AS type, of_agent AS agent, name, kind, command,
    CAST(sum(is_first) AS BIGINT) AS trees, count(*) AS results,
    CAST(sum(1 - passed) AS BIGINT) AS failed, max(seq) AS latest
FROM facts GROUP BY in_week, of_type, of_agent, name, kind, command
ORDER BY in_week, of_type, of_agent, trees DESC, results DESC, name, kind, command

-- name: agents_facts
-- What each agent did: sessions begun, iterations ended, turns in any role, and completed tasks.
SELECT seq, at, run AS id, coalesce(k.type, '') AS type, agent, 'session' AS kind,
    0 AS is_failed, 0 AS is_checked, 0 AS is_right, 0 AS tokens, CAST(NULL AS BIGINT) AS micro_usd
FROM sessions s LEFT JOIN kinds k ON k.task = s.task
UNION ALL SELECT i.seq, i.at, i.run, coalesce(k.type, ''), s.agent, 'iteration',
    CASE WHEN i.status = 'ok' THEN 0 ELSE 1 END, 0, 0, 0, NULL
FROM iterations i JOIN sessions s ON s.run = i.run LEFT JOIN kinds k ON k.task = s.task
UNION ALL SELECT t.seq, t.at, t.node, coalesce(k.type, ''), t.agent, 'turn', 0, 0, 0, t.tokens,
    t.micro_usd
FROM turns t LEFT JOIN kinds k ON k.task = t.node
UNION ALL SELECT c.seq, c.at, c.task, c.type, c.agent, 'task', 0,
    CASE WHEN f.id IS NULL THEN 0 ELSE 1 END, coalesce(f.first_time_right, 0), 0, NULL
FROM completions c LEFT JOIN first_time_right_facts f ON f.id = c.task

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
FROM facts GROUP BY in_week, of_type, of_agent ORDER BY in_week, of_type, of_agent

-- name: facts
-- The facts that were asked for.
SELECT *, date(at, 'weekday 0', '-6 days') AS week,
    CASE WHEN ?6 = 1 THEN date(at, 'weekday 0', '-6 days') ELSE '' END AS in_week,
    CASE WHEN ?7 = 1 THEN type ELSE '' END AS of_type,
    CASE WHEN ?8 = 1 THEN agent ELSE '' END AS of_agent
FROM {facts} WHERE (?1 IS NULL OR at >= ?1) AND (?2 IS NULL OR at < ?2)
    AND (?3 IS NULL OR type = ?3) AND (?4 IS NULL OR agent = ?4)
