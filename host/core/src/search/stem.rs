//! English stemmer for in-memory indexes, the same as in the databases: M. F. Porter, "An algorithm for suffix
//! stripping" (Program 14, 1980).

const MAX_STEMMED_CHARS: usize = 40;

/// Replaces a lowercase ASCII word with its stem. Leaves other text unchanged.
pub fn stem(word: &mut String) {
    if !(3..=MAX_STEMMED_CHARS).contains(&word.len()) || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return;
    }
    plurals(word);
    let stem = word.strip_suffix('y').filter(|stem| has_vowel(stem)).map(str::len);
    if let Some(stem) = stem {
        word.truncate(stem);
        word.push('i');
    }
    replace_ending(word, &STEP2_ENDINGS, |stem| measure(stem) > 0);
    replace_ending(word, &STEP3_ENDINGS, |stem| measure(stem) > 0);
    strip_last_ending(word);
    strip_final_letter(word);
}

/// Step 1: plurals, `-ed` and `-ing`.
fn plurals(word: &mut String) {
    if word.ends_with("sses") || word.ends_with("ies") {
        word.truncate(word.len() - 2);
    } else if word.ends_with('s') && !word.ends_with("ss") {
        word.pop();
    }
    if word.ends_with("eed") {
        if measure(&word[..word.len() - 3]) > 0 {
            word.pop();
        }
        return;
    }
    let cut = ["ed", "ing"].iter().find_map(|ending| word.strip_suffix(ending));
    let Some(cut) = cut.filter(|stem| has_vowel(stem)).map(str::len) else { return };
    word.truncate(cut);
    let doubled = ends_double(word) && !word.ends_with(['l', 's', 'z']);
    if doubled {
        word.pop();
    } else if ["at", "bl", "iz"].iter().any(|end| word.ends_with(end))
        || (measure(word) == 1 && ends_short(word))
    {
        word.push('e');
    }
}

/// Step 2.
const STEP2_ENDINGS: [(&str, &str); 20] = [
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("abli", "able"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
];

/// Step 3.
const STEP3_ENDINGS: [(&str, &str); 7] = [
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
];

/// Step 4. Longer endings precede the endings that they contain.
const STEP4_ENDINGS: [&str; 19] = [
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize",
    "ion", "al", "er", "ic", "ou",
];

/// Replaces the first matching ending if `condition` accepts the text before it.
fn replace_ending(word: &mut String, endings: &[(&str, &str)], condition: impl Fn(&str) -> bool) {
    let replacement = endings.iter().find_map(|(ending, new)| Some((word.strip_suffix(ending)?.len(), new)));
    if let Some((stem, new)) = replacement
        && condition(&word[..stem])
    {
        word.truncate(stem);
        word.push_str(new);
    }
}

fn strip_last_ending(word: &mut String) {
    let candidate = STEP4_ENDINGS.iter().find_map(|ending| Some((word.strip_suffix(ending)?, ending)));
    let cut = candidate
        .filter(|(stem, ending)| measure(stem) > 1 && (**ending != "ion" || stem.ends_with(['s', 't'])));
    if let Some(cut) = cut.map(|(stem, _)| stem.len()) {
        word.truncate(cut);
    }
}

/// Step 5.
fn strip_final_letter(word: &mut String) {
    if let Some(stem) = word.strip_suffix('e') {
        let syllables = measure(stem);
        if syllables > 1 || (syllables == 1 && !ends_short(stem)) {
            word.pop();
        }
    }
    if word.ends_with("ll") && measure(word) > 1 {
        word.pop();
    }
}

/// Yields true for each vowel. `y` is a vowel after a consonant.
fn vowels(word: &str) -> impl Iterator<Item = bool> {
    word.bytes().enumerate().scan(false, |before, (at, letter)| {
        *before =
            matches!(letter, b'a' | b'e' | b'i' | b'o' | b'u') || (letter == b'y' && at > 0 && !*before);
        Some(*before)
    })
}

fn has_vowel(stem: &str) -> bool {
    vowels(stem).any(|vowel| vowel)
}

/// Counts the vowel-consonant sequences (Porter's m).
fn measure(stem: &str) -> usize {
    let mut before = false;
    vowels(stem).filter(|vowel| std::mem::replace(&mut before, *vowel) && !*vowel).count()
}

fn ends_double(word: &str) -> bool {
    word.as_bytes().last_chunk::<2>().is_some_and(|[a, b]| a == b) && vowels(word).last() == Some(false)
}

/// Returns true for consonant, vowel, and a consonant other than w, x or y (`-hop`).
fn ends_short(word: &str) -> bool {
    let shape = vowels(word).skip(word.len().saturating_sub(3));
    word.len() > 2 && shape.eq([false, true, false]) && !word.ends_with(['w', 'x', 'y'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_share_one_stem() {
        for (forms, expected) in [
            (&["caress", "caresses"][..], "caress"),
            (&["calibrate", "calibrated", "calibrates", "calibrating", "calibration"], "calibr"),
            (&["connect", "connected", "connecting", "connection", "connections"], "connect"),
            (&["happy", "happi"], "happi"),
            (&["relational", "relate", "relating"], "relat"),
            (&["hop", "hopping", "hops"], "hop"),
            (&["hope", "hoping"], "hope"),
            (&["agreed", "agree"], "agre"),
            (&["sky"], "sky"),
            (&["generalization", "generalizations"], "gener"),
            (&["controlling", "controll"], "control"),
            (&["adjustment", "adjustable"], "adjust"),
            (&["electricity", "electrical"], "electr"),
        ] {
            for form in forms {
                let mut word = (*form).to_owned();
                stem(&mut word);
                assert_eq!(word, expected, "{form}");
            }
        }
    }

    #[test]
    fn other_text_is_unchanged() {
        for text in ["", "as", "größen", "x86s", "GRPOs", "日本"] {
            let mut word = text.to_owned();
            stem(&mut word);
            assert_eq!(word, text);
        }
        let mut long = "s".repeat(1_000_000);
        stem(&mut long);
        assert_eq!(long.len(), 1_000_000);
        for ys in 1..40 {
            stem(&mut "y".repeat(ys));
        }
    }
}
