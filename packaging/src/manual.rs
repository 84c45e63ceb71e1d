//! The manual page, generated from `--help` so that the two cannot differ.

use anyhow::{Context, Result};

/// Returns the page `gatehouse(1)`. `help` returns the help of the program or of one command.
pub(crate) fn page(version: &str, help: impl Fn(&[&str]) -> Result<String>) -> Result<String> {
    let whole = help(&["--help"])?;
    let (about, _) = whole.split_once('\n').context("the help is empty")?;
    let mut page = format!(
        ".TH GATEHOUSE 1 \"\" \"gatehouse {version}\"\n.SH NAME\ngatehouse \\- {}\n.SH DESCRIPTION\n{}",
        escaped(about),
        literal_lines(&whole)
    );
    for command in commands(&whole) {
        let title = format!("gatehouse {command}").to_uppercase();
        page += &format!(".SH {}\n{}", escaped(&title), literal_lines(&help(&[command, "--help"])?));
    }
    Ok(page)
}

fn commands(help: &str) -> impl Iterator<Item = &str> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let entries = list.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    entries.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help")
}

fn literal_lines(text: &str) -> String {
    format!(".nf\n{}\n.fi\n", escaped(text.trim_end()))
}

/// Escapes text so that roff reads no part of it as a request.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    let lines = text
        .lines()
        .map(|line| if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line.into() });
    lines.collect::<Vec<String>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_section_and_nothing_is_an_instruction() {
        let help = |arguments: &[&str]| {
            Ok(match arguments[0] {
                "--help" => "The gateway\n\nCommands:\n  serve  Serve it\n         at length\n  help   Help\n\nOptions:\n  -h\n",
                _ => "Serve it\n.so /etc/passwd\n'tis \\n\n",
            }
            .to_owned())
        };
        let page = page("1", help).expect("a page");
        assert_eq!(page.matches(".SH GATEHOUSE ").count(), 1, "{page}");
        assert!(page.contains("\n\\&.so /etc/passwd\n\\&'tis \\en\n"), "{page}");
    }
}
