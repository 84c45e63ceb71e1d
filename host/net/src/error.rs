//! Root causes of client errors. The outer error ("error sending request") is not useful, and its URL may contain a
//! signature.

use std::{error::Error, io};

pub fn root_cause(error: &(dyn Error + 'static)) -> String {
    chain(error).last().unwrap_or(error).to_string()
}

/// Returns the root cause without the URL.
pub fn http_cause(error: reqwest::Error) -> String {
    root_cause(&error.without_url())
}

/// Returns the root cause in plain words if possible, without the OS error number.
pub fn plain_cause(error: &(dyn Error + 'static)) -> String {
    let io = |error: &(dyn Error + 'static)| plain_text(error.downcast_ref::<io::Error>()?.kind());
    chain(error).find_map(io).map_or_else(|| root_cause(error), str::to_owned)
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

fn plain_text(kind: io::ErrorKind) -> Option<&'static str> {
    Some(match kind {
        io::ErrorKind::ConnectionRefused => "connection refused",
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => "connection reset",
        io::ErrorKind::UnexpectedEof => "connection closed before the response was complete",
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => "no route to host",
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
