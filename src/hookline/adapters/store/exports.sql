-- name: all
-- Every exporter, and how far it has come.
SELECT name, seq, delivery, sent, rejected, sent_at, failures, next_try, error, owner, token,
    lease_until
FROM exporters

-- name: begin
-- An exporter that sends what comes after these places.
INSERT INTO exporters (name, seq, delivery) VALUES (?1, ?2, ?3)
ON CONFLICT (name) DO UPDATE SET seq = ?2, delivery = ?3

-- name: forget_open
-- What was open is looked at again from the beginning.
DELETE FROM exporter_calls WHERE exporter = ?

-- name: take
-- A lease on an exporter.
UPDATE exporters SET owner = ?, token = ?, lease_until = ? WHERE name = ?

-- name: let_go
-- The holder of a lease is done with it.
UPDATE exporters SET owner = NULL, lease_until = 0 WHERE name = ? AND token = ?

-- name: arrived
-- Spans arrived: everything up to these places, by the holder of the lease alone.
UPDATE exporters SET seq = ?, delivery = ?, sent = sent + ?, rejected = rejected + ?, sent_at = ?,
    failures = 0, next_try = 0, error = NULL
WHERE name = ? AND token = ?

-- name: failed
-- Nothing could be sent, and it is tried again.
UPDATE exporters SET failures = failures + 1, next_try = ?, error = ? WHERE name = ? AND token = ?

-- name: leave_open
-- A call that is not over yet.
INSERT INTO exporter_calls (exporter, delivery) VALUES (?, ?)

-- name: close_call
-- A call that was open and was sent.
DELETE FROM exporter_calls WHERE exporter = ? AND delivery = ?

-- name: count_open
-- How many calls are open.
SELECT count(*) FROM exporter_calls WHERE exporter = ?

-- name: over
-- Calls that were open and may be over now.
SELECT d.* FROM exporter_calls o JOIN deliveries d ON d.id = o.delivery
WHERE o.exporter = ? AND d.id > ? AND d.status NOT IN ('pending', 'queued')
ORDER BY d.id LIMIT ?

-- name: calls_after
-- Calls after a place, in the order in which they were recorded.
SELECT * FROM deliveries WHERE id > ? ORDER BY id LIMIT ?

-- name: first_call_after
-- The first call of an event after a position in the log.
SELECT min(id) FROM deliveries WHERE event_seq > ?

-- name: last_call
-- The newest call.
SELECT coalesce(max(id), 0) FROM deliveries

-- name: task_states
-- How many tasks there are in each state.
SELECT state, count(*) FROM tasks GROUP BY state

-- name: call_counts
-- How often hooks were called at each point, with which ends, and how long that took.
SELECT hook, kind, point, status, count(*), CAST(coalesce(sum(duration_us), 0) AS BIGINT)
FROM deliveries GROUP BY hook, kind, point, status
