//! Code that occurs three times belongs in a function: finds identical blocks of lines.

use std::collections::HashMap;

use super::{none, rust};

const BLOCK: usize = 6;

const TOO_MANY: usize = 3;

type Line<'a> = (usize, &'a str);

/// Returns the lines that count. Imports, comments, lone brackets, and parameters and fields of a declaration (`name:
/// Type,`) do not: a trait's functions are repeated in every implementation.
fn code(text: &str) -> Vec<Line<'_>> {
    let mut importing = false;
    let mut lines = Vec::new();
    for (index, line) in text.lines().map(str::trim).enumerate() {
        let import = importing || line.starts_with("use ") || line.starts_with("pub use ");
        importing = import && !line.ends_with(';');
        let brackets = line.chars().all(|c| "()[]{};,".contains(c));
        if !(import || brackets || line.starts_with("//") || is_declaration(line)) {
            lines.push((index + 1, line));
        }
    }
    lines
}

fn is_declaration(line: &str) -> bool {
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let function = line.starts_with("fn ") || line.starts_with("async fn ");
    let result = line.starts_with(") -> ");
    let named = line.split_once(": ").is_some_and(|(name, kind)| {
        let plain = name.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit());
        plain && kind.ends_with(',') && !kind.contains(['(', '"'])
    });
    function || result || named || line == "&self," || line == "&mut self,"
}

#[test]
fn no_six_lines_stand_three_times() {
    let sources = rust();
    let mut places: HashMap<Vec<&str>, Vec<(&str, usize)>> = HashMap::new();
    for (path, text) in &sources {
        for block in code(text).windows(BLOCK) {
            let lines = block.iter().map(|(_, line)| *line).collect();
            places.entry(lines).or_default().push((path, block[0].0));
        }
    }
    let mut repeated: Vec<_> = places.into_values().filter(|places| places.len() >= TOO_MANY).collect();
    repeated.sort();
    none("a block of six lines that occurs three times belongs in a function", {
        repeated.into_iter().map(|places| {
            let places = places.into_iter().map(|(path, line)| format!("{path}:{line}"));
            places.collect::<Vec<_>>().join(" = ")
        })
    });
}
