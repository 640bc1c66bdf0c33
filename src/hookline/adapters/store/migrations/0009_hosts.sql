-- Machines that advance runs, and what each was last like; perishable, and not in the log.
CREATE TABLE hosts (
    name TEXT PRIMARY KEY,
    is_drained INTEGER NOT NULL DEFAULT 0,
    seen_at REAL NOT NULL,
    facts TEXT NOT NULL
) WITHOUT ROWID;

-- Their processes, by the name that each has as a holder of leases.
CREATE TABLE host_processes (
    owner TEXT PRIMARY KEY,
    host TEXT NOT NULL,
    seen_at REAL NOT NULL,
    facts TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX host_processes_by_host ON host_processes (host);
