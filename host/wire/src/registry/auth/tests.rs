//! Challenges, and targets of credentials.

use super::*;

fn challenge(values: &[&str]) -> Option<SupportedChallenge> {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(WWW_AUTHENTICATE, value.parse().expect("a header"));
    }
    SupportedChallenge::from_headers(&headers)
}

#[test]
fn challenges_of_registries_are_parsed() {
    let bearer = |realm: &str, service: Option<&str>| {
        Some(SupportedChallenge::Bearer { realm: realm.into(), service: service.map(str::to_owned) })
    };
    assert_eq!(
        challenge(&[r#"Bearer realm="https://auth.example/token",service="r.example",scope="x:y,z:pull""#]),
        bearer("https://auth.example/token", Some("r.example"))
    );
    assert_eq!(challenge(&["bearer Realm=https://a.example"]), bearer("https://a.example", None));
    assert_eq!(challenge(&[r#"Basic realm="x""#]), Some(SupportedChallenge::Basic));
    assert_eq!(challenge(&[r#"Basic realm="x""#, r#"Bearer realm="https://a""#]), bearer("https://a", None));
    assert_eq!(
        challenge(&[r#"Basic realm="x", Bearer realm="https://a",service="b""#]),
        bearer("https://a", Some("b")),
        "in one header"
    );
    assert_eq!(challenge(&["Bearer"]), None);
    assert_eq!(challenge(&["Negotiate"]), None);
    assert_eq!(challenge(&[]), None);
}

#[test]
fn credentials_are_for_the_registry_and_its_own_token_service() {
    let may = |home: &str, service: &str| {
        let url = |text: &str| Url::parse(text).expect("a URL");
        may_receive_credentials(&url(home), &url(service))
    };
    assert!(may("https://r.example/v2/", "https://r.example/token"));
    assert!(may("https://r.example:5000/v2/", "https://r.example:5000/token"));
    assert!(may("https://registry-1.docker.io/v2/", "https://auth.docker.io/token"));
    for (home, service) in [
        ("https://r.example/v2/", "https://r.example:8443/token"),
        ("https://r.example/v2/", "https://auth.r.example/token"),
        ("https://r.example/v2/", "https://auth.docker.io/token"),
        ("https://r.example/v2/", "http://r.example/token"),
        ("https://registry-1.docker.io/v2/", "https://auth.docker.io:444/token"),
        ("https://registry-1.docker.io/v2/", "http://auth.docker.io/token"),
        ("https://registry-1.docker.io/v2/", "https://auth.docker.io.evil.example/token"),
        ("http://127.0.0.1:5000/v2/", "http://127.0.0.1:5001/token"),
    ] {
        assert!(!may(home, service), "{home} {service}");
    }
}

#[test]
fn secrets_are_not_shown() {
    let credentials = Credentials { user: "u".into(), password: "hunter2".into() };
    let header = basic(&credentials).expect("a header");
    assert_eq!(header.to_str().ok(), Some("Basic dTpodW50ZXIy"));
    assert!(!format!("{header:?}{credentials:?}").contains("hunter2"));
    assert!(!format!("{header:?}").contains("dTpodW50"), "{header:?}");
    assert!(bearer(b"{}").is_err() && bearer(b"garbage").is_err());
    assert!(bearer(br#"{"token": "a\r\nb"}"#).is_err());
}
