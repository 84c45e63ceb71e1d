//! The tables of artifacts.

/// 1: texts in blocks, and what each owner knows of them. Times are milliseconds since 1970. The vectors of summaries are
/// those of the items with the keys that stand in `item`.
pub(super) const ARTIFACTS: &str = "
    -- A name that no other store has.
    CREATE TABLE gatehouse.artifact_store (
        name text NOT NULL
    );
    INSERT INTO gatehouse.artifact_store VALUES (gen_random_uuid());

    -- A text is here once, whoever keeps it. packed: bytes that its blocks take.
    CREATE TABLE gatehouse.artifact_text (
        number     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        digest     bytea NOT NULL UNIQUE,
        size       bigint NOT NULL,
        lines      bigint NOT NULL,
        characters bigint NOT NULL,
        packed     bigint NOT NULL
    );

    CREATE TABLE gatehouse.artifact_block (
        text              bigint NOT NULL REFERENCES gatehouse.artifact_text ON DELETE CASCADE,
        position          bigint NOT NULL,
        characters_before bigint NOT NULL,
        feeds_before      bigint NOT NULL,
        size              bigint NOT NULL,
        digest            bytea NOT NULL,
        packed            bytea NOT NULL,
        PRIMARY KEY (text, position)
    );
    -- It is packed already.
    ALTER TABLE gatehouse.artifact_block ALTER COLUMN packed SET STORAGE EXTERNAL;

    -- tags: each between line feeds. words: in lower case, what a list is narrowed by. expires: null where it is pinned.
    -- terms: the words it is found by, and one that names the owner; length is how many these are. weight: bytes that all
    -- of it takes, about.
    CREATE TABLE gatehouse.artifact (
        number    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        owner     text COLLATE \"C\" NOT NULL,
        id        text COLLATE \"C\" NOT NULL,
        text      bigint NOT NULL REFERENCES gatehouse.artifact_text,
        created   bigint NOT NULL,
        expires   bigint,
        ttl       bigint NOT NULL,
        weight    bigint NOT NULL DEFAULT 0,
        length    integer NOT NULL DEFAULT 0,
        mime_type text NOT NULL,
        preset    text NOT NULL,
        tool      text,
        source    text,
        tags      text NOT NULL DEFAULT '',
        summary   text,
        words     text NOT NULL DEFAULT '',
        terms     tsvector NOT NULL DEFAULT '',
        UNIQUE (owner, id),
        UNIQUE (owner, text)
    );
    CREATE INDEX artifact_created ON gatehouse.artifact (owner, created, number);
    CREATE INDEX artifact_expires ON gatehouse.artifact (expires) WHERE expires IS NOT NULL;
    CREATE INDEX artifact_of_text ON gatehouse.artifact (text);
    CREATE INDEX artifact_terms ON gatehouse.artifact USING gin (terms);
";
