//! Finds documents by words, with or without a full-text index of the other program.

use tokio_postgres::Row;

use super::{
    search::RepositorySearch,
    words::{WordSource, word_forms},
};
use crate::{
    sql::Result,
    sql::postgres::{QueryForm, SqlValues, bm25, column, inverse_document_frequency, prefix_forms},
};

const MAX_COMPARED_DOCUMENTS: i64 = 20_000;

/// Maximum documents to parse per search if the table has no `tsvector` column.
const MAX_PARSED_DOCUMENTS: usize = 200;

#[derive(Default)]
pub(super) struct WordSearchResult {
    pub(super) forms: Vec<String>,
    /// Weights of `forms`, in the same order.
    pub(super) weights: Vec<f64>,
    pub(super) paths: Vec<String>,
    pub(super) unmatched: Vec<String>,
    pub(super) notes: Vec<String>,
}

/// A document with the number of occurrences of each form.
pub(super) struct DocumentCounts {
    pub(super) path: String,
    /// Length in bytes.
    pub(super) length: f64,
    pub(super) counts: Vec<f64>,
}

impl RepositorySearch<'_> {
    pub(super) async fn by_words(&self) -> Result<WordSearchResult> {
        let query_forms = match self.question.prefixes.as_slice() {
            [] => word_forms(&self.question.query, &self.question.text),
            prefixes => prefix_forms(prefixes),
        };
        let forms = self.indexable_forms(query_forms).await?;
        if forms.is_empty() {
            return Ok(WordSearchResult::default());
        }
        match &self.layout.words {
            WordSource::Column { indexed: true, .. } => self.by_index(forms).await,
            WordSource::Column { .. } => {
                let form_texts = forms.iter().map(|form| form.form.clone()).collect::<Vec<_>>();
                let rows = self.documents_with_any(&form_texts, &form_texts.join(" | ")).await?;
                let holding = |at: usize| rows.iter().filter(|row| row.counts.get(at) > Some(&0.0)).count();
                let counted = (0..forms.len()).map(|at| holding(at) as f64).collect();
                let mut result = self.weigh_forms(forms, counted);
                let positions: Vec<usize> =
                    (0..form_texts.len()).filter(|at| result.forms.contains(&form_texts[*at])).collect();
                let rows = rows.into_iter().map(|row| DocumentCounts {
                    counts: positions.iter().map(|at| row.counts.get(*at).copied().unwrap_or(0.0)).collect(),
                    ..row
                });
                result.paths = self.best(&result, rows.collect());
                Ok(result)
            }
            WordSource::Texts { .. } => self.by_texts(forms).await,
        }
    }

    /// Removes forms that are empty in the configurations, such as stop words, because no text contains them.
    async fn indexable_forms(&self, mut forms: Vec<QueryForm>) -> Result<Vec<QueryForm>> {
        if forms.is_empty() {
            return Ok(forms);
        }
        let form_texts: Vec<&str> = forms.iter().map(|form| form.form.as_str()).collect();
        let sql =
            format!("{} SELECT numnode(query) > 0 FROM asked ORDER BY place", self.layout.words.forms_cte());
        let mut flags = self.db.column::<bool>(&sql, &[&form_texts]).await?.into_iter();
        forms.retain(|_| flags.next().unwrap_or(false));
        Ok(forms)
    }

    /// Searches by index. Frequent words, which more than half of the documents contain, are queried only if the rest
    /// finds fewer documents than requested: they match many rows and add little.
    async fn by_index(&self, forms: Vec<QueryForm>) -> Result<WordSearchResult> {
        let words = &self.layout.words;
        let sql = format!(
            "SELECT (SELECT count(*) FROM repository_files f
                WHERE f.repo_name = $2 AND f.content_tsvector @@ asked.query)
             FROM (SELECT {} AS query, a.place FROM unnest($1::text[]) WITH ORDINALITY AS a (form, place) OFFSET 0) asked
             ORDER BY place",
            words.query("a.form")
        );
        let form_texts: Vec<&str> = forms.iter().map(|form| form.form.as_str()).collect();
        let counted: Vec<i64> = self.db.column(&sql, &[&form_texts, &self.question.repository]).await?;
        let counted: Vec<f64> = counted.into_iter().map(|count| count as f64).collect();
        let total = self.facts.files as f64;
        let telling: Vec<String> = forms
            .iter()
            .zip(&counted)
            .filter(|(_, holding)| **holding > 0.0 && **holding * 2.0 <= total)
            .map(|(form, _)| form.form.clone())
            .collect();
        let mut result = self.weigh_forms(forms, counted);
        let every = result.forms.join(" | ");
        let some = Some(telling.join(" | ")).filter(|some| !some.is_empty() && *some != every);
        for round in some.into_iter().chain(Some(every).filter(|every| !every.is_empty())) {
            let rows = self.documents_with_any(&result.forms, &round).await?;
            if rows.len() as i64 == MAX_COMPARED_DOCUMENTS {
                result.notes = vec![format!(
                    "More than {MAX_COMPARED_DOCUMENTS} documents contain these words; only that many were compared."
                )];
            }
            result.paths = self.best(&result, rows);
            if result.paths.len() >= self.question.limit {
                break;
            }
        }
        Ok(result)
    }

    /// Searches every text for the stems, then parses the texts with the best matches.
    async fn by_texts(&self, forms: Vec<QueryForm>) -> Result<WordSearchResult> {
        let form_texts: Vec<&str> = forms.iter().map(|form| form.form.as_str()).collect();
        let sql = format!(
            "SELECT lower((tsvector_to_array({}))[1]) FROM unnest($1::text[]) WITH ORDINALITY AS a (form, place)
             ORDER BY place",
            self.layout.words.stem("a.form")
        );
        let stems: Vec<Option<String>> = self.db.column(&sql, &[&form_texts]).await?;
        // A stop word has no stem. U+0001 matches nothing.
        let prefixes: Vec<String> =
            stems.into_iter().map(|stem| stem.map_or_else(|| "\u{1}".into(), stem_prefix)).collect();
        let sql = "SELECT path, length, hits FROM (
                SELECT t.path, t.length, (SELECT array_agg(strpos(t.text, b.text)::float8 ORDER BY b.place)
                    FROM unnest($1::text[]) WITH ORDINALITY AS b (text, place)) AS hits
                FROM (SELECT filepath::text AS path, octet_length(content)::float8 AS length, lower(content) AS text
                    FROM repository_files WHERE repo_name = $2 AND content IS NOT NULL AND filepath IS NOT NULL
                    OFFSET 0) t OFFSET 0
             ) found WHERE 0 < ANY(hits) LIMIT $3";
        let values: SqlValues<'_> = &[&prefixes, &self.question.repository, &MAX_COMPARED_DOCUMENTS];
        let rows: Vec<DocumentCounts> = self.db.all(sql, values, counts_from_row).await?;
        let holding = |at: usize| rows.iter().filter(|row| row.counts.get(at) > Some(&0.0)).count() as f64;
        let holding: Vec<f64> = (0..forms.len()).map(holding).collect();
        let weights: Vec<f64> = holding
            .iter()
            .map(|holding| inverse_document_frequency(*holding, self.facts.files as f64))
            .collect();
        let mut hits: Vec<(f64, String)> = rows
            .into_iter()
            .map(|row| {
                let held = row.counts.iter().zip(&weights).filter(|(place, _)| **place > 0.0);
                (held.map(|(_, weight)| weight).sum(), row.path)
            })
            .collect();
        hits.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let mut result = self.weigh_forms(forms, holding);
        result.notes = self.layout.words.notes();
        let paths: Vec<String> = hits.into_iter().take(MAX_PARSED_DOCUMENTS).map(|(_, path)| path).collect();
        let rows = self.count_forms(&result.forms, &paths, "").await?;
        let rows = rows.iter().map(counts_from_row).collect::<Result<Vec<_>, _>>()?;
        result.paths = self.best(&result, rows);
        Ok(result)
    }

    /// Returns the matching forms with their weights, and the words without a match.
    fn weigh_forms(&self, forms: Vec<QueryForm>, holding: Vec<f64>) -> WordSearchResult {
        let mut result = WordSearchResult::default();
        for (QueryForm { form, original, .. }, holding) in forms.into_iter().zip(holding) {
            if holding > 0.0 {
                result.weights.push(inverse_document_frequency(holding, self.facts.files as f64));
                result.forms.push(form);
            } else {
                result.unmatched.extend(original);
            }
        }
        result
    }

    /// Returns the documents that match the query `any`, with occurrences.
    async fn documents_with_any(&self, forms: &[String], any: &str) -> Result<Vec<DocumentCounts>> {
        let words = &self.layout.words;
        let sql = format!(
            "{} SELECT t.path, t.length, {} FROM (
                SELECT filepath::text AS path, octet_length(content)::float8 AS length, {} AS terms
                FROM repository_files
                WHERE repo_name = $2 AND content_tsvector @@ {} AND content IS NOT NULL AND filepath IS NOT NULL
                LIMIT $4
             ) t",
            words.forms_cte(),
            WordSource::occurrences_sql(),
            words.terms(),
            words.query("$3")
        );
        let values: SqlValues<'_> = &[&forms, &self.question.repository, &any, &MAX_COMPARED_DOCUMENTS];
        self.db.all(&sql, values, counts_from_row).await
    }

    /// Returns these documents with the occurrences of each form and the extra columns `more`.
    pub(super) async fn count_forms(
        &self,
        forms: &[String],
        paths: &[String],
        more: &str,
    ) -> Result<Vec<Row>> {
        let words = &self.layout.words;
        let sql = format!(
            "{} SELECT t.path, t.length, {} {more} FROM (
                SELECT filepath::text AS path, octet_length(content)::float8 AS length, content, {} AS terms
                FROM repository_files WHERE repo_name = $2 AND filepath = ANY($3) AND content IS NOT NULL OFFSET 0
             ) t",
            words.forms_cte(),
            WordSource::occurrences_sql(),
            words.terms()
        );
        self.db.rows(&sql, &[&forms, &self.question.repository, &paths]).await
    }

    pub(super) fn score(&self, words: &WordSearchResult, row: &DocumentCounts) -> f64 {
        let length = row.length / self.facts.length;
        words.weights.iter().zip(&row.counts).map(|(weight, count)| bm25(*weight, *count, length)).sum()
    }

    fn best(&self, words: &WordSearchResult, rows: Vec<DocumentCounts>) -> Vec<String> {
        let scored = rows.into_iter().map(|row| (self.score(words, &row), row.path));
        let mut scored: Vec<(f64, String)> = scored.filter(|(score, _)| *score > 0.0).collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        scored.into_iter().take(self.question.pool).map(|(_, path)| path).collect()
    }
}

/// Decodes a row of [`RepositorySearch::count_forms`] or [`RepositorySearch::documents_with_any`].
pub(super) fn counts_from_row(row: &Row) -> Result<DocumentCounts> {
    let counts: Option<Vec<f64>> = column(row, 2)?;
    Ok(DocumentCounts { path: column(row, 0)?, length: column(row, 1)?, counts: counts.unwrap_or_default() })
}

/// Returns the prefix that all forms of a stem share: English stems differ from their words only at the end.
fn stem_prefix(stem: String) -> String {
    match stem.strip_suffix(['i', 'e']) {
        Some(shorter) if shorter.chars().count() > 2 => shorter.to_owned(),
        _ => stem,
    }
}
