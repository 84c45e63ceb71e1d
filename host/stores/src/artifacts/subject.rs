//! Finds the subject of a text: its title, its first names and values, and the keys of its JSON, as far as its beginning shows
//! them. Searches use it next to the summary, which has only findings.

use std::collections::BTreeMap;

/// Bytes at the beginning of a text that are read.
const SUBJECT_SOURCE_BYTES: usize = 64 << 10;

/// Maximum bytes of a subject.
const MAX_SUBJECT: usize = 2_000;

const MAX_KEYS_BYTES: usize = 600;

const MAX_KEY: usize = 40;

const MAX_VALUE_CHARS: usize = 80;

/// Values of one key.
const MAX_VALUES: usize = 4;

/// Values of a key that names things.
const MAX_NAMES: usize = 10;

/// Ends of keys that name things.
const NAME_KEYS: [&str; 8] =
    ["name", "title", "subject", "label", "login", "headline", "summary", "description"];

/// Names and other values of a text, of which the first that fit are used.
const MAX_LIST: usize = 200;

const MAX_LINE_CHARS: usize = 160;

/// First lines of a text that is not JSON.
const MAX_FIRST_LINES: usize = 10;

const MAX_HEADINGS: usize = 10;

/// Depth of JSON inside of strings of JSON, as MCP results have it.
const MAX_NESTED: usize = 2;

/// Returns the subject of a text. Empty if its beginning has no words.
pub(super) fn subject(text: &str) -> String {
    let text = &text[..text.floor_char_boundary(SUBJECT_SOURCE_BYTES)];
    let mut words = SubjectWords::default();
    words.read(text, 0);
    words.into_text()
}

#[derive(Default)]
struct SubjectWords {
    names: Vec<String>,
    values: Vec<String>,
    keys: Vec<String>,
    /// Number of values taken of each key.
    taken: BTreeMap<String, usize>,
}

impl SubjectWords {
    fn read(&mut self, text: &str, nested: usize) {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        if text.starts_with(['{', '[']) && self.read_json(text, nested) {
            return;
        }
        match text.starts_with('<') {
            true => self.read_lines(&without_tags(text)),
            false => self.read_lines(text),
        }
    }

    /// Reads strings until the text ends, which can be in the middle of a value. Returns false for a text that only
    /// begins like JSON, such as `[section]` of a settings file.
    fn read_json(&mut self, text: &str, nested: usize) -> bool {
        let (mut at, mut key) = (0, String::new());
        let first =
            text.find(|c: char| !c.is_whitespace() && !matches!(c, '{' | '[' | ',' | '-' | '.' | '0'..='9'));
        let begins_like_json = first.is_some_and(|at| {
            let rest = &text[at..];
            rest.starts_with('"') || ["true", "false", "null"].iter().any(|word| rest.starts_with(word))
        });
        if !begins_like_json {
            return false;
        }
        while let Some(begin) = text[at..].find('"').map(|begin| at + begin) {
            let Some(end) = end_of_string(text, begin) else { break };
            let string: String = serde_json::from_str(&text[begin..end]).unwrap_or_default();
            at = end;
            if text[at..].trim_start().starts_with(':') {
                key = string;
                self.add_key(&key);
            } else {
                self.add_value(&key, &string, nested);
            }
        }
        at > 0
    }

    fn add_key(&mut self, key: &str) {
        let letters = key.chars().filter(|c| c.is_alphabetic()).count();
        let is_word = letters * 2 > key.chars().count() && key.len() <= MAX_KEY;
        let used: usize = self.keys.iter().map(|key| key.len() + 1).sum();
        if is_word && used + key.len() <= MAX_KEYS_BYTES && !self.keys.iter().any(|other| other == key) {
            self.keys.push(key.to_owned());
        }
    }

    fn add_value(&mut self, key: &str, value: &str, nested: usize) {
        let long = value.contains('\n') || value.chars().nth(MAX_LINE_CHARS).is_some();
        if long && nested < MAX_NESTED && (value.starts_with(['{', '[']) || key == "text") {
            return self.read(value, nested + 1);
        }
        let lower = key.to_lowercase();
        let is_name = NAME_KEYS.iter().any(|name| lower.ends_with(name));
        let first = value.lines().next().unwrap_or_default();
        if value.starts_with(['{', '[']) || !is_readable(first) {
            return;
        }
        let first = beginning(first, MAX_VALUE_CHARS);
        let (list, limit) =
            if is_name { (&mut self.names, MAX_NAMES) } else { (&mut self.values, MAX_VALUES) };
        let count = self.taken.entry(lower).or_default();
        if *count < limit && list.len() < MAX_LIST && !list.iter().any(|other| other == first) {
            *count += 1;
            list.push(first.to_owned());
        }
    }

    fn read_lines(&mut self, text: &str) {
        let lines = || {
            text.lines()
                .map(str::trim)
                .filter(|line| line.chars().filter(|c| c.is_alphabetic()).nth(1).is_some())
        };
        let mut headings: Vec<&str> = Vec::new();
        for line in lines().filter(|line| line.starts_with('#') && is_readable(line)) {
            if headings.len() < MAX_HEADINGS && !headings.contains(&line) {
                headings.push(line);
            }
        }
        let first = lines().take(MAX_FIRST_LINES).filter(|line| !headings.contains(line));
        self.values.extend(first.map(|line| beginning(line, MAX_LINE_CHARS).to_owned()));
        self.names.extend(headings.into_iter().map(|line| beginning(line, MAX_VALUE_CHARS).to_owned()));
    }

    fn into_text(self) -> String {
        let Self { names, values, keys, .. } = self;
        let mut text = String::new();
        let budget = MAX_SUBJECT - keys.iter().map(|key| key.len() + 1).sum::<usize>();
        for part in names.iter().chain(&values) {
            if text.len() + part.len() < budget {
                text.push_str(part);
                text.push('\n');
            }
        }
        text + &keys.join(" ")
    }
}

/// Returns the end of the JSON string that starts at `begin`, with its closing quote. `None` if it does not end.
fn end_of_string(text: &str, begin: usize) -> Option<usize> {
    let mut escaped = false;
    let end = text.as_bytes()[begin + 1..].iter().position(|byte| {
        let closes = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        closes
    })?;
    Some(begin + end + 2)
}

/// Returns true for words of a language, and false for addresses, times, digests and numbers.
fn is_readable(value: &str) -> bool {
    let value = beginning(value, MAX_VALUE_CHARS);
    let (mut letters, mut digits, mut others) = (0, 0, 0);
    for c in value.chars() {
        match c {
            _ if c.is_alphabetic() => letters += 1,
            '0'..='9' => digits += 1,
            _ => others += 1,
        }
    }
    let is_code = digits > 0 && letters + digits > 16 && !value.contains([' ', '-', '_', '/', '.']);
    letters > 1 && letters > digits && letters * 2 > others && !is_code && !value.contains("://")
}

fn beginning(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end])
}

/// Returns the text between tags, one line each, without scripts and styles.
fn without_tags(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let (mut plain, mut at) = (String::new(), 0);
    while let Some(open) = lower[at..].find('<').map(|open| at + open) {
        plain.push_str(&text[at..open]);
        plain.push('\n');
        let hidden = ["script", "style"].into_iter().find(|name| lower[open + 1..].starts_with(name));
        let end = match hidden {
            Some(name) => lower[open..].find(&format!("</{name}")),
            None => Some(0),
        };
        let end = end.and_then(|end| Some(end + lower[open + end..].find('>')? + 1));
        let Some(end) = end else { return plain };
        at = open + end;
    }
    plain + &text[at..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_first_then_values_then_keys() {
        let text = r#"{"items": [{"id": 7, "title": "Fix \"login\"", "state": "open", "url": "https://x.example/7",
            "at": "2026-11-22T10:00:00Z", "sha": "9f86d081884c7d659a2feaa0c55ad015", "user": {"login": "ann"}},
            {"id": 8, "title": "Ünïcode\nand more", "state": "open"}]}"#;
        assert_eq!(
            subject(text),
            "Fix \"login\"\nann\nÜnïcode\nopen\nitems id title state url at sha user login"
        );
    }

    #[test]
    fn texts_show_their_first_lines_and_headings() {
        assert_eq!(subject("# Install\n\nRun it.\n## On Linux\nx\ny"), "# Install\n## On Linux\nRun it.\n");
        assert_eq!(subject("city,population\nOslo,709037\n"), "city,population\nOslo,709037\n");
        let page = "<!doctype html><html><head><style>p { color: red }</style><title>Rust Book</title></head><p>Text";
        assert_eq!(subject(page), "Rust Book\nText\n");
        assert_eq!(subject("{not JSON at all}"), "{not JSON at all}\n");
        let settings = "[main]\nname = \"x y\"\nDeploys the cluster\n";
        assert_eq!(subject(settings), settings, "only the beginning is like JSON");
        assert_eq!(subject("<SCRIPT>let a;</SCRIPT><p>After"), "After\n");
    }

    #[test]
    fn json_inside_of_results_is_read_but_not_without_end() {
        let inner = serde_json::json!({"city": "Oslo", "days": ["x".repeat(200)]}).to_string();
        let result = serde_json::json!({"content": [{"type": "text", "text": inner}]}).to_string();
        assert!(subject(&result).starts_with("text\nOslo\n"), "{}", subject(&result));
        let mut deep = inner;
        for _ in 0..6 {
            deep = serde_json::json!({ "text": deep }).to_string();
        }
        assert_eq!(subject(&deep), "text");
    }

    #[test]
    fn any_beginning_of_any_text_has_a_bounded_subject() {
        let many: String = (0..9_000).map(|n| format!("\"key{n}\": \"välue of {n}\\\"\", ")).collect();
        let odd = "<script".repeat(9_000);
        let heading = format!("# {}\n", "ä".repeat(300)).repeat(900);
        for text in [
            format!("{{{many}"),
            "\"".repeat(99),
            "{\"\\".into(),
            "[[[".into(),
            odd,
            heading,
            "\u{feff}".into(),
        ] {
            for end in (0..text.len().min(300)).chain([text.len()]) {
                let found = subject(&text[..text.floor_char_boundary(end)]);
                assert!(found.len() <= MAX_SUBJECT, "{} bytes: {found}", found.len());
            }
        }
    }
}
