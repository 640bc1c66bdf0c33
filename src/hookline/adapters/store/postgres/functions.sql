-- What the statements of the embedded store call and PostgreSQL does not have, as they need it.

-- JSON here may name NUL, which PostgreSQL cannot hold; texts have it as these two characters.
CREATE FUNCTION hookline.as_json(text) RETURNS jsonb LANGUAGE sql IMMUTABLE STRICT AS
$$ SELECT CASE WHEN pg_catalog.strpos($1, '\u0000') = 0 THEN $1 ELSE pg_catalog.regexp_replace($1,
    '(?<!\\)((?:\\\\)*)\\u0000', '\1\\uf8f0\\uf8f1', 'g') END::pg_catalog.jsonb $$;

CREATE FUNCTION hookline.json_each(text) RETURNS TABLE (value text) LANGUAGE sql IMMUTABLE STRICT AS
$$ SELECT * FROM pg_catalog.jsonb_array_elements_text(hookline.as_json($1)) $$;

CREATE FUNCTION hookline.json_extract(text, text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS
$$ SELECT hookline.as_json($1) ->> pg_catalog.substr($2, 3) $$;

CREATE FUNCTION hookline.json_valid(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT AS
$$ BEGIN PERFORM hookline.as_json($1); RETURN true; EXCEPTION WHEN OTHERS THEN RETURN false; END $$;

CREATE FUNCTION hookline.json_remove(text, VARIADIC text[]) RETURNS text
LANGUAGE sql IMMUTABLE STRICT AS
$$ SELECT CASE pg_catalog.jsonb_typeof(hookline.as_json($1)) WHEN 'object' THEN
    (hookline.as_json($1) - ARRAY(SELECT pg_catalog.substr(path, 3) FROM unnest($2) AS path))::text
    ELSE $1 END $$;

CREATE FUNCTION hookline.concatenated(text, bigint) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT coalesce($1 || ',', '') || $2 $$;

CREATE AGGREGATE hookline.group_concat(bigint) (SFUNC = hookline.concatenated, STYPE = text);

CREATE FUNCTION hookline.min(bigint, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
$$ SELECT least($1, $2) $$;
