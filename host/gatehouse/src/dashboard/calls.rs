//! Single calls, and one call with its times.

use gatehouse_core::{
    ports::{Clock as _, ledger::StoredCallFilter},
    utc_time::rfc3339,
};

use super::{
    Query, segment,
    snapshot::Snapshot,
    view::{Cell, Content, Field, FieldKind, Form, Page, Section},
};
use crate::{
    cli::{call_facts, outcome_words},
    compose::SystemClock,
    plain_error::PlainError,
};

const PAGE_LEN: usize = 50;

/// Spans that the filter offers, in words and in milliseconds.
const SPANS: [(&str, u64); 4] =
    [("all", u64::MAX), ("last hour", 3_600_000), ("last day", 86_400_000), ("last week", 604_800_000)];

pub(super) async fn page(snapshot: &Snapshot, query: &Query) -> Result<Page, PlainError> {
    let given = |name: &str| Some(query.get(name)).filter(|value| !value.is_empty()).map(str::to_owned);
    let span = SPANS.iter().find(|(word, _)| *word == query.get("time")).map_or(u64::MAX, |(_, span)| *span);
    let filter = StoredCallFilter {
        principal: given("principal"),
        source: given("source"),
        tool: given("tool"),
        outcome: given("outcome").filter(|word| *word != "all"),
        since: SystemClock.now_ms().saturating_sub(span),
        before: query.get("before").parse().ok(),
        limit: PAGE_LEN + 1,
        ..StoredCallFilter::default()
    };
    let mut calls = snapshot.composition.stores.recorded.calls(&filter).await?;
    let has_more = calls.len() > PAGE_LEN;
    if has_more {
        calls.remove(0);
    }
    let oldest = calls.first().map(|call| call.number);
    let rows = calls.iter().rev().map(|call| {
        let details = &call.details;
        let time = rfc3339(call.at);
        let saved = details.tokens_before.saturating_sub(call.tokens_out);
        vec![
            Cell::link(time, format!("/calls/{}", segment(&details.id))),
            Cell::from(&details.principal),
            Cell::from(&details.client),
            Cell::link(call.source.name(), format!("/calls?{}", query.with("source", call.source.name()))),
            Cell::link(&call.tool, format!("/tools/{}/{}", segment(call.source.name()), segment(&call.tool))),
            Cell::from(&call.outcome).tone(if call.outcome == "ok" { "" } else { "bad" }),
            Cell::number(super::charts::duration(details.total_us)),
            Cell::number(call.tokens_out),
            Cell::number(saved),
        ]
    });
    let header = ["Ended", "Principal", "Client", "Of", "Tool", "Outcome", "Time", "Tokens", "Saved"];
    let table = Content::table("Calls, newest first", &header, rows.collect(), "No call matches.");
    let text = |name: &str, label: &str| Field::text(name, label, query.get(name));
    let choice = |name: &str, label: &str, options: Vec<String>| Field {
        kind: FieldKind::Choice(options),
        ..Field::text(name, label, query.get(name))
    };
    let outcomes = ["all".to_owned()].into_iter().chain(outcome_words().map(str::to_owned)).collect();
    let form = Form {
        action: "/calls".into(),
        fields: vec![
            text("principal", "Principal"),
            text("source", "Server or gate"),
            text("tool", "Tool"),
            choice("outcome", "Outcome", outcomes),
            choice("time", "Time", SPANS.iter().map(|(word, _)| (*word).to_owned()).collect()),
            Field { kind: FieldKind::Switch, ..Field::text("live", "Follow", query.get("live")) },
        ],
        buttons: vec![("", String::new(), "Show".into())],
        ..Form::default()
    };
    let mut list = Section::new("", table);
    if let (true, Some(oldest)) = (has_more, oldest) {
        list.links
            .push(Cell::link("Older calls", format!("/calls?{}", query.with("before", &oldest.to_string()))));
    }
    if filter.before.is_some() {
        list.links.push(Cell::link("Newest calls", format!("/calls?{}", query.with("before", ""))));
    }
    let mut page = Page::new("Calls", "/calls", vec![Section::new("", Content::Form(form)), list]);
    if snapshot.composition.stores.ledger.is_none() {
        page.notices
            .push("Calls are not recorded: set enabled = true under [ledger] in presets.toml.".into());
    }
    page.refresh = if query.get("live") == "1" { 2 } else { 0 };
    Ok(page)
}

/// Returns the page of a call. `None` if it is not stored.
pub(super) async fn call(snapshot: &Snapshot, id: &str) -> Result<Option<Page>, PlainError> {
    let filter = StoredCallFilter { id: Some(id.to_owned()), limit: 1, ..StoredCallFilter::default() };
    let calls = snapshot.composition.stores.recorded.calls(&filter).await?;
    Ok(calls.first().map(|call| {
        let facts = call_facts(call).into_iter().map(|(name, value)| (name, Cell::long(&value))).collect();
        let mut section = Section::new("", Content::Facts(facts));
        if snapshot.composition.config.ledger.bodies {
            let button = [("", "", "Show arguments and reply (recorded in the audit)")];
            section.links.push(Cell::form(Form::post("/calls/bodies", &[("id", id)], &button)));
        }
        Page::new("Call", "/calls", vec![section])
    }))
}
