//! The words of a text as a reader sees it: JSON without escapes, HTML without entities.

use std::collections::{BTreeSet, HashMap};

/// The vocabulary of digests.
pub(super) const OWN: &str = "\
    a added after all also always an and another are array as at before begins block boolean by bytes \
    cells changed changes characters closing code columns comes comma comment comments count counted \
    created day deep define definitions different directly directories directory document duplicate e \
    each elements entries error errors escape except exceptions expected extension failure failures false far few \
    files findings first for from function functions g go group has header have heading headings hold hunks in \
    index indexes info into is it its keys kind largest last least left level line lines links list lists \
    long longest marks match max median message method missing modules more most named names next no none \
    null number object occurs of off on once one only or other others outcome outliers page panic present query \
    quote ranges rarely removed report reports row rows sample schemas section sections settings several \
    severe single start starting string sum table tables tags takes template templates text that the \
    their them there these those times title to together tokens total trigger triggers true truncated \
    types unusual unusually usual usually valid value values variable views warn what where with without \
    word words";

pub(super) struct Words {
    all: Vec<String>,
    places: HashMap<String, Vec<usize>>,
    sorted: BTreeSet<String>,
}

impl Words {
    pub(super) fn of(text: &str) -> Self {
        let mut all = split(text);
        // `1,200` is one number, or two.
        let parts = all.iter().filter(|word| word.contains(',')).flat_map(|word| word.split(','));
        let parts: Vec<String> = parts.map(str::to_owned).collect();
        all.extend(parts);
        if text.contains('\\') {
            all.extend(split(&unescaped(text)));
        }
        if text.contains('&') || text.contains('<') {
            all.extend(split(&plain(text, "")));
            all.extend(split(&plain(text, " ")));
        }
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, word) in all.iter().enumerate() {
            places.entry(word.clone()).or_default().push(at);
        }
        let sorted = places.keys().cloned().collect();
        Self { all, places, sorted }
    }

    /// Returns `true` if the text has the word, or one that starts with it if it ends in `…`.
    pub(super) fn has(&self, word: &str) -> bool {
        let is_prefix =
            |cut: &str| self.sorted.range(cut.to_owned()..).next().is_some_and(|w| w.starts_with(cut));
        self.places.contains_key(word) || word.strip_suffix('…').is_some_and(is_prefix)
    }

    /// Returns `true` if the text has these words in sequence. The last one may be cut.
    pub(super) fn holds(&self, quoted: &str) -> bool {
        let parts = quoted.split('…').map(split).filter(|words| !words.is_empty());
        parts.into_iter().all(|wanted| {
            let whole = &wanted[..wanted.len() - 1];
            let last = &wanted[wanted.len() - 1];
            match whole.first() {
                None => self.has(last) || self.has(&format!("{last}…")),
                Some(first) => self.places.get(first).into_iter().flatten().any(|at| {
                    let there = &self.all[*at..(at + wanted.len()).min(self.all.len())];
                    there.len() == wanted.len()
                        && there[..whole.len()] == *whole
                        && there[whole.len()].starts_with(last.as_str())
                }),
            }
        })
    }
}

/// Splits into runs of letters, digits and underscores. Numbers retain commas and points; a cut word ends in `…`.
pub(super) fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let digit = word.ends_with(|c: char| c.is_ascii_digit())
            && !word.contains(|c: char| c.is_alphabetic())
            && letters.peek().is_some_and(char::is_ascii_digit);
        match letter {
            _ if letter.is_alphanumeric() || letter == '_' => word.push(letter),
            ',' | '.' if digit => word.push(letter),
            _ if word.is_empty() => {}
            _ => {
                if letter == '…' {
                    word.push(letter);
                }
                words.push(std::mem::take(&mut word));
            }
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

pub(super) fn quotations(line: &str) -> impl Iterator<Item = String> {
    let mut found = Vec::new();
    let mut inside: Option<String> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (&mut inside, letter) {
            (None, '"') => inside = Some(String::new()),
            (None, _) => {}
            (Some(_), '"') => found.extend(inside.take()),
            (Some(text), '\\') => match letters.next() {
                Some('n' | 't' | 'r') => text.push(' '),
                Some('u') => {
                    let code: String =
                        letters.by_ref().skip_while(|c| *c == '{').take_while(|c| *c != '}').collect();
                    text.extend(u32::from_str_radix(&code, 16).ok().and_then(char::from_u32));
                }
                other => text.extend(other),
            },
            (Some(text), letter) => text.push(letter),
        }
    }
    found.into_iter()
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            Some('n' | 't' | 'r' | 'b' | 'f') => out.push(' '),
            Some('u') => {
                let code: String = letters.by_ref().take(4).collect();
                out.extend(u32::from_str_radix(&code, 16).ok().and_then(char::from_u32));
            }
            other => out.extend(other),
        }
    }
    out
}

/// Replaces tags with `between` and decodes common entities.
fn plain(text: &str, between: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut tag = false;
    for letter in text.chars() {
        let ends = tag && letter == '>';
        tag = (tag || letter == '<') && !ends;
        out.push_str(if ends { between } else { "" });
        if !tag && !ends {
            out.push(letter);
        }
    }
    let entities =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", " "), ("&amp;", "&")];
    entities.into_iter().fold(out, |out, (entity, replacement)| out.replace(entity, replacement))
}
