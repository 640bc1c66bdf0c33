-- Runs of flows and their effects: a projection of the journal, which is part of the log.

-- owner, token, lease_until, wake_at and iteration are perishable; the rest folds from the log.
CREATE TABLE runs (
    number INTEGER PRIMARY KEY,
    flow TEXT NOT NULL,
    status TEXT NOT NULL,
    input TEXT NOT NULL,
    metadata TEXT NOT NULL,
    chapter INTEGER NOT NULL DEFAULT 1,
    state TEXT,
    reason TEXT,
    value TEXT,
    error TEXT,
    code_digest TEXT NOT NULL DEFAULT '',
    pins TEXT NOT NULL DEFAULT '{}',
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    iteration INTEGER NOT NULL DEFAULT 0,
    wake_at REAL,
    owner TEXT,
    token INTEGER NOT NULL DEFAULT 0,
    lease_until REAL NOT NULL DEFAULT 0
);
CREATE INDEX runs_due ON runs (wake_at)
    WHERE status IN ('running', 'parked') AND wake_at IS NOT NULL;
CREATE INDEX runs_by_status ON runs (status, number);
CREATE INDEX runs_by_owner ON runs (owner) WHERE owner IS NOT NULL;

-- attempts, next_try, chosen, task, child and conversation are perishable.
CREATE TABLE effects (
    run INTEGER NOT NULL,
    chapter INTEGER NOT NULL,
    effect_id TEXT NOT NULL,
    step TEXT NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    args TEXT NOT NULL,
    digest TEXT NOT NULL,
    metadata TEXT NOT NULL,
    policy TEXT NOT NULL,
    requested_seq INTEGER NOT NULL,
    requested_at TEXT NOT NULL,
    resolved_seq INTEGER,
    resolved_at TEXT,
    value TEXT,
    error TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    next_try REAL,
    chosen INTEGER NOT NULL DEFAULT 0,
    task INTEGER,
    child TEXT,
    conversation TEXT,
    PRIMARY KEY (run, chapter, effect_id)
) WITHOUT ROWID;
CREATE INDEX effects_pending ON effects (run, chapter) WHERE status = 'pending';
CREATE INDEX effects_resolved ON effects (run, chapter, resolved_seq)
    WHERE resolved_seq IS NOT NULL;
CREATE INDEX effects_by_task ON effects (task) WHERE status = 'pending' AND task IS NOT NULL;

-- Signals in the order in which they came; consumed ones carry the effect that took them.
CREATE TABLE run_signals (
    seq INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    consumed INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX run_signals_open ON run_signals (run) WHERE consumed = 0;

-- What hooks of a run remember between ticks.
CREATE TABLE run_values (
    run INTEGER NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (run, name)
) WITHOUT ROWID;

ALTER TABLE counters ADD COLUMN run INTEGER NOT NULL DEFAULT 0;
