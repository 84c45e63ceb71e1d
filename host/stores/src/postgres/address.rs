//! Which server, as DATABASE_URL says it, and how it may be talked to. What is shown of it never holds
//! credentials.

use std::{fmt, path::PathBuf, str::FromStr as _, time::Duration};

use gatehouse_core::outcome::Fault;
use tokio_postgres::config::{Host, SslMode};

/// Parameters of libpq that its client here does not have; they are named in the error, others are not, since
/// a password with a `?` in it would look like one.
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

/// A PostgreSQL server and a database there.
#[derive(Clone)]
pub struct PostgresConfig {
    pub(super) client: tokio_postgres::Config,
    pub(super) tls: TlsMode,
    /// `host:port/database`.
    pub(super) address: String,
    /// How long things may take.
    pub times: PostgresTimeouts,
}

/// Whether the connection is encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TlsMode {
    /// It is not.
    Off,
    /// It is, and the server proves its name to these roots, or to those of the operating system.
    Verified(Option<PathBuf>),
}

/// How long things may take before they count as failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostgresTimeouts {
    /// Until a connection stands, password included.
    pub connect: Duration,
    /// Until a statement has answered.
    pub statement: Duration,
    /// Until one of the connections is free.
    pub wait: Duration,
    /// Until another host has done writing.
    pub lock: Duration,
    /// Between a failed connection and the next try; doubles with each failure.
    pub first_pause: Duration,
    /// The longest of these pauses.
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
    /// Reads `postgres://user:password@host:port/database?…`. Parameters are those of libpq, with these rules
    /// for `sslmode`: on this machine (loopback, a socket file) a connection is plain unless `require` or more
    /// is asked for; to another machine it is encrypted and the server's certificate is checked, whatever is
    /// asked for, unless `disable` is. `sslrootcert` names a file with the roots that count.
    ///
    /// # Errors
    /// `invalid-arguments`, without a word of what stood there: it holds a password.
    pub fn parse(url: &str) -> Result<Self, Fault> {
        // A `?` before the first `@` is part of a password that was not written as it should be, and works.
        let credentials = url.find('@').unwrap_or(0);
        let (place, parameters) = match url[credentials..].find('?') {
            Some(at) => (&url[..credentials + at], &url[credentials + at + 1..]),
            None => (url, ""),
        };
        if !["postgres://", "postgresql://"].iter().any(|scheme| place.starts_with(scheme)) {
            return Err(unreadable("it does not begin with postgres://"));
        }
        let (mut kept, mut mode, mut roots) = (Vec::new(), None, None);
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) => roots = Some(decoded(value)?),
                Some((name, _)) if UNSUPPORTED_PARAMETERS.contains(&name) => {
                    return Err(unreadable(&format!("gatehouse does not have its parameter '{name}'")));
                }
                _ => kept.push(parameter),
            }
        }
        let rest = if kept.is_empty() { place.to_owned() } else { format!("{place}?{}", kept.join("&")) };
        let mut client = tokio_postgres::Config::from_str(&rest)
            .map_err(|_| unreadable("a part of it is not what it should be"))?;
        if client.get_hosts().is_empty() && client.get_hostaddrs().is_empty() {
            client.host("localhost");
        }
        let tls = tls(mode, roots.map(PathBuf::from), is_local(&client))?;
        client.ssl_mode(if tls == TlsMode::Off { SslMode::Disable } else { SslMode::Require });
        if client.get_application_name().is_none() {
            client.application_name("gatehouse");
        }
        // A server that vanished is noticed while nothing is asked, and while a long answer is awaited.
        client.keepalives_idle(Duration::from_secs(30)).tcp_user_timeout(Duration::from_secs(30));
        let address = address(&client);
        Ok(Self { client, tls, address, times: PostgresTimeouts::default() })
    }

    /// `host:port/database`.
    pub fn address(&self) -> &str {
        &self.address
    }
}

/// A parameter's value; only files are named by those that are read here.
fn decoded(value: &str) -> Result<String, Fault> {
    let mut bytes = Vec::new();
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        let mut digit = || rest.next().and_then(|b| char::from(b).to_digit(16));
        bytes.push(match byte {
            b'%' => {
                let pair = digit().zip(digit()).ok_or_else(|| unreadable("sslrootcert is cut short"))?;
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
        Some(_) => Err(unreadable(
            "sslmode is not one of disable, allow, prefer, require, verify-ca and verify-full",
        )),
    }
}

fn is_local(client: &tokio_postgres::Config) -> bool {
    // An address that is given beside a name is what is connected to.
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

fn unreadable(why: &str) -> Fault {
    Fault::invalid(format!("DATABASE_URL does not name a PostgreSQL database: {why}")).hint(
        "Write postgres://user:password@host:5432/database; in a password @ is %40, / is %2F, ? is %3F, # is %23 \
         and % is %25.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> PostgresConfig {
        PostgresConfig::parse(url).unwrap_or_else(|fault| panic!("{url}: {fault}"))
    }

    #[test]
    fn what_is_shown_holds_no_credentials() {
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
