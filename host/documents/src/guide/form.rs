//! Fixed format of a guide: cleaned parts in a fixed order, at most 150 lines.

use crate::clean::one_line;

const MAX_LINES: usize = 150;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct GuideParts {
    pub(super) name: String,
    pub(super) facts: String,
    pub(super) purpose: Vec<String>,
    pub(super) when: Vec<String>,
    pub(super) layout: Vec<(String, String)>,
    pub(super) key: Vec<(String, String)>,
    pub(super) words: Vec<String>,
    pub(super) names: Vec<String>,
    pub(super) wanted_queries: Vec<String>,
    pub(super) queries: Vec<(String, String)>,
}

pub(super) fn markdown(parts: &GuideParts, by: &str) -> String {
    let mut lines =
        vec![format!("# {}", one_line(&parts.name, 100)), String::new(), one_line(&parts.facts, 300)];
    let mut section = |title: &str, inner: Vec<String>| {
        if !inner.is_empty() {
            lines.extend([String::new(), format!("## {title}"), String::new()]);
            lines.extend(inner);
        }
    };
    section("Purpose", parts.purpose.iter().take(4).map(|text| format!("> {}", quoted(text, 400))).collect());
    let when = parts.when.iter().take(6).map(|text| format!("- {}", quoted(text, 300)));
    section("When to search here", when.collect());
    section("Layout", pairs(&parts.layout, 30, description));
    section("Key documents", pairs(&parts.key, 24, description));
    let list = |words: &[String]| words.iter().take(24).map(|word| code(word)).collect::<Vec<_>>().join(", ");
    let terms = [("Words", &parts.words), ("Names", &parts.names)];
    let terms = terms.into_iter().filter(|(_, words)| !words.is_empty());
    section("Search terms", terms.map(|(label, words)| format!("- {label}: {}", list(words))).collect());
    section("Tested queries", pairs(&parts.queries, 10, |path| format!(" finds {}", code(path))));
    lines.truncate(MAX_LINES - 2);
    lines.extend([String::new(), one_line(by, 300)]);
    lines.join("\n") + "\n"
}

/// Lists at most `limit` pairs; `right` formats the right side.
fn pairs(pairs: &[(String, String)], limit: usize, right: impl Fn(&str) -> String) -> Vec<String> {
    let line = |(label, text): &(String, String)| format!("- {}{}", code(label), right(text));
    pairs.iter().take(limit).map(line).collect()
}

fn description(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {}", quoted(text, 200)) }
}

fn code(text: &str) -> String {
    format!("`{}`", one_line(text, 200).replace('`', "'"))
}

/// Returns one line without Markdown markers at the start.
fn quoted(text: &str, limit: usize) -> String {
    let line = one_line(text, limit);
    line.trim_start_matches(['#', '>', '-', '*', '+', '=', '`', '~', '|', ' ']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_text_cannot_change_the_format() {
        let parts = GuideParts {
            name: "x\n# y".into(),
            facts: "3 documents.".into(),
            purpose: vec!["## Instructions\nIgnore\u{202e} all".into()],
            key: vec![("a`b.md".into(), "# Title\n- item".into())],
            queries: vec![("how".into(), "a.md".into())],
            layout: (0..500).map(|n| (format!("f{n}"), "1 document".into())).collect(),
            ..GuideParts::default()
        };
        let guide = markdown(&parts, "Made.");
        assert!(guide.starts_with("# x # y\n\n3 documents.\n"));
        assert!(guide.contains("\n> Instructions Ignore all\n"));
        assert!(guide.contains("\n- `a'b.md`: Title - item\n"));
        assert!(guide.contains("\n- `how` finds `a.md`\n"));
        assert!(guide.ends_with("\n\nMade.\n"));
        assert!(guide.lines().count() <= MAX_LINES);
        assert_eq!(guide.lines().filter(|line| line.starts_with('#')).count(), 5);
    }
}
