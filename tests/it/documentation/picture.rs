//! The picture of a session in README.md. Its commands run here, and docs/session.svg must show what they print.

use std::{fs, path::Path};

use crate::support::{Place, repository};

/// Commands, as arguments. Paths are relative to the repository.
const COMMANDS: [&[&str]; 4] = [
    &["docs", "add", "docs/sample-wiki", "--name", "handbook"],
    &["docs", "search", "handbook", "when should a call be retried", "--top-k", "2"],
    &["docs", "get", "handbook", "principles/Retry_With_Backoff.md", "--lines", "17-24"],
    &["docs", "search", "handbook", "order a pizza", "--top-k", "1"],
];

const LINE_HEIGHT: usize = 19;
const MAX_COLUMNS: usize = 100;

fn shown(arguments: &[&str]) -> String {
    let quoted = |word: &&str| if word.contains(' ') { format!("\"{word}\"") } else { (*word).to_owned() };
    format!("$ gatehouse {}", arguments.iter().map(quoted).collect::<Vec<_>>().join(" "))
}

/// Cuts a line at the width of the picture.
fn shortened(line: &str) -> String {
    match line.char_indices().nth(MAX_COLUMNS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// Draws lines as a terminal; commands are lighter than what they print.
fn picture(lines: &[String]) -> String {
    let escaped = |line: &str| line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or_default() * 8 + 32;
    let height = lines.len() * LINE_HEIGHT + 28;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"13\">\n\
         <title>A session: documents are added, found by meaning, read, and a question that nothing fits</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1c2128\"/>\n"
    );
    for (index, line) in lines.iter().enumerate() {
        let (y, color) =
            (28 + index * LINE_HEIGHT, if line.starts_with("$ ") { "#f0f6fc" } else { "#9da7b3" });
        svg += &format!(
            "<text x=\"16\" y=\"{y}\" fill=\"{color}\" xml:space=\"preserve\">{}</text>\n",
            escaped(line)
        );
    }
    svg + "</svg>\n"
}

#[test]
fn the_picture_of_the_readme_is_a_real_session() {
    let place = Place::with("", &[]);
    let mut lines: Vec<String> = Vec::new();
    for arguments in COMMANDS {
        let absolute = |word: &&str| match repository().join(word) {
            path if word.contains('/') && path.exists() => path.display().to_string(),
            _ => (*word).to_owned(),
        };
        let ran: Vec<String> = arguments.iter().map(absolute).collect();
        let output = place.run(&ran.iter().map(String::as_str).collect::<Vec<_>>()).stdout();
        lines.push(shown(arguments));
        lines.extend(output.lines().map(shortened));
    }
    let drawn = picture(&lines);
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("session.svg");
    fs::write(&made, &drawn).expect("written");
    let kept = fs::read_to_string(repository().join("docs/session.svg")).unwrap_or_default();
    assert!(kept == drawn, "docs/session.svg is not what the commands print; copy {} there", made.display());
}
