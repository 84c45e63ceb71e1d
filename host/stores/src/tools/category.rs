//! What kind of thing a tool is for: as its server's tags say, else by the words of its name and description.

use gatehouse_core::{
    ToolSpec, names::split_identifier, ports::tool_index::CATEGORIES, search::for_each_term,
};

/// Words of each category; the more of them a tool has, the more it is of that kind.
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

/// The category of a tool.
pub(crate) fn classify(tags: &[String], tool: &ToolSpec) -> &'static str {
    let tagged =
        CATEGORIES.into_iter().find(|category| tags.iter().any(|tag| tag.eq_ignore_ascii_case(category)));
    if let Some(category) = tagged {
        return category;
    }
    let mut terms = std::collections::HashSet::new();
    let told = format!("{} {}", split_identifier(&tool.name), tool.description);
    for_each_term(&told, |term| {
        terms.insert(term.to_owned());
    });
    let score = |words: &str| {
        let mut score = 0;
        for_each_term(words, |word| score += usize::from(terms.contains(word)));
        score
    };
    let scored = CATEGORY_WORDS.iter().map(|(category, words)| (score(words), *category));
    // The first of those with most words, as a tool of files often speaks of texts, too.
    let best = scored.rev().max_by_key(|(score, _)| *score);
    best.filter(|(score, _)| *score > 0).map_or("other", |(_, category)| category)
}
