CREATE TABLE gatehouse.item (
    corpus  text COLLATE "C" NOT NULL,
    key     text COLLATE "C" NOT NULL,
    version text NOT NULL,
    PRIMARY KEY (corpus, key)
);
INSERT INTO gatehouse.item (corpus, key, version) SELECT 'page', key, hash FROM gatehouse.page;
