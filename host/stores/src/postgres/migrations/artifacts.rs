//! Artifact tables.

/// 1: texts in blocks, and artifacts by owner. Times are Unix milliseconds. Summary vectors belong to rows of `item`.
pub(super) const ARTIFACTS: &str = "
    -- A unique name of the store.
    CREATE TABLE gatehouse.artifact_store (
        name text NOT NULL
    );
    INSERT INTO gatehouse.artifact_store VALUES (gen_random_uuid());

    -- Each text is stored once for all owners. packed: bytes of its blocks.
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
    -- Already compressed.
    ALTER TABLE gatehouse.artifact_block ALTER COLUMN packed SET STORAGE EXTERNAL;

    -- tags: each between line feeds. words: lowercase text to filter lists by. expires: null if pinned.
    -- terms: search terms, and one for the owner. length: number of terms. weight: approximate bytes of the artifact.
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

/// 2: what the text is about, for searches. Null in rows of version 1 until a host indexes them.
pub(super) const SUBJECTS: &str = "
    ALTER TABLE gatehouse.artifact ADD COLUMN subject text;
    CREATE INDEX artifact_no_subject ON gatehouse.artifact (number) WHERE subject IS NULL;
";
