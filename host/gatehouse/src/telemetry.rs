//! The log: on standard error, for people. Standard output belongs to the protocol. A thread of its own
//! writes, so that a client that does not read its host's log does not stop the host; lines that it
//! leaves waiting too long are dropped.

use std::{
    io::{self, Write},
    sync::OnceLock,
};

use clap::ValueEnum;
use gatehouse_core::{hidden_chars::is_hidden, pipeline::CALL_LOG_TARGET};
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::{EnvFilter, fmt};

/// What is logged where nobody says otherwise.
const DEFAULT_FILTER: &str = "warn,gatehouse=info,rmcp=error,rmcp::service=off";

/// Lines that may wait to be written.
const MAX_BUFFERED_LINES: usize = 1_024;

/// The protocol library logs whole messages, arguments included; that happens only to those who ask for
/// it by name. For its service a client that leaves is an error, a line for each reply that finds nobody.
fn quiet_rmcp(filter: &str) -> String {
    if filter.contains("rmcp") { filter.into() } else { format!("{filter},rmcp=error,rmcp::service=off") }
}

/// What a line of the log looks like.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// A JSON object a line, for programs.
    Json,
}

static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// Whether everything on standard error is to be JSON.
pub(crate) fn is_json() -> bool {
    FORMAT.get() == Some(&LogFormat::Json)
}

/// How the log is kept.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) format: LogFormat,
    /// Whether each call gets a line, whatever the filter says.
    pub(crate) calls: bool,
    /// What is logged, whatever the environment says.
    pub(crate) filter: Option<&'static str>,
}

/// Writer of whole lines that replaces characters no reader sees: names and messages of servers and gates reach the log, and
/// U+202E would turn around what follows it.
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

/// Starts the log with this filter; a filter that does not parse is said and the default taken.
/// Lines are written as long as what it returns is kept.
pub(crate) fn start(filter: Option<&str>, options: Options) -> WorkerGuard {
    let completed = |filter: &str| {
        let quiet = quiet_rmcp(filter);
        if options.calls { format!("{quiet},{CALL_LOG_TARGET}=info") } else { quiet }
    };
    let wanted = options
        .filter
        .or(filter)
        .map(|filter| EnvFilter::try_new(completed(filter)).map_err(|error| (filter, error)));
    let (filter, complaint) = match wanted {
        Some(Ok(filter)) => (filter, None),
        Some(Err((filter, error))) => (
            EnvFilter::new(completed(DEFAULT_FILTER)),
            Some(format!("GATEHOUSE_LOG '{filter}' is not a filter: {error}")),
        ),
        None => (EnvFilter::new(completed(DEFAULT_FILTER)), None),
    };
    // The default waits for 128,000 lines, in memory that is laid out at the start.
    let queue = NonBlockingBuilder::default().buffered_lines_limit(MAX_BUFFERED_LINES);
    let (writer, guard) = queue.finish(io::stderr());
    let writer = move || VisibleWriter(writer.clone());
    let log = fmt().with_env_filter(filter).with_writer(writer).with_ansi(false).with_target(false);
    // Fails only where a log was started before, which is then the log.
    let _ = match options.format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.json().flatten_event(true).with_current_span(false).try_init(),
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
    fn a_line_of_the_log_hides_nothing() {
        let mut log = VisibleWriter(Vec::new());
        log.write_all("WARN tool=\"gpj.\u{202e}exe\" é\n".as_bytes()).expect("written");
        log.write_all(b"INFO plain \xff\n").expect("written");
        assert_eq!(
            log.0,
            [&b"WARN tool=\"gpj.\xef\xbf\xbdexe\" \xc3\xa9\n"[..], b"INFO plain \xff\n"].concat()
        );
    }
}
