//! Source of words in the existing tables: the column `content_tsvector`, or the texts if that column is missing.

use std::collections::HashMap;

use gatehouse_core::search::{SearchQuery, composed, search_key};

use super::layout::{TABLES, TableColumn};
use crate::{
    sql::Result,
    sql::postgres::{PostgresSession, QueryForm, index_form, occurrences_sql},
};

/// Text search configurations to use if the database does not show how the column was made.
const DEFAULT_CONFIGURATIONS: [&str; 2] = ["english", "simple"];

/// Characters of a text to parse if the column is missing.
const MAX_PARSED_CHARS: usize = 65_536;

const MAX_WORDS: usize = 64;

#[derive(Debug)]
pub(super) enum WordSource {
    Column {
        /// Configurations that could have made the column.
        configurations: Vec<String>,
        indexed: bool,
    },
    Texts {
        /// Configuration that parses the texts.
        configuration: String,
        /// Reason that the column is not used.
        reason: String,
    },
}

impl WordSource {
    pub(super) async fn detect(db: &PostgresSession, found: Option<&TableColumn>) -> Result<Self> {
        let mut configurations = existing_configurations(db, &configurations(db, found).await?).await?;
        let reason = match found {
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
        Ok(Self::Texts { configuration, reason })
    }

    /// Returns notes for users about slow or missing features.
    pub(super) fn notes(&self) -> Vec<String> {
        match self {
            Self::Column { indexed: true, .. } => Vec::new(),
            Self::Column { .. } => vec![
                "The column 'content_tsvector' has no index: every search reads all rows of the repository."
                    .into(),
            ],
            Self::Texts { reason, .. } => {
                let reason = reason.strip_prefix("the").unwrap_or(reason);
                vec![format!(
                    "The{reason}: searches read the full texts, which is slow for large repositories."
                )]
            }
        }
    }

    /// Returns SQL for the terms of a row, fetched once.
    pub(super) fn terms(&self) -> String {
        match self {
            Self::Column { .. } => "content_tsvector || ''::tsvector".into(),
            Self::Texts { configuration, .. } => {
                format!("to_tsvector({}, left(content, {MAX_PARSED_CHARS}))", literal(configuration))
            }
        }
    }

    pub(super) fn query(&self, form: &str) -> String {
        let tsquery = |configuration: &String| format!("to_tsquery({}, {form})", literal(configuration));
        match self {
            Self::Column { configurations, .. } if configurations.is_empty() => {
                format!("{form}::tsquery")
            }
            Self::Column { configurations, .. } => {
                format!("({})", configurations.iter().map(tsquery).collect::<Vec<_>>().join(" || "))
            }
            Self::Texts { configuration, .. } => tsquery(configuration),
        }
    }

    /// Returns SQL for the terms of a form's word.
    pub(super) fn stem(&self, form: &str) -> String {
        let configuration = match self {
            Self::Texts { configuration, .. } => configuration.as_str(),
            Self::Column { configurations, .. } => {
                configurations.first().map_or(DEFAULT_CONFIGURATIONS[0], String::as_str)
            }
        };
        format!("to_tsvector({}, {form})", literal(configuration))
    }

    /// Returns SQL for an array with the occurrences in `t.terms` of each form of `asked`, in order.
    pub(super) fn occurrences_sql() -> String {
        format!("(SELECT array_agg(({})::float8 ORDER BY a.place) FROM asked a)", occurrences_sql("a.query"))
    }

    /// Returns the CTE `asked` with one query per form of `$1`.
    pub(super) fn forms_cte(&self) -> String {
        format!(
            "WITH asked AS MATERIALIZED (SELECT {} AS query, a.place
                FROM unnest($1::text[]) WITH ORDINALITY AS a (form, place))",
            self.query("a.form")
        )
    }
}

/// Converts the words of a query to prefix expressions. Operators come only from this function, never from the query. The
/// owner of the tables did not index keys, so a word is also searched as the text spells it.
pub(super) fn word_forms(query: &SearchQuery, text: &str) -> Vec<QueryForm> {
    let text = composed(text);
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_ascii());
    let spellings = words.filter_map(|word| Some((index_form(&search_key(word))?, index_form(word)?)));
    let spellings: HashMap<String, String> = spellings.filter(|(key, written)| key != written).collect();
    let stretches = query.stretches.iter().map(|stretch| &stretch.text);
    let written = query.words.iter().chain(stretches).map(|word| (word, true));
    let joined = query.joined.iter().map(|word| (word, false));
    let form = |(word, named): (&String, bool)| {
        let key = index_form(word)?;
        let spelled = spellings.get(&key).map(|written| format!(" | '{written}':*"));
        let form = format!("'{key}':*{}", spelled.unwrap_or_default());
        Some(QueryForm { form, original: named.then(|| word.clone()), scored: true })
    };
    written.chain(joined).filter_map(form).take(MAX_WORDS).collect()
}

/// Server-side regular expression for the configuration in a definition.
const CONFIGURATION_PATTERN: &str =
    r"(?:to_tsvector\s*\(\s*|tsvector_update_trigger\s*\(\s*'content_tsvector'\s*,\s*)'([^']{1,128})'";

/// Finds the configurations that fill the column, from its expression, the triggers and the indexes of the table.
async fn configurations(db: &PostgresSession, found: Option<&TableColumn>) -> Result<Vec<String>> {
    let sql = "SELECT DISTINCT named[1] FROM (
            SELECT pg_get_triggerdef(t.oid) || ' ' || p.prosrc AS made FROM pg_catalog.pg_trigger t
                JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
                WHERE t.tgrelid = to_regclass($1) AND NOT t.tgisinternal
            UNION ALL
            SELECT pg_get_indexdef(i.indexrelid) FROM pg_catalog.pg_index i WHERE i.indrelid = to_regclass($1)
            UNION ALL SELECT $2
         ) how, regexp_matches(how.made, $3, 'g') named ORDER BY 1 LIMIT 4";
    let expression = found.and_then(|column| column.expression.as_deref());
    db.column(sql, &[&TABLES[1], &expression, &CONFIGURATION_PATTERN]).await
}

async fn existing_configurations(db: &PostgresSession, names: &[String]) -> Result<Vec<String>> {
    let sql = "SELECT name FROM unnest($1::text[]) WITH ORDINALITY AS asked (name, place)
         WHERE EXISTS (SELECT 1 FROM pg_catalog.pg_ts_config c JOIN pg_catalog.pg_namespace n ON n.oid = c.cfgnamespace
            WHERE quote_ident(n.nspname) || '.' || quote_ident(c.cfgname) = name
                OR pg_ts_config_is_visible(c.oid) AND quote_ident(c.cfgname) = name) ORDER BY place";
    db.column(sql, &[&names]).await
}

async fn has_index(db: &PostgresSession) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_index i
             JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
             WHERE i.indrelid = to_regclass($1) AND i.indisvalid AND a.attname = 'content_tsvector')";
    db.value(sql, &[&TABLES[1]]).await
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
        let forms: Vec<String> = word_forms(&query, "").into_iter().map(|form| form.form).collect();
        for form in &forms {
            let word = form.strip_prefix('\'').and_then(|form| form.strip_suffix("':*")).unwrap();
            assert!(word.chars().all(char::is_alphanumeric), "{form}");
        }
        assert!(forms.contains(&"'gpt4':*".into()) && forms.contains(&"'модель':*".into()), "{forms:?}");
        let asked = "Größe café größe";
        let forms = word_forms(&SearchQuery::new(asked), asked).into_iter().map(|form| form.form);
        assert_eq!(forms.collect::<Vec<_>>(), ["'grosse':* | 'größe':*", "'cafe':* | 'café':*"]);
        assert_eq!(word_forms(&SearchQuery::new("' & ! : * ( ) <-> 🙂"), "' & ! : * ( ) <-> 🙂").len(), 0);
    }
}
