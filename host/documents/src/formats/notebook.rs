//! Converts notebooks to Markdown. Code and text output are fenced; images and data are dropped.

use serde_json::Value;

use super::fenced;

/// Longer output is usually a log.
const MAX_OUTPUT: usize = 4_000;

/// Converts a notebook of any format version. The error is the reason why this is not possible.
pub(super) fn markdown(json: &str) -> Result<String, &'static str> {
    const NO_NOTEBOOK: &str = "is not a valid notebook";
    let notebook: Value = serde_json::from_str(json).map_err(|_| NO_NOTEBOOK)?;
    let sheets = || notebook["worksheets"].as_array()?.first()?["cells"].as_array();
    let cells = notebook["cells"].as_array().or_else(sheets).ok_or(NO_NOTEBOOK)?;
    let language = ["/metadata/kernelspec/language", "/metadata/language_info/name"];
    let language = language.iter().find_map(|at| notebook.pointer(at)?.as_str()).unwrap_or_default();
    let plain = language.len() < 20 && language.chars().all(|c| c.is_ascii_alphanumeric());
    let language = if plain { language } else { "" };
    let parts: Vec<String> = cells.iter().flat_map(|cell| cell_markdown(cell, language)).collect();
    Ok(parts.join("\n"))
}

fn cell_markdown(cell: &Value, language: &str) -> Vec<String> {
    let source =
        [&cell["source"], &cell["input"]].into_iter().map(join_lines).find(|text| !text.trim().is_empty());
    let mut parts = Vec::new();
    match (cell["cell_type"].as_str(), source) {
        (Some("code"), Some(code)) => parts.push(fenced(&code, language)),
        (Some("heading"), Some(title)) => {
            let level = usize::try_from(cell["level"].as_u64().unwrap_or(1)).unwrap_or(1).clamp(1, 6);
            parts.push(format!("{} {}\n", "#".repeat(level), title.trim()));
        }
        (_, Some(text)) => parts.push(text.trim_end().to_owned() + "\n"),
        (_, None) => {}
    }
    let outputs = cell["outputs"].as_array().into_iter().flatten().filter_map(output_text);
    parts.extend(outputs.map(|output| format!("Output:\n\n{}", fenced(&output, ""))));
    parts
}

/// Returns `None` if the output has no text, such as an image.
fn output_text(output: &Value) -> Option<String> {
    let of_data = join_lines(&output["data"]["text/plain"]);
    let error = || Some(format!("{}: {}", output["ename"].as_str()?, output["evalue"].as_str()?));
    let said = [join_lines(&output["text"]), of_data].into_iter().find(|text| !text.trim().is_empty());
    let text = without_colors(&said.or_else(error)?);
    let kept = crate::clean::prefix(&text, MAX_OUTPUT);
    let left = text.len() - kept.len();
    Some(if left > 0 { format!("{kept}\n[{left} more bytes of output omitted]") } else { text })
}

/// Joins text that may be a list of lines.
fn join_lines(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

fn without_colors(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';'));
    rest.fold(first, |text, part| text + part.strip_prefix(|c: char| c.is_ascii_alphabetic()).unwrap_or(part))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn prose_code_and_output_become_markdown() {
        let notebook = json!({"nbformat": 4, "metadata": {"kernelspec": {"language": "python"}}, "cells": [
            {"cell_type": "markdown", "source": ["# Title\n", "Some text."]},
            {"cell_type": "code", "source": "print('```')", "outputs": [
                {"output_type": "stream", "text": ["\u{1b}[31mred\u{1b}[0m\n"]},
                {"output_type": "display_data", "data": {"image/png": "AAAA"}},
                {"output_type": "execute_result", "data": {"text/plain": "42"}},
                {"output_type": "error", "ename": "ValueError", "evalue": "no"}]},
            {"cell_type": "code", "source": [], "outputs": []}]});
        let text = "# Title\nSome text.\n\n````python\nprint('```')\n````\n\nOutput:\n\n```\nred\n```\n\nOutput:\n\n```\n42\n```\n\nOutput:\n\n```\nValueError: no\n```\n";
        assert_eq!(markdown(&notebook.to_string()).as_deref(), Ok(text));
    }

    #[test]
    fn older_notebooks_and_long_outputs_are_read() {
        let old = json!({"worksheets": [{"cells": [{"cell_type": "heading", "level": 2, "source": "Part"},
            {"cell_type": "code", "input": "x", "outputs": [{"text": "y".repeat(9_000)}]}]}]});
        let text = markdown(&old.to_string()).expect("read");
        assert!(text.starts_with("## Part\n\n```\nx\n```\n") && text.contains("[5000 more bytes"), "{text}");
    }

    #[test]
    fn invalid_notebooks_are_rejected() {
        let deep = "[".repeat(100_000);
        for text in ["", "{", "[]", "{\"cells\": 5}", deep.as_str()] {
            assert!(markdown(text).is_err());
        }
    }
}
