//! How words are looked for in the tables: in the column `content_tsvector`, by the configurations of text search that made
//! it, or in the texts themselves where there is no such column.

use gatehouse_core::search::SearchQuery;

use super::{
    super::super::{
        error::{StoreError, column},
        session::PostgresSession,
        terms::index_form,
        words::{QueryForm, occurrences_sql},
    },
    columns::{TABLES, TableColumn},
};

/// The configurations that are asked where the database does not say which made the column.
const DEFAULT_CONFIGURATIONS: [&str; 2] = ["english", "simple"];

/// Letters of a text that are taken apart where there is no column.
const MAX_PARSED_CHARS: usize = 65_536;

/// Words of a question that are looked for.
const MAX_WORDS: usize = 64;

/// Where words are found.
#[derive(Debug)]
pub(super) enum WordSource {
    /// In the column.
    Column {
        /// The configurations that may have made it.
        configurations: Vec<String>,
        /// Whether an index is on it.
        indexed: bool,
    },
    /// In the texts, by this configuration.
    Texts {
        /// As the one that a column would have been made by.
        configuration: String,
        /// Why the column is not used.
        why: String,
    },
}

impl WordSource {
    /// Looks at the column and at what fills it.
    pub(super) async fn detect(
        db: &PostgresSession,
        found: Option<&TableColumn>,
    ) -> Result<Self, StoreError> {
        let mut configurations = existing_configurations(db, &configurations(db, found).await?).await?;
        let why = match found {
            Some(column) if column.kind == "tsvector" => {
                if configurations.is_empty() {
                    configurations =
                        existing_configurations(db, &DEFAULT_CONFIGURATIONS.map(String::from)).await?;
                }
                return Ok(Self::Column { configurations, indexed: has_index(db).await? });
            }
            Some(column) => format!("the column 'content_tsvector' has the type {}", column.kind),
            None => "the table 'repository_files' has no column 'content_tsvector'".into(),
        };
        let configuration =
            configurations.into_iter().next().unwrap_or_else(|| DEFAULT_CONFIGURATIONS[0].into());
        Ok(Self::Texts { configuration, why })
    }

    /// What people should know of how words are found.
    pub(super) fn notes(&self) -> Vec<String> {
        match self {
            Self::Column { indexed: true, .. } => Vec::new(),
            Self::Column { .. } => vec![
                "The column 'content_tsvector' has no index: every search reads all of a repository's."
                    .into(),
            ],
            Self::Texts { why, .. } => {
                let why = why.strip_prefix("the").unwrap_or(why);
                vec![format!(
                    "The{why}: words are looked for in the texts themselves, which takes long where there are many."
                )]
            }
        }
    }

    /// SQL for the terms of a row, fetched once.
    pub(super) fn terms(&self) -> String {
        match self {
            Self::Column { .. } => "content_tsvector || ''::tsvector".into(),
            Self::Texts { configuration, .. } => {
                format!("to_tsvector({}, left(content, {MAX_PARSED_CHARS}))", literal(configuration))
            }
        }
    }

    /// SQL for the query that a form is.
    pub(super) fn query(&self, form: &str) -> String {
        let one = |configuration: &String| format!("to_tsquery({}, {form})", literal(configuration));
        match self {
            Self::Column { configurations, .. } if configurations.is_empty() => {
                format!("{form}::tsquery")
            }
            Self::Column { configurations, .. } => {
                format!("({})", configurations.iter().map(one).collect::<Vec<_>>().join(" || "))
            }
            Self::Texts { configuration, .. } => one(configuration),
        }
    }

    /// SQL for the terms that a form's word is.
    pub(super) fn stem(&self, form: &str) -> String {
        let configuration = match self {
            Self::Texts { configuration, .. } => configuration.as_str(),
            Self::Column { configurations, .. } => {
                configurations.first().map_or(DEFAULT_CONFIGURATIONS[0], String::as_str)
            }
        };
        format!("to_tsvector({}, {form})", literal(configuration))
    }

    /// SQL for how often each form of `asked` is in `t.terms`, as an array in their order.
    pub(super) fn occurrences_sql() -> String {
        format!("(SELECT array_agg(({})::float8 ORDER BY a.place) FROM asked a)", occurrences_sql("a.query"))
    }

    /// `asked`, with the queries of the forms `$1` made once.
    pub(super) fn forms_cte(&self) -> String {
        format!(
            "WITH asked AS MATERIALIZED (SELECT {} AS query, a.place
                FROM unnest($1::text[]) WITH ORDINALITY AS a (form, place))",
            self.query("a.form")
        )
    }
}

/// What the words of a question are asked for: each may be the beginning of a longer one. What a form holds beside
/// letters and digits is put there here.
pub(super) fn word_forms(query: &SearchQuery) -> Vec<QueryForm> {
    let stretches = query.stretches.iter().map(|stretch| &stretch.text);
    let written = query.words.iter().chain(stretches).map(|word| (word, true));
    let joined = query.joined.iter().map(|word| (word, false));
    let form = |(word, named): (&String, bool)| {
        let form = format!("'{}':*", index_form(word)?);
        Some(QueryForm { form, written: named.then(|| word.clone()), counts: true })
    };
    written.chain(joined).filter_map(form).take(MAX_WORDS).collect()
}

/// How the configuration is written where a text is taken apart, as a pattern of the server's.
const CONFIGURATION_PATTERN: &str =
    r"(?:to_tsvector\s*\(\s*|tsvector_update_trigger\s*\(\s*'content_tsvector'\s*,\s*)'([^']{1,128})'";

/// What the database says of how the column is made: as what it is generated, by triggers, or by an index on the texts.
async fn configurations(
    db: &PostgresSession,
    found: Option<&TableColumn>,
) -> Result<Vec<String>, StoreError> {
    let sql = "SELECT DISTINCT named[1] FROM (
            SELECT pg_get_triggerdef(t.oid) || ' ' || p.prosrc AS made FROM pg_catalog.pg_trigger t
                JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
                WHERE t.tgrelid = to_regclass($1) AND NOT t.tgisinternal
            UNION ALL
            SELECT pg_get_indexdef(i.indexrelid) FROM pg_catalog.pg_index i WHERE i.indrelid = to_regclass($1)
            UNION ALL SELECT $2
         ) how, regexp_matches(how.made, $3, 'g') named ORDER BY 1 LIMIT 4";
    let expression = found.and_then(|column| column.expression.as_deref());
    db.rows(sql, &[&TABLES[1], &expression, &CONFIGURATION_PATTERN])
        .await?
        .iter()
        .map(|row| column(row, 0))
        .collect()
}

/// Those of the configurations that there are.
async fn existing_configurations(db: &PostgresSession, names: &[String]) -> Result<Vec<String>, StoreError> {
    let sql = "SELECT name FROM unnest($1::text[]) WITH ORDINALITY AS asked (name, place)
         WHERE EXISTS (SELECT 1 FROM pg_catalog.pg_ts_config c JOIN pg_catalog.pg_namespace n ON n.oid = c.cfgnamespace
            WHERE quote_ident(n.nspname) || '.' || quote_ident(c.cfgname) = name
                OR pg_ts_config_is_visible(c.oid) AND quote_ident(c.cfgname) = name) ORDER BY place";
    db.rows(sql, &[&names]).await?.iter().map(|row| column(row, 0)).collect()
}

async fn has_index(db: &PostgresSession) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_index i
             JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
             WHERE i.indrelid = to_regclass($1) AND i.indisvalid AND a.attname = 'content_tsvector')";
    column(&db.one(sql, &[&TABLES[1]]).await?, 0)
}

fn literal(name: &str) -> String {
    format!("'{}'::regconfig", name.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_hold_nothing_that_is_an_operator() {
        let query = SearchQuery::new("it's <-> (DROP | table):* & !x \\ gpt-4 модель 图片");
        let forms: Vec<String> = word_forms(&query).into_iter().map(|form| form.form).collect();
        for form in &forms {
            let word = form.strip_prefix('\'').and_then(|form| form.strip_suffix("':*")).unwrap();
            assert!(word.chars().all(char::is_alphanumeric), "{form}");
        }
        assert!(forms.contains(&"'gpt4':*".into()) && forms.contains(&"'модель':*".into()), "{forms:?}");
        assert_eq!(word_forms(&SearchQuery::new("' & ! : * ( ) <-> 🙂")).len(), 0);
    }
}
