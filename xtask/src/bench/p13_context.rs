//! P13 and P15: tokens that an agent spends on eight servers, through the gate `proxy` and directly. P13 counts the
//! tool list; P15 counts a task of five questions with every search, schema, call and reply.

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::reference::ReferenceServers;
use super::report::{BenchReport, Bound, ReportRow};
use super::setup::Bench;
use super::tokens::{BenchTokenCounter, call_texts, list_tools};

/// Questions, each with the server, tool and arguments that answer it. `{place}` is the servers' directory.
const TASK: [(&str, &str, &str, &str); 5] = [
    (
        "read the text of a file on disk",
        "filesystem",
        "read_text_file",
        r#"{"path":"{place}/files/note.txt"}"#,
    ),
    ("show the commits of a repository", "git", "git_log", r#"{"repo_path":"{place}/repository"}"#),
    (
        "convert a time between time zones",
        "time",
        "convert_time",
        r#"{"source_timezone":"UTC","time":"12:00","target_timezone":"Asia/Tokyo"}"#,
    ),
    (
        "remember a person in the knowledge graph",
        "memory",
        "create_entities",
        r#"{"entities":[{"name":"Ada","entityType":"person","observations":["likes engines"]}]}"#,
    ),
    ("which tables does the database have", "sqlite", "list_tables", "{}"),
];

pub(crate) fn run(bench: &Bench, report: &mut BenchReport) -> Result<()> {
    let references = ReferenceServers::new(bench)?;
    let counter = BenchTokenCounter::new(bench)?;
    let mut servers = references.start_each(bench)?;
    let lists = servers.iter_mut().map(list_tools).collect::<Result<Vec<_>>>()?;
    let direct: usize = counter.count(&lists)?.into_iter().sum();
    let mut gateway = bench.start(&references.gateway(bench, &["proxy"])?)?;
    let proxied: usize = counter.count(&[list_tools(&mut gateway)?])?.into_iter().sum();
    let measurement = format!("tokens of tools/list, {} servers", references.len());
    let bounds = (Bound::AtMost(11.0), Bound::AtMost(3.0));
    report.add(ReportRow::share("P13", &measurement, (proxied, direct), 1, bounds));
    // Search finds only servers that were contacted once; their tool lists are then cached.
    call_texts(&mut gateway, "refresh_mcp_server", json!({}))?;
    let place = references.folder().display().to_string();
    let (mut calls, mut discovery, mut searches) = (Vec::new(), Vec::new(), Vec::new());
    for (question, server, tool, arguments) in TASK {
        let reply = call_texts(&mut gateway, "search_tools", json!({"query": question}))?;
        if !reply[1].contains(tool) {
            bail!("'{question}' does not find {tool}: {}", reply[1]);
        }
        searches.push(reply[1].clone());
        discovery.extend(reply);
        let named = json!({"server": server, "tool": tool});
        discovery.extend(call_texts(&mut gateway, "get_tool_schema", named.clone())?);
        let arguments: Value = serde_json::from_str(&arguments.replace("{place}", &place))?;
        let mut call = named;
        call["arguments"] = arguments;
        calls.extend(call_texts(&mut gateway, "call_tool", call)?);
    }
    let calls: usize = counter.count(&calls)?.into_iter().sum();
    let discovery: usize = counter.count(&discovery)?.into_iter().sum();
    let measurement =
        format!("net tokens of a task, {} questions over {} servers", TASK.len(), references.len());
    let tokens = (proxied + discovery + calls, direct + calls);
    let bounds = (Bound::AtMost(100.0), Bound::AtMost(50.0));
    report.add(ReportRow::share("P15", &measurement, tokens, 1, bounds));
    // Assumes that no search has to be repeated.
    let break_even = (direct - proxied.min(direct)) * TASK.len() / discovery.max(1);
    let mut searches = counter.count(&searches)?;
    searches.sort_unstable();
    let fact = json!({"direct_list": direct, "proxy_list": proxied, "discovery": discovery, "calls": calls,
        "search_reply_p50": searches[searches.len() / 2], "questions": TASK.len(),
        "break_even_questions": break_even});
    report.fact("context", fact);
    Ok(())
}
