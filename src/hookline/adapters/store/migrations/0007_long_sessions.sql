-- What a task or a run was told of one type is found without reading everything else about it,
-- however many iterations a session has.
DROP INDEX events_by_node;
CREATE INDEX events_by_node ON events (node_id, type);
