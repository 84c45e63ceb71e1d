//! Finds candidate artifacts of one owner by words and by vector. The best of each are scored in both ways.

use std::collections::{BTreeSet, HashMap};

use gatehouse_core::search::{NameMatch, ScoredCandidate};
use rusqlite::{Connection, params};

use super::{read, words::index};
use crate::{
    artifacts::engine::{ArtifactCandidate, ArtifactCandidates, ArtifactQuestion, NearestItem, item_number},
    sqlite::{
        error::StoreError,
        query::list,
        vector_cache::VectorCache,
        vectors,
        words::{self, RowFilter},
    },
};

pub(super) fn candidates(
    db: &Connection,
    cache: &VectorCache,
    question: &ArtifactQuestion,
) -> Result<ArtifactCandidates, StoreError> {
    let mut found = ArtifactCandidates::default();
    let Some(owner) = read::owner(db, &question.scope.owner)? else { return Ok(found) };
    let live = read::live_numbers(db, owner, question.scope.now)?;
    // The plus makes SQLite look up the words once instead of once per artifact.
    let condition = " AND +rowid IN (SELECT value FROM json_each(?))".to_owned();
    let filter = RowFilter { condition, value: Some(list(live.iter().copied())) };
    let words =
        words::search(db, &index(owner), &question.query, &filter, live.len() as i64, question.limit)?;
    let best = words::best(&words.scores, question.pool, |number| Ok(Some(number.to_string())))?;
    let mut numbers: BTreeSet<i64> = best.into_iter().collect();
    let mut cached = None;
    if let Some(vector) = &question.vector {
        cached = cache.load(db, vector)?.map(|cached| (cached, &vector.values));
        found.without_vector = without_vector(db, owner, &vector.model)?;
    }
    if let Some((cached, values)) = &cached {
        let close = |cosine: f32| vectors::may_be_near(cosine, !words.scores.is_empty());
        let near = cached.nearest(values, Some(&live), question.pool).into_iter();
        numbers.extend(near.filter(|(_, cosine)| close(*cosine)).map(|(number, _)| number));
    }
    let foreign: HashMap<i64, &NearestItem> =
        question.near.iter().map(|near| (item_number(&near.key), near)).collect();
    numbers.extend(foreign.keys().filter(|number| live.binary_search(number).is_ok()));
    for number in numbers {
        let Some(stored) = read::by_number(db, number)? else { continue };
        let bm25 = words.scores.get(&number).copied().unwrap_or(0.0);
        let cosine = match &cached {
            Some((cached, values)) => vectors::cosine(db, cached.model(), number, values)?,
            None => foreign.get(&number).and_then(|near| near.cosine_if_current(&stored.row)),
        };
        let (body, artifact) = (stored.row.body(), stored.artifact());
        let scored = ScoredCandidate { key: artifact.id.clone(), name: NameMatch::No, bm25, cosine };
        found.candidates.push(ArtifactCandidate { scored, artifact, body });
    }
    Ok(found)
}

fn without_vector(db: &Connection, owner: i64, model: &str) -> Result<usize, StoreError> {
    let mut count = db.prepare_cached(
        "SELECT count(*) FROM artifact a JOIN item i ON i.number = a.number WHERE a.owner = ?1
            AND NOT EXISTS (SELECT 1 FROM vector v WHERE v.item = i.number AND v.model = ?2)",
    )?;
    let model = vectors::model(db, model)?;
    Ok(count.query_row(params![owner, model], |row| row.get::<_, i64>(0))? as usize)
}
