//! Headings of reStructuredText and AsciiDoc.

use super::Heading;

/// Finds titles with an underline and possibly an overline. Each style gets the next level when it first appears.
pub(super) fn rst(lines: &[&str]) -> Vec<Heading> {
    let mut headings = Vec::new();
    let mut styles: Vec<(char, bool)> = Vec::new();
    let mut table_end = 0;
    for index in 1..lines.len() {
        if index < table_end {
            continue;
        }
        let (Some(mark), title) = (adornment(lines[index]), lines[index - 1].trim_end()) else { continue };
        let length = lines[index].trim_end().len();
        if title.trim().is_empty() || adornment(title).is_some() || length < title.trim().chars().count() {
            continue;
        }
        let above = index.checked_sub(2).map(|above| lines[above]);
        let over = above.and_then(adornment) == Some(mark);
        // Text directly below other text is a table or a paragraph.
        if !over && (title.starts_with(' ') || above.is_some_and(|above| !above.trim().is_empty())) {
            continue;
        }
        if over && let Some(rows) = table_rows(&lines[index..]) {
            table_end = index + rows;
            continue;
        }
        let style = (mark, over);
        let level = styles.iter().position(|other| *other == style).unwrap_or_else(|| {
            styles.push(style);
            styles.len() - 1
        });
        headings.extend(Heading::new(index - 1, level + 1, title));
    }
    headings
}

/// Longer tables are not recognized, because each rule looks for its end.
const MAX_TABLE_LINES: usize = 200;

/// Returns the number of lines from the rule above the rows of a table to the same rule below them.
fn table_rows(lines: &[&str]) -> Option<usize> {
    let rows: Vec<&str> = lines
        .iter()
        .take(MAX_TABLE_LINES)
        .map(|line| line.trim_end())
        .take_while(|line| !line.is_empty())
        .collect();
    (rows.len() > 1 && rows.first() == rows.last()).then_some(rows.len())
}

fn adornment(line: &str) -> Option<char> {
    let text = line.trim_end();
    let mark = text.chars().next().filter(|c| "=-`:.'\"~^_*+#<>".contains(*c))?;
    // `..` begins a comment, and `::` a literal block.
    let is_long = text.len() >= 3 || text.len() == 2 && !matches!(mark, '.' | ':');
    (is_long && text.chars().all(|c| c == mark)).then_some(mark)
}

/// Finds `== Title`, `## Title`, and titles with an underline, outside of delimited blocks.
pub(super) fn asciidoc(lines: &[&str]) -> Vec<Heading> {
    let mut headings = Vec::new();
    let mut block = None;
    for (index, line) in lines.iter().enumerate() {
        let text = line.trim_end();
        if let Some(open) = block {
            let ends = text == open || open == "```" && text.starts_with("```");
            block = block.filter(|_| !ends);
            continue;
        }
        if let Some((title, level)) = underlined(lines, index) {
            headings.extend(Heading::new(index - 1, level, title));
            continue;
        }
        block = delimiter(text);
        let mark = text.chars().next().filter(|c| matches!(c, '=' | '#')).unwrap_or_default();
        let level = text.chars().take_while(|c| *c == mark).count();
        if block.is_none() && (1..=6).contains(&level) && text[level..].starts_with(' ') {
            let title = text[level..].trim();
            let symmetric = title.strip_suffix(&text[..level]).filter(|title| title.ends_with(' '));
            headings.extend(Heading::new(index, level, symmetric.unwrap_or(title)));
        }
    }
    headings
}

/// Returns what ends the block that a line begins.
fn delimiter(text: &str) -> Option<&str> {
    if text.starts_with("```") {
        return Some("```");
    }
    let mark = text.chars().next().filter(|c| "-./+=*_".contains(*c))?;
    (text.len() >= 4 && text.chars().all(|c| c == mark)).then_some(text)
}

/// Returns the title above an underline, and its level. An underline is at most one character shorter or longer.
fn underlined<'a>(lines: &[&'a str], index: usize) -> Option<(&'a str, usize)> {
    let rule = lines[index].trim_end();
    let mark = rule.chars().next()?;
    let level = "=-~^+".find(mark).filter(|_| rule.len() >= 2 && rule.chars().all(|c| c == mark))? + 1;
    let title = lines[index.checked_sub(1)?].trim_end();
    let begins = index < 2 || lines[index - 2].trim().is_empty() || lines[index - 2].starts_with('[');
    let fits = title.chars().count().abs_diff(rule.len()) <= 1;
    // Attributes and titles of blocks stand above delimiters.
    let is_title = !title.starts_with([' ', '\t', '[', '.']) && title.contains(char::is_alphanumeric);
    (begins && fits && is_title).then_some((title, level))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headings::tests::{lines, render};

    #[test]
    fn rst_titles_have_the_level_of_their_style() {
        let text = "=====\nTitle\n=====\n\nPart\n====\n\ntext\n\nInner\n-----\n\nOther\n=====\n\n=== ===\na   b\n=== ===\n";
        assert_eq!(render(rst(&lines(text))), ["1:1 Title", "4:2 Part", "9:3 Inner", "12:2 Other"]);
        let rules = "==\nA\n".repeat(100_000) + "B\n";
        assert!(rst(&lines(&rules)).len() <= 100_000, "in linear time");
        let short = "UI\n--\n\n..\n\n=====\nA\n=====\n1\n=====\n\nNames\n-----\n";
        assert_eq!(render(rst(&lines(short))), ["0:1 UI", "11:1 Names"]);
    }

    #[test]
    fn asciidoc_titles_are_not_listings() {
        let text = "= Title\n\n----\n== code\n----\n== Part\ntext\n=== Inner\n";
        assert_eq!(render(asciidoc(&lines(text))), ["0:1 Title", "5:2 Part", "7:3 Inner"]);
        let listing = "[,js]\n----\ncode\n----\n\n.Title\n------\ncode\n------\n\n== Next\n";
        assert_eq!(render(asciidoc(&lines(listing))), ["10:2 Next"]);
        for block in [
            "------\n== no\n------",
            ".....\n== no\n.....",
            "/////\n== no\n/////",
            "```js\n== no\n```",
            "----\n....\n----",
        ] {
            let text = format!("= Title =\n\n{block}\n\n## Sharp\n\nUnder it\n-------\n");
            let found: Vec<_> =
                asciidoc(&lines(&text)).into_iter().map(|one| (one.level, one.title)).collect();
            assert_eq!(found, [(1, "Title".into()), (2, "Sharp".into()), (2, "Under it".into())], "{block}");
        }
    }
}
