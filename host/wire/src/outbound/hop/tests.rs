//! Requests and redirects of one hop.

use gatehouse_core::{
    budget::ByteBudget,
    http::{HostPattern, HostRule, HttpRules, Secret, rules::AddedHeader},
    ports::http::RedirectMode,
};

use super::*;

fn hop(method: &str, headers: &[(&str, &str)]) -> Result<HopRequest, Fault> {
    HopRequest::new(HttpRequest {
        principal: gatehouse_core::Principal::Local,
        method: method.into(),
        url: String::new(),
        headers: headers.iter().map(|(n, v)| ((*n).to_owned(), v.as_bytes().to_vec())).collect(),
        body: Some(b"body".to_vec()),
        redirects: RedirectMode::Follow,
        deadline: tokio::time::Instant::now(),
        budget: ByteBudget::new(0),
    })
}

#[test]
fn framing_headers_are_dropped_and_rule_headers_win() {
    let header = AddedHeader {
        name: "authorization".into(),
        value: Ok(Secret::new("Bearer rule")),
        variables: Vec::new(),
    };
    let key = HostPattern::parse("a.example").expect("a key");
    let rules = HttpRules::new("gate", vec![HostRule { key, headers: vec![header], private: false }], []);
    let allowed = rules.check("https://a.example/").expect("allowed");
    let own = [
        ("Host", "evil"),
        ("Transfer-Encoding", "chunked"),
        ("Authorization", "Bearer gate"),
        ("Authorization", "Bearer second"),
        ("X-Kept", "1"),
    ];
    let request = hop("post", &own).and_then(|hop| hop.request(&allowed)).expect("a request");
    assert_eq!(request.method(), Method::POST);
    let mut names: Vec<&str> = request.headers().keys().map(HeaderName::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["accept-encoding", "authorization", "x-kept"]);
    let all: Vec<_> = request.headers().get_all("authorization").iter().collect();
    assert_eq!(all, ["Bearer rule"]);
    assert!(!format!("{request:?}").contains("Bearer rule"));
}

#[test]
fn hostile_parts_are_rejected() {
    for bad in ["CONNECT", "trace", "G ET", "", "GET\r\nHost: x"] {
        assert!(hop(bad, &[]).is_err(), "{bad:?}");
    }
    assert!(hop("GET", &[("a b", "c")]).is_err());
    assert!(hop("GET", &[("a", "b\r\nc: d")]).is_err());
    assert!(hop("GET", &[("a", &"b".repeat(MAX_REQUEST_HEADERS))]).is_err());
}

#[test]
fn redirects_change_what_browsers_change() {
    let own = [("Content-Type", "text/plain"), ("Cookie", "a=b"), ("X-Kept", "1")];
    let after = |status: u16, method: &str, same: bool| {
        let status = StatusCode::from_u16(status).expect("a status");
        let hop = hop(method, &own).expect("a hop").redirected(status, same);
        (hop.method.to_string(), hop.body.is_some(), hop.headers.contains_key("cookie"), hop.headers.len())
    };
    assert_eq!(after(302, "POST", true), ("GET".into(), false, true, 2));
    assert_eq!(after(303, "PUT", false), ("GET".into(), false, false, 1));
    assert_eq!(after(301, "PUT", true), ("PUT".into(), true, true, 3));
    assert_eq!(after(307, "POST", false), ("POST".into(), true, false, 2));
}
