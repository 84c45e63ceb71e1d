//! Savings and retained facts under other policies of the gate, for the tuned and the held-out half.

use std::rc::Rc;

use anyhow::Result;
use serde_json::{Value, json};

use super::{LARGE, Measured, gold::Gold, measure, row, ways};

/// Returns a row per policy and half. `own` has the measurements under the first policy, in the order of the results.
pub(super) fn compared(golds: &[Gold], own: Vec<Measured>) -> Result<Vec<Value>> {
    let own: Vec<Rc<Measured>> = own.into_iter().map(Rc::new).collect();
    let mut rows = Vec::new();
    for policy in ways::POLICIES {
        let mut measured = Vec::new();
        for (gold, own) in golds.iter().zip(&own) {
            let short = ways::short(&gold.text, own.raw, policy)?;
            let alike = (short.way, short.tokens) == (own.way, own.short);
            measured.push(if alike { Rc::clone(own) } else { Rc::new(measure(gold, policy)?) });
        }
        for held_out in [false, true] {
            let part: Vec<&Measured> =
                measured.iter().map(Rc::as_ref).filter(|one| one.held_out == held_out).collect();
            let large: Vec<&&Measured> = part.iter().filter(|one| one.bytes >= LARGE).collect();
            let count = |most: f64| large.iter().filter(|one| one.saved(0) >= most).count();
            let mut row = row(policy.name, held_out, &part);
            row["large"] = json!(large.len());
            row["large_saved_70"] = json!(count(0.7));
            row["net_total"] = json!(net(&large));
            rows.push(row);
        }
    }
    Ok(rows)
}

fn net(of: &[&&Measured]) -> f64 {
    let raw: usize = of.iter().map(|one| one.raw).sum();
    let paid: usize = of.iter().map(|one| one.short + one.follow).sum();
    1.0 - paid as f64 / raw.max(1) as f64
}
