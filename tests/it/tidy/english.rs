//! The language guide as a test: odd phrases stay rare, and types are named by nouns.
//!
//! Prose is Markdown, and comments and string literals of Rust and WIT files outside of tests. Code in blocks or
//! backticks does not count. Each phrase may occur once in 10,000 words, for quotations and idioms.
//!
//! Longer than 300 lines because the tables of phrases and nouns are the rule.

use std::collections::BTreeMap;

use regex::Regex;

use super::{files, none, read, rust};

/// Allowed occurrences of each phrase per 10,000 words.
const ALLOWED: usize = 1;

struct Phrase {
    pattern: &'static str,
    /// Idioms that the pattern also matches.
    except: &'static str,
    instead: &'static str,
}

const PHRASES: &[Phrase] = &[
    Phrase {
        pattern: r"\b(?:[Tt]here )?(?:is|are|was|were|be) no [a-z]+",
        except: "^[Tt]here | (?:longer|more|one|need|way|such|different|other|better|worse|less|fewer|guarantee|point|doubt|exception)$",
        instead: "is not a …",
    },
    Phrase {
        pattern: r"\b(?:[Tt]here )?(?:is|are|was|were|has|have|had|be) none\b|\bnone (?:where|if|when|while|but|that|is)\b",
        except: "^[Tt]here ",
        instead: "`None` if …, has no …",
    },
    Phrase {
        pattern: r"\b(?:is|are|was|were|be|been|being) said\b|\bsays? so\b|\bsaid (?:of|so|once|with|there|where)\b",
        except: "^$",
        instead: "is reported, names the reason",
    },
    Phrase {
        pattern: r"\bst(?:ands?|ood|anding) (?:in|at|there|where|beside|for|behind|before|on|alone|between|as|still|under|above|among|by|open|around|out|after)\b",
        except: "^$",
        instead: "is in, means, precedes",
    },
    Phrase {
        pattern: r"\b(?:lies|lie|lay|lying) (?:in|at|there|where|beside|under|between|on|outside|inside|above|below|about)\b",
        except: "^$",
        instead: "is in",
    },
    Phrase {
        pattern: r"\b(?:comes?|came|becomes?|became) of\b|\bcomes? to (?:naught|nothing)\b",
        except: "^$",
        instead: "the result of, happens to",
    },
    Phrase { pattern: r"\b[Mm]end(?:s|ed|ing)?\b", except: "^$", instead: "fix, correct" },
    Phrase {
        pattern: r"\b(?:go|goes|went|gone|going) on\b(?: (?:to|the|a)\b)?",
        except: " (?:to|the|a)$",
        instead: "continue, resume",
    },
    Phrase {
        pattern: r"\b(?:[Nn]obody|[Ss]omebody|[Ee]verybody)\b",
        except: "^$",
        instead: "no caller, another process",
    },
    Phrase {
        pattern: r"\b[Tt]he (?:most|least|fewest) (?:[a-z]{3,}s|a|one|time|memory|text) (?:that|a|an|of|in|which|for|at|by|to)\b",
        except: " (?:times|cases) ",
        instead: "maximum number of, minimum",
    },
    Phrase {
        pattern: r"\blets? go of\b|\bgives? (?:it|them|that) back\b|\btakes? (?:it|that) back\b",
        except: "^$",
        instead: "drop, release",
    },
    Phrase { pattern: r"\bkept\b", except: "^$", instead: "stored, retained, cached" },
];

/// Words in -ed and -ing that are nouns, or established adjectives.
const NOUNS: &[&str] = &[
    "Binding",
    "Embedding",
    "Encoding",
    "Feed",
    "Finding",
    "Framing",
    "Greeting",
    "Heading",
    "Listing",
    "Mapping",
    "Ping",
    "Posting",
    "Ranking",
    "Recording",
    "Rendering",
    "Routing",
    "Setting",
    "String",
    "Timing",
    "Typing",
    "Warning",
];

const NOT_NOUNS: &[&str] = &[
    "After",
    "Apart",
    "Before",
    "Found",
    "Given",
    "Gone",
    "Held",
    "How",
    "Kept",
    "Known",
    "Late",
    "Left",
    "Made",
    "May",
    "Met",
    "More",
    "Near",
    "Odd",
    "Own",
    "Read",
    "Ready",
    "Said",
    "Seen",
    "Sent",
    "Short",
    "Shown",
    "Silent",
    "Something",
    "Still",
    "Taken",
    "Told",
    "What",
    "Which",
    "Who",
    "Whole",
    "Whose",
    "Written",
];

fn is_test(path: &str) -> bool {
    let folders = ["tests/", "/tests/", "/fixtures/", "/fuzz", "fuzz/", "/oracle"];
    folders.iter().any(|part| {
        path.starts_with(part.trim_start_matches('/')) && !part.starts_with('/') || path.contains(part)
    }) || path.ends_with("/tests.rs")
        || path.ends_with("/testing.rs")
}

fn shipped(text: &str) -> &str {
    text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default()
}

struct Paragraph {
    file: String,
    line: usize,
    text: String,
}

fn markdown<'a>(file: &str, lines: impl Iterator<Item = (usize, &'a str)>, out: &mut Vec<Paragraph>) {
    let mut open: Option<Paragraph> = None;
    let mut fenced = false;
    for (line, text) in lines {
        let text = text.trim();
        let fence = text.starts_with("```");
        fenced ^= fence;
        if fence || fenced || text.is_empty() {
            out.extend(open.take());
        } else if text.starts_with(['|', '#', '-', '*']) {
            out.extend(open.replace(Paragraph { file: file.into(), line, text: text.into() }));
        } else {
            let paragraph =
                open.get_or_insert_with(|| Paragraph { file: file.into(), line, text: String::new() });
            paragraph.text.push(' ');
            paragraph.text.push_str(text);
        }
    }
    out.extend(open);
}

/// Adds the prose of a Rust or WIT file: comments as Markdown, and string literals that are sentences.
fn source(file: &str, text: &str, out: &mut Vec<Paragraph>) {
    let text = shipped(text);
    let token =
        Regex::new(r##"(?s)//[^\n]*|b?r#*"(.*?)"#*|"((?:[^"\\]|\\.)*)"|'(?:[^'\\\n]|\\[^\n]{1,8}?)'"##)
            .expect("a pattern");
    let mut comment: Vec<(usize, &str)> = Vec::new();
    let (mut line, mut at) = (1, 0);
    for found in token.captures_iter(text) {
        let whole = found.get(0).expect("a match");
        line += text[at..whole.start()].matches('\n').count();
        at = whole.start();
        if let Some(words) = whole.as_str().strip_prefix("//") {
            if comment.last().is_some_and(|(last, _)| last + 1 != line) {
                markdown(file, comment.drain(..), out);
            }
            comment.push((line, words.trim_start_matches(['/', '!'])));
        } else if let Some(words) = found.get(1).or(found.get(2)) {
            let words = words.as_str();
            // Lists, tables, SQL and code have few words of letters alone.
            let all = words.split_whitespace().count();
            let plain = words
                .split_whitespace()
                .filter(|word| word.chars().all(|c| c.is_alphabetic() || ".,:;?!'’-".contains(c)));
            if all > 2 && plain.count() * 3 >= all * 2 {
                out.push(Paragraph {
                    file: file.into(),
                    line,
                    text: words.replace("\\\n", " ").replace("\\n", " "),
                });
            }
        }
    }
    markdown(file, comment.drain(..), out);
}

fn prose() -> Vec<Paragraph> {
    let mut out = Vec::new();
    for (path, text) in rust().iter().chain(&files("wit", ".wit")).filter(|(path, _)| !is_test(path)) {
        source(path, text, &mut out);
    }
    let templates = files("host/gatehouse/templates", ".md");
    let mut pages: Vec<_> =
        files("docs", ".md").into_iter().filter(|(path, _)| !path.contains("sample-wiki")).collect();
    pages.extend(["README.md", "CHANGELOG.md"].map(|path| (path.to_owned(), read(path))));
    for (path, text) in templates.iter().chain(&pages) {
        markdown(path, text.lines().enumerate().map(|(index, line)| (index + 1, line)), &mut out);
    }
    let code = Regex::new(r"``[^`]*``|`[^`]*`|https?://\S+").expect("a pattern");
    let space = Regex::new(r"\s+").expect("a pattern");
    for paragraph in &mut out {
        let words = code.replace_all(&paragraph.text, "CODE");
        paragraph.text = space.replace_all(words.replace("**", "").trim(), " ").into_owned();
    }
    out
}

#[test]
fn phrases_of_the_guide_are_rare() {
    let prose = prose();
    let words: usize = prose.iter().map(|paragraph| paragraph.text.split_whitespace().count()).sum();
    assert!(words > 60_000, "only {words} words were found");
    for phrase in PHRASES {
        let (pattern, except) =
            (Regex::new(phrase.pattern).expect("a pattern"), Regex::new(phrase.except).expect("a pattern"));
        let hits = prose.iter().flat_map(|Paragraph { file, line, text }| {
            let matches = pattern.find_iter(text).filter(|found| !except.is_match(found.as_str()));
            matches.map(move |found| {
                let end = text.ceil_char_boundary((found.end() + 50).min(text.len()));
                format!(
                    "{file}:{line}: {}",
                    &text[text.floor_char_boundary(found.start().saturating_sub(30))..end]
                )
            })
        });
        let hits: Vec<String> = hits.collect();
        let over = hits.len() * 10_000 > words * ALLOWED;
        none(&format!("write instead: {}", phrase.instead), hits.into_iter().filter(|_| over));
    }
}

fn declared(text: &str) -> Vec<&str> {
    let declaration =
        Regex::new(r"(?m)^[ \t]*(?:pub(?:\([^)]*\))?\s+)?(?:struct|enum|trait|union)\s+([A-Z]\w*)")
            .expect("a pattern");
    declaration.captures_iter(shipped(text)).filter_map(|found| Some(found.get(1)?.as_str())).collect()
}

#[test]
fn types_are_named_by_nouns() {
    let participle = Regex::new(r"^[A-Z][a-z]{2,}(?:ed|ing)$").expect("a pattern");
    let sources = rust().into_iter().filter(|(path, _)| !is_test(path));
    let wrong = sources.flat_map(|(path, text)| {
        let names = declared(&text).into_iter().map(str::to_owned);
        let wrong = names.filter(|name| {
            NOT_NOUNS.contains(&name.as_str())
                || (participle.is_match(name) && !NOUNS.contains(&name.as_str()))
        });
        wrong.map(|name| format!("{path}: '{name}'")).collect::<Vec<_>>()
    });
    none("a type is named by a noun, not by a participle or an adverb", wrong);
}

#[test]
fn few_types_share_a_name() {
    // Names that are clear within their module.
    const COMMON: &[&str] = &[
        "Args",
        "Arguments",
        "Builder",
        "Command",
        "Config",
        "Error",
        "Inner",
        "Kind",
        "Options",
        "Params",
        "Request",
        "Response",
        "Settings",
        "State",
    ];
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in rust().into_iter().filter(|(path, _)| !is_test(path)) {
        for name in declared(&text) {
            places.entry(name.to_owned()).or_default().push(path.clone());
        }
    }
    let shared = places.into_iter().filter(|(name, at)| at.len() >= 3 && !COMMON.contains(&name.as_str()));
    none("at most two types have one name", shared.map(|(name, at)| format!("{name}: {}", at.join(", "))));
}

#[test]
fn functions_have_names_that_say_something() {
    let nameless = Regex::new(r"\bfn (of|told)\b").expect("a pattern");
    let sources = rust().into_iter().filter(|(path, _)| !is_test(path));
    let wrong = sources.filter(|(_, text)| nameless.is_match(text));
    none("a constructor is called `new` or `from_x`, a method by its verb", wrong.map(|(path, _)| path));
}
