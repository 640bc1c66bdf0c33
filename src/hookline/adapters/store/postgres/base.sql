-- What is there before the first migration.
CREATE SCHEMA hookline;
CREATE SCHEMA hookline_rows;
-- `oldest` is the oldest schema whose code can work with this one.
CREATE TABLE hookline.version (number bigint NOT NULL, oldest bigint NOT NULL DEFAULT 0);
INSERT INTO hookline.version VALUES (0, 0);
CREATE TABLE hookline.projects (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE
);

-- Large values, in parts; `stored_at` tells those that are new from those that nothing needs.
CREATE TABLE hookline.blobs (
    project_id bigint NOT NULL DEFAULT current_setting('hookline.project')::bigint,
    name text COLLATE "C" NOT NULL,
    part bigint NOT NULL,
    data bytea NOT NULL,
    stored_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (project_id, name, part)
);

-- What happens in sessions, for those who watch.
CREATE TABLE hookline.feeds (
    project_id bigint NOT NULL DEFAULT current_setting('hookline.project')::bigint,
    run text COLLATE "C" NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    line bytea NOT NULL,
    PRIMARY KEY (project_id, run, id)
);

