-- name: outlines
-- Every run, without what makes it large.
SELECT number, flow, status, json_extract(input, '$.taskId'), created_at, updated_at, owner,
    lease_until FROM runs ORDER BY number

-- name: prunable
-- Events whose hooks are all over, with the bytes of what they saw and said.
SELECT p.event_seq, e.node_id, length(CAST(p.payload AS BLOB)) + (
    SELECT coalesce(sum(length(CAST(coalesce(c.stdout, '') AS BLOB))
        + length(CAST(coalesce(c.stderr, '') AS BLOB))), 0)
    FROM deliveries c WHERE c.event_seq = p.event_seq)
FROM payloads p JOIN events e ON e.seq = p.event_seq
WHERE p.event_seq > ? AND p.event_seq <= ?
AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.event_seq = p.event_seq)
AND NOT EXISTS (SELECT 1 FROM deliveries c WHERE c.event_seq = p.event_seq
    AND c.status IN ('pending', 'dead'))
ORDER BY p.event_seq LIMIT ?

-- name: remove_payloads
-- What the hooks of these events saw.
DELETE FROM payloads WHERE event_seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))

-- name: remove_output
-- What these hooks printed and told an agent; what they decided, and why, stays.
UPDATE deliveries SET stdout = NULL, stderr = NULL, blob = NULL,
    answer = CASE WHEN json_valid(answer)
        THEN json_remove(answer, '$.text', '$.nextPrompt', '$.remediationPrompt') ELSE answer END
WHERE event_seq IN (SELECT CAST(value AS BIGINT) FROM json_each(?))

-- name: run_bytes
-- What can be removed of a run's past chapters, and of output that its prompts have carried.
SELECT (SELECT coalesce(sum(length(CAST(text AS BLOB))), 0) FROM held_output
        WHERE run = ?1 AND delivered = 1)
    + (SELECT coalesce(sum(length(CAST(args AS BLOB))
            + length(CAST(coalesce(value, '') AS BLOB))), 0)
        FROM effects WHERE run = ?1 AND chapter < (SELECT chapter FROM runs WHERE number = ?1)
        AND NOT EXISTS (SELECT 1 FROM effects c WHERE c.run = ?1 AND c.called IS NOT NULL))

-- name: remove_delivered
-- Output that prompts have carried: the log has it too.
DELETE FROM held_output WHERE run = ? AND delivered = 1

-- name: remove_chapters
-- Effects of a run's past chapters, some at a time: the log has them too. The present one has to
-- stay, and what called other runs.
DELETE FROM effects WHERE (run, chapter, effect_id) IN (SELECT run, chapter, effect_id FROM effects
    WHERE run = ?1 AND chapter < (SELECT chapter FROM runs WHERE number = ?1)
    AND NOT EXISTS (SELECT 1 FROM effects c WHERE c.run = ?1 AND c.called IS NOT NULL)
    LIMIT ?2)

-- name: texts_with_names
-- Texts that may name a blob: of all runs but some, of calls at all events but some, and of the
-- copies and loops of open tasks.
SELECT args FROM effects WHERE args LIKE '%blob%' AND run NOT IN (SELECT CAST(value AS BIGINT) FROM json_each(?1))
UNION ALL SELECT value FROM effects
WHERE value LIKE '%blob%' AND run NOT IN (SELECT CAST(value AS BIGINT) FROM json_each(?1))
UNION ALL SELECT blob FROM deliveries
WHERE blob IS NOT NULL AND event_seq NOT IN (SELECT CAST(value AS BIGINT) FROM json_each(?2))
UNION ALL SELECT place FROM work_places WHERE EXISTS (SELECT 1 FROM tasks
    WHERE number = task AND state NOT IN ('completed', 'failed', 'cancelled'))
UNION ALL SELECT data FROM events
WHERE type IN ('iteration_started', 'iteration_validated', 'iteration_advanced')
AND node_id IN (SELECT 'T-' || number FROM tasks
    WHERE state NOT IN ('completed', 'failed', 'cancelled'))
