//! Tests of templates and of what is secret in them.

use super::*;

fn environment(name: &str) -> Option<Secret> {
    match name {
        "TOKEN" => Some(Secret::new("s3cret-value")),
        "BROKEN" => Some(Secret::new("line\nbreak")),
        _ => None,
    }
}

#[test]
fn variables_are_expanded_and_not_shown() {
    let filled =
        SecretTemplate::parse("Bearer ${TOKEN}").expect("a template").fill("Authorization", environment);
    assert_eq!(filled.value.as_ref().map(Secret::reveal), Ok("Bearer s3cret-value"));
    assert_eq!(filled.secrets, [Secret::new("s3cret-value")]);
    assert!(!format!("{filled:?}").contains("s3cret"), "{filled:?}");
}

#[test]
fn missing_variables_are_named() {
    let fill = |text: &str| SecretTemplate::parse(text).expect("a template").fill("X-A", environment).value;
    assert_eq!(
        fill("${NONE}").map_err(|reason| reason.to_string().contains("variable NONE, which is not set")),
        Err(true)
    );
    assert_eq!(
        fill("${BROKEN}").map_err(|reason| reason.to_string().contains("BROKEN: it contains a line break")),
        Err(true)
    );
}

#[test]
fn any_text_is_expanded_whatever_its_variables_hold() {
    let template = SecretTemplate::parse_text("a\n${BROKEN}-${TOKEN}").expect("a template");
    assert_eq!(template.resolve(&environment).text, "a\nline\nbreak-s3cret-value");
    assert_eq!(template.variables(), ["BROKEN", "TOKEN"]);
    let template = SecretTemplate::parse_text("${TOKEN}${NONE}").expect("a template");
    assert_eq!(template.resolve(&environment).missing, ["NONE"]);
}

#[test]
fn defaults_stand_for_variables_that_are_not_set() {
    for (text, expected) in [
        ("${NONE:-https://api.example.com/a?b={c}", "https://api.example.com/a?b={c"),
        ("x ${TOKEN:-y} z", "x s3cret-value z"),
        ("--ws=${NONE:-}", "--ws="),
        ("${NONE:-${TOKEN}}!", "s3cret-value!"),
        ("${NONE:-a${OTHER:-b${LAST:-c}}d}e", "abcde"),
        ("{\"a\": 1} $5 a$$b {{x}}", "{\"a\": 1} $5 a$$b {{x}}"),
    ] {
        let template = SecretTemplate::parse_text(text).expect("a template");
        let resolved = template.resolve(&environment);
        assert_eq!((resolved.text.as_str(), resolved.missing.len()), (expected, 0), "{text}");
    }
    let nested = SecretTemplate::parse_text("${A:-${B:-${C}}}").expect("a template");
    assert_eq!((nested.variables(), nested.resolve(&environment).missing), (vec!["A", "B", "C"], vec!["C"]));
    let deep = format!("{}x{}", "${A:-".repeat(9), "}".repeat(9));
    assert!(SecretTemplate::parse_text(&deep).is_err());
    let secret = SecretTemplate::parse_text("${A:-ghp_0123456789abcdef}").expect_err("a credential");
    assert!(secret.to_string().contains("credential as the default of $A"), "{secret}");
}

#[test]
fn bad_templates_are_refused() {
    for bad in ["${", "${}", "${1A}", "${A B}", "${A-b}", "${A:-b", "${A:-${B}", "${1:-b}", "a\nb"] {
        assert!(SecretTemplate::parse(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn literal_is_secret_if_its_header_suggests_it() {
    let fill =
        |name: &str| SecretTemplate::parse("abcdefgh").expect("a template").fill(name, environment).secrets;
    assert_eq!(fill("X-Api-Key").len(), 1);
    assert_eq!(fill("Accept").len(), 0);
}

#[test]
fn names_of_credentials_are_known_by_whole_words() {
    let certain = "API_KEY x-api-key apiKey GITHUB_TOKEN authToken PGPASSWORD MYSQL_PWD APIKEY Authorization Cookie \
        GOOGLE_CREDENTIALS client-secret GITHUB_PAT DB_PASS _authToken SSHPASS DBPass SSHKey ENCRYPTIONKEY TOKEN2 password1 \
        KEY1 DB_PASSWORD_PROD API_KEY_2 basicauth key";
    for name in certain.split_whitespace() {
        assert!(is_secret_name(name) && is_certain_secret_name(name), "{name}");
    }
    let uncertain = "AUTH_MODE TOKEN_URL SSH_KEY_FILE MAX_TOKENS PUBLIC_KEY PROJECT_KEY ROUTING_KEY KEY_ID OAUTH_ISSUER \
        _auth X-Authentication S3_MAX_KEYS";
    for name in uncertain.split_whitespace() {
        assert!(is_secret_name(name) && !is_certain_secret_name(name), "{name}");
    }
    let others = "KEYSPACE AUTHOR KEYCLOAK_URL MONKEY PASSENGERS COMPASS TOKENIZER HOME";
    for name in others.split_whitespace().chain([""]) {
        assert!(!is_secret_name(name) && !is_certain_secret_name(name), "{name}");
    }
}
