//! Word indexes of artifacts, and the best artifacts of one owner by words and by vector.
//!
//! On SQLite, each owner has two index tables, so that word frequencies do not reveal other owners' artifacts, and a
//! search does not depend on how many others have. On PostgreSQL, each artifact has a term for its owner.

use std::collections::{BTreeSet, HashMap};

use gatehouse_core::search::script;
use rusqlite::{Connection, params};

#[cfg(feature = "postgres")]
use super::terms;
use super::{
    engine::{ArtifactQuestion, item_number},
    read::LIVE,
    row::{ArtifactRow, StoredArtifact},
};
use crate::{
    sql::sqlite::{
        CachedStatements as _, RowFilter, VectorCache, WordIndex, best, list, search_words, vectors,
        with_variants,
    },
    sql::{Result, Session, SqlValue, StoreError, vectors::Vectors},
};

/// Scores of the best artifacts, by number.
#[derive(Default)]
pub(super) struct ArtifactScores {
    pub(super) numbers: BTreeSet<i64>,
    pub(super) words: HashMap<i64, f64>,
    pub(super) cosines: HashMap<i64, f32>,
    pub(super) without_vector: usize,
    /// Reason that the engine searched by words only.
    pub(super) words_only_reason: Option<String>,
}

/// Columns that [`store`] sets. The first value is the number of the artifact.
pub(super) const CHANGES: &str =
    "expires = ?2, ttl = ?3, tool = ?4, source = ?5, tags = ?6, summary = ?7, words = ?8,
    subject = ?9";

/// Stores the changeable columns of an artifact, and its words.
pub(super) async fn store(db: Session<'_>, artifact: &StoredArtifact, values: &[SqlValue<'_>]) -> Result<()> {
    match db {
        Session::Sqlite(sqlite) => {
            db.run(&format!("UPDATE artifact SET {CHANGES} WHERE number = ?1"), values).await?;
            let sqlite = sqlite.connection();
            let index = put_owner(&sqlite, &artifact.owner)?;
            put_words(&sqlite, artifact.number, &index, &artifact.row)
        }
        #[cfg(feature = "postgres")]
        Session::Postgres(_) => terms::store(db, artifact, values).await,
    }
}

pub(super) async fn remove(db: Session<'_>, artifacts: &[StoredArtifact]) -> Result<()> {
    match db {
        Session::Sqlite(db) => {
            let db = db.connection();
            for artifact in artifacts {
                if let Some(owner) = owner_number(&db, &artifact.owner)? {
                    index(owner).remove(&db, artifact.number)?;
                }
            }
            Ok(())
        }
        #[cfg(feature = "postgres")]
        Session::Postgres(_) => Ok(()),
    }
}

/// Deletes the indexes of owners without artifacts.
pub(super) async fn drop_unused(db: Session<'_>) -> Result<()> {
    match db {
        Session::Sqlite(db) => {
            let db = db.connection();
            let unused =
                "DELETE FROM artifact_owner WHERE name NOT IN (SELECT owner FROM artifact) RETURNING number";
            for owner in db.column::<_, Vec<i64>>(unused, [])? {
                index(owner).drop_tables(&db)?;
            }
            Ok(())
        }
        #[cfg(feature = "postgres")]
        Session::Postgres(_) => Ok(()),
    }
}

/// Merges the indexes, which removes the words of deleted rows. FTS5 only marks them until then.
pub(super) async fn optimize(db: Session<'_>) -> Result<()> {
    match db {
        Session::Sqlite(db) => {
            let db = db.connection();
            for owner in db.column::<_, Vec<i64>>("SELECT number FROM artifact_owner", [])? {
                let WordIndex { words, pieces, .. } = index(owner);
                for index in [words, pieces] {
                    db.execute(&format!("INSERT INTO {index} ({index}) VALUES ('optimize')"), [])?;
                }
            }
            Ok(())
        }
        #[cfg(feature = "postgres")]
        Session::Postgres(_) => Ok(()),
    }
}

pub(super) async fn best_artifacts(
    db: Session<'_>,
    vectors: &Vectors,
    question: &ArtifactQuestion,
) -> Result<ArtifactScores> {
    match (db, vectors) {
        (Session::Sqlite(db), Vectors::Sqlite { cache, .. }) => by_index(&db.connection(), cache, question),
        #[cfg(feature = "postgres")]
        (Session::Postgres(db), Vectors::Postgres(vectors)) => {
            let vectors = vectors.search(db, question.vector.as_ref()).await?;
            terms::best_artifacts(db, question, &vectors).await
        }
        #[cfg(feature = "postgres")]
        _ => Err(StoreError::invalid("the vectors belong to another engine")),
    }
}

fn index(owner: i64) -> WordIndex {
    WordIndex::numbered(owner, "3.0, 1.0")
}

/// Returns the number of an owner. `None` if nothing is stored for it.
fn owner_number(db: &Connection, name: &str) -> Result<Option<i64>> {
    db.find("SELECT number FROM artifact_owner WHERE name = ?1", [name])
}

/// Returns the index of an owner. Creates it for a new owner.
fn put_owner(db: &Connection, name: &str) -> Result<WordIndex> {
    if let Some(owner) = owner_number(db, name)? {
        return Ok(index(owner));
    }
    db.run("INSERT INTO artifact_owner (name) VALUES (?1)", [name])?;
    let index = index(db.last_insert_rowid());
    index.create(db, "heading, summary")?;
    Ok(index)
}

fn put_words(db: &Connection, number: i64, index: &WordIndex, row: &ArtifactRow) -> Result<()> {
    index.remove(db, number)?;
    let WordIndex { words, pieces, .. } = index;
    let (heading, body) = (row.heading(), row.body());
    let columns = "(rowid, heading, summary) VALUES (?1, ?2, ?3)";
    let values = params![number, with_variants(&heading), with_variants(&body)];
    db.run(&format!("INSERT INTO {words} {columns}"), values)?;
    let [heading, body] = [&heading, &body].map(|text| script::grams(text));
    if !heading.is_empty() || !body.is_empty() {
        db.run(&format!("INSERT INTO {pieces} {columns}"), params![number, heading, body])?;
    }
    Ok(())
}

/// Finds the best artifacts, each scored in both ways.
fn by_index(db: &Connection, cache: &VectorCache, question: &ArtifactQuestion) -> Result<ArtifactScores> {
    let (mut scores, scope) = (ArtifactScores::default(), &question.scope);
    let Some(owner) = owner_number(db, &scope.owner)? else { return Ok(scores) };
    let live = format!("SELECT number FROM artifact a WHERE {LIVE} ORDER BY number");
    let live: Vec<i64> = db.column(&live, params![scope.owner, scope.now])?;
    // The plus makes SQLite look up the words once instead of once per artifact.
    let condition = " AND +rowid IN (SELECT value FROM json_each(?))".to_owned();
    let filter = RowFilter { condition, value: Some(list(live.iter().copied())) };
    let total = live.len() as i64;
    scores.words = search_words(db, &index(owner), &question.query, &filter, total, question.limit)?.scores;
    scores.numbers.extend(best(&scores.words, question.pool, |number| Ok(Some(number.to_string())))?);
    let near = question.near.iter().map(|item| item_number(&item.key));
    scores.numbers.extend(near.filter(|number| live.binary_search(number).is_ok()));
    let Some(vector) = &question.vector else { return Ok(scores) };
    let without = "SELECT count(*) FROM artifact a JOIN item i ON i.number = a.number WHERE a.owner = ?1
        AND NOT EXISTS (SELECT 1 FROM vector v WHERE v.item = i.number AND v.model = ?2)";
    let model = vectors::model(db, &vector.model)?;
    scores.without_vector = db.value::<i64>(without, params![scope.owner, model])? as usize;
    let Some(cached) = cache.load(db, vector)? else { return Ok(scores) };
    let is_near = |cosine: f32| vectors::may_be_near(cosine, !scores.words.is_empty());
    let nearest = cached.nearest(&vector.values, Some(&live), question.pool).into_iter();
    scores.numbers.extend(nearest.filter(|(_, cosine)| is_near(*cosine)).map(|(number, _)| number));
    for number in &scores.numbers {
        if let Some(cosine) = vectors::cosine(db, cached.model(), *number, &vector.values)? {
            scores.cosines.insert(*number, cosine);
        }
    }
    Ok(scores)
}
