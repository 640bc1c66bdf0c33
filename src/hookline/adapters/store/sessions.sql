-- name: live_sessions
-- Sessions that are not over.
SELECT number FROM runs INDEXED BY runs_live_sessions
WHERE flow = 'session' AND status IN ('running', 'parked', 'paused') ORDER BY number

-- name: all_sessions
-- Every session, the newest first.
SELECT number FROM runs WHERE flow = 'session' ORDER BY number DESC LIMIT ?

-- name: hold
-- Output for an agent; an attempt that is made again adds nothing.
INSERT INTO held_output (run, event_seq, hook, point, text) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING

-- name: held
-- What an agent has not been told yet, in the order of what happened, whoever called the hooks.
SELECT id, event_seq, hook, point, text FROM held_output WHERE run = ? AND delivered = 0 ORDER BY event_seq, id

-- name: mark_delivered
-- All of it is in a prompt now.
UPDATE held_output SET delivered = 1 WHERE run = ? AND delivered = 0
