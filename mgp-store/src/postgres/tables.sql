CREATE TABLE mgp_tables (version integer NOT NULL);
-- Each order of changes: its last entry, its entries since the copy, and the copy.
CREATE TABLE mgp_order (name text PRIMARY KEY, version bigint NOT NULL);
CREATE TABLE mgp_entry (
    name text NOT NULL, version bigint NOT NULL, body bytea NOT NULL, appended_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (name, version)
);
CREATE TABLE mgp_snapshot (name text PRIMARY KEY, version bigint NOT NULL, link bytea NOT NULL, body bytea NOT NULL);
-- The kernels, how each is reached by the others, and what each says of itself.
CREATE TABLE mgp_replica (
    id text PRIMARY KEY, address text NOT NULL, started_at timestamptz NOT NULL DEFAULT now(),
    seen_at timestamptz NOT NULL DEFAULT now(), state text NOT NULL
);
-- Who runs a server: each owner has a larger epoch than those before it.
CREATE TABLE mgp_lease (
    name text PRIMARY KEY, owner text NOT NULL, epoch bigint NOT NULL, until timestamptz NOT NULL
);
-- What all kernels used of each limit, as of a time, of which so much is given back in a second.
CREATE TABLE mgp_limit (
    id bigint PRIMARY KEY, used float8 NOT NULL, returned float8 NOT NULL, used_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX mgp_limit_used_at ON mgp_limit (used_at);
-- What an event says. Names come from agents: escapes that are no text, which PostgreSQL refuses, are read as U+FFFD.
CREATE FUNCTION mgp_said(event text, VARIADIC path text[]) RETURNS text IMMUTABLE LANGUAGE sql AS $f$
    SELECT regexp_replace(event, '\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\\ufffd', 'g')::json #>> path
$f$;
CREATE FUNCTION mgp_millis(moment text) RETURNS bigint IMMUTABLE LANGUAGE sql AS $f$
    SELECT (extract(epoch FROM moment::timestamptz) * 1000)::bigint
$f$;
-- The records of all kernels, one chain each. The place orders their events: by time, and those of one kernel and time by number,
-- as far as they are no more than 64. Several events may have one place.
-- Until 2039 each reader of JSON reads it exactly.
CREATE TABLE mgp_event (
    writer text NOT NULL, seq bigint NOT NULL, body text NOT NULL, hash text NOT NULL,
    place bigint NOT NULL GENERATED ALWAYS AS (
        mgp_millis(mgp_said(body, 'timestamp')) * 4096 + (seq & 63) * 64 + (hashtext(writer) & 63)
    ) STORED,
    event_type text GENERATED ALWAYS AS (mgp_said(body, 'event_type')) STORED,
    agent text GENERATED ALWAYS AS (
        CASE WHEN mgp_said(body, 'actor', 'type') = 'agent' THEN mgp_said(body, 'actor', 'id') END
    ) STORED,
    server text GENERATED ALWAYS AS (mgp_said(body, 'target', 'server_id')) STORED,
    result text GENERATED ALWAYS AS (mgp_said(body, 'result')) STORED,
    trace text GENERATED ALWAYS AS (mgp_said(body, 'trace_id')) STORED,
    PRIMARY KEY (writer, seq)
);
CREATE INDEX mgp_event_place ON mgp_event (place);
CREATE INDEX mgp_event_trace ON mgp_event (trace);
INSERT INTO mgp_tables (version) VALUES (1);
