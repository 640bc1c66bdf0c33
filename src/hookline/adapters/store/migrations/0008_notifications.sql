-- What people were told and still waits for them; folds from the log.
CREATE TABLE announcements (
    key TEXT PRIMARY KEY,
    seq INTEGER NOT NULL,
    node_id TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX announcements_by_node ON announcements (node_id);

-- Events after which nobody has looked yet whether something waits for a person.
CREATE TABLE unseen (
    seq INTEGER PRIMARY KEY
);

-- A notification, as it is sent: it is composed once, and every attempt sends the same.
CREATE TABLE notifications (
    id INTEGER PRIMARY KEY,
    hook TEXT NOT NULL,
    composed_at REAL NOT NULL,
    content TEXT NOT NULL,
    failures INTEGER NOT NULL DEFAULT 0,
    next_try REAL NOT NULL DEFAULT 0,
    error TEXT,
    owner TEXT,
    lease_until REAL NOT NULL DEFAULT 0,
    token INTEGER NOT NULL DEFAULT 0,
    is_open INTEGER NOT NULL DEFAULT 1
);
CREATE INDEX notifications_by_hook ON notifications (hook, id);
CREATE INDEX notifications_open ON notifications (id) WHERE is_open = 1;

-- Calls that wait until their hook sends its next notification, and those that one carries.
CREATE TABLE outbox (
    delivery INTEGER PRIMARY KEY,
    hook TEXT NOT NULL,
    notification INTEGER
);
CREATE INDEX outbox_by_notification ON outbox (notification, hook);
