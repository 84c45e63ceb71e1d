//! Tests that a URL in any spelling reaches only hosts that a rule names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use url::Url;

use super::{AddressScope, HostPattern, HostRule, HttpRules, Secret, address::is_public, rules::AddedHeader};
use crate::outcome::FaultKind;

fn rule(key: &str) -> HostRule {
    HostRule { key: HostPattern::parse(key).expect("a key"), headers: Vec::new(), private: false }
}

fn rules() -> HttpRules {
    let keys = ["api.example.com", "*.wild.example", "http://127.0.0.1:8080", "http://localhost:3000"];
    let mut rules: Vec<HostRule> = keys.map(rule).into();
    rules.push(HostRule { private: true, ..rule("wiki.corp") });
    HttpRules::new("weather", rules, [])
}

fn reach(url: &str) -> Result<AddressScope, FaultKind> {
    rules().check(url).map(|permit| permit.scope).map_err(|fault| fault.kind)
}

#[test]
fn listed_hosts_are_allowed_in_every_spelling() {
    for url in [
        "https://api.example.com/a?b#c",
        "HTTPS://API.EXAMPLE.COM:443/",
        "https://api.example.com./",
        "https://a.wild.example/",
        "https://a.b.WILD.example/",
    ] {
        assert_eq!(reach(url), Ok(AddressScope::Public), "{url}");
    }
    for url in [
        "http://127.0.0.1:8080/",
        "http://0x7f.1:8080/",
        "http://2130706433:8080/",
        "http://017700000001:8080/",
        "http://localhost:3000/",
        "https://wiki.corp/",
    ] {
        assert_eq!(reach(url), Ok(AddressScope::Any), "{url}");
    }
}

#[test]
fn unlisted_hosts_are_denied() {
    for url in [
        "http://api.example.com/",
        "https://api.example.com:8443/",
        "https://user@api.example.com/",
        "https://:pass@api.example.com/",
        "https://api.example.com@evil.example/",
        "https://evil.example/api.example.com",
        "https://api.example.com.evil.example/",
        "https://xapi.example.com/",
        "https://wild.example/",
        "https://.wild.example/",
        "https://notwild.example/",
        "https://127.0.0.1:8080/",
        "http://127.0.0.1/",
        "http://[::ffff:127.0.0.1]:8080/",
        "http://[::1]:3000/",
        "http://127.0.0.1:3000/",
        "https://evil.example\\@api.example.com/",
        "https://evil.example#@api.example.com/",
    ] {
        let denied = rules().check(url).expect_err(url);
        assert!([FaultKind::Denied, FaultKind::InvalidArguments].contains(&denied.kind), "{url}: {denied:?}");
    }
    for url in ["file:///etc/passwd", "data:,x", "ftp://api.example.com/", "api.example.com", "", "https://"]
    {
        assert_eq!(reach(url), Err(FaultKind::InvalidArguments), "{url}");
    }
}

#[test]
fn a_denial_says_which_line_to_add() {
    let denied = rules().check("http://Other.example:81/x").expect_err("denied");
    assert_eq!(denied.message, "gate 'weather' may not reach http://other.example:81");
    assert_eq!(
        denied.hint.as_deref(),
        Some("To allow it, add \"http://other.example:81\" = {} under [gates.weather.http] in presets.toml.")
    );
    let permit = rules().check("https://api.example.com/").expect("allowed").private_address_fault();
    assert!(permit.hint.is_some_and(|hint| hint.contains("\"api.example.com\" = { private = true }")));
    assert!(HttpRules::deny_all("weather").check("https://api.example.com/").is_err());
}

#[test]
fn compared_url_is_the_requested_url() {
    let url = rules().check("https://API.example.com.:443/a#b").expect("allowed").url;
    assert_eq!(url.as_str(), "https://api.example.com/a");
}

#[test]
fn the_nearest_rule_counts() {
    let header = AddedHeader { name: "X-Api-Key".into(), value: Ok(Secret::new("k")), variables: Vec::new() };
    let wild = HostRule { headers: vec![header], ..rule("*.example.com") };
    let rules =
        HttpRules::new("weather", vec![wild, rule("plain.example.com"), rule("*.deep.example.com")], []);
    let headers = |url: &str| rules.check(url).expect("allowed").headers.len();
    assert_eq!(headers("https://a.example.com/"), 1);
    assert_eq!(headers("https://plain.example.com/"), 0);
    assert_eq!(headers("https://a.deep.example.com/"), 0);
}

#[test]
fn a_header_without_its_variable_is_a_fault_of_its_host_alone() {
    let reason = "needs the environment variable TOKEN, which is not set";
    let header =
        AddedHeader { name: "Authorization".into(), value: Err(reason.into()), variables: Vec::new() };
    let broken = HostRule { headers: vec![header], ..rule("api.example.com") };
    let rules = HttpRules::new("weather", vec![broken, rule("other.example.com")], []);
    let fault = rules.check("https://api.example.com/").expect_err("unavailable");
    let message =
        "header Authorization for api.example.com needs the environment variable TOKEN, which is not set";
    assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::Unavailable, message));
    assert!(rules.check("https://other.example.com/").is_ok());
    assert_eq!(rules.problems(), [message]);
}

/// Generates hosts that resemble an allowed one.
fn hosts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("api.example.com".to_owned()),
        Just("wild.example".to_owned()),
        Just("127.0.0.1".to_owned()),
        Just("localhost".to_owned()),
        Just("wiki.corp".to_owned()),
        "[a-zA-Z0-9.@:%/\\\\#?*-]{0,6}",
        "\\PC{0,3}",
    ];
    prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_url_outside_the_rules_passes(scheme in "(https?|HTTP|ftp|)(://|:|:/|//)", host in hosts(), port in "(:[0-9]{1,5})?") {
        let text = format!("{scheme}{host}{port}/");
        if let Ok(permit) = rules().check(&text) {
            let url = Url::parse(&text).expect("what passes is a URL");
            let host = url.host_str().expect("a host").trim_end_matches('.');
            let place = (url.scheme(), host, url.port_or_known_default());
            let named = match place {
                ("https", "api.example.com" | "wiki.corp", Some(443)) => true,
                ("https", name, Some(443)) => name.ends_with(".wild.example"),
                ("http", "127.0.0.1", Some(8080)) | ("http", "localhost", Some(3000)) => true,
                _ => false,
            };
            prop_assert!(named, "{text} passed as {}", permit.url);
            prop_assert_eq!(permit.url.host_str(), Some(host));
            prop_assert!(permit.url.username().is_empty() && permit.url.password().is_none());
        }
    }

    #[test]
    fn every_private_address_is_refused(block in 0..11_usize, bits in any::<u32>()) {
        let blocks: [(u32, u32); 11] = [
            (0x0000_0000, 8), (0x0a00_0000, 8), (0x6440_0000, 10), (0x7f00_0000, 8), (0xa9fe_0000, 16),
            (0xac10_0000, 12), (0xc0a8_0000, 16), (0xc612_0000, 15), (0xcb00_7100, 24), (0xe000_0000, 4),
            (0xf000_0000, 4),
        ];
        let (base, length) = blocks[block];
        let v4 = Ipv4Addr::from_bits(base | (bits & (u32::MAX >> length)));
        prop_assert!(!is_public(v4.into()), "{v4}");
        let [a, b, c, d] = v4.octets().map(u16::from);
        let (high, low) = (a << 8 | b, c << 8 | d);
        let forms = [
            Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low),
            Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
            Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
            Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
        ];
        for form in forms {
            prop_assert!(!is_public(form.into()), "{form}");
        }
        // Another spelling of the address must not match a rule by accident.
        for spelled in [format!("{v4}"), format!("{}", v4.to_bits()), format!("{:#x}", v4.to_bits()), format!("{:#o}", v4.to_bits()).replace("0o", "0"), format!("[{}]", forms[0])] {
            let rules = rules();
            let checked = rules.check(&format!("http://{spelled}:8080/"));
            let named = v4 == Ipv4Addr::LOCALHOST && !spelled.starts_with('[');
            prop_assert_eq!(checked.is_ok(), named, "{}", spelled);
        }
    }

    #[test]
    fn local_and_multicast_ipv6_is_refused(first in prop_oneof![0xfc00..=0xffff_u16, 0..0x0064_u16], rest in any::<[u16; 7]>()) {
        let address = Ipv6Addr::new(first, rest[0], rest[1], rest[2], rest[3], rest[4], rest[5], rest[6]);
        prop_assume!(address.to_ipv4_mapped().is_none());
        prop_assert!(!is_public(IpAddr::V6(address)), "{address}");
    }
}
