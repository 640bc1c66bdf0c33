-- name: counters
-- Where the log and the task numbers stand.
SELECT seq, task, token, run, missed FROM counters

-- name: set_counters
-- Advance the log and the task numbers, once per transaction.
UPDATE counters SET seq = ?, task = ?, token = ?, run = ?, missed = ?

-- name: append_event
-- One event at the end of the log.
INSERT INTO events (seq, timestamp, type, node_id, data, metadata) VALUES (?, ?, ?, ?, ?, ?)

-- name: insert_task
-- A new task; its rank is its number until a dependency moves it.
INSERT INTO tasks (number, rank, state, goal, labels, priority, type, desired_deliverables,
    parent, notes, created_at, changes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: task
-- One task by number.
SELECT *, (SELECT group_concat(to_task) FROM edges WHERE from_task = number AND type = 'depends_on')
FROM tasks WHERE number = ?

-- name: tasks
-- Tasks with what they depend on; conditions and order follow.
SELECT *, (SELECT group_concat(to_task) FROM edges WHERE from_task = number AND type = 'depends_on')
FROM tasks

-- name: ready
-- The best tasks that anyone may take.
SELECT *, (SELECT group_concat(to_task) FROM edges WHERE from_task = number AND type = 'depends_on')
FROM tasks INDEXED BY tasks_ready WHERE state = 'ready' AND claim_agent IS NULL
ORDER BY priority, number LIMIT ?

-- name: stranded
-- Waiting tasks whose dependencies are all met.
SELECT number FROM tasks WHERE state = 'created' AND unmet = 0 ORDER BY number

-- name: expired
-- Tasks whose holder let the lease run out.
SELECT *, (SELECT group_concat(to_task) FROM edges WHERE from_task = number AND type = 'depends_on')
FROM tasks INDEXED BY tasks_leased WHERE claim_agent IS NOT NULL AND lease_until <= ?
AND state IN ('ready', 'active') AND unmet = 0 ORDER BY priority, number LIMIT ?

-- name: any_lease_ends
-- Whether a lease ends between two moments.
SELECT 1 FROM tasks INDEXED BY tasks_leased WHERE claim_agent IS NOT NULL
AND lease_until > ? AND lease_until <= ? LIMIT 1

-- name: set_lease
-- The perishable part of a claim.
UPDATE tasks SET lease_until = ? WHERE number = ?

-- name: add_edge
-- An edge of either type.
INSERT INTO edges (from_task, type, to_task) VALUES (?, ?, ?)

-- name: remove_edge
-- An edge of either type.
DELETE FROM edges WHERE from_task = ? AND type = ? AND to_task = ?

-- name: edges_from
-- What this task points to.
SELECT from_task, to_task, type FROM edges WHERE from_task = ?

-- name: edges_to
-- What points to this task.
SELECT from_task, to_task, type FROM edges WHERE to_task = ?

-- name: unmet_of
-- How many dependencies are neither completed nor cancelled.
SELECT unmet FROM tasks WHERE number = ?

-- name: shift_unmet
-- One dependency more or less.
UPDATE tasks SET unmet = unmet + ? WHERE number = ?

-- name: settle_dependents
-- A dependency is met: everything that waits for it waits for one less.
UPDATE tasks SET unmet = unmet - 1 WHERE number IN
(SELECT from_task FROM edges WHERE to_task = ? AND type = 'depends_on')

-- name: delete_task_edges
-- Every edge at a task that goes away.
DELETE FROM edges WHERE from_task = ?1 OR to_task = ?1

-- name: delete_task
-- A task that goes away.
DELETE FROM tasks WHERE number = ?

-- name: rank
-- A task's place in the maintained topological order.
SELECT rank FROM tasks WHERE number = ?

-- name: set_rank
-- Move a task in the topological order.
UPDATE tasks SET rank = ? WHERE number = ?

-- name: dependents_below
-- Dependents of a task up to a rank, for the walk that looks for a cycle.
SELECT t.number, t.rank FROM edges e JOIN tasks t ON t.number = e.from_task
WHERE e.to_task = ? AND e.type = 'depends_on' AND t.rank <= ?

-- name: dependencies_above
-- Dependencies of a task down to a rank, for the walk that reorders.
SELECT t.number, t.rank FROM edges e JOIN tasks t ON t.number = e.to_task
WHERE e.from_task = ? AND e.type = 'depends_on' AND t.rank >= ?

-- name: open_dispatch
-- An event whose hooks have to run.
INSERT INTO dispatches (event_seq, node_id, owner, lease_until) VALUES (?, ?, ?, ?)

-- name: freeze_payload
-- What the hooks of an event will see.
INSERT INTO payloads (event_seq, payload) VALUES (?, ?)

-- name: refreeze_payload
-- Which files had changed is known only when a hook asks for it.
UPDATE payloads SET payload = ? WHERE event_seq = ?

-- name: payload
-- What the hooks of an event see.
SELECT payload FROM payloads WHERE event_seq = ?

-- name: add_delivery
-- A call to be made, or one that was made inside the transaction.
INSERT INTO deliveries (event_seq, hook, point, kind, origin, status, position, attempts,
    started_at, duration_us, exit_code, answer, error, stdout, stderr, blob, condition,
    condition_values)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: open_dispatches
-- The oldest dispatch of each node: later ones wait, so that order holds for each task.
SELECT event_seq, owner, token, lease_until FROM dispatches d
WHERE event_seq > ? AND NOT EXISTS (SELECT 1 FROM dispatches o
    WHERE o.node_id = d.node_id AND o.event_seq < d.event_seq)
ORDER BY event_seq LIMIT ?

-- name: first_dispatch
-- The oldest dispatch of one node.
SELECT event_seq, owner, token, lease_until FROM dispatches WHERE node_id = ?
ORDER BY event_seq LIMIT min(1, ?)

-- name: dispatches_after
-- What waits after a place in the log, and what caused it.
SELECT d.event_seq, d.node_id, CAST(json_extract(e.metadata, '$.cause') AS BIGINT) FROM dispatches d
JOIN events e ON e.seq = d.event_seq WHERE d.event_seq > ?

-- name: stumble_dispatch
-- An attempt at a dispatch broke off; anybody may take it again.
UPDATE dispatches SET attempts = attempts + 1, owner = NULL, lease_until = 0
WHERE event_seq = ? AND token = ? RETURNING attempts

-- name: waiting_calls
-- How many calls still have to be made.
SELECT count(*) FROM deliveries WHERE status = 'pending'

-- name: waiting_calls_of
-- How many calls of one node still have to be made.
SELECT count(*) FROM dispatches d JOIN deliveries c ON c.event_seq = d.event_seq
WHERE d.node_id = ? AND c.status = 'pending'

-- name: lost_calls
-- Calls and actions that are still to be done, of events that nobody will look at again.
SELECT
  (SELECT count(*) FROM deliveries WHERE status = 'pending'
   AND event_seq NOT IN (SELECT event_seq FROM dispatches)),
  (SELECT count(*) FROM actions WHERE status = 'pending'
   AND event_seq NOT IN (SELECT event_seq FROM dispatches))

-- name: held_nodes
-- The nodes with an event that has an owner.
SELECT DISTINCT node_id FROM dispatches WHERE owner IS NOT NULL

-- name: take_dispatch
-- A lease on a dispatch, if it still stands as it was seen.
UPDATE dispatches SET owner = ?, token = ?, lease_until = ? WHERE event_seq = ? AND token = ?

-- name: holds_dispatch
-- Whether this holder is still the current one.
SELECT 1 FROM dispatches WHERE event_seq = ? AND token = ?

-- name: extend_dispatch
-- Hold a dispatch for longer.
UPDATE dispatches SET lease_until = ? WHERE event_seq = ?

-- name: close_dispatch
-- All hooks ran, all actions were carried out.
DELETE FROM dispatches WHERE event_seq = ? AND token = ?

-- name: deliveries_of
-- The calls of one event, in order.
SELECT * FROM deliveries WHERE event_seq = ? ORDER BY position, id

-- name: last_failure
-- The newest call of a hook that failed, unless a later one went well.
SELECT * FROM (SELECT * FROM deliveries WHERE hook = ?1 AND status IN ('failed', 'timeout')
    ORDER BY event_seq DESC LIMIT 1) f
WHERE NOT EXISTS (SELECT 1 FROM deliveries o
    WHERE o.hook = ?1 AND o.event_seq > f.event_seq AND o.status = 'ok')

-- name: last_failed_action
-- The newest action of a hook that failed, unless one of a later event was carried out.
SELECT f.event_seq, f.hook, f.type, f.error FROM (
    SELECT * FROM actions WHERE hook = ?1 AND status = 'failed' ORDER BY event_seq DESC LIMIT 1) f
WHERE NOT EXISTS (SELECT 1 FROM deliveries d
    JOIN actions o ON o.event_seq = d.event_seq AND o.hook = d.hook AND o.status = 'done'
    WHERE d.hook = ?1 AND d.event_seq > f.event_seq)

-- name: start_delivery
-- An attempt begins.
UPDATE deliveries SET status = 'pending', error = NULL, attempts = attempts + 1, started_at = ?,
    child = NULL WHERE id = ?

-- name: take_back_delivery
-- An attempt that was cut short from outside is none.
UPDATE deliveries SET attempts = attempts - 1, child = NULL WHERE id = ?

-- name: set_child
-- The process group that works on a call.
UPDATE deliveries SET child = ? WHERE id = ?

-- name: finish_delivery
-- What the hook said and how it went.
UPDATE deliveries SET status = ?, duration_us = ?, exit_code = ?, answer = ?, error = ?,
    stdout = ?, stderr = ?, blob = ?, condition_values = ?, child = NULL WHERE id = ?

-- name: add_action
-- An action that a hook asked for.
INSERT INTO actions (event_seq, hook, position, type, payload, status, error)
VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: open_actions
-- The actions of an event that still have to be carried out, in the order of their hooks.
SELECT a.hook, a.position, a.type, a.payload, a.error FROM actions a
JOIN deliveries d ON d.event_seq = a.event_seq AND d.hook = a.hook
WHERE a.event_seq = ? AND a.status = 'pending' ORDER BY d.position, d.id, a.position

-- name: actions_of
-- Every action of one hook at one event.
SELECT position, type, payload, status, error FROM actions WHERE event_seq = ? AND hook = ?
ORDER BY position

-- name: finish_action
-- An action took effect, or could not.
UPDATE actions SET status = ?, error = ?
WHERE event_seq = ? AND hook = ? AND position = ? AND status = 'pending' RETURNING type

-- name: give_up_deliveries
-- The calls of one event that nobody will make.
UPDATE deliveries SET status = ?, error = ?, child = NULL WHERE event_seq = ? AND status = 'pending'
RETURNING id, event_seq, hook, point, kind, origin, status, position

-- name: give_up_actions
-- The actions of one event that nobody will carry out.
UPDATE actions SET status = 'failed', error = ? WHERE event_seq = ? AND status = 'pending'

-- name: give_up_dispatch
-- An event that nobody will see to any more.
DELETE FROM dispatches WHERE event_seq = ?

-- name: abandon_deliveries
-- Calls that nobody will make.
UPDATE deliveries SET status = ?, error = ?, child = NULL WHERE status IN (?, ?)

-- name: abandon_actions
-- Actions that nobody will carry out.
UPDATE actions SET status = 'failed', error = ? WHERE status = 'pending'

-- name: abandon_dispatches
-- Events whose hooks nobody will call any more.
DELETE FROM dispatches

-- name: switches
-- Hooks switched on or off by hand.
SELECT hook, enabled FROM switches

-- name: clear_switches
-- No hook is switched by hand any more.
DELETE FROM switches

-- name: set_switch
-- Switch a hook on or off by hand.
INSERT INTO switches (hook, enabled) VALUES (?1, ?2)
ON CONFLICT (hook) DO UPDATE SET enabled = ?2

-- name: waits_for_task
-- Whether an effect of a run waits for a task.
SELECT 1 FROM effects WHERE task = ? AND status = 'pending' AND task IS NOT NULL LIMIT 1
