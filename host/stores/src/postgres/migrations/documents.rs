//! The tables of repositories of documents.

/// 1: repositories, their files, the words and names these are found by, and their chunks, whose vectors are those of the
/// items with the same keys. Columns named `key` are what indexes can hold of a text of any length. What a search reads of
/// many files stands apart from the long texts.
pub(super) const REPOSITORIES: &str = "
    CREATE TABLE gatehouse.repository (
        number              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        key                 text COLLATE \"C\" NOT NULL UNIQUE,
        name                text COLLATE \"C\" NOT NULL,
        url                 text,
        version             text,
        kind                text,
        root                text,
        created_at          text,
        updated_at          text,
        guide               text,
        changed_since_guide bigint NOT NULL,
        -- Counted when files change: documents, their words, and items of their chunks.
        files               bigint NOT NULL DEFAULT 0,
        words               bigint NOT NULL DEFAULT 0,
        items               bigint NOT NULL DEFAULT 0
    );

    CREATE TABLE gatehouse.file (
        number     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        repository bigint NOT NULL REFERENCES gatehouse.repository ON DELETE CASCADE,
        key        text COLLATE \"C\" NOT NULL,
        path       text COLLATE \"C\" NOT NULL,
        hash       text NOT NULL,
        made_from  text,
        lines      bigint NOT NULL,
        tokens     bigint NOT NULL,
        length     integer NOT NULL,
        UNIQUE (repository, key)
    );

    CREATE TABLE gatehouse.file_text (
        file     bigint PRIMARY KEY REFERENCES gatehouse.file ON DELETE CASCADE,
        abstract text NOT NULL,
        content  text NOT NULL
    );

    -- Among the terms is one that names the repository: a search reads of the index what belongs to it.
    CREATE TABLE gatehouse.file_terms (
        file  bigint PRIMARY KEY REFERENCES gatehouse.file ON DELETE CASCADE,
        terms tsvector NOT NULL
    );
    CREATE INDEX file_terms_terms ON gatehouse.file_terms USING gin (terms);

    -- The path, the file's name, and that without its ending.
    CREATE TABLE gatehouse.file_name (
        repository bigint NOT NULL,
        key        text COLLATE \"C\" NOT NULL,
        file       bigint NOT NULL REFERENCES gatehouse.file ON DELETE CASCADE,
        PRIMARY KEY (repository, key, file)
    );
    CREATE INDEX file_name_file ON gatehouse.file_name (file);

    -- start, stop: bytes of the content.
    CREATE TABLE gatehouse.chunk (
        file       bigint NOT NULL REFERENCES gatehouse.file ON DELETE CASCADE,
        position   integer NOT NULL,
        item       text COLLATE \"C\" NOT NULL,
        start      bigint NOT NULL,
        stop       bigint NOT NULL,
        first_line bigint NOT NULL,
        last_line  bigint NOT NULL,
        heading    text NOT NULL,
        PRIMARY KEY (file, position)
    );

    -- A text that was moved to another file finds its vector.
    CREATE INDEX item_version ON gatehouse.item USING hash (version);
";
