-- Sessions are runs of the flow `session`; what hooks have for their agent waits here.

-- Output of hooks that the next prompt of a session carries, in the order in which it came.
CREATE TABLE held_output (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    event_seq INTEGER NOT NULL,
    hook TEXT NOT NULL,
    point TEXT NOT NULL,
    text TEXT NOT NULL,
    delivered INTEGER NOT NULL DEFAULT 0,
    UNIQUE (run, event_seq, hook)
);
CREATE INDEX held_output_open ON held_output (run, id) WHERE delivered = 0;

CREATE INDEX runs_by_flow ON runs (flow, number);
CREATE INDEX runs_live_sessions ON runs (number)
    WHERE flow = 'session' AND status IN ('running', 'parked', 'paused');
