//! P17: five tasks over eight servers, done in three ways: with each server connected directly, through the gate
//! `proxy`, and by one script.
//!
//! Counts the tokens that a model reads and writes (the tool list once per task, then every call and reply), and the
//! round trips. Independent calls share a trip.

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::reference::ReferenceServers;
use super::report::{BenchReport, Bound, ReportRow};
use super::server::BenchServer;
use super::setup::Bench;
use super::stats::micros;
use super::tokens::{BenchTokenCounter, call_texts, list_tools};

/// A question that a model would search with, and the server and tool that it needs.
pub(super) type NeededTool = (&'static str, &'static str, &'static str);

pub(super) type ServerToolCall = (&'static str, &'static str, Value);

pub(super) struct BenchTask {
    pub(super) about: &'static str,
    pub(super) wanted: &'static [NeededTool],
    /// Calls by round trip. A turn builds its calls from the replies to the turn before.
    pub(super) turns: Vec<TaskTurn>,
    pub(super) script: String,
    pub(super) answer: Value,
}

pub(super) type TaskTurn = Box<dyn Fn(&[String]) -> Vec<ServerToolCall>>;

#[derive(Default)]
struct TaskCost {
    texts: Vec<String>,
    trips: usize,
    /// Microseconds spent in tools.
    time: f64,
}

pub(crate) fn run(bench: &Bench, report: &mut BenchReport) -> Result<()> {
    let references = ReferenceServers::new(bench)?;
    let counter = BenchTokenCounter::new(bench)?;
    let names = references.names();
    let mut servers = references.start_each(bench)?;
    let sqlite = names.iter().position(|name| *name == "sqlite").context("no sqlite")?;
    super::tasks::prepare(&references, &mut servers[sqlite])?;
    let lists = servers.iter_mut().map(list_tools).collect::<Result<Vec<_>>>()?;
    let mut proxy = bench.start(&references.gateway(bench, &["proxy"])?)?;
    let mut code = bench.start(&references.gateway(bench, &["proxy", "script"])?)?;
    let list = |list: &[String]| -> Result<usize> { Ok(counter.count(list)?.into_iter().sum()) };
    let lists = [list(&lists)?, list(&[list_tools(&mut proxy)?])?, list(&[list_tools(&mut code)?])?];
    // Search finds only servers that were contacted once; their tool lists are then cached.
    for gateway in [&mut proxy, &mut code] {
        call_texts(gateway, "refresh_mcp_server", json!({}))?;
    }
    let mut totals = [0; 3];
    let mut task_reports = Vec::new();
    for task in super::tasks::all(&references) {
        let mut direct = |(server, tool, arguments): ServerToolCall| {
            let at = names.iter().position(|name| *name == server).context("an unknown server")?;
            call_texts(&mut servers[at], tool, arguments)
        };
        let mut spent = [conversation(&task, &mut direct)?, TaskCost::default(), TaskCost::default()];
        let mut through = |(server, tool, arguments): ServerToolCall| {
            let call = json!({"server": server, "tool": tool, "arguments": arguments});
            call_texts(&mut proxy, "call_tool", call)
        };
        spent[1] = conversation(&task, &mut through)?;
        spent[1].find(&mut proxy, &task)?;
        spent[2] = script(&task, &mut code)?;
        spent[2].find(&mut code, &task)?;
        let mut ways = Vec::new();
        for ((spent, list), total) in spent.iter().zip(lists).zip(&mut totals) {
            let tokens = list + counter.count(&spent.texts)?.into_iter().sum::<usize>();
            *total += tokens;
            let milliseconds = (spent.time / 100.0).round() / 10.0;
            ways.push(json!({"tokens": tokens, "trips": spent.trips, "ms": milliseconds}));
        }
        task_reports
            .push(json!({"task": task.about, "direct": ways[0], "proxy": ways[1], "script": ways[2]}));
    }
    report.fact("tasks", json!(task_reports));
    let [direct, proxied, scripted] = totals;
    for (way, ours, aim) in [("proxy", proxied, 50.0), ("script", scripted, 25.0)] {
        let measurement =
            format!("net tokens of {} tasks over {} servers, {way}", task_reports.len(), names.len());
        let bounds = (Bound::AtMost(100.0), Bound::AtMost(aim));
        report.add(ReportRow::share("P17", &measurement, (ours, direct), task_reports.len(), bounds));
    }
    Ok(())
}

fn conversation(
    task: &BenchTask,
    call: &mut dyn FnMut(ServerToolCall) -> Result<[String; 2]>,
) -> Result<TaskCost> {
    let mut spent = TaskCost::default();
    let mut replies = Vec::new();
    for turn in &task.turns {
        let calls = turn(&replies);
        if calls.is_empty() {
            bail!("'{}' has no calls after {replies:?}", task.about);
        }
        replies.clear();
        spent.trips += 1;
        for tool_call in calls {
            let begin = std::time::Instant::now();
            let reply = call(tool_call).with_context(|| task.about)?;
            spent.time += micros(begin.elapsed());
            replies.push(reply[1].clone());
            spent.texts.extend(reply);
        }
    }
    Ok(spent)
}

fn script(task: &BenchTask, code: &mut BenchServer) -> Result<TaskCost> {
    let begin = std::time::Instant::now();
    let reply = call_texts(code, "run_code", json!({"code": task.script})).with_context(|| task.about)?;
    let time = micros(begin.elapsed());
    // Notes follow the value.
    let value =
        serde_json::Deserializer::from_str(&reply[1]).into_iter::<Value>().next().and_then(Result::ok);
    if value.as_ref() != Some(&task.answer) {
        bail!("'{}' returned {}, expected {}", task.about, reply[1], task.answer);
    }
    Ok(TaskCost { texts: reply.to_vec(), trips: 1, time })
}

impl TaskCost {
    /// Adds the cost of finding the tools: one trip with a search per tool, then one with all schemas.
    fn find(&mut self, gateway: &mut BenchServer, task: &BenchTask) -> Result<()> {
        for (question, _, tool) in task.wanted {
            let reply = call_texts(gateway, "search_tools", json!({"query": question, "top_k": 5}))?;
            if !reply[1].contains(tool) {
                bail!("'{question}' does not find {tool}: {}", reply[1]);
            }
            self.texts.extend(reply);
        }
        for (_, server, tool) in task.wanted {
            let named = json!({"server": server, "tool": tool});
            self.texts.extend(call_texts(gateway, "get_tool_schema", named)?);
        }
        self.trips += 2;
        Ok(())
    }
}
