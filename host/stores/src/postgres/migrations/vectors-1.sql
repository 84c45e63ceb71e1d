CREATE TABLE gatehouse.page_vector (
    page      bigint NOT NULL REFERENCES gatehouse.page ON DELETE CASCADE,
    model     text COLLATE "C" NOT NULL,
    dimension integer NOT NULL,
    embedding {vector}.vector,
    made      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (page, model)
);
CREATE INDEX page_vector_model ON gatehouse.page_vector (model, dimension);
