-- How often an attempt at an event's calls broke off outside of a hook.
ALTER TABLE dispatches ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;

-- Calls that wait are counted and calls that were given up are listed, however many are over.
DROP INDEX deliveries_open;
CREATE INDEX deliveries_pending ON deliveries (event_seq) WHERE status = 'pending';
CREATE INDEX deliveries_dead ON deliveries (event_seq) WHERE status = 'dead';

-- Hooks whose last call or action failed are looked for by name.
CREATE INDEX deliveries_failed ON deliveries (hook, event_seq)
    WHERE status IN ('failed', 'timeout');
CREATE INDEX actions_failed ON actions (hook, event_seq) WHERE status = 'failed';

-- Whether tasks may wait for nothing, because nobody made them ready; looked at once, also here.
ALTER TABLE counters ADD COLUMN missed INTEGER NOT NULL DEFAULT 1;
