//! Tests of `[auth]`.

use gatehouse_core::Effect;

use super::*;
use crate::config::{PlainError, tests};

const URL: &str = "[auth]\nurl = \"https://tools.example\"\n";

fn settings(content: &str) -> Result<Option<AuthSettings>, PlainError> {
    tests::parse(content, &Env::default()).map(|config| config.auth)
}

fn one(block: &str) -> Result<IssuerSettings, PlainError> {
    let content = format!("{URL}[auth.issuers.corp]\nissuer = \"https://idp.example/\"\n{block}\n");
    settings(&content).map(|auth| auth.expect("a block").issuers.remove(0))
}

#[test]
fn without_a_block_there_are_no_settings() {
    assert_eq!(settings(""), Ok(None));
    assert_eq!(settings("[auth]"), Ok(Some(AuthSettings::default())));
    let token = AuthSettings { token: true, ..AuthSettings::default() };
    assert_eq!(settings("[auth]\ntoken = true"), Ok(Some(token)));
}

#[test]
fn an_issuer_has_defaults() {
    let issuer = one("").expect("valid");
    assert_eq!((issuer.name.as_str(), issuer.issuer.as_str()), ("corp", "https://idp.example/"));
    assert_eq!((issuer.user_claim.as_str(), issuer.groups_claim.as_str()), ("sub", "groups"));
    assert_eq!(issuer.algorithms, SigningAlgorithm::DEFAULTS);
    assert!(issuer.scopes.is_empty() && issuer.audience.is_none() && issuer.introspection.is_none());
    let auth = settings(&format!("{URL}[auth.issuers.a]\nissuer = \"https://idp.example\"")).expect("valid");
    assert_eq!(auth.expect("a block").base_url.as_deref(), Some("https://tools.example"));
}

#[test]
fn every_key_of_an_issuer_is_read() {
    let issuer = one("audience = \"api://x\"\nuser_claim = \"email\"\ngroups_claim = \"/realm_access/roles\"\n\
        algorithms = [\"ES384\"]\nscopes = { read = \"read-only\", write = \"external-exec\" }\n\
        introspection = { url = \"https://idp.example/i\", client_id = \"me\", client_secret = \"${GATEHOUSE_NO_SUCH}\" }")
    .expect("valid");
    assert_eq!(issuer.audience.as_deref(), Some("api://x"));
    assert_eq!((issuer.user_claim.as_str(), issuer.groups_claim.as_str()), ("email", "/realm_access/roles"));
    assert_eq!(issuer.algorithms, [SigningAlgorithm::parse("ES384").expect("an algorithm")]);
    assert_eq!(issuer.scopes["write"], Effect::ExternalExec);
    let introspection = issuer.introspection.expect("introspection");
    assert_eq!(introspection.client_secret.map(drop), Err("GATEHOUSE_NO_SUCH".to_owned()));
}

#[test]
fn a_secret_comes_from_the_environment() {
    let env = Env::from_pairs([("GATEHOUSE_TOKEN", "s3cret\n")]);
    let content = format!(
        "{URL}[auth.issuers.a]\nissuer = \"https://i.example\"\nintrospection = {{ url = \"https://i.example/i\", \
         client_id = \"me\", client_secret = \"${{GATEHOUSE_TOKEN}}\" }}\n"
    );
    let auth = tests::parse(&content, &env).expect("valid").auth.expect("a block");
    let introspection = auth.issuers[0].introspection.as_ref().expect("introspection");
    assert_eq!(introspection.client_secret.as_ref().map(|secret| secret.reveal()), Ok("s3cret"));
    assert!(!format!("{auth:?}").contains("s3cret"), "it is never printed");
}

#[test]
fn only_one_issuer_has_introspection() {
    let issuer = |name: &str| {
        format!(
            "[auth.issuers.{name}]\nissuer = \"https://{name}.example\"\nintrospection = {{ url = \"https://{name}.example/i\", \
             client_id = \"me\", client_secret = \"${{A}}\" }}\n"
        )
    };
    let refused = settings(&format!("{URL}{}{}", issuer("a"), issuer("b"))).expect_err("refused");
    assert!(refused.contains(":8:25: issuer 'a' has introspection already"), "{refused:?}");
}

#[test]
fn every_mistake_has_its_place() {
    let error = |block: &str| one(block).expect_err("refused");
    for (block, reason) in [
        ("algorithms = [\"HS256\"]", ":5:15: unknown algorithm 'HS256'; the asymmetric ones are RS256,"),
        ("algorithms = [\"none\"]", ":5:15: unknown algorithm 'none'"),
        ("scopes = { read = \"all\" }", ":5:19: unknown effect 'all'; effects are read-only,"),
        ("scopes = { \"a b\" = \"mutating\" }", ":5:12: 'a b' is not a scope"),
        ("user_claim = \"\"", ":5:14: the name of the claim is empty"),
        ("user_clam = \"a\"", ":5:1: unknown key 'user_clam'. Did you mean 'user_claim'?"),
        (
            "introspection = { url = \"http://x.example\", client_id = \"a\", client_secret = \"${A}\" }",
            ":5:25: 'http://x.example' must begin with https://",
        ),
        (
            "introspection = { url = \"https://x.example\", client_id = \"a\", client_secret = \"abc\" }",
            ":5:79: a secret belongs in the environment; write client_secret = \"${NAME}\"",
        ),
    ] {
        assert!(error(block).contains(reason), "{}", &*error(block));
    }
    let error = |content: &str| settings(content).expect_err("refused");
    let issuer = |name: &str, url: &str| format!("[auth.issuers.{name}]\nissuer = \"{url}\"\n");
    for (content, reason) in [
        (issuer("a", "https://i.example"), ":1:15: issuers need url under [auth]".to_owned()),
        (
            "[auth]\nurl = \"http://tools.example\"".to_owned(),
            ":2:7: 'http://tools.example' must begin".to_owned(),
        ),
        (
            "[auth]\nurl = \"https://x.example/mcp\"".to_owned(),
            ":2:7: 'https://x.example/mcp' must not have a path".to_owned(),
        ),
        ("[auth]\nurl = \"tools\"".to_owned(), ":2:7: 'tools' is not an address".to_owned()),
        (
            format!("{URL}{}", issuer("key", "https://i.example")),
            ":3:15: an issuer cannot be named 'key'".to_owned(),
        ),
        (
            format!("{URL}{}", issuer("Corp", "https://i.example")),
            ":3:15: 'Corp' cannot be the name".to_owned(),
        ),
        (
            format!("{URL}{}", issuer("a", "https://me:pw@i.example")),
            ":4:10: 'https://me:pw@i.example' must not".to_owned(),
        ),
        (
            format!("{URL}{}{}", issuer("a", "https://i.example"), issuer("b", "https://i.example")),
            ":6:10: issuers 'a' and 'b' have the same address".to_owned(),
        ),
    ] {
        assert!(error(&content).contains(&reason), "{}", &*error(&content));
    }
}
