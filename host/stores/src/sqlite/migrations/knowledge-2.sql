-- Keys of the title, the id, and the id without its type.
CREATE TABLE page_name (
    key  TEXT NOT NULL,
    page INTEGER NOT NULL REFERENCES page ON DELETE CASCADE,
    PRIMARY KEY (key, page)
) STRICT, WITHOUT ROWID;
CREATE INDEX page_name_page ON page_name (page);
INSERT OR IGNORE INTO page_name SELECT name_key(title), number FROM page;
INSERT OR IGNORE INTO page_name SELECT name_key(id), number FROM page;
INSERT OR IGNORE INTO page_name SELECT name_key(substr(id, instr(id, '/') + 1)), number FROM page;

-- N-grams of words in non-Latin scripts. Pages without such words have no row.
CREATE VIRTUAL TABLE page_grams USING fts5 (
    title, overview, domains, content, content = '', contentless_delete = 1, tokenize = 'ascii'
);
INSERT INTO page_grams (rowid, title, overview, domains, content)
    SELECT number, grams(title), grams(overview), grams(domains), grams(content)
    FROM page JOIN page_body ON page_body.page = page.number
    WHERE grams(title || overview || domains || content) <> '';

-- Latin words are now separated from scripts without spaces.
DELETE FROM page_text;
INSERT INTO page_text (rowid, title, overview, domains, content)
    SELECT number, with_variants(title), with_variants(overview), separated(domains), separated(content)
    FROM page JOIN page_body ON page_body.page = page.number;

CREATE TABLE model (
    number INTEGER PRIMARY KEY,
    name   TEXT NOT NULL UNIQUE,
    used   INTEGER NOT NULL
) STRICT;

-- value: 32-bit floats, little-endian; NULL if the model returned no vector. changed: the generation that wrote it.
CREATE TABLE vector (
    page    INTEGER NOT NULL REFERENCES page ON DELETE CASCADE,
    model   INTEGER NOT NULL REFERENCES model ON DELETE CASCADE,
    changed INTEGER NOT NULL,
    value   BLOB,
    PRIMARY KEY (page, model)
) STRICT;
CREATE INDEX vector_changed ON vector (model, changed);

-- Lets every process check whether its cached vectors are current.
CREATE TABLE vector_state (
    one        INTEGER PRIMARY KEY CHECK (one = 1),
    generation INTEGER NOT NULL,
    removed    INTEGER NOT NULL
) STRICT;
INSERT INTO vector_state VALUES (1, 0, 0);
CREATE TRIGGER vector_removed AFTER DELETE ON vector BEGIN
    UPDATE vector_state SET generation = generation + 1, removed = generation + 1;
END;
