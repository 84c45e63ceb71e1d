CREATE TABLE item (
    number  INTEGER PRIMARY KEY,
    corpus  TEXT NOT NULL,
    key     TEXT NOT NULL,
    version TEXT NOT NULL,
    UNIQUE (corpus, key)
) STRICT;
INSERT INTO item (number, corpus, key, version) SELECT number, 'page', key, hash FROM page;

CREATE TABLE item_vector (
    item    INTEGER NOT NULL REFERENCES item ON DELETE CASCADE,
    model   INTEGER NOT NULL REFERENCES model ON DELETE CASCADE,
    changed INTEGER NOT NULL,
    value   BLOB,
    PRIMARY KEY (item, model)
) STRICT;
INSERT INTO item_vector (item, model, changed, value) SELECT page, model, changed, value FROM vector;
DROP TABLE vector;
ALTER TABLE item_vector RENAME TO vector;
CREATE INDEX vector_changed ON vector (model, changed);
CREATE TRIGGER vector_removed AFTER DELETE ON vector BEGIN
    UPDATE vector_state SET generation = generation + 1, removed = generation + 1;
END;
