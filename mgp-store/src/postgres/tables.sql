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
-- The records of all kernels, one chain each: the place orders events by time, the tags are what they are searched by.
CREATE TABLE mgp_event (
    writer text NOT NULL, seq bigint NOT NULL, place bigint NOT NULL, tags text[] NOT NULL, body text NOT NULL,
    prev bytea NOT NULL, hash bytea NOT NULL, PRIMARY KEY (writer, seq)
);
CREATE INDEX mgp_event_place ON mgp_event (place);
INSERT INTO mgp_tables (version) VALUES (1);
