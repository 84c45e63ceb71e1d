//! Address of the client of a request: the peer of the connection or, behind a trusted proxy, the one that it names.

use std::net::{IpAddr, SocketAddr};

use http::HeaderMap;
use ipnet::IpNet;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// Addresses that are read of the header. The rest is what the client itself claims.
const MAX_HOPS: usize = 32;

/// Address of a client, for the audit and limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientAddress(pub(crate) IpAddr);

impl ClientAddress {
    /// Returns the last address of `X-Forwarded-For` that is not a trusted proxy. Everything before it can be made up. If
    /// the header ends with no address, returns the proxy before.
    pub(super) fn new(peer: IpAddr, headers: &HeaderMap, proxies: &[IpNet]) -> Self {
        let is_trusted = |address: &IpAddr| proxies.iter().any(|network| network.contains(address));
        let mut address = peer.to_canonical();
        let values = headers.get_all(FORWARDED_FOR).iter().rev();
        let hops = values.flat_map(|value| value.to_str().unwrap_or_default().rsplit(','));
        let mut hops = hops.take(MAX_HOPS);
        while is_trusted(&address)
            && let Some(next) = hops.next().and_then(|hop| parse(hop.trim()))
        {
            address = next.to_canonical();
        }
        Self(address)
    }
}

/// Parses an address, which some proxies write with the port of the client.
fn parse(hop: &str) -> Option<IpAddr> {
    let with_port = || hop.parse::<SocketAddr>().ok().map(|address| address.ip());
    hop.parse().ok().or_else(with_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_trusted_proxies_say_who_the_client_is() {
        let proxies: Vec<IpNet> =
            ["10.0.0.0/8", "::1/128"].map(|text| text.parse().expect("a network")).into();
        let client = |peer: &str, headers: &[&'static str]| {
            let headers = headers
                .iter()
                .map(|value| (FORWARDED_FOR.parse().expect("a name"), value.parse().expect("a value")));
            let headers: HeaderMap = headers.collect();
            ClientAddress::new(peer.parse().expect("an address"), &headers, &proxies).0.to_string()
        };
        assert_eq!(client("10.1.2.3", &["1.2.3.4"]), "1.2.3.4");
        assert_eq!(client("::ffff:10.1.2.3", &["1.2.3.4"]), "1.2.3.4");
        assert_eq!(client("10.1.2.3", &["6.6.6.6, 1.2.3.4, 10.9.9.9"]), "1.2.3.4", "6.6.6.6 is a claim");
        assert_eq!(client("10.1.2.3", &["1.2.3.4", "2001:db8::1"]), "2001:db8::1");
        assert_eq!(client("192.0.2.1", &["1.2.3.4"]), "192.0.2.1", "no proxy");
        for wrong in ["", "unknown", "1.2.3.4, "] {
            assert_eq!(client("10.1.2.3", &[wrong]), "10.1.2.3", "{wrong}");
        }
        assert_eq!(client("10.1.2.3", &["1.2.3.4:80"]), "1.2.3.4");
        assert_eq!(client("10.1.2.3", &["[2001:db8::1]:80"]), "2001:db8::1");
        assert_eq!(client("10.1.2.3", &[]), "10.1.2.3");
    }
}
