CREATE TEXT SEARCH DICTIONARY gatehouse.stem (TEMPLATE = pg_catalog.snowball, Language = english);
-- English words by their stems, and no word left out: which ones say nothing is the query's matter.
CREATE TEXT SEARCH CONFIGURATION gatehouse.words (COPY = pg_catalog.english);
ALTER TEXT SEARCH CONFIGURATION gatehouse.words
    ALTER MAPPING REPLACE pg_catalog.english_stem WITH gatehouse.stem;

CREATE TABLE gatehouse.page (
    number       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id           text COLLATE "C" NOT NULL,
    key          text COLLATE "C" NOT NULL UNIQUE,
    title_key    text COLLATE "C" NOT NULL,
    type         text NOT NULL,
    title        text NOT NULL,
    hash         text NOT NULL,
    root         text,
    file         text,
    last_updated text,
    domains      text[] NOT NULL,
    sources      text NOT NULL,
    length       integer NOT NULL
);
CREATE INDEX page_title ON gatehouse.page USING hash (title_key);

-- The forms in which a page is called: its title, its id, and its id without the type.
CREATE TABLE gatehouse.page_name (
    page bigint NOT NULL REFERENCES gatehouse.page ON DELETE CASCADE,
    key  text COLLATE "C" NOT NULL
);
CREATE INDEX page_name_page ON gatehouse.page_name (page);
CREATE INDEX page_name_key ON gatehouse.page_name (key);

CREATE TABLE gatehouse.page_body (
    page     bigint PRIMARY KEY REFERENCES gatehouse.page ON DELETE CASCADE,
    overview text NOT NULL,
    content  text NOT NULL
);

-- A page's terms are read for each word of a question: they stand in the row itself, as far as a row holds them.
CREATE TABLE gatehouse.page_text (
    page  bigint PRIMARY KEY REFERENCES gatehouse.page ON DELETE CASCADE,
    terms tsvector NOT NULL
) WITH (toast_tuple_target = 8160);
ALTER TABLE gatehouse.page_text ALTER COLUMN terms SET STORAGE MAIN;
CREATE INDEX page_terms ON gatehouse.page_text USING gin (terms);

CREATE TABLE gatehouse.domain (
    page bigint NOT NULL REFERENCES gatehouse.page ON DELETE CASCADE,
    key  text COLLATE "C" NOT NULL
);
CREATE INDEX domain_page ON gatehouse.domain (page);
CREATE INDEX domain_key ON gatehouse.domain USING hash (key);

-- edge and target as declared; kept and inverse say what they mean; target_key is compared with page.key,
-- so a link resolves as soon as its target exists.
CREATE TABLE gatehouse.link (
    page       bigint NOT NULL REFERENCES gatehouse.page ON DELETE CASCADE,
    position   bigint NOT NULL,
    edge       text NOT NULL,
    target     text NOT NULL,
    target_key text COLLATE "C" NOT NULL,
    kept       text COLLATE "C" NOT NULL,
    inverse    boolean NOT NULL,
    PRIMARY KEY (page, position)
);
CREATE INDEX link_target ON gatehouse.link USING hash (target_key);
