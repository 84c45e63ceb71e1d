//! Categories of tools.

use std::collections::HashSet;

use gatehouse_core::{
    ToolSpec, names::split_identifier, ports::tool_index::CATEGORIES, search::for_each_term,
};

/// Words of each category. The category with the most matching words wins.
const CATEGORY_WORDS: [(&str, &str); 8] = [
    ("files", "file files directory folder path disk filesystem copy move rename mkdir"),
    (
        "code",
        "git commit branch diff repository issue pull request merge lint build test function class compile",
    ),
    ("web", "web page url browser fetch http html crawl click navigate screenshot search site"),
    ("data", "database table sql query row column schema csv spreadsheet dataset record"),
    ("messages", "message email mail chat channel send slack thread reply notify sms"),
    ("documents", "document pdf markdown note notes wiki article docs paragraph text"),
    ("cloud", "cloud deploy cluster pod bucket instance container server region kubernetes lambda"),
    ("memory", "memory remember recall entity entities knowledge graph observation relation"),
];

/// Returns the category of a tool, from the tags of its server or from words in its name and description.
pub(super) fn classify(tags: &[String], tool: &ToolSpec) -> &'static str {
    let tagged =
        CATEGORIES.into_iter().find(|category| tags.iter().any(|tag| tag.eq_ignore_ascii_case(category)));
    if let Some(category) = tagged {
        return category;
    }
    let mut terms = HashSet::new();
    let text = format!("{} {}", split_identifier(&tool.name), tool.description);
    for_each_term(&text, |term| {
        terms.insert(term.to_owned());
    });
    let score = |words: &str| {
        let mut score = 0;
        for_each_term(words, |word| score += usize::from(terms.contains(word)));
        score
    };
    let scored = CATEGORY_WORDS.iter().map(|(category, words)| (score(words), *category));
    // `rev` makes the first category win a tie, because file tools often mention text, too.
    let best = scored.rev().max_by_key(|(score, _)| *score);
    best.filter(|(score, _)| *score > 0).map_or("other", |(_, category)| category)
}
