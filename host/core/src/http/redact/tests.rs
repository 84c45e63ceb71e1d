//! Tests of spellings, windows, and short secrets.

use super::*;

fn clean(secret: &str, text: &str) -> String {
    Redactor::new([&Secret::new(secret)]).redact_text(text.to_owned())
}

#[test]
fn an_echo_is_cleaned_in_every_spelling() {
    assert_eq!(clean("s3cret-token", "a=s3cret-token&b=s3cret-token"), "a=[redacted]&b=[redacted]");
    assert_eq!(clean("a\"b c/d+ef", r#"{"echo":"a\"b c/d+ef"}"#), r#"{"echo":"[redacted]"}"#);
    assert_eq!(clean("a b/c+defg", "?q=a%20b%2Fc%2Bdefg"), "?q=[redacted]");
    assert_eq!(clean("a b/c+defg", "?q=a%20b%2fc%2bdefg"), "?q=[redacted]");
    assert_eq!(clean("abc/defgh", r#"{"echo":"abc\/defgh"}"#), r#"{"echo":"[redacted]"}"#);
    assert_eq!(clean("a&b<c'd+efg", "<p>a&amp;b&lt;c&#39;d+efg</p>"), "<p>[redacted]</p>");
    assert_eq!(clean("a&b<c'd+efg", r"a\u0026b\u003cc\u0027d\u002befg!"), "[redacted]!");
    assert_eq!(clean("a&b<c'd+efg", "q=a%26amp%3Bb%26lt%3Bc%26%2339%3Bd%2Befg&x=%20"), "q=[redacted]&x=%20");
    assert_eq!(
        clean("a%41b&cdefg", "a%41b&amp;cdefg a%2541b%26cdefg a%41b&cdefg"),
        ["[redacted]"; 3].join(" ")
    );
    assert_eq!(clean("Bearer 0123456789", "token 0123456789."), "token [redacted].");
}

#[test]
fn a_name_that_says_a_secret_is_known_in_any_case() {
    let redactor = Redactor::new([&Secret::new("S3cret-Token")]);
    assert!(redactor.name_has_secret("s3cret-token") && redactor.name_has_secret("X-S3CRET-TOKEN-1"));
    assert!(!redactor.name_has_secret("x-token") && !Redactor::default().name_has_secret("x"));
}

#[test]
fn a_secret_is_found_wherever_windows_meet() {
    let redactor = Redactor::new([&Secret::new("s3cret&token")]);
    for at in [
        0,
        1,
        WINDOW_BYTES - 8,
        WINDOW_BYTES,
        WINDOW_BYTES + 12 * MAX_ESCAPE_GROWTH - 9,
        2 * WINDOW_BYTES - 3,
    ] {
        let mut body = vec![b'%'; at];
        body.extend_from_slice(b"s3cret&amp;tokens3cret&token");
        body.extend_from_slice(&vec![b'%'; 3 * WINDOW_BYTES - at]);
        let clean = redactor.redact_body(body);
        assert_eq!(clean.len(), 3 * WINDOW_BYTES + 20, "{at}");
        assert!(memchr::memmem::find(&clean, b"s3cret").is_none(), "{at}");
    }
}

#[test]
fn short_secrets_are_looked_for_in_headers_alone() {
    let redactor = Redactor::new([&Secret::new("12345")]);
    assert_eq!(redactor.redact_header(b"x 12345".to_vec()), b"x [redacted]");
    assert_eq!(redactor.redact_body(b"x 12345".to_vec()), b"x 12345");
    assert_eq!(Redactor::new([&Secret::new("1"), &Secret::new("")]).redact_header(b"1".to_vec()), b"1");
}

#[test]
fn short_secrets_of_servers_are_whole_words() {
    let redactor = Redactor::new([&Secret::new("h4ck")]).with_short_secrets();
    let clean = |text: &str| redactor.redact_text(text.into());
    assert_eq!(clean("h4ck, \"h4ck\" (h4ck)"), "[redacted], \"[redacted]\" ([redacted])");
    assert_eq!(clean("h4cker xh4ck 1h4ck"), "h4cker xh4ck 1h4ck");
    assert_eq!(clean(r#"{"a":"\nh4ck"} p%3Dh4ck&amp;"#), r#"{"a":"\n[redacted]"} p%3D[redacted]&amp;"#);
}

#[test]
fn binary_content_is_searched_for_long_secrets() {
    let redactor = Redactor::new([&Secret::new("s3cret-token"), &Secret::new("h4ck")]).with_short_secrets();
    let binary = |text: &[u8]| [&[0xff, 0xfe], text, &[0xff]].concat();
    assert_eq!(redactor.redact_binary(&binary(b"s3cret-token")), Some(binary(b"[redacted]")));
    assert_eq!(redactor.redact_binary(&binary(b"h4ck")), None);
    assert_eq!(redactor.redact_binary(b"is h4ck"), Some(b"is [redacted]".to_vec()));
}

#[test]
fn words_of_a_secret_that_are_not_random_stay() {
    let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\n-----END PRIVATE KEY-----";
    let reply = "-----BEGIN CERTIFICATE----- MIIEvQIBADANBgkqhkiG9w0BAQEF";
    assert_eq!(clean(key, reply), "-----BEGIN CERTIFICATE----- [redacted]");
    assert_eq!(
        clean(r#"{"client_email": "a@b.example"}"#, r#"{"client_email": 1}"#),
        r#"{"client_email": 1}"#
    );
    assert_eq!((entropy("aaaa"), entropy("abab"), entropy("abcdefgh")), (0.0, 1.0, 3.0));
}

#[test]
fn debug_output_shows_no_secrets() {
    let shown = format!("{:?}", Redactor::new([&Secret::new("s3cret-token")]));
    assert!(!shown.contains("s3cret"), "{shown}");
}
