//! Headings of Markdown, reStructuredText and AsciiDoc.

use super::{Heading, closes, fence};

/// Finds `# Title`, and titles underlined with `=` or `-`.
pub(super) fn markdown(lines: &[&str]) -> Vec<Heading> {
    let mut found = Vec::new();
    let mut open = None;
    for (index, line) in lines.iter().enumerate() {
        if let Some(marker) = open {
            if closes(line, marker) {
                open = None;
            }
            continue;
        }
        open = fence(line);
        if open.is_some() {
            continue;
        }
        let text = line.trim_end();
        let level = text.bytes().take_while(|byte| *byte == b'#').count();
        if (1..=6).contains(&level) && text[level..].starts_with([' ', '\t']) {
            found.extend(Heading::new(index, level, text[level..].trim().trim_end_matches('#')));
        } else if let Some(level) = underline(text)
            && let Some(title) = index.checked_sub(1).and_then(|before| lines.get(before))
            && is_title(title)
            && index.checked_sub(2).is_none_or(|before| lines[before].trim().is_empty())
        {
            found.extend(Heading::new(index - 1, level, title));
        }
    }
    found
}

fn underline(text: &str) -> Option<usize> {
    let all = |mark: u8| text.len() >= 3 && text.bytes().all(|byte| byte == mark);
    if all(b'=') { Some(1) } else { all(b'-').then_some(2) }
}

fn is_title(line: &str) -> bool {
    let text = line.trim();
    !text.is_empty() && text.len() <= 300 && !line.starts_with(['|', '#', '>', '\t', '-', '*', '='])
}

/// Finds titles with an underline and possibly an overline. Each style gets the next level when it first appears.
pub(super) fn rst(lines: &[&str]) -> Vec<Heading> {
    let mut found = Vec::new();
    let mut styles: Vec<(char, bool)> = Vec::new();
    for index in 1..lines.len() {
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
        let style = (mark, over);
        let level = styles.iter().position(|known| *known == style).unwrap_or_else(|| {
            styles.push(style);
            styles.len() - 1
        });
        found.extend(Heading::new(index - 1, level + 1, title));
    }
    found
}

fn adornment(line: &str) -> Option<char> {
    let text = line.trim_end();
    let mark = text.chars().next().filter(|c| "=-`:.'\"~^_*+#<>".contains(*c))?;
    (text.len() >= 3 && text.chars().all(|c| c == mark)).then_some(mark)
}

/// Finds `= Title` to `====== Title`, outside of listings.
pub(super) fn asciidoc(lines: &[&str]) -> Vec<Heading> {
    let mut found = Vec::new();
    let mut listing = None;
    for (index, line) in lines.iter().enumerate() {
        let text = line.trim_end();
        if listing.is_some_and(|open| open == text) {
            listing = None;
            continue;
        }
        if listing.is_none() && matches!(text, "----" | "...." | "////" | "++++" | "```") {
            listing = Some(text);
        }
        let level = text.bytes().take_while(|byte| *byte == b'=').count();
        if listing.is_none() && (1..=6).contains(&level) && text[level..].starts_with(' ') {
            found.extend(Heading::new(index, level, &text[level..]));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(found: Vec<Heading>) -> Vec<String> {
        found.into_iter().map(|one| format!("{}:{} {}", one.line, one.level, one.title)).collect()
    }

    fn lines(text: &str) -> Vec<&str> {
        text.lines().collect()
    }

    #[test]
    fn markdown_headings_are_atx_and_setext_outside_fences() {
        let text = "# One #\n\nSetext\n===\n\n```sh\n# no heading\n```\n~~~~\n```\n# nor this\n~~~~\n## Two\n#hashtag\n| a |\n---\n";
        assert_eq!(render(markdown(&lines(text))), ["0:1 One", "2:1 Setext", "12:2 Two"]);
    }

    #[test]
    fn rst_titles_have_the_level_of_their_style() {
        let text = "=====\nTitle\n=====\n\nPart\n====\n\ntext\n\nInner\n-----\n\nOther\n=====\n\n=== ===\na   b\n=== ===\n";
        assert_eq!(render(rst(&lines(text))), ["1:1 Title", "4:2 Part", "9:3 Inner", "12:2 Other"]);
    }

    #[test]
    fn asciidoc_titles_are_not_listings() {
        let text = "= Title\n\n----\n== code\n----\n== Part\ntext\n=== Inner\n";
        assert_eq!(render(asciidoc(&lines(text))), ["0:1 Title", "5:2 Part", "7:3 Inner"]);
    }
}
