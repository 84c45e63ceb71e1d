//! Large results: the reduction, the share of answers that remain, those found with at most two more calls, and the
//! token cost per answered question. Compares with the whole result, and with its beginning and an extract of the same
//! length.

mod gold;
mod policies;
mod shapes;
mod truth;
mod ways;

use std::{collections::BTreeMap, path::Path};

use anyhow::Result;
use gatehouse_core::ports::{TokenCounter as _, text::TokenEncoding};
use gatehouse_text::BpeTokenCounter;
use serde_json::{Value, json};

use self::{
    gold::{Gold, Searched},
    ways::Policy,
};

/// Minimum bytes of a result that should become shorter.
const LARGE: usize = 5_000;

/// Measures every result in a directory that `tests/quality/corpus` made. Returns rows by kind and half, then a row per
/// result.
pub(crate) fn run(folder: &Path) -> Result<Value> {
    let golds = gold::read(folder)?;
    let [own, ..] = ways::POLICIES;
    let measured = golds.iter().map(|gold| measure(gold, own)).collect::<Result<Vec<_>>>()?;
    let mut rows = Vec::new();
    for held_out in [true, false] {
        let part: Vec<&Measured> = measured.iter().filter(|m| m.held_out == held_out).collect();
        let mut kinds: BTreeMap<&str, Vec<&Measured>> = BTreeMap::new();
        for measured in &part {
            kinds.entry(&measured.kind).or_default().push(measured);
        }
        rows.extend(kinds.iter().map(|(kind, of)| row(kind, held_out, of)));
        rows.push(row("all", held_out, &part));
    }
    let each: Vec<Value> = measured.iter().map(Measured::json).collect();
    let wrong = golds.iter().flat_map(truth::untrue);
    let number = format!(": {}", truth::NUMBER);
    let (uncounted, untrue): (Vec<String>, Vec<String>) =
        wrong.partition(|message| message.contains(&number));
    let policies = policies::compared(&golds, measured)?;
    let shapes = shapes::measured(&golds, own)?;
    Ok(json!({
        "kinds": rows, "shapes": shapes, "policies": policies, "untrue": untrue, "uncounted": uncounted, "results": each,
    }))
}

/// A fraction: how many held, of how many.
#[derive(Default, Clone, Copy)]
struct Share(usize, usize);

impl Share {
    fn add(&mut self, all: usize, held: usize) {
        self.0 += held;
        self.1 += all;
    }

    fn value(self) -> f64 {
        self.0 as f64 / self.1.max(1) as f64
    }
}

struct Measured {
    file: String,
    kind: String,
    held_out: bool,
    bytes: usize,
    way: &'static str,
    raw: usize,
    short: usize,
    /// Tokens of the calls for questions that the short form does not answer.
    follow: usize,
    facts: Share,
    facts_of_cut: Share,
    facts_of_extract: Share,
    answered: Share,
    answered_by_cut: Share,
    /// Questions answered with at most two calls.
    reached: Share,
    open: Vec<String>,
}

fn tokens(text: &str) -> usize {
    BpeTokenCounter.count(text, TokenEncoding::O200k)
}

fn measure(gold: &Gold, policy: Policy) -> Result<Measured> {
    let raw = tokens(&gold.text);
    let short = ways::short(&gold.text, raw, policy)?;
    let mut measured = Measured {
        file: gold.file.clone(),
        kind: gold.kind.clone(),
        held_out: gold.held_out,
        bytes: gold.text.len(),
        way: short.way,
        raw,
        short: short.tokens,
        follow: 0,
        facts: Share::default(),
        facts_of_cut: Share::default(),
        facts_of_extract: Share::default(),
        answered: Share::default(),
        answered_by_cut: Share::default(),
        reached: Share::default(),
        open: Vec::new(),
    };
    let text = Searched::of(&short.text);
    let lossless = matches!(short.way, "whole" | "lossless");
    let cut = Searched::of(ways::cut(&gold.text, short.tokens));
    let extract = Searched::of(&ways::extract(&gold.text, short.tokens)?);
    for asked in &gold.questions {
        let add = |share: &mut Share, text: &Searched| {
            let (all, held) = asked.facts(text);
            share.add(all, held);
        };
        add(&mut measured.facts_of_cut, &cut);
        add(&mut measured.facts_of_extract, &extract);
        measured.answered_by_cut.add(1, usize::from(asked.is_answered(&cut)));
        if lossless {
            // Lossless, so it answers as the whole result does.
            let (all, _) = asked.facts(&text);
            measured.facts.add(all, all);
            measured.answered.add(1, 1);
            measured.reached.add(1, 1);
            continue;
        }
        add(&mut measured.facts, &text);
        let answered = asked.is_answered(&text);
        measured.answered.add(1, usize::from(answered));
        let (tokens, reached) = if answered { (0, true) } else { ways::follow(&gold.text, &text, asked)? };
        measured.follow += tokens;
        measured.reached.add(1, usize::from(reached));
        if !answered {
            let how = if reached { "reached" } else { "open" };
            measured.open.push(format!("{how}: {}", asked.q));
        }
    }
    Ok(measured)
}

impl Measured {
    fn json(&self) -> Value {
        json!({
            "file": self.file, "kind": self.kind, "held_out": self.held_out, "bytes": self.bytes, "way": self.way,
            "raw": self.raw, "short": self.short, "follow": self.follow, "facts": self.facts.value(),
            "questions": self.answered.1, "answered": self.answered.0, "reached": self.reached.0, "open": self.open,
        })
    }

    /// Returns the share of tokens saved by the short form with `more` tokens on top.
    fn saved(&self, more: usize) -> f64 {
        1.0 - (self.short + more) as f64 / self.raw as f64
    }
}

fn row(kind: &str, held_out: bool, part: &[&Measured]) -> Value {
    let total = |share: fn(&Measured) -> Share| {
        part.iter().fold(Share::default(), |mut sum, measured| {
            let Share(held, all) = share(measured);
            sum.add(all, held);
            sum
        })
    };
    let sum = |tokens: fn(&Measured) -> usize| part.iter().map(|measured| tokens(measured)).sum::<usize>();
    let large: Vec<&&Measured> = part.iter().filter(|measured| measured.bytes >= LARGE).collect();
    let saved = median(large.iter().map(|measured| measured.saved(0)).collect());
    let net = median(large.iter().map(|measured| measured.saved(measured.follow)).collect());
    let (raw, short, follow) = (sum(|m| m.raw), sum(|m| m.short), sum(|m| m.follow));
    let [answered, reached, cut] =
        [total(|m| m.answered), total(|m| m.reached), total(|m| m.answered_by_cut)];
    let each = |tokens: usize, share: Share| tokens / share.0.max(1);
    json!({
        "kind": kind, "held_out": held_out, "results": part.len(), "questions": answered.1,
        "raw": raw, "short": short, "follow": follow,
        "saved_median": saved, "net_median": net,
        "facts": total(|m| m.facts).value(), "facts_of_cut": total(|m| m.facts_of_cut).value(),
        "facts_of_extract": total(|m| m.facts_of_extract).value(),
        "answered": answered.value(), "reached": reached.value(), "answered_by_cut": cut.value(),
        "per_answer_raw": each(raw, Share(answered.1, answered.1)), "per_answer": each(short + follow, reached),
        "per_answer_cut": each(short, cut),
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fixture_becomes_shorter_or_stays_and_most_questions_are_reached() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/results");
        let measured = run(&folder).unwrap();
        for result in measured["results"].as_array().unwrap() {
            let digested = !matches!(result["way"].as_str().unwrap(), "whole" | "lossless");
            let (raw, short) = (result["raw"].as_u64().unwrap(), result["short"].as_u64().unwrap());
            // Prose has at least 700 tokens.
            assert!(!digested || short * 4 <= raw || (short <= 700 && short * 2 <= raw), "{result}");
        }
        let all = measured["kinds"].as_array().unwrap().iter().filter(|row| row["kind"] == "all");
        for row in all {
            assert!(row["reached"].as_f64().unwrap() > 0.6, "{row}");
        }
    }
}
