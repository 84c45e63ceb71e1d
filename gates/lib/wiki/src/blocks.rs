//! Finds code blocks in wiki text: fences, and tags such as `<syntaxhighlight>`.

const TAGS: [(&str, &str); 4] = [
    ("<syntaxhighlight", "</syntaxhighlight>"),
    ("<pre", "</pre>"),
    ("<source", "</source>"),
    ("<math", "</math>"),
];

pub(crate) struct OpenBlock {
    pub(crate) start: usize,
    pub(crate) close: String,
}

/// Returns the block that is open after a line that starts at `start`.
pub(crate) fn after_line(line: &str, start: usize, open: Option<OpenBlock>) -> Option<OpenBlock> {
    let Some(block) = open else {
        return match fence(line) {
            Some(close) => Some(OpenBlock { start, close }),
            None => open_tag(line, start),
        };
    };
    if block.close.starts_with('<') {
        return match line.find(&block.close) {
            Some(end) => {
                let rest = end + block.close.len();
                open_tag(&line[rest..], start + rest)
            }
            None => Some(block),
        };
    }
    // A closing fence has the same character, is at least as long, and has nothing after it.
    let ends = fence(line).is_some_and(|f| f.starts_with(&block.close)) && {
        let mark = block.close.chars().next().unwrap_or('`');
        line.trim().chars().all(|c| c == mark)
    };
    (!ends).then_some(block)
}

/// Returns the fence at the start of the line: three or more backticks or tildes.
pub(crate) fn fence(line: &str) -> Option<String> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == mark).count();
    // Backticks followed by more backticks are inline code.
    let inline = mark == '`' && line[length..].contains('`');
    (length >= 3 && !inline).then(|| mark.to_string().repeat(length))
}

/// Returns the first tag that the text opens and does not close.
fn open_tag(text: &str, start: usize) -> Option<OpenBlock> {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let tags = TAGS.iter().filter_map(|(open, close)| rest.find(open).map(|i| (i, *open, *close)));
        let (begin, open, close) = tags.min_by_key(|(i, ..)| *i)?;
        let body = begin + open.len();
        // `<preview>` is not `<pre>`.
        let is_tag = !rest[body..].starts_with(|c: char| c.is_alphanumeric());
        let self_closing = rest[body..].find('>').is_some_and(|i| rest[body..body + i].ends_with('/'));
        at += match rest[body..].find(close) {
            Some(end) if is_tag => body + end + close.len(),
            None if is_tag && !self_closing => {
                return Some(OpenBlock { start: start + at + begin, close: close.to_owned() });
            }
            _ => body,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(text: &str) -> bool {
        text.lines().fold(None, |open, line| after_line(line, 0, open)).is_none()
    }

    #[test]
    fn blocks_inside_blocks_and_inline_code_do_not_count() {
        assert!(closed("<syntaxhighlight lang=\"md\">\n```\nopen\n</syntaxhighlight>\n"));
        assert!(closed("```\n<syntaxhighlight>\n```\n"));
        assert!(closed("use ```a``` inline and <pre>one line</pre> and <preview> and <math/>"));
        assert!(!closed("````\n```\n"));
        assert!(!closed("<pre>a</pre> <math>x\n"));
    }
}
