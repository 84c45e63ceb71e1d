//! Finds JSON inside other text: after a sentence, in a fence, between tags.

use std::{borrow::Cow, ops::Range};

use super::json_in;

const MIN_BYTES: usize = 1_024;

/// Maximum nested candidates to parse, so that finding stays linear.
const MAX_CANDIDATES: usize = 4;

/// Maximum depth of brackets. Each level takes memory.
const MAX_DEPTH: usize = 10_000;

/// Returns the largest JSON list, object or series of those that has at least [`MIN_BYTES`] and half of the text.
pub(super) fn largest(text: &str) -> Option<(Range<usize>, Cow<'_, str>)> {
    let mut candidates = candidates(text, MIN_BYTES.max(text.len() / 2));
    candidates.sort_by_key(|place| std::cmp::Reverse(place.len()));
    candidates.into_iter().take(MAX_CANDIDATES).find_map(|place| {
        let json = json_in(&text[place.clone()])?;
        Some((place, json))
    })
}

/// Returns the balanced brackets outside strings that have at least `min` bytes, and the series of them.
fn candidates(text: &str, min: usize) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut open: Vec<(u8, usize)> = Vec::new();
    let mut places = Vec::new();
    // The last series of brackets with only blanks between them, at each depth.
    let mut series: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            // A quotation mark of prose opens no string. JSON has no line ends in strings, so one that does not end in
            // its line is of prose, too.
            b'"' if !open.is_empty() => {
                at = string_end_in_line(bytes, at);
                continue;
            }
            b'{' | b'[' if open.len() == MAX_DEPTH => open.clear(),
            byte @ (b'{' | b'[') => open.push((byte, at)),
            byte @ (b'}' | b']') => match open.pop() {
                Some((opening, start)) if byte == opening + 2 => {
                    let place = start..at + 1;
                    if place.len() >= min {
                        places.push(place.clone());
                    }
                    let depth = open.len();
                    let follows = |last: &Range<usize>| text[last.end..start].trim_ascii().is_empty();
                    series.truncate(depth + 1);
                    match series.get_mut(depth) {
                        Some(last) if last.end <= start && follows(last) => {
                            last.end = place.end;
                            places.extend(Some(last.clone()).filter(|last| last.len() >= min));
                        }
                        Some(last) => *last = place,
                        None => series.resize(depth + 1, place),
                    }
                }
                _ => open.clear(),
            },
            _ => {}
        }
        at += 1;
    }
    // Of a growing series, only the whole counts.
    places.dedup_by(|later, earlier| {
        let grows = later.start == earlier.start && later.end > earlier.end;
        if grows {
            *earlier = later.clone();
        }
        grows || later == earlier
    });
    places
}

/// Returns the end of the string that starts at `start`, or of its line.
fn string_end_in_line(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\n' => return at,
            b'"' => return at + 1,
            b'\\' if bytes.get(at + 1) != Some(&b'\n') => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}
