-- The event log, its projection, and the rows of hook calls.

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- One row, advanced inside each writing transaction: the log has no gaps, task ids are not reused.
CREATE TABLE counters (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    seq INTEGER NOT NULL,
    task INTEGER NOT NULL,
    token INTEGER NOT NULL
);
INSERT INTO counters VALUES (1, 0, 0, 0);

CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    timestamp TEXT NOT NULL,
    type TEXT NOT NULL,
    node_id TEXT NOT NULL,
    data TEXT NOT NULL,
    metadata TEXT NOT NULL
);
CREATE INDEX events_by_node ON events (node_id);
CREATE INDEX events_by_type ON events (type);

-- unmet, rank and lease_until are derived or perishable; the rest folds from the log.
CREATE TABLE tasks (
    number INTEGER PRIMARY KEY,
    state TEXT NOT NULL,
    priority INTEGER NOT NULL,
    goal TEXT NOT NULL,
    labels TEXT NOT NULL DEFAULT '[]',
    type TEXT,
    desired_deliverables TEXT NOT NULL DEFAULT '[]',
    parent TEXT,
    created_at TEXT NOT NULL,
    started_at TEXT,
    completed_at TEXT,
    result TEXT,
    artifacts TEXT NOT NULL DEFAULT '[]',
    block_reason TEXT,
    required_knowledge TEXT NOT NULL DEFAULT '[]',
    notes TEXT NOT NULL DEFAULT '[]',
    pr_url TEXT,
    commits_count INTEGER,
    turns_used INTEGER,
    claim_agent TEXT,
    claim_token INTEGER,
    lease_until TEXT,
    unmet INTEGER NOT NULL DEFAULT 0,
    rank INTEGER NOT NULL
);
CREATE INDEX tasks_ready ON tasks (priority, number) WHERE state = 'ready' AND claim_agent IS NULL;
CREATE INDEX tasks_leased ON tasks (lease_until) WHERE claim_agent IS NOT NULL;
CREATE INDEX tasks_by_state ON tasks (state, priority, number);

CREATE TABLE edges (
    from_task INTEGER NOT NULL,
    type TEXT NOT NULL,
    to_task INTEGER NOT NULL,
    PRIMARY KEY (from_task, type, to_task)
) WITHOUT ROWID;
CREATE INDEX edges_to ON edges (to_task, type);

-- An event whose hooks still have to run, or whose actions still have to be carried out.
CREATE TABLE dispatches (
    event_seq INTEGER PRIMARY KEY,
    node_id TEXT NOT NULL,
    owner TEXT,
    token INTEGER NOT NULL DEFAULT 0,
    lease_until REAL NOT NULL DEFAULT 0
);
CREATE INDEX dispatches_by_node ON dispatches (node_id);

-- The payload that the hooks of an event see, frozen when it happened.
CREATE TABLE payloads (
    event_seq INTEGER PRIMARY KEY,
    payload TEXT NOT NULL
);

-- One call of one hook: what it was asked, what it said, how it went.
CREATE TABLE deliveries (
    id INTEGER PRIMARY KEY,
    event_seq INTEGER NOT NULL,
    hook TEXT NOT NULL,
    point TEXT NOT NULL,
    kind TEXT NOT NULL,
    origin TEXT NOT NULL,
    status TEXT NOT NULL,
    position INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    started_at TEXT,
    duration_us INTEGER,
    exit_code INTEGER,
    answer TEXT,
    error TEXT,
    stdout TEXT,
    stderr TEXT,
    blob TEXT,
    condition TEXT,
    condition_values TEXT,
    child TEXT,
    UNIQUE (event_seq, hook)
);
CREATE INDEX deliveries_by_hook ON deliveries (hook, event_seq);
CREATE INDEX deliveries_open ON deliveries (event_seq) WHERE status IN ('pending', 'dead');

-- Each action takes effect once: its key is (event, hook, position).
CREATE TABLE actions (
    event_seq INTEGER NOT NULL,
    hook TEXT NOT NULL,
    position INTEGER NOT NULL,
    type TEXT NOT NULL,
    payload TEXT NOT NULL,
    status TEXT NOT NULL,
    error TEXT,
    PRIMARY KEY (event_seq, hook, position)
) WITHOUT ROWID;

-- `hook enable` and `hook disable`.
CREATE TABLE switches (
    hook TEXT PRIMARY KEY,
    enabled INTEGER NOT NULL
) WITHOUT ROWID;
