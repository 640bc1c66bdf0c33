-- name: read
-- One pull request.
SELECT record FROM pull_requests WHERE number = ?

-- name: open_of
-- The newest open pull request of a branch.
SELECT record FROM pull_requests WHERE branch = ? AND base = ? AND is_open = 1
ORDER BY number DESC LIMIT 1

-- name: last
-- The newest number.
SELECT coalesce(max(number), 0) FROM pull_requests

-- name: write
-- A pull request as it is now.
INSERT INTO pull_requests (number, branch, base, is_open, record) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (number) DO UPDATE SET is_open = ?4, record = ?5
