-- name: tell_host
-- What a host is like now; whether it is drained is up to people.
INSERT INTO hosts (name, seen_at, facts) VALUES (?1, ?2, ?3)
ON CONFLICT (name) DO UPDATE SET seen_at = ?2, facts = ?3

-- name: tell_process
-- A process of a host that advances runs.
INSERT INTO host_processes (owner, host, seen_at, facts) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (owner) DO UPDATE SET host = ?2, seen_at = ?3, facts = ?4

-- name: give_back_runs
-- Runs of a process that cannot work any more. No holder has such a token: if it wakes, it is fenced.
-- No two times have the same one, so that schedulers tell them apart.
UPDATE runs SET owner = NULL, token = -token, lease_until = 0 WHERE owner = ?

-- name: give_back_dispatches
-- The events whose hooks it called.
UPDATE dispatches SET owner = NULL, token = 0, lease_until = 0 WHERE owner = ?

-- name: give_back_notifications
-- The notifications that it sent.
UPDATE notifications SET owner = NULL, token = 0, lease_until = 0 WHERE owner = ?

-- name: give_back_exporters
-- The telemetry that it sent.
UPDATE exporters SET owner = NULL, token = 0, lease_until = 0 WHERE owner = ?

-- name: forget_process
-- A process is over.
DELETE FROM host_processes WHERE owner = ?

-- name: forget_processes_seen_before
-- Processes that ended without a word, long ago.
DELETE FROM host_processes WHERE host = ? AND seen_at < ?

-- name: hosts
-- All hosts.
SELECT name, is_drained, seen_at, facts FROM hosts ORDER BY name

-- name: host_processes
-- All processes of hosts.
SELECT owner, host, seen_at, facts FROM host_processes ORDER BY host, owner

-- name: is_drained
-- Whether a host is to take nothing new.
SELECT is_drained FROM hosts WHERE name = ?

-- name: drain_host
-- A host takes nothing new from now on, or takes work again.
UPDATE hosts SET is_drained = ? WHERE name = ?

-- name: remove_host
-- A host that is gone.
DELETE FROM hosts WHERE name = ?

-- name: remove_host_processes
-- The processes of a host that is gone.
DELETE FROM host_processes WHERE host = ?

-- name: host_wishes
-- What all hosts should be like.
SELECT value FROM meta WHERE key = 'hosts'

-- name: wish_of_hosts
-- What all hosts should be like, as a person says.
INSERT INTO meta (key, value) VALUES ('hosts', ?1)
ON CONFLICT (key) DO UPDATE SET value = ?1
