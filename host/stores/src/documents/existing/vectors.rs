//! The existing vector column: distances, and the models that could have made it.

use super::layout::TableColumn;
use crate::{
    sql::Result,
    sql::postgres::{PostgresSession, column},
};

#[derive(Debug, Clone)]
pub(super) struct VectorColumn {
    /// `vector` or `halfvec`.
    kind: String,
    schema: String,
    /// Declared dimension. `None` if the column allows any.
    dimension: Option<usize>,
    /// True if approximate indexes support iterative scans, which continue until enough rows pass the filter (pgvector
    /// 0.8 and later).
    iterates: bool,
}

impl VectorColumn {
    /// Inspects the column. The inner error is the reason that it cannot be used.
    pub(super) async fn detect(
        db: &PostgresSession,
        found: Option<&TableColumn>,
    ) -> Result<Result<Self, String>> {
        let Some(found) = found else {
            return Ok(Err("the table 'repository_files' has no column 'embedding'".into()));
        };
        if !["vector", "halfvec"].contains(&found.kind.as_str()) {
            let reason = format!(
                "the column 'embedding' of 'repository_files' has the type {}; expected vector or halfvec",
                found.kind
            );
            return Ok(Err(reason));
        }
        let sql = "SELECT quote_ident(n.nspname), e.extversion FROM pg_catalog.pg_extension e
             JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'";
        let Some(row) = db.query_opt(sql, &[]).await? else {
            return Ok(Err("the database has no extension 'vector'".into()));
        };
        let version: String = column(&row, 1)?;
        Ok(Ok(Self {
            kind: found.kind.clone(),
            schema: column(&row, 0)?,
            dimension: usize::try_from(found.modifier).ok().filter(|dimension| *dimension > 0),
            iterates: at_least(&version, (0, 8)),
        }))
    }

    /// Returns SQL for the distance between a row and the query vector, `$n`. Null if the row has no vector of that
    /// dimension.
    pub(super) fn distance(&self, n: usize, dimension: usize) -> String {
        let Self { kind, schema, .. } = self;
        // The subquery converts the parameter to a vector once instead of once per row.
        let question = format!("(SELECT ${n}::real[]::{schema}.vector::{schema}.{kind})");
        let distance = format!("embedding OPERATOR({schema}.<=>) {question}");
        match self.dimension {
            Some(_) => distance,
            None => {
                format!("CASE WHEN {schema}.vector_dims(embedding) = {dimension} THEN {distance} END")
            }
        }
    }

    /// Returns the settings for a nearest-neighbor query. Approximate indexes cover all repositories, so a plain scan
    /// would find few rows of one repository.
    pub(super) fn settings(&self) -> &'static str {
        if self.iterates {
            "SET LOCAL hnsw.iterative_scan = strict_order; SET LOCAL ivfflat.iterative_scan = relaxed_order"
        } else {
            "SET LOCAL enable_indexscan = off"
        }
    }
}

fn at_least(version: &str, (major, minor): (u32, u32)) -> bool {
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (major, minor)
}

/// Returns the dimension of the stored vectors. `None` if the table has no vectors.
pub(super) async fn dimension(db: &PostgresSession, found: &VectorColumn) -> Result<Option<usize>> {
    if found.dimension.is_some() {
        return Ok(found.dimension);
    }
    let sql = format!(
        "SELECT {}.vector_dims(embedding) FROM repository_files WHERE embedding IS NOT NULL LIMIT 1",
        found.schema
    );
    let Some(row) = db.query_opt(&sql, &[]).await? else { return Ok(None) };
    Ok(usize::try_from(column::<i32>(&row, 0)?).ok())
}

/// Returns well-known models with this dimension, from their providers' documentation.
pub(super) fn likely_models(dimension: usize) -> &'static [&'static str] {
    match dimension {
        256 => &["the local model of gatehouse"],
        384 => &["all-MiniLM-L6-v2", "bge-small-en-v1.5"],
        768 => &["text-embedding-004", "nomic-embed-text"],
        1024 => &["voyage-3", "mxbai-embed-large", "bge-m3"],
        1536 => &["text-embedding-3-small", "text-embedding-ada-002"],
        3072 => &["text-embedding-3-large", "gemini-embedding-001"],
        _ => &[],
    }
}

/// Explains a mismatch of dimensions. `None` if they are equal.
pub(super) fn mismatch(stored: usize, made: usize) -> Option<String> {
    let makers = match likely_models(stored) {
        [] => String::new(),
        models => format!(", like {}", models.join(" or ")),
    };
    (stored != made).then(|| {
        format!(
            "the column 'embedding' has {stored} dimensions{makers}, but the configured model has {made}; configure \
            the model that made the column"
        )
    })
}

/// Explains that another model made the vectors, which are not comparable even with the same dimension. `None` if the
/// models match.
pub(super) fn other_model(stored: &str, asked: &str) -> Option<String> {
    let name = |model: &str| {
        let model = model.split(" recipe ").next().unwrap_or(model);
        model.rsplit('/').next().unwrap_or(model).trim().to_lowercase()
    };
    let (ours, theirs) = (name(asked), name(stored));
    if theirs.is_empty() || ours == theirs {
        return None;
    }
    Some(format!(
        "the vectors of this repository were made by '{}', but the configured model is '{ours}'; configure the model \
        that made them",
        stored.chars().take(100).filter(|c| !c.is_control()).collect::<String>()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_compared_without_provider_and_recipe() {
        assert_eq!(other_model("text-embedding-3-small", "openai/text-embedding-3-small recipe 1"), None);
        assert_eq!(other_model("OpenAI/Text-Embedding-3-Small", "openai/text-embedding-3-small"), None);
        assert_eq!(other_model("", "openai/x recipe 1"), None);
        let reason = other_model("text-embedding-ada-002", "openai/text-embedding-3-small recipe 1").unwrap();
        assert!(
            reason.contains("'text-embedding-ada-002'") && reason.contains("'text-embedding-3-small'"),
            "{reason}"
        );
    }

    #[test]
    fn versions_are_compared_by_number() {
        assert!(at_least("0.8.5", (0, 8)) && at_least("0.10", (0, 8)) && at_least("1", (0, 8)));
        assert!(!at_least("0.7.4", (0, 8)));
    }

    #[test]
    fn a_mismatch_names_the_likely_models() {
        assert_eq!(mismatch(1536, 1536), None);
        assert!(mismatch(1536, 256).unwrap().contains("text-embedding-3-small or text-embedding-ada-002"));
        assert!(mismatch(7, 256).unwrap().starts_with("the column 'embedding' has 7 dimensions, but"));
    }
}
