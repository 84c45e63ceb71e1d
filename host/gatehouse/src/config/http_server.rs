//! `[http]`, validated. The default number of connections reserves descriptors for databases, gates' files and reloads.

use gatehouse_sandbox::parse_duration;
use gatehouse_wire::serve::{HostName, HttpSettings, MAX_CONNECTIONS, SettingError, WebOrigin, parse_proxy};

use super::{ConfigError, ConfigText, TextValue, raw::HttpServer};

/// Descriptors reserved for everything but connections.
const RESERVED_DESCRIPTORS: u64 = 256;

/// Minimum of the default, even if the open-file limit is lower.
const MIN_CONNECTIONS: u64 = 8;

pub(super) fn validate(text: &ConfigText, raw: &HttpServer) -> Result<HttpSettings, ConfigError> {
    let open_files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let mut settings = HttpSettings { connections: connections(open_files), ..HttpSettings::default() };
    settings.hosts = all(text, &raw.allowed_hosts, HostName::parse)?;
    settings.origins = all(text, &raw.allowed_origins, WebOrigin::parse)?;
    settings.trusted_proxies = all(text, &raw.trusted_proxies, parse_proxy)?;
    if let Some(connections) = &raw.connections {
        settings = text.at(connections, settings.with_connections(**connections))?;
    }
    for (name, given) in [
        ("header_timeout", &raw.header_timeout),
        ("body_timeout", &raw.body_timeout),
        ("write_timeout", &raw.write_timeout),
        ("idle_timeout", &raw.idle_timeout),
        ("drain", &raw.drain),
    ] {
        let Some(time) = given else { continue };
        let parsed = text.at(time, parse_duration(time))?;
        settings = text.at(time, settings.with_timeout(name, parsed))?;
    }
    Ok(settings)
}

fn all<T>(
    text: &ConfigText,
    values: &[TextValue<String>],
    parse: fn(&str) -> Result<T, SettingError>,
) -> Result<Vec<T>, ConfigError> {
    values.iter().map(|value| text.at(value, parse(value))).collect()
}

/// Returns the default number of connections: four fifths of half a low open-file limit, or of all but the reserve of a
/// high one. The last fifth is for connections that wait for a place. `None` is unlimited.
fn connections(open_files: Option<u64>) -> usize {
    let connections_for =
        |files: u64| (files.saturating_sub(RESERVED_DESCRIPTORS.min(files / 2)) / 5 * 4).max(MIN_CONNECTIONS);
    let limit =
        open_files.map_or(usize::MAX, |files| usize::try_from(connections_for(files)).unwrap_or(usize::MAX));
    limit.min(MAX_CONNECTIONS)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::{Env, tests};

    #[test]
    fn connections_leave_descriptors_for_everything_else() {
        assert_eq!(connections(Some(1_024)), 612);
        assert_eq!(connections(Some(256)), 100);
        assert_eq!(connections(Some(10)), 8);
        assert_eq!(connections(Some(1 << 20)), 1_000);
        assert_eq!(connections(None), 1_000);
    }

    #[test]
    fn a_block_becomes_settings() {
        let block = "allowed_hosts = [\"host.docker.internal\"]\nallowed_origins = [\"http://localhost:6274\"]\nconnections = 50\nheader_timeout = \"2 s\"\nidle_timeout = \"1 min\"\ndrain = \"5 s\"";
        let config = tests::parse(&format!("[http]\n{block}\n"), &Env::default());
        let settings = config.expect("valid").http;
        assert_eq!(settings.hosts, [HostName::parse("host.docker.internal").expect("a host")]);
        assert_eq!(settings.origins, [WebOrigin::parse("http://localhost:6274").expect("an origin")]);
        assert_eq!((settings.connections, settings.header_timeout), (50, Duration::from_secs(2)));
        assert_eq!(
            (settings.idle_timeout, settings.drain),
            (Duration::from_secs(60), Duration::from_secs(5))
        );
        assert_eq!(settings.write_timeout, HttpSettings::default().write_timeout);
    }

    #[test]
    fn every_mistake_has_its_place() {
        let cases = [
            ("allowed_hosts = [\"a/b\"]", ":2:18: invalid host 'a/b'"),
            ("allowed_origins = [\"*\"]", ":2:20: invalid origin '*'"),
            ("trusted_proxies = [\"10.0.0.0/33\"]", ":2:20: invalid proxy '10.0.0.0/33'"),
            ("connections = 2", ":2:15: connections must be 8 to 65536"),
            ("body_timeout = \"1 ms\"", ":2:16: body_timeout must be 100 ms to 600 s"),
            ("write_timeout = \"soon\"", ":2:17: invalid duration 'soon'"),
        ];
        tests::assert_refused("[http]\n", &cases);
    }
}
