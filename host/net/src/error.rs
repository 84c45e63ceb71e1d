//! Errors of clients in one line. What a client says first ("error sending request") tells people nothing, and its
//! URL may hold a signature; what stands behind it is what went wrong.

use std::{error::Error, io};

/// What an error comes from.
pub fn root_cause(error: &(dyn Error + 'static)) -> String {
    chain(error).last().unwrap_or(error).to_string()
}

/// What an error of an HTTP client comes from, without the URL.
pub fn http_cause(error: reqwest::Error) -> String {
    root_cause(&error.without_url())
}

/// What an error comes from, in plain words where there are some, and without the number of the system's error.
pub fn plain_cause(error: &(dyn Error + 'static)) -> String {
    let io = |error: &(dyn Error + 'static)| plain_text(error.downcast_ref::<io::Error>()?.kind());
    chain(error).find_map(io).map_or_else(|| root_cause(error), str::to_owned)
}

/// The error and everything that led to it, the first cause last.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

fn plain_text(kind: io::ErrorKind) -> Option<&'static str> {
    Some(match kind {
        io::ErrorKind::ConnectionRefused => "connection refused",
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => "the connection was cut",
        io::ErrorKind::UnexpectedEof => "the connection was closed in the middle of an answer",
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => "no route to it",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Sending(io::Error);

    impl std::fmt::Display for Sending {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("error sending request")
        }
    }

    impl Error for Sending {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn what_stands_behind_is_told() {
        let refused = Sending(io::Error::from_raw_os_error(111));
        assert_eq!(root_cause(&refused), "Connection refused (os error 111)");
        assert_eq!(plain_cause(&refused), "connection refused");
        assert_eq!(plain_cause(&Sending(io::Error::other("odd"))), "odd");
    }
}
