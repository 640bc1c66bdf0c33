-- What the statements of the embedded store call and PostgreSQL does not have, as they need it.

-- JSON here may name NUL, which PostgreSQL cannot hold; texts have it as these two characters.
CREATE OR REPLACE FUNCTION hookline.as_json(text) RETURNS jsonb LANGUAGE sql IMMUTABLE STRICT AS
$$ SELECT CASE WHEN pg_catalog.strpos($1, '\u0000') = 0 THEN $1 ELSE pg_catalog.regexp_replace($1,
    '(?<!\\)((?:\\\\)*)\\u0000', '\1\\uf8f0\\uf8f1', 'g') END::pg_catalog.jsonb $$;

CREATE OR REPLACE FUNCTION hookline.json_each(text) RETURNS TABLE (value text) LANGUAGE sql IMMUTABLE STRICT AS
$$ SELECT * FROM pg_catalog.jsonb_array_elements_text(hookline.as_json($1)) $$;

CREATE OR REPLACE FUNCTION hookline.json_extract(text, text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS
$$ SELECT hookline.as_json($1) ->> pg_catalog.substr($2, 3) $$;

CREATE OR REPLACE FUNCTION hookline.json_valid(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT AS
$$ BEGIN PERFORM hookline.as_json($1); RETURN true; EXCEPTION WHEN OTHERS THEN RETURN false; END $$;

CREATE OR REPLACE FUNCTION hookline.json_remove(text, VARIADIC text[]) RETURNS text
LANGUAGE sql IMMUTABLE STRICT AS
$$ SELECT CASE pg_catalog.jsonb_typeof(hookline.as_json($1)) WHEN 'object' THEN
    (hookline.as_json($1) - ARRAY(SELECT pg_catalog.substr(path, 3) FROM unnest($2) AS path))::text
    ELSE $1 END $$;

CREATE OR REPLACE FUNCTION hookline.concatenated(text, bigint) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT coalesce($1 || ',', '') || $2 $$;

CREATE OR REPLACE AGGREGATE hookline.group_concat(bigint) (SFUNC = hookline.concatenated, STYPE = text);

CREATE OR REPLACE FUNCTION hookline.min(bigint, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT least($1, $2) $$;

-- How transactions begin: what holds for one of them only, and where the log stands. The server keeps
-- the plans of a function for as long as a connection lasts, whoever's transaction comes next.

CREATE OR REPLACE FUNCTION hookline.look(project bigint, OUT seq bigint, OUT epoch text)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('search_path', 'hookline_rows, hookline, pg_catalog, pg_temp', true),
        set_config('hookline.project', project::text, true),
        set_config('plan_cache_mode', 'force_generic_plan', true);
    SELECT c.seq, (SELECT m.value FROM hookline.meta m
        WHERE m.project_id = project AND m.key = 'epoch')
    INTO seq, epoch FROM hookline.counters c WHERE c.project_id = project;
END $$;

-- `named`: whether the server says which it is. It ends those that are silent for `silence` ms; they
-- may also be cut off while they are told something, which does not count as silence. Who does not
-- get the turn within `again` ms has to ask again; for other locks it waits for `patience` ms.
CREATE OR REPLACE FUNCTION hookline.turn(
    project bigint, named boolean, silence bigint, again bigint, patience bigint,
    OUT seq bigint, OUT task bigint, OUT token bigint, OUT run bigint, OUT missed bigint,
    OUT number text, OUT now float8, OUT timeline bigint, OUT epoch text, OUT behind text)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('search_path', 'hookline_rows, hookline, pg_catalog, pg_temp', true),
        set_config('hookline.project', project::text, true),
        set_config('plan_cache_mode', 'force_generic_plan', true),
        set_config('idle_in_transaction_session_timeout', silence::text, true),
        set_config('tcp_user_timeout', silence::text, true),
        set_config('lock_timeout', again::text, true);
    -- Who waits for the row follows it to each place where another change puts it: only one does.
    PERFORM pg_advisory_xact_lock(7210384, project::integer);
    SELECT c.seq, c.task, c.token, c.run, c.missed INTO seq, task, token, run, missed
    FROM hookline.counters c WHERE c.project_id = project FOR UPDATE;
    PERFORM set_config('lock_timeout', patience::text, true);
    SELECT m.value INTO epoch FROM hookline.meta m WHERE m.project_id = project AND m.key = 'epoch';
    SELECT m.value INTO behind FROM hookline.meta m
    WHERE m.project_id = project AND m.key = 'behind';
    number := pg_current_xact_id();
    now := extract(epoch FROM clock_timestamp());
    timeline := 0;
    IF named THEN
        timeline := ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint;
    END IF;
END $$;

-- Nobody waits for the disk to have that those who listen were told.
CREATE OR REPLACE FUNCTION hookline.tell(channel text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true), pg_notify(channel, '');
END $$;
