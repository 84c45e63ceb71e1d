//! Finds candidate documents by words, name and vector, then scores them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use gatehouse_core::search::{MIN_CANDIDATE_POOL, NameMatch, NameQuery, ScoredCandidate, name::name_key};

use super::{
    by_words::{WordSearchResult, counts_from_row},
    layout::ExistingLayout,
    read::RepositoryFacts,
    vectors::{self, VectorColumn},
};
use crate::{
    documents::engine::{DocumentCandidate, DocumentCandidates, DocumentQuestion},
    embedding::words_only_note,
    engine::name_matches,
    sql::Result,
    sql::postgres::{MAX_NAME_ROWS, PostgresSession, column},
};

/// Characters of a query that can be a name.
const MAX_NAME: usize = 200;

/// Characters of a document's abstract.
const MAX_ABSTRACT_CHARS: i32 = 4_000;

/// Approximate bytes per token. Exact tokens are counted when a document is read.
const BYTES_PER_TOKEN: i64 = 4;

pub(super) struct RepositorySearch<'a> {
    pub(super) db: &'a PostgresSession,
    pub(super) layout: &'a ExistingLayout,
    pub(super) facts: &'a RepositoryFacts,
    pub(super) question: &'a DocumentQuestion,
}

pub(super) async fn candidates(
    db: &PostgresSession,
    layout: &ExistingLayout,
    facts: &RepositoryFacts,
    question: &DocumentQuestion,
) -> Result<DocumentCandidates> {
    let search = RepositorySearch { db, layout, facts, question };
    let mut words = search.by_words().await?;
    let by_name = search.by_name().await?;
    let mut notes = std::mem::take(&mut words.notes);
    let (vector_column, why_not) = search.vectors().await?;
    notes.extend(why_not.as_deref().map(words_only_note));
    let mut paths: BTreeSet<String> = words.paths.iter().chain(by_name.keys()).cloned().collect();
    let mut without_vector = 0;
    if let Some(vector_column) = vector_column {
        without_vector = usize::try_from(facts.without_vector).unwrap_or(0);
        paths.extend(search.by_vector(vector_column).await?);
    }
    let paths: Vec<String> = paths.into_iter().collect();
    let cosines = match vector_column {
        Some(vector_column) => search.cosines(vector_column, &paths).await?,
        None => HashMap::new(),
    };
    let candidates = search.load_candidates(&words, &by_name, &cosines, &paths).await?;
    Ok(DocumentCandidates { candidates, unmatched_terms: words.unmatched, without_vector, notes })
}

impl<'a> RepositorySearch<'a> {
    /// Returns the usable vector column, or a reason if the column is unusable. Both are `None` if the question has no
    /// vector.
    async fn vectors(&self) -> Result<(Option<&'a VectorColumn>, Option<String>)> {
        let Some(vector) = &self.question.vector else { return Ok((None, None)) };
        let vector_column = match &self.layout.vectors {
            Ok(vector_column) => vector_column,
            Err(reason) => return Ok((None, Some(reason.clone()))),
        };
        let stored = vectors::dimension(self.db, vector_column).await?;
        let reason = match (stored, &self.facts.model) {
            (None, _) => Some("no document has a vector".to_owned()),
            (Some(stored), model) => vectors::mismatch(stored, vector.values.len())
                .or_else(|| vectors::other_model(model.as_deref()?, &vector.model)),
        };
        Ok(if reason.is_some() { (None, reason) } else { (Some(vector_column), None) })
    }

    /// Returns documents whose name equals the question or begins with it. Names that match too many documents are
    /// ignored.
    async fn by_name(&self) -> Result<BTreeMap<String, NameMatch>> {
        let name: &NameQuery = &self.question.name;
        let Some((key, _)) = name.range() else { return Ok(BTreeMap::new()) };
        if key.chars().count() > MAX_NAME || key.contains('\0') {
            return Ok(BTreeMap::new());
        }
        let sql = "SELECT filepath::text AS path FROM repository_files
             WHERE repo_name = $1 AND content IS NOT NULL
                AND strpos('/' || translate(lower(filepath), E' \\t\\n_-.', ''), '/' || $2) > 0
             ORDER BY length(filepath), path LIMIT $3";
        let paths: Vec<String> =
            self.db.column(sql, &[&self.question.repository, &key, &MAX_NAME_ROWS]).await?;
        let mut names = Vec::new();
        for path in paths {
            let file = path.rsplit_once('/').map_or(path.as_str(), |(_, file)| file);
            let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
            names.extend([path.as_str(), file, stem].map(|name| (path.clone(), name_key(name))));
        }
        let mut files = name_matches(name, names);
        files.retain(|_, name| *name != NameMatch::No);
        Ok(if files.len() > MIN_CANDIDATE_POOL { BTreeMap::new() } else { files })
    }

    /// Returns the nearest documents, with the column's index if it has one.
    async fn by_vector(&self, vector_column: &VectorColumn) -> Result<Vec<String>> {
        let Some(vector) = &self.question.vector else { return Ok(Vec::new()) };
        self.db.batch(vector_column.settings()).await?;
        let distance = vector_column.distance(1, vector.values.len());
        let sql = format!(
            "SELECT filepath::text FROM repository_files
             WHERE repo_name = $2 AND embedding IS NOT NULL AND content IS NOT NULL AND filepath IS NOT NULL
             ORDER BY {distance} LIMIT $3"
        );
        let pool = i64::try_from(self.question.pool).unwrap_or(i64::MAX);
        self.db.column(&sql, &[&vector.values, &self.question.repository, &pool]).await
    }

    async fn cosines(&self, vector_column: &VectorColumn, paths: &[String]) -> Result<HashMap<String, f32>> {
        let Some(vector) = &self.question.vector else { return Ok(HashMap::new()) };
        let sql = format!(
            "SELECT filepath::text, 1 - min({}) FROM repository_files
             WHERE repo_name = $2 AND filepath = ANY($3) AND embedding IS NOT NULL GROUP BY 1",
            vector_column.distance(1, vector.values.len())
        );
        let rows = self.db.rows(&sql, &[&vector.values, &self.question.repository, &paths]).await?;
        let mut cosines = HashMap::new();
        for row in &rows {
            if let Some(cosine) = column::<Option<f64>>(row, 1)? {
                cosines.insert(column(row, 0)?, cosine as f32);
            }
        }
        Ok(cosines)
    }

    async fn load_candidates(
        &self,
        words: &WordSearchResult,
        by_name: &BTreeMap<String, NameMatch>,
        cosines: &HashMap<String, f32>,
        paths: &[String],
    ) -> Result<Vec<DocumentCandidate>> {
        let more = format!(", substr(t.content, 1, {MAX_ABSTRACT_CHARS})");
        let rows = self.count_forms(&words.forms, paths, &more).await?;
        let mut candidates: BTreeMap<String, DocumentCandidate> = BTreeMap::new();
        for row in &rows {
            let document = counts_from_row(row)?;
            let bm25 = self.score(words, &document);
            // A path can occur in several rows; use the best.
            if candidates.get(&document.path).is_some_and(|previous| previous.scored.bm25 >= bm25) {
                continue;
            }
            let candidate = DocumentCandidate {
                scored: ScoredCandidate {
                    key: document.path.clone(),
                    name: by_name.get(&document.path).copied().unwrap_or(NameMatch::No),
                    bm25,
                    cosine: cosines.get(&document.path).copied(),
                },
                tokens: u32::try_from(document.length as i64 / BYTES_PER_TOKEN).unwrap_or(u32::MAX),
                best: None,
                abstract_text: column(row, 3)?,
            };
            candidates.insert(document.path, candidate);
        }
        Ok(candidates.into_values().collect())
    }
}
