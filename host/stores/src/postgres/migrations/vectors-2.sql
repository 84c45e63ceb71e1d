CREATE TABLE gatehouse.item_vector (
    corpus    text COLLATE "C" NOT NULL,
    key       text COLLATE "C" NOT NULL,
    model     text COLLATE "C" NOT NULL,
    dimension integer NOT NULL,
    embedding {vector}.vector,
    made      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (corpus, key, model),
    FOREIGN KEY (corpus, key) REFERENCES gatehouse.item ON DELETE CASCADE
);
INSERT INTO gatehouse.item_vector (corpus, key, model, dimension, embedding, made)
    SELECT 'page', p.key, v.model, v.dimension, v.embedding, v.made
    FROM gatehouse.page_vector v JOIN gatehouse.page p ON p.number = v.page;
DROP TABLE gatehouse.page_vector;
CREATE INDEX item_vector_model ON gatehouse.item_vector (corpus, model, dimension);
