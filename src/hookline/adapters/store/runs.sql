-- name: insert_run
-- A run that anyone may advance.
INSERT INTO runs (number, flow, status, input, metadata, code_digest, pins, created_at, updated_at,
    wake_at) VALUES (?, ?, 'running', ?, ?, ?, ?, ?, ?, 0)

-- name: run
-- One run by number.
SELECT number, flow, status, input, metadata, chapter, state, reason, value, error, code_digest,
    pins, created_at, updated_at, iteration, wake_at FROM runs WHERE number = ?

-- name: due
-- Runs that have something to do now, the longest waiting first.
SELECT number, owner, lease_until FROM runs INDEXED BY runs_due
WHERE status IN ('running', 'parked') AND wake_at IS NOT NULL AND wake_at <= ?
ORDER BY wake_at LIMIT 200

-- name: parked_later
-- Runs that wait for a moment and were parked after now: the clock was set back.
SELECT number, owner, lease_until FROM runs INDEXED BY runs_due
WHERE status IN ('running', 'parked') AND wake_at IS NOT NULL AND wake_at > ? AND updated_at > ?
ORDER BY wake_at LIMIT 200

-- name: next_wake
-- When the next parked run has something to do.
SELECT min(wake_at) FROM runs INDEXED BY runs_due
WHERE status IN ('running', 'parked') AND wake_at IS NOT NULL AND wake_at > ?

-- name: take_run
-- A lease on a run.
UPDATE runs SET owner = ?, token = ?, lease_until = ? WHERE number = ?

-- name: forget_attempts
-- An attempt at an effect that was cut short is no failure of the effect; a begun turn of an agent
-- has to be known as such.
UPDATE effects INDEXED BY effects_pending SET attempts = attempts - 1
WHERE run = ? AND status = 'pending' AND attempts > 0 AND next_try IS NULL AND kind <> 'agent'

-- name: stir
-- Whoever advances a run should look at it.
UPDATE runs SET wake_at = 0 WHERE number = ? AND status IN ('running', 'parked')

-- name: holder
-- Who advances a run.
SELECT owner, token, lease_until FROM runs WHERE number = ?

-- name: holders
-- Who advances runs now, or did when they were killed.
SELECT number, token, owner FROM runs INDEXED BY runs_by_owner WHERE owner IS NOT NULL
ORDER BY number

-- name: renew_runs
-- The heartbeat of all runs that a process advances, unless its lease was over by then.
UPDATE runs SET lease_until = ? WHERE owner = ? AND status = 'running' AND lease_until >= ?

-- name: let_go
-- Nobody advances the run until it wakes.
UPDATE runs SET owner = NULL, lease_until = 0, wake_at = ? WHERE number = ? AND token = ?

-- name: wake
-- Something happened to a run: whoever can should look.
UPDATE runs SET wake_at = 0, updated_at = ? WHERE number = ? AND status IN ('running', 'parked')

-- name: count_iteration
-- Iterations are counted forever, across restarts.
UPDATE runs SET iteration = iteration + 1 WHERE number = ? RETURNING iteration

-- name: insert_effect
-- An effect that a flow asked for.
INSERT INTO effects (run, chapter, effect_id, step, kind, status, args, digest, metadata, policy,
    requested_seq, requested_at) VALUES (?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?, ?, ?)

-- name: resolve_effect
-- How an effect ended; only the first word counts.
UPDATE effects SET status = ?, value = ?, error = ?, resolved_seq = ?, resolved_at = ?,
    child = NULL, chosen = 0
WHERE run = ? AND chapter = ? AND effect_id = ? AND status = 'pending'

-- name: effects_of
-- Every effect of a chapter, in the order in which they were asked for.
SELECT effect_id, step, kind, status, args, digest, metadata, policy, requested_seq, requested_at,
    resolved_seq, resolved_at, value, error, attempts, next_try, chosen, task, child, conversation,
    called
FROM effects WHERE run = ? AND chapter = ? ORDER BY requested_seq

-- name: pending_of
-- The effects of a run that have no result yet.
SELECT effect_id, step, kind, status, args, digest, metadata, policy, requested_seq, requested_at,
    resolved_seq, resolved_at, value, error, attempts, next_try, chosen, task, child, conversation,
    called
FROM effects INDEXED BY effects_pending
WHERE run = ? AND chapter = ? AND status = 'pending' ORDER BY requested_seq

-- name: resolved_since
-- Results that came in after a place in the log, in order.
SELECT effect_id, status, value, error, resolved_seq FROM effects INDEXED BY effects_resolved
WHERE run = ? AND chapter = ? AND resolved_seq > ? ORDER BY resolved_seq

-- name: effect
-- One effect of the current chapter.
SELECT effect_id, step, kind, status, args, digest, metadata, policy, requested_seq, requested_at,
    resolved_seq, resolved_at, value, error, attempts, next_try, chosen, task, child, conversation,
    called
FROM effects WHERE run = ? AND chapter = ? AND effect_id = ?

-- name: begin_attempt
-- An attempt at an effect begins.
UPDATE effects SET attempts = attempts + 1, next_try = NULL, chosen = 0
WHERE run = ? AND chapter = ? AND effect_id = ?

-- name: set_effect_child
-- The process group that works on an effect.
UPDATE effects SET child = ? WHERE run = ? AND chapter = ? AND effect_id = ?

-- name: set_conversation
-- The agent's conversation, known before the turn ends.
UPDATE effects SET conversation = ? WHERE run = ? AND chapter = ? AND effect_id = ?

-- name: postpone
-- Try an effect again later, or not before a moment.
UPDATE effects SET next_try = ?, child = NULL
WHERE run = ? AND chapter = ? AND effect_id = ? AND status = 'pending'

-- name: choose
-- A hook or a person wants this effect to run now.
UPDATE effects SET chosen = 1
WHERE run = ? AND chapter = ? AND effect_id = ? AND status = 'pending'

-- name: bind_task
-- The task that an effect waits for.
UPDATE effects SET task = ? WHERE run = ? AND chapter = ? AND effect_id = ?

-- name: waiting_for_task
-- Effects that wait for a task.
SELECT run, chapter, effect_id FROM effects WHERE task = ? AND status = 'pending'

-- name: set_called
-- The run that an effect called.
UPDATE effects SET called = ? WHERE run = ? AND chapter = ? AND effect_id = ?

-- name: called_by
-- The runs that a run called, in any of its chapters.
SELECT called FROM effects INDEXED BY effects_calling
WHERE run = ? AND called IS NOT NULL ORDER BY called

-- name: caller_of
-- The effect that called a run.
SELECT run, chapter, effect_id FROM effects INDEXED BY effects_by_called
WHERE called = ? AND called IS NOT NULL

-- name: next_chapter
-- A chapter ends, the next begins.
UPDATE runs SET chapter = ?, state = ?, code_digest = ?, pins = ?, updated_at = ?, wake_at = 0
WHERE number = ?

-- name: set_status
-- A run's new standing.
UPDATE runs SET status = ?, reason = ?, updated_at = ? WHERE number = ?

-- name: finish_run
-- A run's end.
UPDATE runs SET status = ?, reason = NULL, value = ?, error = ?, updated_at = ?, wake_at = NULL
WHERE number = ?

-- name: add_signal
-- A signal to a run.
INSERT INTO run_signals (seq, run, name, value) VALUES (?, ?, ?, ?)

-- name: open_signals
-- Signals that nothing has taken yet, oldest first.
SELECT seq, name, value FROM run_signals WHERE run = ? AND consumed = 0 ORDER BY seq

-- name: consume_signal
-- A signal was taken.
UPDATE run_signals SET consumed = 1 WHERE seq = ?

-- name: get_value
-- What hooks of a run remember.
SELECT value FROM run_values WHERE run = ? AND name = ?

-- name: values_named
-- What all runs remember under a name.
SELECT run, value FROM run_values WHERE name = ? AND value <> 'null' ORDER BY run

-- name: set_value
-- What hooks of a run remember.
INSERT INTO run_values (run, name, value) VALUES (?1, ?2, ?3)
ON CONFLICT (run, name) DO UPDATE SET value = ?3

-- name: all_runs
-- Every run, to be held against the log.
SELECT * FROM runs

-- name: all_effects
-- Every effect, to be held against the log.
SELECT * FROM effects

-- name: all_run_signals
-- Every signal, to be held against the log.
SELECT * FROM run_signals
