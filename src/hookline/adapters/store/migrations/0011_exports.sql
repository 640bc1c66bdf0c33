-- How far telemetry was sent, for each place that it goes to; perishable, and not in the log.
CREATE TABLE exporters (
    name TEXT PRIMARY KEY,
    seq INTEGER NOT NULL,
    delivery INTEGER NOT NULL,
    sent INTEGER NOT NULL DEFAULT 0,
    rejected INTEGER NOT NULL DEFAULT 0,
    sent_at REAL,
    failures INTEGER NOT NULL DEFAULT 0,
    next_try REAL NOT NULL DEFAULT 0,
    error TEXT,
    owner TEXT,
    token INTEGER NOT NULL DEFAULT 0,
    lease_until REAL NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- Calls of hooks that were not over when their place was passed.
CREATE TABLE exporter_calls (
    exporter TEXT NOT NULL,
    delivery INTEGER NOT NULL,
    PRIMARY KEY (exporter, delivery)
) WITHOUT ROWID;
