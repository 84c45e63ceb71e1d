//! The column with vectors, where there is one: how it is compared with a question, and which models make such vectors.

use super::{
    super::super::{
        error::{StoreError, column},
        session::PostgresSession,
    },
    columns::TableColumn,
};

/// A column of pgvector's.
#[derive(Debug, Clone)]
pub(super) struct VectorColumn {
    /// `vector` or `halfvec`.
    kind: String,
    /// The schema of pgvector, as SQL writes it.
    schema: String,
    /// The dimension of all its vectors, where the column says it.
    dimension: Option<usize>,
    /// Whether an approximate index goes on until it has found enough rows that pass the filter, which pgvector
    /// does from 0.8 on.
    iterates: bool,
}

impl VectorColumn {
    /// The column as it is there; why it is of no use otherwise.
    pub(super) async fn detect(
        db: &PostgresSession,
        found: Option<&TableColumn>,
    ) -> Result<Result<Self, String>, StoreError> {
        let Some(found) = found else {
            return Ok(Err("the table 'repository_files' has no column 'embedding'".into()));
        };
        if !["vector", "halfvec"].contains(&found.kind.as_str()) {
            let why = format!(
                "the column 'embedding' of 'repository_files' has the type {}, which is no vector of pgvector",
                found.kind
            );
            return Ok(Err(why));
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

    /// SQL for how far a row is from the question, `$n`; null where it has no vector of the question's dimension.
    pub(super) fn distance(&self, n: usize, dimension: usize) -> String {
        let Self { kind, schema, .. } = self;
        // A SELECT of its own: the question becomes a vector once, not for every row.
        let question = format!("(SELECT ${n}::real[]::{schema}.vector::{schema}.{kind})");
        let distance = format!("embedding OPERATOR({schema}.<=>) {question}");
        match self.dimension {
            Some(_) => distance,
            None => {
                format!("CASE WHEN {schema}.vector_dims(embedding) = {dimension} THEN {distance} END")
            }
        }
    }

    /// What is set before the nearest are asked for: an approximate index looks among the rows of all repositories, and
    /// without this finds few of one.
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

/// The dimension of the vectors; none where there are none.
pub(super) async fn dimension(
    db: &PostgresSession,
    found: &VectorColumn,
) -> Result<Option<usize>, StoreError> {
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

/// Models that make vectors of a dimension, by their providers' documentation.
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

/// What is said where the model's vectors cannot be compared with the stored ones; none where they can.
pub(super) fn mismatch(stored: usize, made: usize) -> Option<String> {
    let makers = match likely_models(stored) {
        [] => String::new(),
        models => format!(", as {} makes them", models.join(" or ")),
    };
    (stored != made).then(|| {
        format!(
            "the column 'embedding' has {stored} dimensions{makers}, and the configured model {made}; configure the \
             model that made the column"
        )
    })
}

/// What is said where another model of the same dimension made the vectors: such vectors cannot be compared either.
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
        "the vectors of this repository were made by '{}', and questions are embedded by '{ours}'; configure the \
         model that made them",
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
        let why = other_model("text-embedding-ada-002", "openai/text-embedding-3-small recipe 1").unwrap();
        assert!(
            why.contains("'text-embedding-ada-002'") && why.contains("'text-embedding-3-small'"),
            "{why}"
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
        assert!(mismatch(7, 256).unwrap().starts_with("the column 'embedding' has 7 dimensions, and"));
    }
}
