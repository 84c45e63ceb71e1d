//! Credentials of registries: only their own registry gets them, and no message shows them.

use super::{
    PRESETS, Registry,
    fake::{Answer, Fake, MANIFEST, Request, WASM, echo, layer, manifest},
    run, run_with, says,
};
use crate::support::Place;

/// `ali:sesame`
const BASIC: &str = "Basic YWxpOnNlc2FtZQ==";
const ALI: [(&str, &str); 2] =
    [("GATEHOUSE_REGISTRY_USER", "ali"), ("GATEHOUSE_REGISTRY_PASSWORD", "sesame")];
const WRONG: [(&str, &str); 2] =
    [("GATEHOUSE_REGISTRY_USER", "ali"), ("GATEHOUSE_REGISTRY_PASSWORD", "open-sesame")];

/// Serves the gate `echo` to requests with the credentials `admits`, and redirects blobs to `store` if set.
fn guarded(
    challenge: &'static str,
    admits: &'static str,
    store: Option<String>,
) -> impl Fn(&Request) -> Answer + Send + 'static {
    let gate = echo();
    let manifest = manifest(&[layer(WASM, &gate)]).to_string();
    move |request| {
        let host = request.headers.get("host").expect("a host");
        if let Some(query) = request.path.strip_prefix("/token?") {
            says(query, &["service=fake", "scope=repository%3Aecho%3Apull"]);
            return match request.headers.get("authorization").map(String::as_str) {
                Some(BASIC) => Answer::new(200, r#"{"token": "t0ken"}"#),
                _ => Answer::new(401, "{}"),
            };
        }
        if request.headers.get("authorization").map(String::as_str) != Some(admits) {
            return Answer::new(401, "{}").header("www-authenticate", challenge.replace("HOST", host));
        }
        match (&store, request.path.contains("/manifests/")) {
            (_, true) => Answer::new(200, manifest.clone()).header("content-type", MANIFEST),
            (Some(store), _) => Answer::new(307, "").header("location", store.clone()),
            (None, _) => Answer::new(200, gate.clone()),
        }
    }
}

const BEARER: &str = r#"Bearer realm="http://HOST/token",service="fake",scope="repository:echo:*""#;

#[test]
fn a_password_opens_what_asks_for_it_and_is_not_shown() {
    for (challenge, admits) in [("Basic realm=x", BASIC), (BEARER, "Bearer t0ken")] {
        let fake = Fake::start(guarded(challenge, admits, None));
        let place = Place::with(PRESETS, &[]);
        let add = ["gates", "add", &fake.reference()];
        let stderr = run(&place, 1, &add).stderr();
        says(&stderr, &["requires credentials", "GATEHOUSE_REGISTRY_USER", "docker login"]);
        let stderr = run_with(&place, 1, &add, &WRONG).stderr();
        says(&stderr, &["rejected the credentials"]);
        assert!(!stderr.contains("sesame"), "{stderr}");
        let mut log = WRONG.to_vec();
        log.push(("GATEHOUSE_LOG", "trace"));
        let stderr = run_with(&place, 1, &add, &log).stderr();
        assert!(!stderr.contains("sesame") && !stderr.contains("YWxp"), "{stderr}");
        run_with(&place, 0, &add, &ALI);
    }
}

#[test]
fn nobody_else_gets_it() {
    let gate = echo();
    let store = Fake::start(move |_| Answer::new(200, gate.clone()));
    for (challenge, admits) in [("Basic realm=x", BASIC), (BEARER, "Bearer t0ken")] {
        let to = format!("http://{}/blob", store.address);
        let fake = Fake::start(guarded(challenge, admits, Some(to)));
        run_with(&Place::with(PRESETS, &[]), 0, &["gates", "add", &fake.reference()], &ALI);
        assert!(!fake.seen()[0].headers.contains_key("authorization"), "not before it is asked for");
    }
    assert_eq!(store.seen().len(), 2);
    assert!(store.seen().iter().all(|request| !request.headers.contains_key("authorization")));

    let fake = Fake::start(guarded(r#"Bearer realm="http://192.0.2.1/token""#, "Bearer t0ken", None));
    let ran = run_with(&Place::with(PRESETS, &[]), 1, &["gates", "add", &fake.reference()], &ALI);
    says(&ran.stderr(), &["192.0.2.1", "without TLS"]);
}

#[test]
fn a_token_service_on_another_port_does_not_get_it() {
    // The service returns different tokens with and without credentials.
    let service = Fake::start(|request| match request.headers.get("authorization") {
        Some(_) => Answer::new(200, r#"{"token": "t0ken"}"#),
        None => Answer::new(200, r#"{"token": "an0nymous"}"#),
    });
    let challenge = format!(r#"Bearer realm="http://{}/token",service="fake""#, service.address);
    let challenge: &'static str = challenge.leak();
    let fake = Fake::start(guarded(challenge, "Bearer t0ken", None));
    let ran = run_with(&Place::with(PRESETS, &[]), 1, &["gates", "add", &fake.reference()], &ALI);
    says(&ran.stderr(), &[&format!("asks for credentials at http://{}", service.address), "were not sent"]);
    assert!(!ran.stderr().contains("sesame"), "{}", ran.stderr());
    let open = Fake::start(guarded(challenge, "Bearer an0nymous", None));
    run_with(&Place::with(PRESETS, &[]), 0, &["gates", "add", &open.reference()], &ALI);
    assert_eq!(service.seen().len(), 2);
    assert!(service.seen().iter().all(|request| !request.headers.contains_key("authorization")));
}

#[test]
fn a_file_from_somebody_else_does_not_choose_who_gets_the_variables() {
    let fake = Fake::start(guarded("Basic realm=x", BASIC, None));
    let place = Place::with(PRESETS, &[]);
    run_with(&place, 0, &["gates", "add", &fake.reference()], &ALI);
    let shared = std::fs::read_to_string(place.path("presets.toml")).expect("presets.toml");
    let before = fake.seen().len();
    let other = Place::with(&shared, &[]);
    says(&run_with(&other, 1, &["gates", "add"], &ALI).stdout(), &["requires credentials"]);
    let later = fake.seen().split_off(before);
    assert!(!later.is_empty() && later.iter().all(|request| !request.headers.contains_key("authorization")));

    let login = format!("{{\"auths\": {{\"{}\": {{\"auth\": \"YWxpOnNlc2FtZQ==\"}}}}}}", fake.address);
    other.write(".docker/config.json", login);
    says(&run(&other, 0, &["gates", "add"]).stdout(), &["installed gate 'echo'"]);
}

#[test]
fn one_variable_alone_is_a_mistake() {
    let place = Place::with(PRESETS, &[]);
    let ran = run_with(&place, 2, &["gates", "add", "oci://127.0.0.1:1/echo"], &ALI[..1]);
    says(&ran.stderr(), &["GATEHOUSE_REGISTRY_PASSWORD: is not set, but GATEHOUSE_REGISTRY_USER is"]);
    place.write(".docker/config.json", "{\"auths\": {\"127.0.0.1:1\": {\"auth\": \"hunter2\"}}}");
    let ran = run(&place, 2, &["gates", "add", "oci://127.0.0.1:1/echo"]);
    says(&ran.stderr(), &[".docker/config.json: the `auth` for '127.0.0.1:1' is not valid"]);
    assert!(!ran.stderr().contains("hunter2"));
}

#[test]
fn a_real_registry_with_passwords_is_pushed_to_and_pulled_from() {
    let auth = "auth: {htpasswd: {realm: test, path: FOLDER/htpasswd}}\n";
    let Some(registry) = Registry::start(auth) else { return };
    let reference = format!("oci://{}/echo:1", registry.address);
    let place = Place::with(PRESETS, &["echo"]);
    let push = ["gates", "push", "gates/echo.wasm", &reference];
    says(&run(&place, 1, &push).stderr(), &["requires credentials"]);
    says(&run_with(&place, 1, &push, &WRONG).stderr(), &["rejected the credentials"]);
    run_with(&place, 0, &push, &ALI);
    let login = format!("{{\"auths\": {{\"{}\": {{\"auth\": \"YWxpOnNlc2FtZQ==\"}}}}}}", registry.address);
    let place = Place::with(PRESETS, &[]);
    says(&run(&place, 1, &["gates", "add", &reference]).stderr(), &["requires credentials"]);
    place.write(".docker/config.json", login);
    run(&place, 0, &["gates", "add", &reference]);
}
