//! Rewrites a question, so that common ways to ask for the same thing have the same words.
//!
//! Each rule replaces a phrase, or moves words. No rule drops a word that narrows the question: numbers, names,
//! negations, adjectives and most prepositions stay, and the guards compare them.

use std::collections::BTreeSet;

use super::{
    facts::digits,
    guard_words::{
        ASKING, CLOCK_UNITS, CLOSING, DATES, DETERMINERS, IRREGULAR_PARTICIPLES, NEGATIONS, NOUNS_LIKE_VERBS,
        PHRASES, PREPOSITIONS, VERBS_LIKE_NOUNS,
    },
};

/// Maximum words after a name that it can describe, as in `AAPL stock price`.
const MAX_DESCRIBED: usize = 3;

/// Returns the words of a question in the common wording. `names` are the [names](names_in) of both questions.
pub(super) fn reworded(words: &[String], names: &BTreeSet<String>) -> Vec<String> {
    let words: Vec<String> = words.iter().flat_map(|word| expanded(word)).collect();
    let words = with_common_phrases(without_closing(without_opening(&words)));
    let words = predicate_first(without_opening(&words));
    owner_last(name_last(words, names))
}

/// Collects the capitalized words of a question except its first, which is capitalized in any case.
pub(super) fn names_in(words: &[String]) -> impl Iterator<Item = String> {
    words.iter().skip(1).filter(|word| starts_upper(word)).cloned()
}

/// Returns true if a list of words contains this word.
pub(super) fn listed(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|other| other == word)
}

fn is(list: &str, word: &str) -> bool {
    listed(list, &word.to_lowercase())
}

fn starts_upper(word: &str) -> bool {
    word.starts_with(char::is_uppercase)
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit()) || digits(&word.to_lowercase()).is_some()
}

/// Returns true for a word of dates, a year or a date of digits.
fn is_date(word: &str) -> bool {
    is(DATES, word) || word.len() >= 4 && word.starts_with(|c: char| c.is_ascii_digit())
}

/// Splits `isn't` into `is not`, and `what's` into `what is`.
fn expanded(word: &str) -> Vec<String> {
    let plain = word.replace('’', "'");
    let lower = plain.to_lowercase();
    let two = |first: &str, second: &str| vec![first.to_owned(), second.to_owned()];
    match lower.as_str() {
        "can't" | "cannot" => two("can", "not"),
        "won't" => two("will", "not"),
        "whats" => two("what", "is"),
        "what's" | "who's" | "where's" | "how's" | "there's" => two(lower.trim_end_matches("'s"), "is"),
        _ => match lower.strip_suffix("n't") {
            Some(verb) => two(verb, "not"),
            None => vec![plain],
        },
    }
}

/// Returns the number of words that a phrase takes at the start of `words`. A final `#` requires a number, and a final
/// `@` a name. They take neither.
fn phrase_length(words: &[String], phrase: &str) -> Option<usize> {
    let (parts, last) = match phrase.strip_suffix([' ', '#', '@']).zip(phrase.chars().last()) {
        Some((parts, mark @ ('#' | '@'))) => (parts.trim_end(), Some(mark)),
        _ => (phrase, None),
    };
    let length = parts.split(' ').count();
    let follows = |mark| {
        words.get(length).is_some_and(|word| match mark {
            '#' => is_number(word),
            _ => starts_upper(word) && !is(DATES, word),
        })
    };
    let equal = parts.split(' ').zip(words).all(|(part, word)| part.eq_ignore_ascii_case(word));
    (length <= words.len() && equal && last.is_none_or(follows)).then_some(length)
}

/// Removes phrases that begin a question without changing it. A question of only such phrases keeps the last one.
fn without_opening(words: &[String]) -> &[String] {
    let mut rest = words;
    while let Some(length) = ASKING.iter().find_map(|phrase| phrase_length(rest, phrase)) {
        let determined = rest.get(1).is_some_and(|word| is(DETERMINERS, word));
        let is_noun = is(VERBS_LIKE_NOUNS, &rest[0]) && !determined
            || NOUNS_LIKE_VERBS.iter().any(|phrase| phrase_length(rest, phrase).is_some());
        // `GET` is a method.
        let is_method = rest[0].len() > 1 && rest[0].chars().all(char::is_uppercase);
        if length == rest.len() || is_noun || is_method {
            break;
        }
        rest = &rest[length..];
    }
    rest
}

fn without_closing(words: &[String]) -> &[String] {
    let mut rest = words;
    let length = |rest: &[String]| {
        CLOSING.iter().find_map(|phrase| {
            let length = phrase.split(' ').count();
            phrase_length(rest.get(rest.len().checked_sub(length)?..)?, phrase)
        })
    };
    while let Some(length) = length(rest).filter(|length| *length < rest.len()) {
        rest = &rest[..rest.len() - length];
    }
    rest
}

fn with_common_phrases(words: &[String]) -> Vec<String> {
    let mut common = Vec::with_capacity(words.len());
    let mut rest = words;
    while let Some(first) = rest.first() {
        // `over 5 minutes` can also mean during them.
        let during = first.eq_ignore_ascii_case("over")
            && rest.get(2).is_some_and(|unit| is(DATES, unit) || is(CLOCK_UNITS, unit));
        let phrase = PHRASES.iter().find_map(|(from, to)| Some((phrase_length(rest, from)?, *to)));
        let length = match phrase.filter(|_| !during) {
            Some((length, to)) => {
                common.extend(to.split_whitespace().map(str::to_owned));
                length
            }
            None => {
                common.push(first.clone());
                1
            }
        };
        rest = &rest[length..];
    }
    // `5 latest commits` are the `last 5 commits`. Later numbers can be versions, as in `iOS 17 latest features`.
    if words.first().is_some_and(|first| is_number(first))
        && common.get(1).is_some_and(|second| is("latest newest", second))
    {
        common[1] = std::mem::replace(&mut common[0], "last".to_owned());
    }
    common
}

/// Words that say something about the subject of a question, and where they are.
struct Predicate {
    /// Position of the first word that connects it with the subject, such as `that`.
    start: usize,
    /// Position of its first word.
    end: usize,
    /// True after `that`, `which` or `who`.
    relative: bool,
    present: bool,
}

impl Predicate {
    fn find(words: &[String]) -> Option<Self> {
        let verb = words.iter().position(|word| is("are is was were been", word))?;
        let mut start = verb;
        if start > 0 && is("have has", &words[start - 1]) {
            start -= 1;
        }
        let relative = start > 0 && is("that which who", &words[start - 1]);
        if relative {
            start -= 1;
        }
        let present = is("are is", &words[verb]);
        (start > 0 && verb + 1 < words.len()).then_some(Self { start, end: verb + 1, relative, present })
    }
}

/// Turns `which users are active`, `users that are active` and `how many users are active` into `active users` and
/// `number of active users`.
fn predicate_first(words: &[String]) -> Vec<String> {
    let counted = phrase_length(words, "number of").unwrap_or(0);
    let question_words = usize::from(counted == 0 && words.len() > 1 && is("which what", &words[0]));
    let (head, rest) = (&words[..counted], &words[counted + question_words..]);
    if phrase_length(words, "cost of").is_some_and(|length| length + 1 < words.len())
        && words.last().is_some_and(|last| last == "cost")
    {
        return words[..words.len() - 1].to_vec();
    }
    let owned = rest.iter().position(|word| is("does do", word)).filter(|at| *at > 0);
    if let (Some(at), Some("have"), true) = (owned, rest.last().map(String::as_str), counted > 0) {
        return [head, &rest[..at], &["of".to_owned()], &rest[at + 1..rest.len() - 1]].concat();
    }
    let unchanged =
        || if question_words > 0 && is("which", &words[0]) { rest.to_vec() } else { words.to_vec() };
    let Some(predicate) = Predicate::find(rest) else { return unchanged() };
    let (subject, after) = (&rest[..predicate.start], &rest[predicate.end..]);
    let is_preposition = |at: usize| after.get(at).is_some_and(|word| is(PREPOSITIONS, word));
    // An adjective after a longer subject could describe another word of it.
    let one_subject = match predicate.relative {
        true => subject.len() == 1,
        false => counted + question_words > 0,
    };
    if is(NEGATIONS, &after[0]) || is_number(&after[0]) || !(predicate.relative || one_subject) {
        return unchanged();
    }
    if predicate.present && after[0] == "there" {
        return [head, subject, &after[1..]].concat();
    }
    let adjective = predicate.present && !is_preposition(0) && (after.len() == 1 || is_preposition(1));
    let participle = after[0].ends_with("ed") || is(IRREGULAR_PARTICIPLES, &after[0]);
    // Without its verb, a participle is in the past before a date (`created in 2024`), else in the present.
    let dated = after.get(1).is_some_and(|word| is("in on since until till before after during", word))
        && after.get(2).is_some_and(|word| is_date(word));
    match (adjective && one_subject, is_preposition(0) && predicate.present || participle) {
        (true, participle) if after.len() == 1 || !participle => {
            [head, &after[..1], subject, &after[1..]].concat()
        }
        (_, true) if predicate.present != dated => [head, subject, after].concat(),
        _ => unchanged(),
    }
}

/// Turns `AAPL stock price` into `stock price of AAPL`.
fn name_last(words: Vec<String>, names: &BTreeSet<String>) -> Vec<String> {
    let is_name = |at: usize| {
        let sure = at > 0 || words[0].chars().skip(1).any(char::is_uppercase) || names.contains(&words[0]);
        starts_upper(&words[at]) && sure && words[at].chars().all(char::is_alphabetic)
    };
    let named = (0..words.len()).take_while(|at| is_name(*at)).count();
    let end = words.iter().position(|word| is(PREPOSITIONS, word) || is(DATES, word)).unwrap_or(words.len());
    let described = words.get(named..end).unwrap_or_default();
    let plain = described.iter().all(|word| word.chars().all(char::is_lowercase));
    if named == 0 || !plain || !(1..=MAX_DESCRIBED).contains(&described.len()) {
        return words;
    }
    [described, &["of".to_owned()], &words[..named], &words[end..]].concat()
}

/// Turns `Norway's largest city` into `largest city of Norway`.
fn owner_last(words: Vec<String>) -> Vec<String> {
    let Some(at) = words.iter().position(|word| word.ends_with("'s") && word.len() > 2) else { return words };
    let owner = words[at].trim_end_matches("'s").to_owned();
    let mut start = at;
    while start > 0
        && (starts_upper(&owner) && starts_upper(&words[start - 1])
            || is("this last next", &words[start - 1]))
    {
        start -= 1;
    }
    let length = words[at + 1..].iter().position(|word| is(PREPOSITIONS, word));
    let end = length.map_or(words.len(), |length| at + 1 + length);
    if end == at + 1 {
        return words;
    }
    let of = ["of".to_owned()];
    [&words[..start], &words[at + 1..end], &of, &words[start..at], &[owner], &words[end..]].concat()
}
