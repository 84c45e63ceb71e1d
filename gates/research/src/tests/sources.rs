//! Tests of URLs.

use gatehouse_sdk::models::WebSource;

use crate::sources::{Evidence, address, evidence, key, site};

#[test]
fn an_address_is_absolute_and_of_the_web() {
    for (text, expected) in [
        (" https://a.org ", "https://a.org"),
        ("HTTPS://A.Org/Path?q=1#F", "https://a.org/Path?q=1#F"),
        ("https://a.org/x?utm_source=openai", "https://a.org/x"),
        ("https://a.org/x?a=1&utm_source=openai&b=2#c", "https://a.org/x?a=1&b=2#c"),
        ("http://127.0.0.1:8080/x", "http://127.0.0.1:8080/x"),
        ("https://[2001:db8::1]:443/", "https://[2001:db8::1]/"),
        ("http://a.org:80", "http://a.org"),
        ("https://bücher.example/ü", "https://bücher.example/ü"),
        ("[A page](https://a.org/x)", "https://a.org/x"),
        ("([a.org](https://a.org/x?utm_source=openai))", "https://a.org/x"),
        ("<https://a.org/x>", "https://a.org/x"),
        ("https://a.org/wiki/X_(y)", "https://a.org/wiki/X_(y)"),
    ] {
        assert_eq!(address(text).as_deref(), Some(expected), "{text}");
    }
    let long = format!("https://a.org/{}", "x".repeat(2_048));
    for text in [
        "",
        "a.org",
        "//a.org/x",
        "/x",
        "file:///etc/passwd",
        "data:text/html,x",
        "javascript:alert(1)",
        "https://",
        "https:///x",
        "https://localhost/x",
        "https://user:pass@a.org/",
        "https://a.org@evil.example/",
        "https://a.org:port/",
        "https://a b.org/",
        "https://a.org/x y",
        "https://a.org/\u{202e}x",
        "https://.org/",
        "https://a.org\\@evil.example/",
        "https://a.org:/",
        "see https://a.org",
        &long,
    ] {
        assert_eq!(address(text), None, "{text}");
    }
}

#[test]
fn one_page_has_one_key() {
    let page = key("https://a.org/x");
    for same in
        ["http://a.org/x", "https://www.a.org/x/", "https://A.org/x#part", "https://a.org/x?utm_medium=y"]
    {
        assert_eq!(key(same), page, "{same}");
    }
    assert_eq!(key("https://a.org/ü?q=ß"), key("https://a.org/%C3%BC?q=%C3%9F"));
    for other in ["https://a.org/X", "https://a.org/x?y=1", "https://b.org/x"] {
        assert_ne!(key(other), page, "{other}");
    }
    assert_eq!(site("https://www.A.org:443/x"), "a.org");
}

#[test]
fn redirects_of_a_provider_tell_the_site_by_their_title() {
    let redirect = |title: &str| WebSource {
        url: "https://redirects.example/grounding/abc".into(),
        title: Some(title.to_owned()),
    };
    assert_eq!(evidence("https://www.a.org/x", &[redirect("a.org")]), Evidence::Site);
    assert_eq!(evidence("https://a.org/x", &[redirect("A page of a.org")]), Evidence::None);
    assert_eq!(evidence("https://a.org/x", &[]), Evidence::Unknown);
}
