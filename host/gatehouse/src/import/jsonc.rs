//! JSON with comments and trailing commas, as editors write it.

/// Converts to plain JSON. Line numbers stay the same, so that positions in errors are right.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.trim_start_matches('\u{feff}').chars().peekable();
    // Position of the last comma in `out`, as long as only whitespace follows it.
    let mut comma = None;
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('"', _) => {
                comma = None;
                out.push(c);
                while let Some(c) = chars.next() {
                    out.push(c);
                    match c {
                        '\\' => out.extend(chars.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            ('/', Some('/')) => while chars.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) => {
                chars.next();
                let mut star = false;
                for c in chars.by_ref() {
                    if c == '\n' {
                        out.push(c);
                    }
                    if star && c == '/' {
                        break;
                    }
                    star = c == '*';
                }
            }
            (',', _) => {
                comma = Some(out.len());
                out.push(c);
            }
            ('}' | ']', _) => {
                if let Some(place) = comma.take() {
                    out.replace_range(place..=place, " ");
                }
                out.push(c);
            }
            (c, _) => {
                if !c.is_whitespace() {
                    comma = None;
                }
                out.push(c);
            }
        }
    }
    out
}
