//! Questions about a document with the text that answers them.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use crate::sets::lines;

#[derive(Deserialize)]
struct Line {
    q: String,
    #[serde(default)]
    gold: Vec<String>,
    #[serde(default)]
    spans: Vec<(String, String)>,
}

pub(super) struct Question {
    pub(super) q: String,
    /// Answer texts with single spaces, weighted by length.
    gold: Vec<String>,
}

pub(super) struct Set {
    pub(super) questions: Vec<Question>,
}

/// Minimum length at which a piece ends; a piece is retained or lost as a whole.
const PIECE: usize = 160;

impl Set {
    pub(super) fn read(file: &Path, text: &str) -> Result<Self> {
        let whole = single_spaced(text);
        let question = |line: Line| {
            let mut gold: Vec<String> = line.gold.iter().map(|gold| single_spaced(gold)).collect();
            for piece in &gold {
                ensure!(whole.contains(piece), "'{}': the document has no '{piece}'", line.q);
            }
            for (from, to) in &line.spans {
                let start = text.find(from).with_context(|| format!("the document has no '{from}'"))?;
                let end = text[start + from.len()..]
                    .find(to)
                    .with_context(|| format!("no '{to}' after '{from}'"))?;
                gold.extend(pieces(&text[start..start + from.len() + end]));
            }
            Ok(Question { q: line.q, gold })
        };
        let questions = lines::<Line>(file)?.into_iter().map(question).collect::<Result<_>>()?;
        Ok(Self { questions })
    }
}

impl Question {
    pub(super) fn kept(&self, text: &str) -> f64 {
        let text = single_spaced(text);
        let length = |piece: &&String| piece.len() as f64;
        let all: f64 = self.gold.iter().map(|piece| length(&piece)).sum();
        self.gold
            .iter()
            .filter(|piece| text.contains(piece.as_str()))
            .map(|piece| length(&piece))
            .sum::<f64>()
            / all
    }
}

pub(super) fn elsewhere(file: &Path) -> Result<Vec<String>> {
    Ok(lines::<Line>(file)?.into_iter().map(|line| line.q).collect())
}

fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn pieces(stretch: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    for line in stretch.lines() {
        let mut piece = String::new();
        for word in line.split_whitespace() {
            if !piece.is_empty() {
                piece.push(' ');
            }
            piece.push_str(word);
            if piece.len() >= PIECE {
                pieces.push(std::mem::take(&mut piece));
            }
        }
        if piece.len() > 3 {
            pieces.push(piece);
        }
    }
    pieces
}
