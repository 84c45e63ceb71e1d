//! Matches questions against names, ignoring case, `_`, `-`, spaces and dots: `read file` matches `read_file` and
//! `readFile`.

use super::fold::search_key;

/// Shorter prefixes match too many names.
const MIN_PREFIX_CHARS: usize = 3;

/// How a name matches a question, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NameMatch {
    Exact,
    Prefix,
    No,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameQuery {
    key: String,
    long_enough: bool,
}

impl NameQuery {
    pub fn new(text: &str) -> Self {
        let key = name_key(text);
        let long_enough = key.chars().count() >= MIN_PREFIX_CHARS;
        Self { key, long_enough }
    }

    pub fn matches(&self, name: &str) -> NameMatch {
        self.matches_key(&name_key(name))
    }

    /// Like [`matches`](Self::matches), for a [`name_key`].
    pub fn matches_key(&self, key: &str) -> NameMatch {
        if self.key.is_empty() {
            NameMatch::No
        } else if key == self.key {
            NameMatch::Exact
        } else if self.long_enough && key.starts_with(&self.key) {
            NameMatch::Prefix
        } else {
            NameMatch::No
        }
    }

    /// Returns the half-open range of keys that match, for stores with ordered keys. The start is the exact name.
    /// `None` if no name can match.
    pub fn range(&self) -> Option<(&str, String)> {
        if self.key.is_empty() {
            return None;
        }
        // Keys never contain `\0`, so this range contains only the exact name.
        let end = if self.long_enough { char::MAX } else { '\0' };
        Some((&self.key, format!("{}{end}", self.key)))
    }
}

/// Normalizes a name: its [key](search_key) in lower case without whitespace, control characters, `_`, `-` and `.`.
pub fn name_key(name: &str) -> String {
    let name = search_key(name);
    let characters =
        name.chars().filter(|c| !(c.is_whitespace() || c.is_control() || matches!(c, '_' | '-' | '.')));
    characters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_separators_make_no_difference() {
        let query = NameQuery::new("  read File ");
        for name in ["read_file", "readFile", "READ-FILE", "read.file"] {
            assert_eq!(query.matches(name), NameMatch::Exact, "{name}");
        }
        assert_eq!(query.matches("read_files"), NameMatch::Prefix);
        assert_eq!(query.matches("re_read_file"), NameMatch::No);
    }

    #[test]
    fn short_and_empty_questions_match_no_prefix() {
        assert_eq!(NameQuery::new("cl").matches("CLI"), NameMatch::No);
        assert_eq!(NameQuery::new("cli").matches("CLI_Finetuning"), NameMatch::Prefix);
        assert_eq!(NameQuery::new("c").matches("C"), NameMatch::Exact);
        assert_eq!(NameQuery::new(" _ ").matches(""), NameMatch::No);
        assert_eq!(NameQuery::new("").range(), None);
    }

    #[test]
    fn range_contains_exactly_the_matching_keys() {
        for (query, keys) in
            [("Model Lo", ["modelloading", "modello", "modelsaving"]), ("go", ["go", "golang", "g"])]
        {
            let query = NameQuery::new(query);
            let (from, to) = query.range().unwrap();
            for key in keys {
                let inside = (from..to.as_str()).contains(&key);
                assert_eq!(inside, query.matches_key(key) != NameMatch::No, "{key}");
            }
        }
    }
}
