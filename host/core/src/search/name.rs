//! Whether a question is a name. Case, `_`, `-`, spaces and dots make no difference: `read file`, `read_file`
//! and `readFile` are one name.

/// The fewest letters of a question that may be the beginning of a name: shorter ones begin too many.
const MIN_PREFIX_CHARS: usize = 3;

/// How a name answers a question, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NameMatch {
    /// The question is the name.
    Exact,
    /// The name begins with the question.
    Prefix,
    /// Neither.
    No,
}

/// A question, seen as a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameQuery {
    key: String,
    long_enough: bool,
}

impl NameQuery {
    /// The question as a name.
    pub fn new(text: &str) -> Self {
        let key = name_key(text);
        let long_enough = key.chars().count() >= MIN_PREFIX_CHARS;
        Self { key, long_enough }
    }

    /// How a name answers.
    pub fn matches(&self, name: &str) -> NameMatch {
        self.matches_key(&name_key(name))
    }

    /// The same for a name in the form of [`name_key`].
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

    /// The keys that answer, for stores that keep keys in order: from the first (which is the exact name) to
    /// the second, which is not one of them. None where no name can answer.
    pub fn range(&self) -> Option<(&str, String)> {
        if self.key.is_empty() {
            return None;
        }
        // Without a prefix the range holds the exact name alone: no key holds this character.
        let end = if self.long_enough { char::MAX } else { '\0' };
        Some((&self.key, format!("{}{end}", self.key)))
    }
}

/// The form in which names are compared: letters, digits and whatever else is no separator, in lower case.
pub fn name_key(name: &str) -> String {
    let kept =
        name.chars().filter(|c| !(c.is_whitespace() || c.is_control() || matches!(c, '_' | '-' | '.')));
    kept.flat_map(char::to_lowercase).collect()
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
    fn short_and_empty_questions_begin_no_name() {
        assert_eq!(NameQuery::new("cl").matches("CLI"), NameMatch::No);
        assert_eq!(NameQuery::new("cli").matches("CLI_Finetuning"), NameMatch::Prefix);
        assert_eq!(NameQuery::new("c").matches("C"), NameMatch::Exact);
        assert_eq!(NameQuery::new(" _ ").matches(""), NameMatch::No);
        assert_eq!(NameQuery::new("").range(), None);
    }

    #[test]
    fn the_range_holds_what_matches() {
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
