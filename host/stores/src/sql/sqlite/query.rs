//! Builds FTS5 queries from questions. No operator, quote or wildcard of the caller reaches an index.

use gatehouse_core::search::script::ScriptRun;
use rusqlite::types::Value;

use crate::engine::PrefixQuery;

const MAX_PIECES: usize = 128;

/// Returns a query that matches any of the words. `None` if there are none.
pub(super) fn any_of<'a>(words: impl Iterator<Item = &'a String>) -> Option<String> {
    joined(words.map(|word| quote(word)), " OR ")
}

/// Returns a query that matches any word with one of the prefixes. `None` if there are none.
pub(super) fn any_prefix(prefixes: &[PrefixQuery]) -> Option<String> {
    let forms = prefixes.iter().flat_map(|beginning| {
        let prefix = format!("{} *", quote(&beginning.prefix));
        std::iter::once(prefix).chain(beginning.words.iter().map(|word| quote(word)))
    });
    joined(forms, " OR ")
}

/// Quotes a word, so that the index reads nothing in it as an operator. Words contain no quotes.
pub(super) fn quote(word: &str) -> String {
    format!("\"{word}\"")
}

pub(super) fn any_piece(stretches: &[ScriptRun]) -> Option<String> {
    joined(stretches.iter().flat_map(pieces).take(MAX_PIECES), " OR ")
}

/// Returns a query that matches only if the run occurs.
pub(super) fn occurs(stretch: &ScriptRun) -> Option<String> {
    joined(pieces(stretch), if stretch.any { " OR " } else { " AND " })
}

/// Encodes a list as one JSON parameter, so that the statement does not depend on its length.
pub(crate) fn list<T: Into<serde_json::Value>>(items: impl Iterator<Item = T>) -> Value {
    Value::from(serde_json::Value::from_iter(items).to_string())
}

/// Builds queries from a question and runs them on an empty index, which must accept them.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz_question(text: &str) {
    use gatehouse_core::search::SearchQuery;
    use rusqlite::Connection;

    thread_local! {
        static INDEX: Connection = {
            let index = Connection::open_in_memory().expect("a database");
            index.execute_batch("CREATE VIRTUAL TABLE words USING fts5 (body)").expect("an index");
            index
        };
    }
    let query = SearchQuery::new(text);
    let any_word = any_of(query.words.iter().chain(&query.joined));
    let written = any_word
        .into_iter()
        .chain(any_piece(&query.stretches))
        .chain(query.stretches.iter().filter_map(occurs));
    INDEX.with(|index| {
        for expression in written {
            let count = "SELECT count(*) FROM words WHERE words MATCH ?1";
            let match_count = index.query_row(count, [&expression], |row| row.get::<_, i64>(0));
            assert_eq!(match_count, Ok(0), "{expression}");
        }
    });
}

fn pieces(stretch: &ScriptRun) -> impl Iterator<Item = String> {
    let wildcard = if stretch.beginning { " *" } else { "" };
    stretch.pieces.iter().map(move |piece| format!("\"{piece}\"{wildcard}"))
}

fn joined(terms: impl Iterator<Item = String>, operator: &str) -> Option<String> {
    let terms: Vec<String> = terms.collect();
    (!terms.is_empty()).then(|| terms.join(operator))
}

#[cfg(test)]
mod tests {
    use gatehouse_core::search::{SearchQuery, script};
    use proptest::prelude::*;
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn words_are_quoted_and_joined() {
        let query = SearchQuery::new("fine-tuning OR \"x\"");
        let expression = any_of(query.words.iter().chain(&query.joined));
        assert_eq!(expression.as_deref(), Some(r#""fine" OR "tuning" OR "x" OR "finetuning""#));
        assert_eq!(any_of([].iter()), None);
    }

    #[test]
    fn pieces_are_quoted_and_short_ones_are_beginnings() {
        let query = SearchQuery::new("模型 猫 модель");
        assert_eq!(occurs(&query.stretches[1]).as_deref(), Some("\"猫\" *"));
        assert_eq!(
            occurs(&query.stretches[2]).as_deref(),
            Some("\"мод\" AND \"оде\" AND \"дел\" AND \"ель\"")
        );
        assert!(any_piece(&query.stretches).is_some_and(|all| all.starts_with("\"模型\" OR \"猫\" * OR ")));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_text_is_a_valid_query(
            text in prop_oneof!["\\PC*", ".*", "[\"'*():^+\\-a-c AND OR NOT NEAR{}]*", "[а-я一-龥 \"*]*"],
        ) {
            let db = Connection::open_in_memory().unwrap();
            db.execute_batch(
                "CREATE VIRTUAL TABLE t USING fts5(x, tokenize = 'porter unicode61');
                 CREATE VIRTUAL TABLE g USING fts5(x, tokenize = 'ascii')",
            ).unwrap();
            db.execute("INSERT INTO t VALUES (?1)", [&text]).unwrap();
            db.execute("INSERT INTO g VALUES (?1)", [&script::grams(&text)]).unwrap();
            let query = SearchQuery::new(&text);
            let count = |sql: &str, expression: String| {
                db.query_row(sql, [expression], |row| row.get::<_, i64>(0)).unwrap()
            };
            if let Some(expression) = any_of(query.words.iter().chain(&query.joined)) {
                count("SELECT count(*) FROM t WHERE t MATCH ?1", expression);
            }
            if let Some(expression) = any_piece(&query.stretches) {
                count("SELECT count(*) FROM g WHERE g MATCH ?1", expression);
            }
            for stretch in &query.stretches {
                let found = occurs(stretch).map(|expression| count("SELECT count(*) FROM g WHERE g MATCH ?1", expression));
                prop_assert_eq!(found, Some(1), "{:?}", stretch);
            }
        }
    }
}
