//! The tables, as numbered steps for each part. A step that was released is never edited; a
//! change is a new step.
//!
//! Everything lies in the schema `gatehouse`. Each step is one transaction under a lock, so that two hosts that
//! start together take turns. Tables that are newer than this binary are refused and not touched.

mod artifacts;
mod documents;

use std::time::Duration;

use super::{error::StoreError, session::PostgresSession};

/// Tables that have versions of their own.
#[derive(Debug, Clone, Copy)]
pub(super) struct SchemaPart {
    /// Its row in `gatehouse.schema_version`.
    pub(super) name: &'static str,
    /// The part whose tables these build on.
    pub(super) needs: Option<&'static SchemaPart>,
    /// How long whoever writes waits for others that do, and for each statement; none where that is short.
    pub(super) patience: Option<Duration>,
    /// Those who write take turns by this number.
    pub(super) turn: i32,
    /// Its version is how many of these it has seen.
    pub(super) steps: &'static [&'static str],
}

/// The knowledge graph.
pub(super) const KNOWLEDGE: SchemaPart = SchemaPart {
    name: "knowledge",
    needs: None,
    patience: None,
    turn: 1,
    // 1: pages, their texts, domains and links, and the words they are found by. A page's number is given once:
    // what changes gets a new one. Columns that may hold long texts have hash indexes, which bear any length.
    steps: &["
    CREATE TEXT SEARCH DICTIONARY gatehouse.stem (TEMPLATE = pg_catalog.snowball, Language = english);
    -- English words by their stems, and no word left out: which ones say nothing is the query's matter.
    CREATE TEXT SEARCH CONFIGURATION gatehouse.words (COPY = pg_catalog.english);
    ALTER TEXT SEARCH CONFIGURATION gatehouse.words
        ALTER MAPPING REPLACE pg_catalog.english_stem WITH gatehouse.stem;

    CREATE TABLE gatehouse.page (
        number       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id           text COLLATE \"C\" NOT NULL,
        key          text COLLATE \"C\" NOT NULL UNIQUE,
        title_key    text COLLATE \"C\" NOT NULL,
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
        key  text COLLATE \"C\" NOT NULL
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
        key  text COLLATE \"C\" NOT NULL
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
        target_key text COLLATE \"C\" NOT NULL,
        kept       text COLLATE \"C\" NOT NULL,
        inverse    boolean NOT NULL,
        PRIMARY KEY (page, position)
    );
    CREATE INDEX link_target ON gatehouse.link USING hash (target_key);
    ",
    // 2: what is searched by meaning, by corpus and key. Until it changes, a page's hash stands for what was embedded.
    "
    CREATE TABLE gatehouse.item (
        corpus  text COLLATE \"C\" NOT NULL,
        key     text COLLATE \"C\" NOT NULL,
        version text NOT NULL,
        PRIMARY KEY (corpus, key)
    );
    INSERT INTO gatehouse.item (corpus, key, version) SELECT 'page', key, hash FROM gatehouse.page;
    "],
};

/// Documents. They share items and the reading of words with the knowledge graph, so its tables come with them, and may
/// stay empty.
pub(super) const DOCUMENTS: SchemaPart = SchemaPart {
    name: "documents",
    needs: Some(&KNOWLEDGE),
    // As long as a few batches of another host take. An edit of a page does not wait for them.
    patience: Some(Duration::from_secs(60)),
    turn: 2,
    steps: &[documents::REPOSITORIES],
};

/// Artifacts, which share items and the reading of words as documents do.
pub(super) const ARTIFACTS: SchemaPart = SchemaPart {
    name: "artifacts",
    needs: Some(&KNOWLEDGE),
    patience: None,
    turn: 3,
    steps: &[artifacts::ARTIFACTS],
};

/// Vectors, where the server has pgvector; `{vector}` is the schema that pgvector is in.
pub(super) const VECTORS: SchemaPart = SchemaPart {
    name: "knowledge_vectors",
    needs: Some(&KNOWLEDGE),
    patience: None,
    turn: 1,
    // 1: a vector for each page and model, of whatever dimension; none where the model has nothing to say.
    steps: &[
        "
    CREATE TABLE gatehouse.page_vector (
        page      bigint NOT NULL REFERENCES gatehouse.page ON DELETE CASCADE,
        model     text COLLATE \"C\" NOT NULL,
        dimension integer NOT NULL,
        embedding {vector}.vector,
        made      timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (page, model)
    );
    CREATE INDEX page_vector_model ON gatehouse.page_vector (model, dimension);
    ",
        // 2: the same by corpus and key.
        "
    CREATE TABLE gatehouse.item_vector (
        corpus    text COLLATE \"C\" NOT NULL,
        key       text COLLATE \"C\" NOT NULL,
        model     text COLLATE \"C\" NOT NULL,
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
    ",
    ],
};

impl SchemaPart {
    /// The version of tables that have seen every step.
    pub(super) const fn latest(&self) -> i64 {
        self.steps.len() as i64
    }

    /// This part and those that it builds on, which come first.
    pub(super) fn all(&self) -> Vec<Self> {
        let mut parts = self.needs.map(Self::all).unwrap_or_default();
        parts.push(*self);
        parts
    }

    /// The version of the tables there; none where this part has never been stored.
    pub(super) async fn version(&self, db: &PostgresSession) -> Result<Option<i64>, StoreError> {
        let there = db.one("SELECT to_regclass('gatehouse.schema_version') IS NOT NULL", &[]).await?;
        if !there.try_get::<_, bool>(0)? {
            return Ok(None);
        }
        let row = db
            .query_opt("SELECT version FROM gatehouse.schema_version WHERE part = $1", &[&self.name])
            .await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?)
    }

    /// Refuses tables that are newer than this binary.
    pub(super) fn check(&self, found: i64) -> Result<(), StoreError> {
        let known = self.latest();
        if found > known { Err(StoreError::Newer { found, known }) } else { Ok(()) }
    }

    /// Brings the tables up to date; writes nothing where they are. `vector` stands for the schema of pgvector.
    pub(super) async fn migrate(&self, db: &PostgresSession, vector: Option<&str>) -> Result<(), StoreError> {
        loop {
            let found = self.version(db).await?.unwrap_or(0);
            self.check(found)?;
            if found == self.latest() {
                return Ok(());
            }
            db.begin_migration().await?;
            let step = self.step(db, vector).await;
            match step {
                Ok(()) => db.batch("COMMIT").await?,
                Err(error) => {
                    // The step's failure is what counts; a connection that cannot roll back is not used again.
                    let _ = db.batch("ROLLBACK").await;
                    return Err(error);
                }
            }
        }
    }

    /// The next step, inside a transaction that holds the lock.
    async fn step(&self, db: &PostgresSession, vector: Option<&str>) -> Result<(), StoreError> {
        db.batch(
            "DO $$ BEGIN
                IF to_regnamespace('gatehouse') IS NULL THEN CREATE SCHEMA gatehouse; END IF;
             END $$;
             CREATE TABLE IF NOT EXISTS gatehouse.schema_version (part text PRIMARY KEY, version bigint NOT NULL)",
        )
        .await?;
        let found = self.version(db).await?.unwrap_or(0);
        self.check(found)?;
        // Another host may have done it while this one waited for the lock.
        let Some(step) = usize::try_from(found).ok().and_then(|done| self.steps.get(done)) else {
            return Ok(());
        };
        db.batch(&step.replace("{vector}", vector.unwrap_or("public"))).await?;
        db.run(
            "INSERT INTO gatehouse.schema_version (part, version) VALUES ($1, $2)
             ON CONFLICT (part) DO UPDATE SET version = excluded.version",
            &[&self.name, &(found + 1)],
        )
        .await?;
        Ok(())
    }
}
