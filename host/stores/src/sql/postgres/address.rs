//! Parses DATABASE_URL. Displayed addresses and errors never contain credentials.

use std::{fmt, path::PathBuf, str::FromStr as _, time::Duration};

use gatehouse_core::outcome::Fault;
use tokio_postgres::config::{Host, SslMode};

/// Parameters of libpq that tokio-postgres does not support. Errors name only these parameters: any other name could be
/// part of a password that contains a `?`.
const UNSUPPORTED_PARAMETERS: [&str; 12] = [
    "sslcert",
    "sslkey",
    "sslpassword",
    "sslcrl",
    "sslcompression",
    "sslsni",
    "gssencmode",
    "krbsrvname",
    "passfile",
    "service",
    "requirepeer",
    "replication",
];

#[derive(Clone)]
pub struct PostgresConfig {
    pub(super) client: tokio_postgres::Config,
    pub(super) tls: TlsMode,
    /// `host:port/database`.
    pub(super) address: String,
    pub times: PostgresTimeouts,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TlsMode {
    Off,
    /// Encrypted. The server's certificate must chain to the roots in this file, or to those of the operating system.
    Verified(Option<PathBuf>),
}

/// Time limits for connections and statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostgresTimeouts {
    /// Time to establish a connection, including authentication.
    pub connect: Duration,
    pub statement: Duration,
    /// Time to wait for a free connection in the pool.
    pub wait: Duration,
    /// Time to wait for a lock that another host holds.
    pub lock: Duration,
    /// Delay before the first retry of a failed connection. Doubles with each failure.
    pub first_pause: Duration,
    pub longest_pause: Duration,
}

impl Default for PostgresTimeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            statement: Duration::from_secs(15),
            wait: Duration::from_secs(5),
            lock: Duration::from_secs(5),
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(30),
        }
    }
}

impl fmt::Debug for PostgresConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresConfig").field("address", &self.address).field("tls", &self.tls).finish()
    }
}

impl PostgresConfig {
    /// Parses `postgres://user:password@host:port/database?…`.
    ///
    /// Parameters are those of libpq, except `sslmode`. Connections to this machine (loopback, socket file) are plain
    /// unless `sslmode` is `require` or stricter. Connections to other machines are encrypted and verified unless it is
    /// `disable`. `sslrootcert` names a file with the trusted roots.
    ///
    /// # Errors
    ///
    /// Returns `invalid-arguments` without quoting the URL, which can contain a password.
    pub fn parse(url: &str) -> Result<Self, Fault> {
        // A `?` before the first `@` belongs to a password that was not percent-encoded. Accept it.
        let credentials = url.find('@').unwrap_or(0);
        let (place, parameters) = match url[credentials..].find('?') {
            Some(at) => (&url[..credentials + at], &url[credentials + at + 1..]),
            None => (url, ""),
        };
        if !["postgres://", "postgresql://"].iter().any(|scheme| place.starts_with(scheme)) {
            return Err(unreadable("expected it to start with `postgres://`"));
        }
        let (mut kept, mut mode, mut roots) = (Vec::new(), None, None);
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) => roots = Some(decoded(value)?),
                Some((name, _)) if UNSUPPORTED_PARAMETERS.contains(&name) => {
                    return Err(unreadable(&format!("parameter '{name}' is not supported")));
                }
                _ => kept.push(parameter),
            }
        }
        let rest = if kept.is_empty() { place.to_owned() } else { format!("{place}?{}", kept.join("&")) };
        let mut client = tokio_postgres::Config::from_str(&rest)
            .map_err(|_| unreadable("invalid host, port or parameter"))?;
        if client.get_hosts().is_empty() && client.get_hostaddrs().is_empty() {
            client.host("localhost");
        }
        let tls = tls(mode, roots.map(PathBuf::from), is_local(&client))?;
        client.ssl_mode(if tls == TlsMode::Off { SslMode::Disable } else { SslMode::Require });
        if client.get_application_name().is_none() {
            client.application_name("gatehouse");
        }
        // Detects a dead server both on idle connections and while waiting for a long reply.
        client.keepalives_idle(Duration::from_secs(30)).tcp_user_timeout(Duration::from_secs(30));
        let address = address(&client);
        Ok(Self { client, tls, address, times: PostgresTimeouts::default() })
    }

    pub fn address(&self) -> &str {
        &self.address
    }
}

/// Decodes percent-encoding. Used only for file names.
fn decoded(value: &str) -> Result<String, Fault> {
    let mut bytes = Vec::new();
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        let mut digit = || rest.next().and_then(|b| char::from(b).to_digit(16));
        bytes.push(match byte {
            b'%' => {
                let pair = digit().zip(digit()).ok_or_else(|| {
                    unreadable(
                        "sslrootcert has an incomplete percent \
                escape",
                    )
                })?;
                (pair.0 * 16 + pair.1) as u8
            }
            other => other,
        });
    }
    String::from_utf8(bytes).map_err(|_| unreadable("sslrootcert is not UTF-8"))
}

fn tls(mode: Option<&str>, roots: Option<PathBuf>, local: bool) -> Result<TlsMode, Fault> {
    match mode {
        Some("disable") => Ok(TlsMode::Off),
        Some("require" | "verify-ca" | "verify-full") => Ok(TlsMode::Verified(roots)),
        None | Some("allow" | "prefer") if local => Ok(TlsMode::Off),
        None | Some("allow" | "prefer") => Ok(TlsMode::Verified(roots)),
        Some(_) => {
            Err(unreadable("sslmode must be disable, allow, prefer, require, verify-ca or verify-full"))
        }
    }
}

fn is_local(client: &tokio_postgres::Config) -> bool {
    // `hostaddr` overrides `host`.
    if !client.get_hostaddrs().is_empty() {
        return client.get_hostaddrs().iter().all(std::net::IpAddr::is_loopback);
    }
    client.get_hosts().iter().all(|host| match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    })
}

fn address(client: &tokio_postgres::Config) -> String {
    let ports = client.get_ports();
    let port = |at: usize| ports.get(at).or(ports.first()).copied().unwrap_or(5432);
    let hosts = client.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(path) => path.display().to_string(),
    });
    let hosts: Vec<String> = if client.get_hosts().is_empty() {
        client.get_hostaddrs().iter().map(ToString::to_string).collect()
    } else {
        hosts.collect()
    };
    let places = hosts.iter().enumerate().map(|(at, host)| format!("{host}:{}", port(at)));
    let database = client.get_dbname().or(client.get_user()).unwrap_or("postgres");
    format!("{}/{database}", places.collect::<Vec<_>>().join(","))
}

fn unreadable(reason: &str) -> Fault {
    Fault::invalid(format!("invalid DATABASE_URL: {reason}")).hint(
        "Use postgres://user:password@host:5432/database. In a password, write @ as %40, / as %2F, ? as %3F, # as \
        %23 and % as %25.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> PostgresConfig {
        PostgresConfig::parse(url).unwrap_or_else(|fault| panic!("{url}: {fault}"))
    }

    #[test]
    fn shown_addresses_contain_no_credentials() {
        let config = parse("postgres://alice:s3cret@db.example:6543/wiki?application_name=x");
        assert_eq!(config.address(), "db.example:6543/wiki");
        assert_eq!(parse("postgresql://alice:s3cret@/").address(), "localhost:5432/alice");
        assert_eq!(parse("postgres://a:b?s3cret@h/d?sslmode=disable").address(), "h:5432/d");
        assert_eq!(parse("postgres://a@h1:1,h2:2/d").address(), "h1:1,h2:2/d");
        assert!(!format!("{config:?}").contains("s3cret"));
    }

    #[test]
    fn errors_repeat_nothing_that_may_be_a_password() {
        for url in [
            "s3cret",
            "mysql://u:s3cret@h/d",
            "postgres://u:s3cret@h:port/d",
            "postgres://u:p@h/d?s3cret",
            "postgres://u:p@h/d?s3cret=1",
            "postgres://u@h/d?sslmode=s3cret",
        ] {
            let fault = PostgresConfig::parse(url).expect_err(url);
            assert!(!format!("{fault:?}").contains("s3cret"), "{fault:?}");
            assert!(fault.hint.is_some());
        }
        let fault = PostgresConfig::parse("postgres://u@h/d?sslcert=x").unwrap_err();
        assert!(fault.message.contains("'sslcert'"), "{fault}");
    }

    #[test]
    fn only_this_machine_is_talked_to_in_the_clear() {
        for url in [
            "localhost/d",
            "127.0.0.1:5433/d",
            "[::1]/d",
            "/d?host=/run/postgresql",
            "localhost/d?sslmode=prefer",
        ] {
            assert_eq!(parse(&format!("postgres://u@{url}")).tls, TlsMode::Off, "{url}");
        }
        for url in [
            "db.example/d",
            "10.0.0.1/d",
            "localhost,db.example/d",
            "db.example/d?sslmode=prefer",
            "localhost/d?sslmode=require",
            "localhost/d?hostaddr=10.0.0.1",
        ] {
            let config = parse(&format!("postgres://u@{url}"));
            assert_eq!(config.tls, TlsMode::Verified(None), "{url}");
            assert_eq!(config.client.get_ssl_mode(), SslMode::Require);
        }
        assert_eq!(parse("postgres://u@db.example/d?sslmode=disable").tls, TlsMode::Off);
        let roots = parse("postgres://u@db.example/d?sslrootcert=/etc/my%20ca.pem&sslmode=verify-full").tls;
        assert_eq!(roots, TlsMode::Verified(Some("/etc/my ca.pem".into())));
    }
}
