//! URLs that a login may use.

use super::*;

fn url(text: &str) -> Url {
    Url::parse(text).expect("a URL")
}

#[test]
fn metadata_urls_must_be_https_and_public() {
    let hosts = ConfiguredHosts::new([&url("https://mcp.example/mcp")]);
    let scope = |text: &str| hosts.check(text, "It").map(|target| target.scope).ok();
    assert_eq!(scope("https://auth.example/token"), Some(AddressScope::Public));
    assert_eq!(scope("https://mcp.example:8443/token"), Some(AddressScope::Any));
    for bad in [
        "http://auth.example/token",
        "http://mcp.example/token",
        "ftp://auth.example/",
        "file:///etc/passwd",
        "https://127.0.0.1/",
        "http://localhost:8080/",
        "https://[::1]/",
        "https://169.254.169.254/latest",
        "https://0x7f.1/",
        "https://2130706433/",
        "https://10.0.0.1/",
        "https://u:p@auth.example/",
        "https://auth.example/#x",
        "auth.example",
    ] {
        assert_eq!(scope(bad), None, "{bad}");
    }
    assert_eq!(scope(&format!("https://auth.example/{}", "x".repeat(MAX_URL))), None);
}

#[test]
fn hosts_in_presets_toml_may_be_private() {
    let hosts = ConfiguredHosts::new([&url("http://127.0.0.1:1/mcp"), &url("https://sso.corp")]);
    let scope = |text: &str| hosts.check(text, "It").map(|target| target.scope).ok();
    assert_eq!(scope("http://localhost:1/x"), Some(AddressScope::Any));
    assert_eq!(scope("http://127.0.0.1:9/x"), None, "another port is another server");
    assert_eq!(scope("https://sso.corp/x"), Some(AddressScope::Any));
    assert_eq!(scope("https://other.corp/x"), Some(AddressScope::Public));
    assert_eq!(scope("https://10.0.0.1/x"), None);
}

#[test]
fn only_this_machine_is_loopback() {
    for host in ["localhost", "LOCALHOST", "127.0.0.1", "127.8.8.8", "[::1]"] {
        assert!(is_loopback(host), "{host}");
    }
    for host in ["localhost.evil.example", "10.0.0.1", "128.0.0.1", "[::2]"] {
        assert!(!is_loopback(host), "{host}");
    }
}

#[test]
fn a_resource_covers_the_paths_below_it() {
    let covered = |resource: &str, server: &str| covers(&url(resource), &url(server));
    assert!(covered("https://a.example", "https://a.example/mcp"));
    assert!(covered("https://a.example/mcp/", "https://a.example:443/mcp"));
    for (resource, server) in [
        ("https://a.example/mcp", "https://a.example/mcp2"),
        ("https://a.example/mcp/x", "https://a.example/mcp"),
        ("https://a.example", "http://a.example"),
        ("https://a.example", "https://a.example:444"),
        ("https://a.example", "https://a.example.evil"),
    ] {
        assert!(!covered(resource, server), "{resource} {server}");
    }
    assert_eq!(resource(&url("https://A.example:443/Mcp?x=1#y")), "https://a.example/Mcp");
}
