-- name: find
-- Where the work on a task is.
SELECT place FROM work_places WHERE task = ?

-- name: set
-- Where the work on a task is now.
INSERT INTO work_places (task, place) VALUES (?1, ?2)
ON CONFLICT (task) DO UPDATE SET place = ?2

-- name: remove
-- The work on a task is over.
DELETE FROM work_places WHERE task = ?

-- name: all
-- Where all work is.
SELECT task, place FROM work_places ORDER BY task

-- name: over
-- Where work was that is over.
SELECT task, place FROM work_places WHERE NOT EXISTS (SELECT 1 FROM tasks
    WHERE number = task AND state NOT IN ('completed', 'failed', 'cancelled')) ORDER BY task
