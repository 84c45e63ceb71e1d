//! Facts about a document as a whole: its single values, and sentences for documents with few anomalies.

use super::{
    columns,
    document::{NodeKind, ParsedDocument},
    json::DocumentAnalysis,
    profile::DocumentPlace,
    stats::MeasureScale,
    value::show,
};

const MAX_VALUE_CHARS: usize = 40;

pub(super) fn singles(document: &ParsedDocument<'_>, places: &[DocumentPlace]) -> Vec<String> {
    let single = |place: &&DocumentPlace| place.table == 0 && place.rows == 1;
    places
        .iter()
        .filter(single)
        .filter_map(|place| {
            let id = *place.values.first()?;
            let scalar =
                !matches!(document.kind(id), NodeKind::Array | NodeKind::Object) || document.len(id) == 0;
            scalar.then(|| format!("{}: {}", place.name, show(document, id, 2 * MAX_VALUE_CHARS)))
        })
        .collect()
}

pub(super) fn overview(look: &DocumentAnalysis<'_, '_>) -> Vec<String> {
    let DocumentAnalysis { document, places, stats, largest, .. } = look;
    let mut facts = vec![root(look)];
    let of_main = |p: &&usize| largest.contains(&places[**p].table) && places[**p].rows > 1;
    let order: Vec<usize> = (0..places.len()).collect();
    let share = |p: &usize| {
        let (times, id) = *stats[*p].scalars.first()?;
        let rows = places[*p].rows;
        let telling = times * 2 >= rows && times > 1 && stats[*p].scalars.len() > 1;
        telling.then(|| {
            format!(
                "{} is {} in {times} of {rows} rows",
                places[*p].name,
                show(document, id, MAX_VALUE_CHARS)
            )
        })
    };
    let ranges = |p: &usize| {
        stats[*p].spread.as_ref().filter(|s| s.scale != MeasureScale::Length && s.mad > 0.0)?;
        Some(format!("{} ranges from {}", places[*p].name, columns::range(look, *p)?))
    };
    facts.extend(order.iter().filter(of_main).filter_map(share).take(2));
    facts.extend(order.iter().filter(of_main).filter_map(ranges).take(2));
    let heavy = |p: &usize| {
        let id = *places[*p].values.first()?;
        let size = document.size(id);
        let all = document.size(ParsedDocument::ROOT);
        (places[*p].rows == 1 && *p > 0 && size * 4 > all)
            .then(|| format!("{} takes {size} of the {all} bytes", places[*p].name))
    };
    facts.extend(order.iter().filter_map(heavy).take(1));
    facts.extend(singles(document, places).into_iter().map(|s| s.replacen(": ", " is ", 1)).take(3));
    facts
}

fn root(look: &DocumentAnalysis<'_, '_>) -> String {
    let DocumentAnalysis { document, places, largest, .. } = look;
    let id = ParsedDocument::ROOT;
    let what = match document.kind(id) {
        NodeKind::Object => format!("an object of {} keys", document.len(id)),
        NodeKind::Array => format!("a list of {} elements", document.len(id)),
        kind => kind.with_article().to_owned(),
    };
    let table = largest
        .first()
        .map(|t| format!("; the largest table is {} with {} rows", places[*t].name, places[*t].rows));
    format!("$ is {what} in {} bytes{}", document.size(id), table.unwrap_or_default())
}
