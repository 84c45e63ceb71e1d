//! Front matter of Markdown, in YAML or TOML.

const MAX_LINES: usize = 500;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FrontMatter {
    /// Byte offset of the text after it.
    pub(crate) end: usize,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
}

impl FrontMatter {
    /// Reads the front matter at the start of a text. `None` if there is none, or it does not end.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let mut lines = text.split_inclusive('\n');
        let first = lines.next()?;
        let (fence, separator) = match first.trim_end() {
            "---" => ("---", ':'),
            "+++" => ("+++", '='),
            _ => return None,
        };
        let mut front = Self { end: first.len(), title: None, description: None };
        let (mut keys, mut open) = (0, None::<&mut String>);
        for line in lines.take(MAX_LINES) {
            front.end += line.len();
            let content = line.trim_end();
            if content == fence || content == "..." && separator == ':' {
                return (keys > 0).then_some(front);
            }
            if line.starts_with([' ', '\t']) {
                // A value that continues, of YAML.
                if let Some(value) = &mut open {
                    value.push(' ');
                    value.push_str(content.trim());
                }
                continue;
            }
            open = None;
            let Some((key, value)) = content.split_once(separator) else { continue };
            keys += usize::from(!key.starts_with('#'));
            let place = match key.trim() {
                "title" => &mut front.title,
                "description" | "summary" => &mut front.description,
                _ => continue,
            };
            let value = value.trim().trim_start_matches(['>', '|', '-']).trim();
            open = Some(place.insert(value.trim_matches(['"', '\'']).to_owned()));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_and_description_are_read() {
        let text = "---\n# title: no\ntitle: 'A: b'\n\ndescription: >\n  One\n  line.\ntags: [x]\n---\nText";
        let front = FrontMatter::from_text(text).unwrap();
        assert_eq!(&text[front.end..], "Text");
        assert_eq!(
            (front.title.as_deref(), front.description.as_deref()),
            (Some("A: b"), Some(" One line."))
        );
        let toml = FrontMatter::from_text("+++\r\ntitle = \"T\"\r\n+++\r\n").unwrap();
        assert_eq!((toml.title.as_deref(), toml.end), (Some("T"), 23));
        for text in ["", "---\n", "---\n\ntext\n\n---\n", "---\ntitle: never closed\n", " ---\na: b\n---\n"] {
            assert_eq!(FrontMatter::from_text(text), None, "{text}");
        }
    }
}
