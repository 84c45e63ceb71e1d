//! Converts recipe cards to Markdown.

use gatehouse_sdk::{ConvertedMarkdown, Fault, FileFormat, Gate, NoParams};

/// Returns the gate, which converts files and has no tools.
pub fn gate() -> Gate<NoParams> {
    Gate::new("{{name}}", env!("CARGO_PKG_VERSION"), "Converts recipe cards to Markdown.").converter(formats, convert)
}

gatehouse_sdk::export!(gate, convert);

fn formats() -> Vec<FileFormat> {
    vec![FileFormat {
        name: "recipe card".into(),
        endings: vec!["card".into()],
        media_type: "text/x-recipe-card".into(),
    }]
}

/// Converts a file. The message of a fault follows the file's name.
fn convert(file: &[u8], _name: &str, _media_type: &str) -> Result<ConvertedMarkdown, Fault> {
    let card = String::from_utf8_lossy(file);
    let mut lines = card.lines();
    let title = lines.next().and_then(|line| line.strip_prefix("@title "));
    let title = title.ok_or_else(|| Fault::invalid("is not a recipe card: it does not begin with @title"))?;
    let (mut text, mut steps, mut unknown) = (format!("# {}\n\n", title.trim()), 0, 0);
    for line in lines {
        if let Some(content) = line.strip_prefix("* ") {
            text.push_str(&format!("- {}\n", content.trim()));
        } else if let Some(content) = line.strip_prefix("= ") {
            steps += 1;
            text.push_str(&format!("{steps}. {}\n", content.trim()));
        } else if !line.trim().is_empty() {
            unknown += 1;
        }
    }
    let losses = (unknown > 0).then(|| format!("has {unknown} lines of an unknown kind, which are left out"));
    Ok(ConvertedMarkdown { text, losses: losses.into_iter().collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_becomes_markdown() {
        let file = b"@title Basil soup\n* 3 tomatoes\n= Boil.\n= Eat.\n? x\n";
        let converted = gate().convert(file, "a.card", "").expect("converted");
        assert_eq!(converted.text, "# Basil soup\n\n- 3 tomatoes\n1. Boil.\n2. Eat.\n");
        assert_eq!(converted.losses, ["has 1 lines of an unknown kind, which are left out"]);
    }

    #[test]
    fn another_file_is_refused() {
        assert!(gate().convert(b"\xff\xd8", "photo.card", "").is_err());
    }
}
