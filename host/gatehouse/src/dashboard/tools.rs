//! All tools of all gates and servers in one table, and one tool.

use std::{cmp::Reverse, collections::HashMap};

use gatehouse_core::{
    SourceId,
    ports::{
        Clock as _,
        ledger::{MetricsFilter, StoredCallFilter, ToolMetrics},
    },
};
use serde_json::json;

use super::{
    Query,
    charts::{Week, ago, duration},
    paged,
    presets::{deny_pattern, preset_switch},
    segment,
    snapshot::{KnownTool, Snapshot},
    tool_forms::{describe_section, try_section},
    view::{Cell, Content, Field, FieldKind, Form, Page, Section, Table},
};
use crate::{compose::SystemClock, plain_error::PlainError};

/// Days of the figures.
const DAYS: u32 = 30;

/// Recent failures on the page of a tool.
const MAX_FAILURES: usize = 10;

pub(super) const METRICS_HEADER: [&str; 7] = ["Tool", "Of", "Calls", "Failed", "p50", "p95", "Last"];

/// Columns that sort, with their keys.
const COLUMNS: [(&str, &str); 9] = [
    ("Tool", "name"),
    ("Of", "source"),
    ("Effect", "effect"),
    ("Calls", "calls"),
    ("Failed", "failed"),
    ("p95", "p95"),
    ("Tokens", "tokens"),
    ("Listed by", "presets"),
    ("Last", "last"),
];

pub(super) const fn failed(tool: &ToolMetrics) -> u64 {
    tool.tool_errors + tool.transport_errors
}

fn ms(time: Option<f64>) -> Cell {
    Cell::number(time.map_or("-".into(), |ms| duration((ms * 1e3) as u64)))
}

fn tool_link(source: &SourceId, tool: &str) -> Cell {
    Cell::link(tool, format!("/tools/{}/{}", segment(source.name()), segment(tool)))
}

pub(super) fn metrics_row(tool: &ToolMetrics, now: u64) -> Vec<Cell> {
    vec![
        tool_link(&tool.source, &tool.tool),
        Cell::from(tool.source.name()),
        Cell::number(tool.calls),
        Cell::number(failed(tool)).tone(if failed(tool) > 0 { "bad" } else { "" }),
        ms(tool.p50_ms),
        ms(tool.p95_ms),
        Cell::from(tool.last_called.map_or("never".into(), |at| ago(now, at))),
    ]
}

struct ToolUse<'a> {
    tool: &'a KnownTool,
    /// `None` without calls.
    metrics: Option<&'a ToolMetrics>,
}

impl ToolUse<'_> {
    fn count(&self, count: impl Fn(&ToolMetrics) -> u64) -> u64 {
        self.metrics.map_or(0, count)
    }

    fn cells(&self, now: u64) -> Vec<Cell> {
        let KnownTool { source, spec, effect, tokens, presets, is_quarantined } = self.tool;
        let state = if *is_quarantined { " (quarantined)" } else { "" };
        let name = tool_link(source, &spec.name);
        let last = self.metrics.and_then(|metrics| metrics.last_called);
        let failures = self.count(failed);
        vec![
            Cell { text: format!("{}{state}", name.text), ..name },
            Cell::from(source.name()),
            Cell::from(effect.as_str()),
            Cell::number(self.count(|metrics| metrics.calls)),
            Cell::number(failures).tone(if failures > 0 { "bad" } else { "" }),
            ms(self.metrics.and_then(|metrics| metrics.p95_ms)),
            Cell::number(tokens),
            Cell::number(presets.len()),
            match last {
                Some(at) => Cell::from(ago(now, at)),
                None => Cell::from("unused").tone("warn"),
            },
        ]
    }
}

pub(super) async fn page(snapshot: &Snapshot, query: &Query) -> Result<Page, PlainError> {
    let metrics = snapshot
        .composition
        .stores
        .metrics(&MetricsFilter { days: Some(DAYS), ..MetricsFilter::default() })
        .await?;
    let by_tool: HashMap<(&SourceId, &str), &ToolMetrics> =
        metrics.iter().map(|metrics| ((&metrics.source, metrics.tool.as_str()), metrics)).collect();
    let words = query.get("q").to_lowercase();
    let (only_unused, source, preset) =
        (query.get("unused") == "1", query.get("source"), query.get("preset"));
    let matches = |entry: &ToolUse<'_>| {
        let KnownTool { source: id, spec, .. } = entry.tool;
        let has = |word: &str| {
            [&*spec.name, id.name(), &spec.description].iter().any(|text| text.to_lowercase().contains(word))
        };
        (source.is_empty() || **id.name() == *source)
            && (preset.is_empty() || entry.tool.presets.iter().any(|name| name == preset))
            && (!only_unused || entry.metrics.is_none())
            && words.split_whitespace().all(has)
    };
    let entries = snapshot
        .tools
        .iter()
        .map(|tool| ToolUse { tool, metrics: by_tool.get(&(&tool.source, &*tool.spec.name)).copied() });
    let mut entries: Vec<ToolUse<'_>> = entries.filter(matches).collect();
    let sort = COLUMNS.iter().map(|(_, key)| *key).find(|key| *key == query.get("sort")).unwrap_or("calls");
    entries.sort_by_cached_key(|entry| {
        let KnownTool { source, spec, effect, tokens, presets, .. } = entry.tool;
        let number = match sort {
            "calls" => entry.count(|metrics| metrics.calls),
            "failed" => entry.count(failed),
            "p95" => entry.count(|metrics| metrics.p95_ms.map_or(0, |ms| (ms * 1e3) as u64)),
            "tokens" => *tokens as u64,
            "presets" => presets.len() as u64,
            "last" => entry.count(|metrics| metrics.last_called.unwrap_or_default()),
            "effect" => *effect as u64,
            _ => 0,
        };
        let source = if sort == "name" { "" } else { source.name() };
        (Reverse(number), source.to_owned(), spec.name.clone())
    });
    let (count, unused) = (entries.len(), entries.iter().filter(|entry| entry.metrics.is_none()).count());
    let tokens: usize = entries.iter().map(|entry| entry.tool.tokens).sum();
    let (entries, links, place) = paged(entries, "/tools", query);
    let now = SystemClock.now_ms();
    // Only the tools of a preset can be switched there.
    let switches = preset_switch(snapshot, preset, "off", "Switch the selected tools off");
    let rows = entries.iter().map(|entry| {
        let mut cells = entry.cells(now);
        if switches.is_some() {
            let name = std::mem::take(&mut cells[0]);
            cells[0] = name
                .checkbox("tool", deny_pattern(snapshot, preset, &entry.tool.source, &entry.tool.spec.name));
        }
        cells
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let header = COLUMNS.map(|(name, key)| {
        let mark = if key == sort { " ▾" } else { "" };
        Cell {
            text: format!("{name}{mark}"),
            ..Cell::link("", format!("/tools?{}", query.with("sort", key)))
        }
    });
    let form = Form {
        action: "/tools".into(),
        fields: vec![
            Field::text("q", "Search all tools", query.get("q")),
            Field::text("source", "Server or gate", source),
            Field {
                kind: FieldKind::Switch,
                ..Field::text("unused", "Only unused ones", query.get("unused"))
            },
            Field { kind: FieldKind::Hidden, ..Field::text("sort", "", sort) },
            Field { kind: FieldKind::Hidden, ..Field::text("preset", "", preset) },
        ],
        buttons: vec![("", String::new(), "Search".into())],
        ..Form::default()
    };
    let about = format!(
        "{count} tools, {unused} of them unused in {DAYS} days; {tokens} tokens if all were listed. {place}"
    );
    let content = match rows.is_empty() {
        true => Content::Nothing,
        false => Content::Table(Table { label: "Tools".into(), header: header.into(), rows, bulk: switches }),
    };
    let list = Section { links, ..Section::new("", content).about(about) };
    Ok(Page::new("Tools", "/tools", vec![Section::new("", Content::Form(form)), list]))
}

/// Returns the page of a tool. `None` if no gate or server has it.
pub(super) async fn tool(
    snapshot: &Snapshot,
    source: &str,
    tool: &str,
    week: &Week,
) -> Result<Option<Page>, PlainError> {
    let Some(KnownTool { source: id, spec, effect, tokens, presets, is_quarantined }) =
        snapshot.tool(source, tool)
    else {
        return Ok(None);
    };
    let stores = &snapshot.composition.stores;
    let filter = MetricsFilter { source: Some(id.clone()), tool: Some(tool.to_owned()), days: Some(DAYS) };
    let (metrics, now) = (stores.metrics(&filter).await?, SystemClock.now_ms());
    let mut facts = vec![
        ("Of", Cell::from(id.to_string())),
        ("Effect", Cell::from(effect.as_str())),
        ("Tokens in lists", Cell::number(tokens)),
        (
            "Listed by",
            Cell::from(if presets.is_empty() { "no preset".to_owned() } else { presets.join(", ") }),
        ),
    ];
    if *is_quarantined {
        facts.push(("State", Cell::link("quarantined: review the change", "/servers#changes").tone("warn")));
    }
    if let Some(metrics) = metrics.first() {
        let row = metrics_row(metrics, now);
        facts.extend(METRICS_HEADER.into_iter().zip(row).skip(2));
    }
    let failures = StoredCallFilter {
        source: Some(source.to_owned()),
        tool: Some(globset::escape(tool)),
        outcome: Some("failed".into()),
        limit: MAX_FAILURES,
        ..StoredCallFilter::default()
    };
    let failures = stores.recorded.calls(&failures).await?;
    let rows = failures.iter().rev().map(|call| {
        vec![
            Cell::link(ago(now, call.at), format!("/calls/{}", segment(&call.details.id))),
            Cell::from(&call.outcome),
            Cell::long(call.error.as_deref().unwrap_or_default()),
        ]
    });
    let table = Content::table(
        "Failures",
        &["Ended", "Outcome", "Error"],
        rows.collect(),
        "No failed call is stored.",
    );
    let schema = json!(*spec.input_schema);
    let mut sections = vec![
        Section::new("", Content::Facts(facts)).about(Cell::long(&spec.description).text),
        Section::new("Last failures", table),
        Section::new("Arguments", Content::Text(Cell::lines(&format!("{schema:#}")).text)),
    ];
    if !presets.is_empty() {
        sections.push(try_section(source, tool, spec, presets));
        sections.push(describe_section(source, tool, presets));
    }
    sections.extend(week.sections());
    let title = format!("{} of {}", Cell::from(tool).text, Cell::from(source).text);
    Ok(Some(Page::new(title, "/tools", sections)))
}
