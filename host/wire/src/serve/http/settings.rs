//! HTTP server settings: host names, web origins, connections and timeouts.

use std::{ops::RangeInclusive, time::Duration};

use super::host_names::{HostName, WebOrigin};

pub const MAX_CONNECTIONS: usize = 1_000;

const CONNECTION_RANGE: RangeInclusive<usize> = 8..=65_536;

const MIN_TIMEOUT: Duration = Duration::from_millis(100);

/// Maximum of timeouts within a request.
const MAX_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Maximum time between two requests.
const MAX_IDLE_TIMEOUT: Duration = Duration::from_secs(3600);

/// Error of an invalid setting. The message contains the allowed values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SettingError(pub(crate) String);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSettings {
    /// Names in the Host header, in addition to loopback names. If empty, a server beyond loopback accepts every name.
    pub hosts: Vec<HostName>,
    /// Web origins that may call. They get CORS headers.
    pub origins: Vec<WebOrigin>,
    pub connections: usize,
    /// Time from the connection, or the first byte of a later request, to the end of its headers.
    pub header_timeout: Duration,
    /// Time from the end of the headers to the end of the body.
    pub body_timeout: Duration,
    /// Maximum time without progress while writing a response.
    pub write_timeout: Duration,
    /// Maximum time between two requests on a connection.
    pub idle_timeout: Duration,
    /// Time for running requests to finish during shutdown.
    pub drain: Duration,
    /// Memory limit of the process in bytes. `None` if unlimited.
    pub memory: Option<u64>,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            origins: Vec::new(),
            connections: MAX_CONNECTIONS,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            // Longer than the connection pools of common clients, so that none sends a request while this side closes.
            idle_timeout: Duration::from_secs(120),
            drain: Duration::from_secs(30),
            memory: None,
        }
    }
}

impl HttpSettings {
    pub fn with_connections(mut self, connections: usize) -> Result<Self, SettingError> {
        if !CONNECTION_RANGE.contains(&connections) {
            let (least, most) = CONNECTION_RANGE.into_inner();
            return Err(SettingError(format!("connections must be {least} to {most}")));
        }
        self.connections = connections;
        Ok(self)
    }

    /// Sets the memory limit of the process, which larger requests share.
    #[must_use]
    pub fn with_memory(self, memory: Option<u64>) -> Self {
        Self { memory, ..self }
    }

    pub fn with_timeout(mut self, name: &str, time: Duration) -> Result<Self, SettingError> {
        let (set, longest) = match name {
            "header_timeout" => (&mut self.header_timeout, MAX_TIMEOUT),
            "body_timeout" => (&mut self.body_timeout, MAX_TIMEOUT),
            "write_timeout" => (&mut self.write_timeout, MAX_TIMEOUT),
            "idle_timeout" => (&mut self.idle_timeout, MAX_IDLE_TIMEOUT),
            "drain" => (&mut self.drain, MAX_TIMEOUT),
            _ => return Err(SettingError(format!("unknown timeout '{name}'"))),
        };
        if !(MIN_TIMEOUT..=longest).contains(&time) {
            let (least, most) = (MIN_TIMEOUT.as_millis(), longest.as_secs());
            return Err(SettingError(format!("{name} must be {least} ms to {most} s")));
        }
        *set = time;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_bounds_says_them() {
        let settings = HttpSettings::default;
        let few = settings().with_connections(7);
        assert_eq!(few, Err(SettingError("connections must be 8 to 65536".into())));
        let never = settings().with_timeout("idle_timeout", Duration::from_secs(3601));
        assert_eq!(never, Err(SettingError("idle_timeout must be 100 ms to 3600 s".into())));
        assert!(settings().with_timeout("header_timeout", Duration::ZERO).is_err());
        let d = settings();
        let times = [
            ("header_timeout", d.header_timeout),
            ("body_timeout", d.body_timeout),
            ("write_timeout", d.write_timeout),
            ("idle_timeout", d.idle_timeout),
            ("drain", d.drain),
        ];
        let again = settings().with_connections(d.connections);
        let again =
            times.into_iter().try_fold(again.expect("allowed"), |s, (name, time)| s.with_timeout(name, time));
        assert_eq!(again, Ok(d), "the defaults are allowed");
    }
}
