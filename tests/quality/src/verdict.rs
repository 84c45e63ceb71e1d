//! Makes the weights of the tool search's verdict: a logistic regression over the evidence for the best tool of each
//! question, and its results on catalogs and unrelated questions that it has not seen.
//!
//! Catalogs and both classes of questions weigh the same, and so do long and short unrelated questions: length is no
//! evidence. A question's evidence is that of the tool and the part of
//! the question that the model itself finds most convincing, as in a search.

mod regression;

use std::collections::HashSet;

use anyhow::{Context as _, Result, bail};
use gatehouse_core::search::tools::{MEASURES, MatchEvidence, VerdictWeights};
use serde_json::{Value, json};

use self::regression::fitted;
use crate::{
    Places,
    catalogue::{Asking, Catalogue},
    languages::{self, LanguageSet, SPACED, SPACELESS},
    sets::{self, Question, Tool, ToolSet},
    tools::{SETS, is_long},
};

const MAX_OWN: usize = 500;

/// Sizes of the catalogs: each set as a whole, and parts of it as small as the tools of one server.
const SIZES: [usize; 3] = [usize::MAX, 150, 25];

/// Number of groups of unrelated questions; the model of each group has not seen its questions.
const FOLDS: usize = 5;

/// Share of the unrelated questions, averaged over the whole sets, of which the search may say that a tool fits. The
/// constant term is chosen so that this share has a probability of half or more.
const MAX_WRONG: f64 = 0.06;

/// Rounds in which each question's evidence is chosen by the model of the round before.
const ROUNDS: usize = 4;

/// All evidence for one question: by tool and part of the question.
struct Evidence {
    is_long: bool,
    measured: Vec<MatchEvidence>,
}

/// Number of own and of unrelated questions of each set that [`stored`] returns.
const STORED: [usize; 3] = [9, 8, 8];

struct Examples {
    set: &'static str,
    tools: usize,
    own: Vec<Evidence>,
    unrelated: Vec<Evidence>,
}

pub(crate) fn run(places: &Places) -> Result<Value> {
    let mut unrelated: Vec<Asking> = sets::lines(&places.queries.join("off-topic.jsonl"))?;
    for more in ["tools-nothing.jsonl", "off-topic-long.jsonl"] {
        unrelated.extend(sets::lines::<Asking>(&places.queries.join(more))?);
    }
    let public = |with_vectors| -> Result<Vec<Examples>> {
        let mut all = Vec::new();
        for set in SETS {
            let file = places.data.as_ref().map(|data| data.join(format!("tool-search/{set}.json")));
            let Some(file) = file.filter(|file| file.is_file()) else { bail!("the set {set} is missing") };
            let tools = sets::tools(&file)?;
            for size in SIZES {
                all.extend(examples(set, part(&tools, size), &unrelated, with_vectors));
            }
        }
        Ok(all)
    };
    let in_languages = |languages: &[&'static str]| -> Result<Vec<Examples>> {
        let mut all = Vec::new();
        for language in languages {
            let LanguageSet { docs, queries, off_topic } = languages::read(places, language)?;
            let unrelated: Vec<Asking> = off_topic.into_iter().map(|q| Asking { q }).collect();
            all.extend(examples(language, ToolSet { docs, queries }, &unrelated, false));
        }
        Ok(all)
    };
    let mut by_words = public(false)?;
    by_words.extend(in_languages(&SPACED)?);
    let reports = [
        report("with vectors", &public(true)?),
        report("without vectors", &by_words),
        report("spaceless", &in_own_script(in_languages(&SPACELESS)?)),
    ];
    Ok(json!({"models": reports, "stored": stored(places, &unrelated)?}))
}

/// Returns 50 questions with the evidence for their best tool and the verdict, for a test of `gatehouse-core`.
fn stored(places: &Places, unrelated: &[Asking]) -> Result<Vec<Value>> {
    let mut rows = Vec::new();
    for (set, count) in SETS.iter().zip(STORED) {
        let file = places.data.as_ref().map(|data| data.join(format!("tool-search/{set}.json")));
        let tools = sets::tools(&file.context("--data is missing")?)?;
        let catalogue = Catalogue::of(&tools.docs);
        let step = tools.queries.len() / count;
        let own = tools.queries.iter().step_by(step).take(count).map(|question| &question.q);
        let others = unrelated.iter().skip(rows.len()).take(count).map(|asking| &asking.q);
        for (number, q) in own.chain(others).enumerate() {
            let evidence = catalogue.evidence(q, number % 4 != 3).into_iter().flatten();
            let best = evidence.max_by(|a, b| a.probability().total_cmp(&b.probability()));
            let Some(best) = best else { continue };
            rows.push(json!({"q": q, "verdict": best.verdict(), "evidence": {
                "cosine": best.cosine, "cosine_deviation": best.cosine_deviation,
                "rarity_share": best.rarity_share, "rarity_held": best.rarity_held, "name_cover": best.name_cover, "words_known": best.words_known,
                "tool_count": best.tool_count, "spaceless": best.spaceless}}));
        }
    }
    Ok(rows)
}

/// Returns evenly spaced tools and the questions that they answer.
fn part(set: &ToolSet, size: usize) -> ToolSet {
    let step = set.docs.len().div_ceil(size).max(1);
    let docs: Vec<Tool> = set.docs.iter().step_by(step).cloned().collect();
    let ids: HashSet<&str> = docs.iter().map(|tool| tool.id.as_str()).collect();
    let answered = |question: &&Question| question.rel.iter().any(|id| ids.contains(id.as_str()));
    let queries: Vec<Question> = set.queries.iter().filter(answered).cloned().collect();
    ToolSet { queries, docs: docs.clone() }
}

/// Returns the evidence of questions in their own script. Hides the number of tools, because two catalogs cannot tell its
/// influence.
fn in_own_script(mut all: Vec<Examples>) -> Vec<Examples> {
    for examples in &mut all {
        let evidence = examples.own.iter_mut().chain(&mut examples.unrelated);
        let measured = evidence.flat_map(|evidence| {
            evidence.measured.retain(|one| one.spaceless);
            &mut evidence.measured
        });
        measured.for_each(|evidence| evidence.tool_count = 1.0);
    }
    all
}

fn examples(set: &'static str, tools: ToolSet, unrelated: &[Asking], with_vectors: bool) -> Option<Examples> {
    let catalogue = Catalogue::of(&tools.docs);
    let evidence = |question: &str| Evidence {
        is_long: is_long(question),
        measured: catalogue.evidence(question, with_vectors).into_iter().flatten().collect(),
    };
    let step = tools.queries.len().div_ceil(MAX_OWN).max(1);
    let own: Vec<Evidence> =
        tools.queries.iter().step_by(step).map(|question| evidence(&question.q)).collect();
    let unrelated = unrelated.iter().map(|asking| evidence(&asking.q)).collect();
    (!own.is_empty()).then_some(Examples { set, tools: tools.docs.len(), own, unrelated })
}

/// Probabilities that models without the set and the question gave to one catalog's questions.
struct Unseen<'a> {
    examples: &'a Examples,
    own: Vec<f64>,
    unrelated: Vec<f64>,
}

impl Unseen<'_> {
    /// Returns the share of unrelated questions with a probability of at least `bound`, short and long ones weighing the
    /// same.
    fn wrong(&self, bound: f64) -> f64 {
        let unrelated = |is_long| of_length(&self.examples.unrelated, &self.unrelated, is_long);
        let shares = [false, true].map(unrelated).into_iter().filter(|all| !all.is_empty());
        let shares: Vec<f64> = shares.map(|all| share(&all, bound)).collect();
        shares.iter().sum::<f64>() / shares.len().max(1) as f64
    }

    fn row(&self, bound: f64) -> Value {
        let both = |evidence: &[Evidence], all: &[f64], bound| {
            let [short, long] = [false, true].map(|is_long| of_length(evidence, all, is_long));
            json!({"all": share(all, bound), "short": share(&short, bound), "long": share(&long, bound)})
        };
        let own = |bound| both(&self.examples.own, &self.own, bound);
        let unrelated = |bound| both(&self.examples.unrelated, &self.unrelated, bound);
        json!({"set": self.examples.set, "tools": self.examples.tools, "own": self.own.len(), "own_fits": own(bound),
            "unrelated_fits": unrelated(bound), "own_may_fit": own(weak(bound)),
            "unrelated_may_fit": unrelated(weak(bound))})
    }
}

fn of_length(evidence: &[Evidence], probabilities: &[f64], is_long: bool) -> Vec<f64> {
    let all = evidence.iter().zip(probabilities);
    all.filter(|(one, _)| one.is_long == is_long).map(|(_, probability)| *probability).collect()
}

fn report(model: &str, all: &[Examples]) -> Value {
    let unseen: Vec<Unseen<'_>> = all.iter().map(|examples| unseen(all, examples)).collect();
    // The first catalog of a set is the whole.
    let mut seen = HashSet::new();
    let whole: Vec<&Unseen<'_>> = unseen.iter().filter(|one| seen.insert(one.examples.set)).collect();
    let mean = |share: &dyn Fn(&Unseen<'_>) -> f64| {
        whole.iter().map(|one| share(one)).sum::<f64>() / whole.len() as f64
    };
    let bounds = (1..1000).map(|bound| f64::from(bound) / 1000.0);
    let bound = bounds.into_iter().find(|bound| mean(&|one| one.wrong(*bound)) <= MAX_WRONG);
    let bound = bound.unwrap_or(1.0);
    let rows: Vec<Value> = unseen.iter().map(|one| one.row(bound)).collect();
    let weights = trained(&all.iter().collect::<Vec<_>>(), |_| true);
    json!({"model": model, "weights": weights.measures,
        "constant": weights.constant - log_odds(bound), "own_fits": mean(&|one| share(&one.own, bound)),
        "unrelated_fits": mean(&|one| one.wrong(bound)), "cross_validated": rows})
}

fn unseen<'a>(all: &'a [Examples], examples: &'a Examples) -> Unseen<'a> {
    let others: Vec<&Examples> = all.iter().filter(|one| one.set != examples.set).collect();
    let models: Vec<VerdictWeights> =
        (0..FOLDS).map(|fold| trained(&others, |number| number % FOLDS != fold)).collect();
    let judged = |all: &[Evidence]| -> Vec<f64> {
        all.iter().enumerate().map(|(number, one)| best(&models[number % FOLDS], one)).collect()
    };
    let (own, unrelated) = (judged(&examples.own), judged(&examples.unrelated));
    Unseen { examples, own, unrelated }
}

fn share(probabilities: &[f64], bound: f64) -> f64 {
    probabilities.iter().filter(|one| **one >= bound).count() as f64 / probabilities.len().max(1) as f64
}

fn log_odds(probability: f64) -> f64 {
    (probability / (1.0 - probability)).ln()
}

/// Returns the bound of "may fit", which the search has at a fifth if that of "fits" is a half.
fn weak(bound: f64) -> f64 {
    1.0 / (1.0 + (-(log_odds(bound) + log_odds(0.2))).exp())
}

fn best(model: &VerdictWeights, evidence: &Evidence) -> f64 {
    evidence.measured.iter().map(|one| model.probability(one)).fold(0.0, f64::max)
}

/// Returns the weights for these catalogs and the unrelated questions that `uses` accepts by number.
fn trained(catalogs: &[&Examples], uses: impl Fn(usize) -> bool) -> VerdictWeights {
    let mut model: Option<VerdictWeights> = None;
    for _ in 0..ROUNDS {
        let chosen = |evidence: &Evidence| {
            let probability = |one: &MatchEvidence| {
                model
                    .as_ref()
                    .map_or(one.rarity_share + one.cosine.unwrap_or(0.0), |model| model.probability(one))
            };
            let best = evidence.measured.iter().max_by(|a, b| probability(a).total_cmp(&probability(b)));
            best.map_or([0.0; MEASURES], MatchEvidence::measures)
        };
        let mut rows = Vec::new();
        for catalog in catalogs {
            let unrelated: Vec<&Evidence> = catalog
                .unrelated
                .iter()
                .enumerate()
                .filter(|(number, _)| uses(*number))
                .map(|(_, one)| one)
                .collect();
            rows.extend(catalog.own.iter().map(|one| (chosen(one), 1.0, 1.0 / catalog.own.len() as f64)));
            for is_long in [false, true] {
                let of_length: Vec<_> = unrelated.iter().filter(|one| one.is_long == is_long).collect();
                let weight = 0.5 / of_length.len().max(1) as f64;
                rows.extend(of_length.into_iter().map(|one| (chosen(one), 0.0, weight)));
            }
        }
        model = Some(fitted(&rows));
    }
    model.unwrap_or(VerdictWeights { measures: [0.0; MEASURES], constant: 0.0 })
}
