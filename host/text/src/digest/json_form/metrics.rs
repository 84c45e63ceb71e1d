//! Metrics in the text format of Prometheus, as a row for each sample.

use std::collections::HashMap;

use super::{JsonForm, TextSample, object, string, value};

const MIN_SAMPLES: usize = 3;

/// A metric with the type of its family, if that is declared, and its samples.
struct Metric<'a> {
    name: &'a str,
    kind: Option<&'a str>,
    samples: Vec<String>,
}

/// Reads a text as metrics: an object with the type and the samples of each. A sample has its labels and its value.
pub(super) fn read(text: &str, sample: &TextSample<'_>) -> Option<JsonForm> {
    if !sample.lines.iter().any(|line| line.starts_with("# TYPE ") || line.starts_with("# HELP ")) {
        return None;
    }
    let (mut types, mut metrics, mut places) = (HashMap::new(), Vec::<Metric<'_>>::new(), HashMap::new());
    let mut samples = 0;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(declared) = line.strip_prefix("# TYPE ") {
            let (name, kind) = declared.split_once(' ')?;
            types.insert(name, kind.trim());
        } else if !line.starts_with('#') {
            let (name, sample) = line_sample(line)?;
            let place = *places.entry(name).or_insert(metrics.len());
            if place == metrics.len() {
                // The samples of histograms and summaries have names of their own.
                let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
                let kind = types.get(name).or_else(|| types.get(family?)).copied();
                metrics.push(Metric { name, kind, samples: Vec::new() });
            }
            metrics[place].samples.push(sample);
            samples += 1;
        }
    }
    let mut kinds: Vec<&str> = types.values().copied().collect();
    kinds.sort_unstable();
    let counts: Vec<String> =
        kinds.chunk_by(|a, b| a == b).map(|kind| format!("{} of type {}", kind.len(), kind[0])).collect();
    let note = format!("{samples} samples of {} declared metrics, {}", types.len(), counts.join(", "));
    let json = object(metrics.iter().map(|metric| {
        let kind = metric.kind.map(|kind| ("type", string(kind)));
        let samples = [("samples", format!("[{}]", metric.samples.join(",")))];
        (metric.name, object(kind.into_iter().chain(samples)))
    }));
    (samples >= MIN_SAMPLES && !types.is_empty()).then_some(JsonForm { kind: "metrics", json, note })
}

/// Reads `name{label="value",…} value [timestamp]` into the name and a JSON object.
fn line_sample(line: &str) -> Option<(&str, String)> {
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | ':')))?;
    let (name, mut rest) = line.split_at(end);
    let mut members = Vec::new();
    if let Some(labels) = rest.strip_prefix('{') {
        rest = labels;
        while !rest.starts_with('}') {
            let (label, after) = rest.split_once("=\"")?;
            let (text, after) = quoted(after)?;
            members.push((label.trim(), string(&text)));
            rest = after.trim_start().trim_start_matches(',').trim_start();
        }
        rest = &rest[1..];
    }
    let mut cells = rest.split_whitespace();
    let number = cells.next()?;
    number.parse::<f64>().ok()?;
    members.push(("value", value(number)));
    // OpenMetrics puts an example after `#`.
    members.extend(cells.next().filter(|time| *time != "#").map(|time| ("timestamp", value(time))));
    (!name.is_empty()).then(|| (name, object(members)))
}

/// Splits text after an opening quote into the unescaped string and the rest.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut unescaped = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((unescaped, &text[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => unescaped.push('\n'),
                other => unescaped.push(other),
            },
            c => unescaped.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_stand_under_their_metric() {
        let text = "# HELP up Whether \"it\" runs.\n# TYPE up gauge\nup{job=\"a\\\"b\",path=\"C:\\\\x\"} 1\nup 0 1395066363000\n\
                    # TYPE t histogram\nt_bucket{le=\"+Inf\",} 7\nt_sum NaN\nplain 1.50 # {id=\"1\"} 2\n";
        let form = read(text, &TextSample::from_text(text)).unwrap();
        assert_eq!(
            form.json,
            "{\"up\":{\"type\":\"gauge\",\"samples\":[{\"job\":\"a\\\"b\",\"path\":\"C:\\\\x\",\"value\":1},\
             {\"value\":0,\"timestamp\":1395066363000}]},\"t_bucket\":{\"type\":\"histogram\",\"samples\":[{\"le\":\"+Inf\",\
             \"value\":7}]},\"t_sum\":{\"type\":\"histogram\",\"samples\":[{\"value\":\"NaN\"}]},\"plain\":{\"samples\":[{\"value\":1.50}]}}"
        );
        assert_eq!(form.note, "5 samples of 2 declared metrics, 1 of type gauge, 1 of type histogram");
        let broken = format!("{text}up{{job=\"open 1\n");
        assert!(read(&broken, &TextSample::from_text(&broken)).is_none());
    }
}
