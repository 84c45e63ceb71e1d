//! Converts notebooks to Markdown. Code and text output are fenced; images and data are dropped.

use gatehouse_decode::{closes_fence, fence, prefix};
use serde_json::Value;

use crate::{html, markdown::fenced};

/// Longer output is usually a log.
const MAX_OUTPUT: usize = 4_000;

/// Converts a notebook of any format version. The error is the reason why this is not possible.
pub(crate) fn markdown(json: &str) -> Result<String, &'static str> {
    const NO_NOTEBOOK: &str = "is not a valid notebook";
    let parsed = serde_json::from_str(json).or_else(|_| serde_json::from_str::<Value>(&valid_json(json)));
    let notebook = parsed.map_err(|_| NO_NOTEBOOK)?;
    let sheets = notebook["worksheets"].as_array().into_iter().flatten();
    let lists = std::iter::once(&notebook["cells"]).chain(sheets.map(|sheet| &sheet["cells"]));
    let lists: Vec<&Vec<Value>> = lists.filter_map(Value::as_array).collect();
    if lists.is_empty() {
        return Err(NO_NOTEBOOK);
    }
    let language = ["/metadata/kernelspec/language", "/metadata/language_info/name"];
    let language = language.iter().find_map(|at| notebook.pointer(at)?.as_str()).unwrap_or_default();
    let plain = language.len() < 20 && language.chars().all(|c| c.is_ascii_alphanumeric());
    let language = if plain { language } else { "" };
    let parts: Vec<String> =
        lists.into_iter().flatten().flat_map(|cell| cell_markdown(cell, language)).collect();
    Ok(parts.join("\n"))
}

/// Replaces what Python writes into JSON: `NaN`, infinity, and halves of emoji.
fn valid_json(json: &str) -> String {
    let mut valid = String::with_capacity(json.len());
    let (mut rest, mut in_string) = (json, false);
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '\\' if in_string => {
                let (taken, length) = escape(rest);
                valid.push_str(taken);
                rest = &rest[length..];
                continue;
            }
            'N' | 'I' | '-' if !in_string => ["NaN", "-Infinity", "Infinity"]
                .into_iter()
                .find(|word| rest.starts_with(word))
                .map_or(0, str::len),
            _ => 0,
        };
        if length > 0 {
            valid.push_str("null");
            rest = &rest[length..];
            continue;
        }
        in_string ^= c == '"';
        valid.push(c);
        rest = &rest[c.len_utf8()..];
    }
    valid
}

/// Returns the escape at the start of a text, or that of U+FFFD for half of a pair, and its length.
fn escape(text: &str) -> (&str, usize) {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    match (unit(0), unit(6)) {
        (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => (&text[..12], 12),
        (Some(0xD800..=0xDFFF), _) => ("\\ufffd", 6),
        _ => {
            let length = text.char_indices().nth(2).map_or(text.len(), |(at, _)| at);
            (&text[..length], length)
        }
    }
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
        (_, Some(text)) => parts.push(with_closed_fence(text.trim_end().to_owned() + "\n")),
        (_, None) => {}
    }
    parts.extend(cell["outputs"].as_array().into_iter().flatten().filter_map(output_markdown));
    parts
}

/// Closes a fence that is open at the end of a cell, so that it does not contain the next ones.
fn with_closed_fence(mut text: String) -> String {
    let open = text.lines().fold(None, |open, line| match open {
        Some(marker) if closes_fence(line, marker) => None,
        Some(_) => open,
        None => fence(line),
    });
    if let Some((mark, length)) = open {
        text.extend(std::iter::repeat_n(mark, length));
        text.push('\n');
    }
    text
}

/// Returns `None` if the output has no text, such as an image.
fn output_markdown(output: &Value) -> Option<String> {
    let of_data =
        |kind: &str| Some(join_lines(output["data"].get(kind)?)).filter(|text| !text.trim().is_empty());
    if let Some(text) = of_data("text/markdown").or_else(|| of_data("text/latex")) {
        return Some(format!("Output:\n\n{}\n", shortened(text.trim_end())));
    }
    let plain = of_data("text/plain");
    let is_repr = plain
        .as_ref()
        .is_none_or(|text| text.trim_start().starts_with('<') && text.trim_end().ends_with('>'));
    // A table in HTML is also there as text, with its columns aligned.
    if let Some(page) = of_data("text/html").filter(|_| is_repr) {
        return Some(format!("Output:\n\n{}", shortened(&html::markdown(&page))));
    }
    let json = || output["data"].get("application/json").map(Value::to_string);
    let error = || {
        let title = format!("{}: {}", output["ename"].as_str()?, output["evalue"].as_str()?);
        let trace = output["traceback"]
            .as_array()
            .and_then(|frames| frames.iter().filter_map(Value::as_str).rev().find(|frame| is_frame(frame)));
        Some(trace.map_or_else(|| title.clone(), |frame| format!("{title}\n{}", frame.trim_end())))
    };
    let stream = Some(join_lines(&output["text"])).filter(|text| !text.trim().is_empty());
    let plain = if is_repr { json().or(plain) } else { plain };
    let text = without_colors(&stream.or(plain).or_else(error)?);
    Some(format!("Output:\n\n{}", fenced(&shortened(&text), "")))
}

/// Returns whether a part of a traceback names a place: not a rule, and not the error itself.
fn is_frame(part: &str) -> bool {
    let text = without_colors(part);
    text.contains(" in ") || text.contains("File ") || text.contains("line ")
}

fn shortened(text: &str) -> String {
    let head = prefix(text, MAX_OUTPUT);
    match text.len() - head.len() {
        0 => text.to_owned(),
        omitted => format!("{head}\n[{omitted} more bytes of output omitted]"),
    }
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

    fn with_outputs(outputs: &Value) -> String {
        let cell = json!({"cell_type": "code", "source": "x", "outputs": outputs});
        markdown(&json!({"cells": [cell]}).to_string()).expect("read")
    }

    #[test]
    fn outputs_are_shown_in_the_form_that_says_most() {
        for (data, expected) in [
            (
                json!({"text/plain": "<a.B object>", "text/markdown": ["## R\n", "text"]}),
                "Output:\n\n## R\ntext\n",
            ),
            (json!({"text/plain": "<a.B object>", "text/latex": "$x^2$"}), "Output:\n\n$x^2$\n"),
            (json!({"text/plain": "<a.B object>", "text/html": "<b>7</b> days"}), "Output:\n\n7 days\n"),
            (
                json!({"text/plain": " a\n0 1", "text/html": "<table></table>"}),
                "Output:\n\n```\n a\n0 1\n```\n",
            ),
            (
                json!({"text/plain": "<a.B object>", "application/json": {"k": 1}}),
                "Output:\n\n```\n{\"k\":1}\n```\n",
            ),
        ] {
            let text = with_outputs(&json!([{"output_type": "display_data", "data": data}]));
            assert_eq!(text.strip_prefix("```\nx\n```\n\n"), Some(expected));
        }
        let trace = json!([
            "---",
            "\u{1b}[0;32m<cell>\u{1b}[0m in f()",
            "<cell 2> in g(y)\n----> 1 h()",
            "KeyError: 'k'"
        ]);
        let text = with_outputs(
            &json!([{"output_type": "error", "ename": "KeyError", "evalue": "'k'", "traceback": trace}]),
        );
        assert!(text.contains("KeyError: 'k'\n<cell 2> in g(y)\n----> 1 h()\n"), "{text}");
    }

    #[test]
    fn what_python_writes_is_read() {
        let text = r##"{"cells": [{"cell_type": "raw", "source": "cut \ud83d"}, {"cell_type": "markdown", "source": "~~~\nx", "metadata": {"score": NaN}}, {"cell_type": "markdown", "source": "# End"}]}"##;
        assert_eq!(markdown(text).unwrap(), "cut \u{fffd}\n\n~~~\nx\n~~~\n\n# End\n");
        let sheets = json!({"worksheets": [{"cells": [{"cell_type": "raw", "source": "one"}]}, {"cells": [{"cell_type": "raw", "source": "two"}]}]});
        assert_eq!(markdown(&sheets.to_string()).unwrap(), "one\n\ntwo\n");
    }

    #[test]
    fn invalid_notebooks_are_rejected() {
        let deep = "[".repeat(100_000);
        for text in ["", "{", "[]", "{\"cells\": 5}", deep.as_str()] {
            assert!(markdown(text).is_err());
        }
    }
}
