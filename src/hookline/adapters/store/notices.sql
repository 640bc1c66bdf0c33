-- name: announced
-- What is announced and not over.
SELECT key, seq, node_id FROM announcements ORDER BY seq

-- name: announce
-- Something begins to wait; a key that is announced again waits since its newest event.
INSERT INTO announcements (key, seq, node_id) VALUES (?1, ?2, ?3)
ON CONFLICT (key) DO UPDATE SET seq = ?2, node_id = ?3

-- name: announce_end
-- It waits no longer.
DELETE FROM announcements WHERE key = ?

-- name: announced_about
-- Whether something is announced about a task or a run.
SELECT 1 FROM announcements WHERE node_id = ? LIMIT 1

-- name: unseen
-- Events after which nobody has looked yet.
SELECT seq FROM unseen ORDER BY seq

-- name: look_at
-- An event after which something may wait.
INSERT INTO unseen (seq) VALUES (?) ON CONFLICT DO NOTHING

-- name: seen
-- Somebody has looked.
DELETE FROM unseen WHERE seq = ?

-- name: dead_holders
-- The runs whose processes were gone at the last look.
SELECT value FROM meta WHERE key = 'dead_holders'

-- name: keep_dead_holders
-- The same, as of now.
INSERT INTO meta (key, value) VALUES ('dead_holders', ?1)
ON CONFLICT (key) DO UPDATE SET value = ?1

-- name: put
-- A call that the next notification of its hook carries.
INSERT INTO outbox (delivery, hook) VALUES (?, ?)

-- name: hooks_waiting
-- Hooks with calls that no notification carries yet.
SELECT hook FROM outbox WHERE notification IS NULL GROUP BY hook ORDER BY min(delivery)

-- name: calls_waiting
-- The oldest calls of a hook that no notification carries yet.
SELECT delivery FROM outbox WHERE notification IS NULL AND hook = ? ORDER BY delivery LIMIT ?

-- name: last_notification
-- When the newest notification of a hook was composed.
SELECT composed_at FROM notifications WHERE hook = ? ORDER BY id DESC LIMIT 1

-- name: compose
-- A notification that is to be sent.
INSERT INTO notifications (id, hook, composed_at, content) VALUES (?, ?, ?, ?)

-- name: carry
-- A call that it carries.
UPDATE outbox SET notification = ? WHERE delivery = ?

-- name: open_notifications
-- Notifications that are not sent yet; conditions may follow.
SELECT id, hook, content, failures, next_try, error, owner, lease_until, token FROM notifications
WHERE is_open = 1

-- name: carried
-- The calls that a notification carries.
SELECT delivery FROM outbox WHERE notification = ? ORDER BY delivery

-- name: take_notification
-- A lease on it.
UPDATE notifications SET owner = ?, token = ?, lease_until = ? WHERE id = ?

-- name: send_again
-- An attempt failed.
UPDATE notifications SET failures = failures + 1, next_try = ?, error = ?, owner = NULL,
    lease_until = 0 WHERE id = ?

-- name: let_go_of_notification
-- Somebody else may send it.
UPDATE notifications SET owner = NULL, lease_until = 0 WHERE id = ?

-- name: close_notification
-- It was sent, or given up; what it said is kept with its calls.
UPDATE notifications SET is_open = 0, owner = NULL, content = '' WHERE id = ?

-- name: empty_notification
-- The calls that it carried.
DELETE FROM outbox WHERE notification = ?

-- name: forget_notifications
-- Only when a hook was used last has to be known.
DELETE FROM notifications WHERE is_open = 0 AND id < ?1
AND hook = (SELECT hook FROM notifications WHERE id = ?1)

-- name: any_waiting
-- Whether something waits to be sent.
SELECT 1 FROM outbox LIMIT 1

-- name: clear_outbox
-- Nothing of what waits is sent.
DELETE FROM outbox

-- name: clear_notifications
-- Nor what is composed.
DELETE FROM notifications
