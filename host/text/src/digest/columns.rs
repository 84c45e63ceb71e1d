//! Tables and their columns, each told in a line.

use super::{
    document::{Id, Kind, Parsed},
    profile::Place,
    stats::{Scale, Stats},
    value::{number, show},
};

/// Values of a column that are shown as frequent.
const TOP: usize = 5;

/// Characters of a value that is shown.
const SHOWN: usize = 40;

/// Names of columns in the line of a table.
const NAMES: usize = 24;

/// A line for each table: how many rows, and the names of its columns.
pub(super) fn tables(places: &[Place]) -> Vec<String> {
    let rows = places.iter().enumerate().skip(1).filter(|(_, place)| place.is_row);
    rows.filter_map(|(index, place)| {
        let columns: Vec<&str> =
            places.iter().filter(|p| p.table == index && !p.is_row).map(|p| column(p, place)).collect();
        // Lists of scalars are told among the columns.
        if columns.is_empty() {
            return None;
        }
        // The names deep inside are the first that can be spared.
        let deepest = if columns.len() > NAMES { 1 } else { usize::MAX };
        let names: Vec<&str> =
            columns.iter().copied().filter(|c| c.matches('.').count() <= deepest).take(NAMES).collect();
        let more = if names.len() < columns.len() { ", …" } else { "" };
        Some(format!("{}: {} rows: {}{more}", place.name, place.rows, names.join(", ")))
    })
    .collect()
}

/// The name of a column within its rows.
fn column<'p>(place: &'p Place, table: &Place) -> &'p str {
    let name = place.name.strip_prefix(table.name.as_str()).unwrap_or(&place.name);
    name.strip_prefix('.').unwrap_or(name)
}

/// A line for each single value at the top of the document.
pub(super) fn singles(document: &Parsed<'_>, places: &[Place]) -> Vec<String> {
    let single = |place: &&Place| place.table == 0 && place.rows == 1;
    places
        .iter()
        .filter(single)
        .filter_map(|place| {
            let id = *place.values.first()?;
            let scalar = !matches!(document.kind(id), Kind::Array | Kind::Object) || document.len(id) == 0;
            scalar.then(|| format!("{}: {}", place.name, show(document, id, 2 * SHOWN)))
        })
        .collect()
}

/// A line for each column of a table: kinds, range, frequent values. Those of the tables that are given
/// come first.
pub(super) fn columns(
    document: &Parsed<'_>,
    places: &[Place],
    stats: &[Stats],
    first: &[usize],
) -> Vec<String> {
    let all = |p: &usize| places[*p].rows > 1;
    let mut order: Vec<usize> = (1..places.len()).filter(all).collect();
    order.sort_by_key(|p| first.iter().position(|t| *t == places[*p].table).unwrap_or(first.len()));
    order.into_iter().filter_map(|p| describe(document, &places[p], &stats[p])).collect()
}

fn describe(document: &Parsed<'_>, place: &Place, stats: &Stats) -> Option<String> {
    let kinds = stats.kinds();
    let &(main, _) = kinds.iter().find(|(k, _)| *k != Kind::Null).or(kinds.first())?;
    if main == Kind::Object && kinds.len() == 1 && place.values.len() == place.rows {
        return None;
    }
    let mut said: Vec<String> = Vec::new();
    if !place.is_row && place.values.len() < place.rows {
        said.push(format!("in {} of {}", place.values.len(), place.rows));
    }
    let several = kinds.len() > 1;
    said.extend(
        kinds.iter().map(|(k, n)| if several { format!("{} ×{n}", k.name()) } else { k.name().into() }),
    );
    said.extend(range(document, stats));
    said.extend(values(document, stats));
    Some(format!("{}: {}", place.name, said.join(", ")))
}

fn range(document: &Parsed<'_>, stats: &Stats) -> Option<String> {
    let spread = stats.spread.as_ref()?;
    let (min, median, max) = (spread.min(), spread.median(), spread.max());
    let shown = |(value, id): (f64, Id)| match spread.scale {
        Scale::Elements | Scale::Length => number(value),
        _ => show(document, id, SHOWN),
    };
    if min.0 == max.0 && spread.scale != Scale::Elements {
        return None;
    }
    let unit = match spread.scale {
        Scale::Elements => " elements",
        Scale::Length => " bytes",
        _ => "",
    };
    Some(format!("{} to {}{unit} (median {})", shown(min), shown(max), shown(median)))
}

fn values(document: &Parsed<'_>, stats: &Stats) -> Option<String> {
    let (times, first) = *stats.scalars.first()?;
    if document.kind(first) == Kind::Null && stats.scalars.len() == 1 {
        return None;
    }
    let different = stats.scalars.len();
    let top = |most: usize| -> Vec<String> {
        let shown = |(n, id): &(usize, Id)| format!("{} ×{n}", show(document, *id, SHOWN));
        stats.scalars.iter().take(most).map(shown).collect()
    };
    let numbers = stats.spread.as_ref().is_some_and(|s| !matches!(s.scale, Scale::Length | Scale::Elements));
    Some(match different {
        1 => format!("always {}", show(document, first, SHOWN)),
        2..=TOP => top(TOP).join(", "),
        _ if times > 1 => format!("{different} different, most often {}", top(3).join(", ")),
        _ if numbers => format!("{different} different"),
        _ => format!("all different, e.g. {}", show(document, first, SHOWN)),
    })
}

/// Sentences on the document as a whole, for where little stands out.
pub(super) fn overview(
    document: &Parsed<'_>,
    places: &[Place],
    stats: &[Stats],
    largest: &[usize],
) -> Vec<String> {
    let mut facts = vec![root(document, places, largest)];
    let of_main = |p: &&usize| largest.contains(&places[**p].table) && places[**p].rows > 1;
    let order: Vec<usize> = (0..places.len()).collect();
    let share = |p: &usize| {
        let (times, id) = *stats[*p].scalars.first()?;
        let rows = places[*p].rows;
        let telling = times * 2 >= rows && times > 1 && stats[*p].scalars.len() > 1;
        telling.then(|| {
            format!("{} is {} in {times} of {rows} rows", places[*p].name, show(document, id, SHOWN))
        })
    };
    let ranges = |p: &usize| {
        let spread = stats[*p].spread.as_ref().filter(|s| s.scale != Scale::Length && s.mad > 0.0)?;
        let _ = spread;
        Some(format!("{} goes from {}", places[*p].name, range(document, &stats[*p])?))
    };
    facts.extend(order.iter().filter(of_main).filter_map(share).take(2));
    facts.extend(order.iter().filter(of_main).filter_map(ranges).take(2));
    let heavy = |p: &usize| {
        let id = *places[*p].values.first()?;
        let size = document.size(id);
        let all = document.size(Parsed::ROOT);
        (places[*p].rows == 1 && *p > 0 && size * 4 > all)
            .then(|| format!("{} takes {size} of the {all} bytes", places[*p].name))
    };
    facts.extend(order.iter().filter_map(heavy).take(1));
    facts.extend(singles(document, places).into_iter().map(|s| s.replacen(": ", " is ", 1)).take(3));
    facts
}

fn root(document: &Parsed<'_>, places: &[Place], largest: &[usize]) -> String {
    let id = Parsed::ROOT;
    let what = match document.kind(id) {
        Kind::Object => format!("an object of {} keys", document.len(id)),
        Kind::Array => format!("a list of {} elements", document.len(id)),
        kind => kind.with_article().to_owned(),
    };
    let table = largest
        .first()
        .map(|t| format!("; the largest table is {} with {} rows", places[*t].name, places[*t].rows));
    format!("$ is {what} in {} bytes{}", document.size(id), table.unwrap_or_default())
}
