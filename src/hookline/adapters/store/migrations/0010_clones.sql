-- What machines that share a store have to know of each other's clones of the project.

-- Where the work on a task is; perishable.
CREATE TABLE work_places (
    task INTEGER PRIMARY KEY,
    place TEXT NOT NULL
);

-- The pull requests of the local forge, which has files for them where a store is not shared.
CREATE TABLE pull_requests (
    number INTEGER PRIMARY KEY,
    branch TEXT NOT NULL,
    base TEXT NOT NULL,
    is_open INTEGER NOT NULL,
    record TEXT NOT NULL
);
CREATE INDEX pull_requests_open ON pull_requests (branch, base) WHERE is_open = 1;
