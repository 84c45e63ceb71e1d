//! P20: times of artifacts and values of gates, in files and on PostgreSQL, also with a millisecond of network delay.
//! Measured by `bench-quality` at the ports that gates use, without a gateway.

use std::time::Duration;

use anyhow::{Context, Result};

use super::delay::delayed_port;
use super::quality;
use super::report::{BenchReport, Bound, ReportRow};
use super::setup::Bench;
use crate::servers::TestServer;
use crate::workspace::Workspace;

/// Network delay of each message to the server.
pub(super) const DELAY: Duration = Duration::from_millis(1);

/// Quantities with their names in the output, their units, and the required and target bounds in files.
const QUANTITIES: [(&str, &str, &str, Bound, Bound); 5] = [
    ("store a text of 20 KB, p50", "put_p50_ms", "ms", Bound::AtMost(100.0), Bound::AtMost(20.0)),
    ("read it, p50", "read_p50_ms", "ms", Bound::AtMost(100.0), Bound::AtMost(5.0)),
    ("add to a number of a gate, p50", "add_p50_ms", "ms", Bound::AtMost(100.0), Bound::AtMost(20.0)),
    ("texts a second, 12 writers", "puts_per_s", "1/s", Bound::AtLeast(50.0), Bound::AtLeast(200.0)),
    ("additions a second, 12 writers", "adds_per_s", "1/s", Bound::AtLeast(50.0), Bound::AtLeast(200.0)),
];

pub(crate) fn run(_: &Bench, report: &mut BenchReport) -> Result<()> {
    let server = TestServer::postgres()?;
    for (place, url) in places(&server)? {
        let workspace = Workspace::load()?;
        let mut command = quality::tool(&workspace)?;
        let measured = quality::json_output(command.arg("--store-times").args(&url))?;
        let n = measured["n"].as_u64().unwrap_or_default() as usize;
        for (what, name, unit, reach, aim) in QUANTITIES {
            let value = measured[name].as_f64().with_context(|| format!("no {name} measured"))?;
            report.add(ReportRow::value("P20", format!("{what}, {place}"), (value, unit), n, (reach, aim)));
        }
    }
    Ok(())
}

/// Returns the engines with their names, each with the address of a database of its own.
pub(super) fn places(server: &TestServer) -> Result<[(&'static str, Option<String>); 3]> {
    let (_, url) = server.environment.first().context("the server has no address")?;
    let url = url.to_string_lossy();
    let port = url.rsplit(':').next().and_then(|rest| rest.split('/').next()?.parse().ok());
    let delayed = delayed_port(port.context("the address has no port")?, DELAY)?;
    let at = |port: u16| format!("postgres://gatehouse@127.0.0.1:{port}/postgres");
    Ok([
        ("files", None),
        ("PostgreSQL", Some(url.clone().into_owned())),
        ("PostgreSQL and 1 ms", Some(at(delayed))),
    ])
}
