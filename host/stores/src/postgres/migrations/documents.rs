//! Document tables.

/// 1: repositories, files, search terms, names and chunks. Chunk vectors belong to the items with the same keys.
/// Columns named `key` hold indexable forms of texts of any length. Data that a search reads for many files is separate
/// from long texts.
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
        -- Updated when files change: numbers of documents, words and chunk items.
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

    -- The terms include one for the repository, so that a search reads only its part of the index.
    CREATE TABLE gatehouse.file_terms (
        file  bigint PRIMARY KEY REFERENCES gatehouse.file ON DELETE CASCADE,
        terms tsvector NOT NULL
    );
    CREATE INDEX file_terms_terms ON gatehouse.file_terms USING gin (terms);

    -- The path, the file name, and the name without extension.
    CREATE TABLE gatehouse.file_name (
        repository bigint NOT NULL,
        key        text COLLATE \"C\" NOT NULL,
        file       bigint NOT NULL REFERENCES gatehouse.file ON DELETE CASCADE,
        PRIMARY KEY (repository, key, file)
    );
    CREATE INDEX file_name_file ON gatehouse.file_name (file);

    -- start, stop: byte offsets in the content.
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

    -- Finds the vector of a text that was moved to another file.
    CREATE INDEX item_version ON gatehouse.item USING hash (version);
";
