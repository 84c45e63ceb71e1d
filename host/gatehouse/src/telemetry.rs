//! The log, on standard error. Standard output belongs to the protocol.
//!
//! A separate thread writes it, so that a client that stops reading its host's log does not block the host. Lines are
//! dropped when the queue is full.

use std::{
    io::{self, Write},
    sync::OnceLock,
};

use clap::ValueEnum;
use gatehouse_core::{hidden_chars::is_hidden, pipeline::CALL_LOG_TARGET};
use gatehouse_telemetry::{CallLabels, call_labels};
use serde_json::{Map, Value};
use tracing::{Event, Subscriber};
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::{
    EnvFilter, fmt,
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

/// Filter of a host.
const HOST_FILTER: &str = "warn,gatehouse=info,rmcp=error,rmcp::service=off";

/// Filter of other commands, which print what they do and what fails.
const COMMAND_FILTER: &str = "warn,gatehouse_sandbox=error,rmcp=error,rmcp::service=off";

const MAX_BUFFERED_LINES: usize = 1_024;

/// Silences `rmcp` unless the filter names it: it logs complete messages with their arguments. Its service logs an
/// error when a client disconnects, and a line for each reply without a receiver.
fn quiet_rmcp(filter: &str) -> String {
    let names_rmcp = filter.split(',').any(|directive| {
        let target = directive.trim().split(['=', '[']).next().unwrap_or_default();
        target == "rmcp" || target.starts_with("rmcp::")
    });
    if names_rmcp { filter.into() } else { format!("{filter},rmcp=error,rmcp::service=off") }
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object per line, for programs
    Json,
}

static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// Returns whether all output on standard error must be JSON.
pub(crate) fn is_json() -> bool {
    FORMAT.get() == Some(&LogFormat::Json)
}

static LOST_LINES: OnceLock<ErrorCounter> = OnceLock::new();

/// Returns how many lines were dropped because the queue was full.
pub(crate) fn lost_lines() -> usize {
    LOST_LINES.get().map_or(0, ErrorCounter::dropped_lines)
}

/// Returns the name of this replica of a host: the name of the machine, which is that of the pod in Kubernetes.
pub(crate) fn replica_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) format: LogFormat,
    /// True if every call is logged, independent of the filter.
    pub(crate) calls: bool,
    pub(crate) filter: Option<&'static str>,
    /// True for a command that serves.
    pub(crate) is_host: bool,
}

/// Line writer that replaces hidden characters. Log lines contain text from servers and gates, in which U+202E would
/// reverse the rest of the line.
struct VisibleWriter<W>(W);

impl<W: Write> Write for VisibleWriter<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match str::from_utf8(line) {
            Ok(text) if !line.is_ascii() && text.contains(is_hidden) => {
                self.0.write_all(text.replace(is_hidden, "\u{fffd}").as_bytes())?;
            }
            _ => self.0.write_all(line)?,
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A format that adds the call to each line, and in JSON the replica.
struct LabeledFormat<F> {
    format: F,
    /// `None` for text.
    replica: Option<String>,
}

impl<S, N, F> FormatEvent<S, N> for LabeledFormat<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> std::fmt::Result {
        let mut line = String::new();
        self.format.format_event(context, Writer::new(&mut line), event)?;
        let labels = call_labels();
        let line = match &self.replica {
            None => labels.map_or_else(|| line.clone(), |labels| with_labels(&line, &labels)),
            Some(replica) => with_members(&line, replica, labels.as_deref()).unwrap_or(line),
        };
        writer.write_str(&line)
    }
}

/// Returns a line of text with the call, its principal and its trace.
fn with_labels(line: &str, labels: &CallLabels) -> String {
    let mut text = format!("{} call={}", line.trim_end(), labels.call);
    if let Some(principal) = labels.principal.get() {
        text += &format!(" principal={principal}");
    }
    if let Some((trace, _)) = labels.trace.ids() {
        text += &format!(" trace={trace}");
    }
    text + "\n"
}

/// Returns a line of JSON with the replica, the call, its principal and its trace, under the names of OpenTelemetry if
/// it has some. `None` if the line is not an object.
fn with_members(line: &str, replica: &str, labels: Option<&CallLabels>) -> Option<String> {
    let mut members: Map<String, Value> = serde_json::from_str(line).ok()?;
    for (own, convention) in [("tool", "gen_ai.tool.name"), ("call", "gatehouse.call.id")] {
        if let Some(value) = members.shift_remove(own) {
            members.insert(convention.into(), value);
        }
    }
    members.insert("service.instance.id".into(), replica.into());
    if let Some(labels) = labels {
        members.insert("gatehouse.call.id".into(), labels.call.to_string().into());
        if let Some(principal) = labels.principal.get() {
            members.insert("enduser.pseudo.id".into(), (&**principal).into());
        }
        if let Some((trace, span)) = labels.trace.ids() {
            members.insert("trace_id".into(), trace.into());
            members.insert("span_id".into(), span.into());
        }
    }
    Some(Value::Object(members).to_string() + "\n")
}

/// Starts the log. Falls back to the default filter, with a warning, if `filter` does not parse. The log ends when the
/// returned guard is dropped.
pub(crate) fn start(filter: Option<&str>, options: Options) -> WorkerGuard {
    let completed = |filter: &str| {
        let quiet = quiet_rmcp(filter);
        if options.calls { format!("{quiet},{CALL_LOG_TARGET}=info") } else { quiet }
    };
    let default_filter = if options.is_host { HOST_FILTER } else { COMMAND_FILTER };
    let directives = options.filter.or(filter).unwrap_or(default_filter);
    let (filter, complaint) = match EnvFilter::try_new(completed(directives)) {
        Ok(filter) => (filter, None),
        Err(error) => (
            EnvFilter::new(completed(default_filter)),
            Some(format!("GATEHOUSE_LOG '{directives}' is not a filter: {error}")),
        ),
    };
    // The default is 128,000 lines, whose memory is allocated at the start.
    let queue = NonBlockingBuilder::default().buffered_lines_limit(MAX_BUFFERED_LINES);
    let (writer, guard) = queue.finish(io::stderr());
    let _ = LOST_LINES.set(writer.error_counter());
    let writer = move || VisibleWriter(writer.clone());
    let log = fmt().with_env_filter(filter).with_writer(writer).with_ansi(false).with_target(false);
    // Fails only if a log is already started, which then stays in use.
    let _ = match options.format {
        LogFormat::Text => log.map_event_format(|format| LabeledFormat { format, replica: None }).try_init(),
        LogFormat::Json => {
            let log = log.json().flatten_event(true).with_current_span(false);
            log.map_event_format(|format| LabeledFormat { format, replica: Some(replica_name()) }).try_init()
        }
    };
    let _ = FORMAT.set(options.format);
    if let Some(complaint) = complaint {
        tracing::warn!("{complaint}");
    }
    guard
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_of_log_lines_are_replaced() {
        let mut log = VisibleWriter(Vec::new());
        log.write_all("WARN tool=\"gpj.\u{202e}exe\" é\n".as_bytes()).expect("written");
        log.write_all(b"INFO plain \xff\n").expect("written");
        assert_eq!(
            log.0,
            [&b"WARN tool=\"gpj.\xef\xbf\xbdexe\" \xc3\xa9\n"[..], b"INFO plain \xff\n"].concat()
        );
    }

    #[test]
    fn rmcp_is_quiet_unless_the_filter_names_it() {
        for filter in ["debug", "my_rmcp_x=debug", "rmcp_other=debug"] {
            assert_eq!(quiet_rmcp(filter), format!("{filter},rmcp=error,rmcp::service=off"));
        }
        for filter in ["rmcp=debug", "warn, rmcp::service=debug", "rmcp[call]=trace"] {
            assert_eq!(quiet_rmcp(filter), filter);
        }
    }
}
