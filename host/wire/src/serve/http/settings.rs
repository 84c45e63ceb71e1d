//! What a server over HTTP allows its clients: names it goes by, web pages that may call it, how many
//! connections, and how long each may take for what.

use std::{ops::RangeInclusive, time::Duration};

use super::names::{HostName, WebOrigin};

/// Connections where neither the operator nor the machine sets fewer.
pub const MAX_CONNECTIONS: usize = 1_000;

/// How many connections may be asked for.
const CONNECTIONS: RangeInclusive<usize> = 8..=65_536;

/// The shortest time that a client can be expected to keep.
const SHORTEST: Duration = Duration::from_millis(100);

/// The longest for one part of an exchange.
const LONGEST: Duration = Duration::from_secs(10 * 60);

/// The longest between two requests.
const LONGEST_IDLE: Duration = Duration::from_secs(3600);

/// What holds for every connection of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSettings {
    /// Names in the Host header, beside those of this machine. Without any, a server beyond loopback takes
    /// every name, for it cannot know its own.
    pub hosts: Vec<HostName>,
    /// Web pages that may call, and get CORS headers; no other page may.
    pub origins: Vec<WebOrigin>,
    /// Connections at the same time.
    pub connections: usize,
    /// From the connection, or the first byte of a later request, to the end of its headers.
    pub header_timeout: Duration,
    /// From the end of the headers to the end of the body.
    pub body_timeout: Duration,
    /// How long a client may take nothing of what is to be sent to it.
    pub write_timeout: Duration,
    /// How long a connection may rest between two requests.
    pub idle_timeout: Duration,
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
            // Longer than the pools of common clients keep a connection, so that none sends a request
            // just when this side closes.
            idle_timeout: Duration::from_secs(120),
        }
    }
}

impl HttpSettings {
    /// Sets the number of connections; the error says the bounds.
    pub fn with_connections(mut self, connections: usize) -> Result<Self, String> {
        if !CONNECTIONS.contains(&connections) {
            let (least, most) = CONNECTIONS.into_inner();
            return Err(format!("connections must be {least} to {most}"));
        }
        self.connections = connections;
        Ok(self)
    }

    /// Sets the time for headers; the error says the bounds.
    pub fn with_header_timeout(mut self, time: Duration) -> Result<Self, String> {
        self.header_timeout = within("header_timeout", time, LONGEST)?;
        Ok(self)
    }

    /// Sets the time for a body; the error says the bounds.
    pub fn with_body_timeout(mut self, time: Duration) -> Result<Self, String> {
        self.body_timeout = within("body_timeout", time, LONGEST)?;
        Ok(self)
    }

    /// Sets the time for a client that takes nothing; the error says the bounds.
    pub fn with_write_timeout(mut self, time: Duration) -> Result<Self, String> {
        self.write_timeout = within("write_timeout", time, LONGEST)?;
        Ok(self)
    }

    /// Sets the time between two requests; the error says the bounds.
    pub fn with_idle_timeout(mut self, time: Duration) -> Result<Self, String> {
        self.idle_timeout = within("idle_timeout", time, LONGEST_IDLE)?;
        Ok(self)
    }
}

fn within(what: &str, time: Duration, longest: Duration) -> Result<Duration, String> {
    if (SHORTEST..=longest).contains(&time) {
        return Ok(time);
    }
    Err(format!("{what} must be {} ms to {} s", SHORTEST.as_millis(), longest.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_bounds_says_them() {
        let settings = HttpSettings::default;
        assert_eq!(settings().with_connections(7), Err("connections must be 8 to 65536".into()));
        let never = settings().with_idle_timeout(Duration::from_secs(3601));
        assert_eq!(never, Err("idle_timeout must be 100 ms to 3600 s".into()));
        assert!(settings().with_header_timeout(Duration::ZERO).is_err());
        let d = settings();
        let again = settings()
            .with_connections(d.connections)
            .and_then(|s| s.with_header_timeout(d.header_timeout)?.with_body_timeout(d.body_timeout))
            .and_then(|s| s.with_write_timeout(d.write_timeout)?.with_idle_timeout(d.idle_timeout));
        assert_eq!(again, Ok(d), "the defaults are allowed");
    }
}
