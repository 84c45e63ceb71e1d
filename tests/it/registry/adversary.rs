//! Hostile registries: wrong bytes, too many, too few, other content, and redirects.

use serde_json::{Value, json};

use super::{
    PRESETS, components,
    fake::{Answer, Fake, MANIFEST, Request, WASM, digest, echo, honest, layer, manifest},
    presets, run, says,
};
use crate::support::Place;

fn refuses(fake: &Fake, reference: &str, more: &[&str]) -> String {
    let place = Place::with(PRESETS, &[]);
    let ran = run(&place, 1, &[&["gates", "add", reference], more].concat());
    assert_eq!(presets(&place), PRESETS);
    assert!(components(&place).is_empty());
    assert!(!fake.seen().is_empty());
    ran.stderr()
}

fn refuses_manifest(manifest: impl Into<Vec<u8>>, kind: &'static str) -> String {
    let manifest = manifest.into();
    let fake = Fake::start(move |_| Answer::new(200, manifest.clone()).header("content-type", kind));
    let stderr = refuses(&fake, &fake.reference(), &[]);
    assert!(fake.seen().iter().all(|request| request.path.contains("/manifests/")), "{stderr}");
    stderr
}

fn refuses_blob(answer: impl Fn(Vec<u8>) -> Answer + Send + 'static) -> String {
    let gate = echo();
    let manifest = manifest(&[layer(WASM, &gate)]).to_string();
    let fake = Fake::start(move |request: &Request| match request.path.contains("/manifests/") {
        true => Answer::new(200, manifest.clone()).header("content-type", MANIFEST),
        false => answer(gate.clone()),
    });
    refuses(&fake, &fake.reference(), &[])
}

#[test]
fn an_honest_registry_is_believed() {
    let gate = echo();
    let fake = Fake::start(honest(&manifest(&[layer(WASM, &gate)]), gate.clone()));
    let place = Place::with(PRESETS, &[]);
    run(&place, 0, &["gates", "add", &fake.reference()]);
    let older =
        manifest(&[layer("text/plain", b"x"), layer("application/vnd.wasm.content.layer.v1+wasm", &gate)]);
    let fake = Fake::start(honest(&older, gate));
    run(&Place::with(PRESETS, &[]), 0, &["gates", "add", &fake.reference()]);
}

#[test]
fn other_bytes_than_the_digest_says_are_refused() {
    let stderr = refuses_blob(|mut gate| {
        gate[100] ^= 1;
        Answer::new(200, gate)
    });
    says(&stderr, &["sent a component with SHA-256", "its manifest declares"]);

    let gate = echo();
    let fake = Fake::start(honest(&manifest(&[layer(WASM, &gate)]), gate));
    let wanted = format!("sha256:{}", "0".repeat(64));
    let stderr = refuses(&fake, &format!("{}@{wanted}", fake.reference()), &[]);
    says(&stderr, &["sent manifest sha256:", &format!("instead of {wanted}")]);
    assert!(fake.seen().iter().all(|request| request.path.contains("/manifests/")));

    let other = "1".repeat(64);
    let stderr = refuses(&fake, &fake.reference(), &["--sha256", &other]);
    says(&stderr, &[&format!("expected {other}")]);
    assert!(fake.seen().iter().all(|request| request.path.contains("/manifests/")), "it need not be brought");
}

#[test]
fn more_or_less_than_declared_is_refused() {
    let longer = |mut gate: Vec<u8>| {
        gate.extend([0; 100_000]);
        gate
    };
    let stderr = refuses_blob(move |gate| Answer::new(200, longer(gate)));
    says(&stderr, &["sent more than", "bytes for the component"]);
    let stderr = refuses_blob(move |gate| Answer::new(200, longer(gate)).declaring(None));
    says(&stderr, &["sent more than", "bytes for the component"]);
    let stderr = refuses_blob(|gate| Answer::new(200, &gate[..1000]));
    says(&stderr, &["sent 1000 bytes for the component; its manifest declares"]);
    let stderr = refuses_blob(|gate| Answer::new(200, &gate[..1000]).declaring(Some(gate.len())));
    says(&stderr, &["the component ended after"]);
    let stderr = refuses_blob(|_| Answer::new(500, "\x1b[2Jdisk\nfull"));
    says(&stderr, &["answered 500", " [2Jdisk full"]);
    assert!(!stderr.contains('\x1b'), "a terminal would obey it");
}

#[test]
fn what_holds_no_single_component_is_refused() {
    let gate = layer(WASM, b"gate");
    let two = manifest(&[gate.clone(), gate.clone()]);
    says(&refuses_manifest(two.to_string(), MANIFEST), &["has 2 layers of application/wasm"]);
    let image = manifest(&[layer("application/vnd.oci.image.layer.v1.tar+gzip", b"x")]);
    says(&refuses_manifest(image.to_string(), MANIFEST), &["contains no gate", "tar+gzip"]);
    let index = json!({"schemaVersion": 2, "manifests": [{"digest": digest(b"x")}]});
    let kind = "application/vnd.oci.image.index.v1+json";
    says(&refuses_manifest(index.to_string(), kind), &["is an index of several artifacts"]);
    says(&refuses_manifest("<html>sign in</html>", "text/html"), &["is not a manifest"]);
    let huge = format!("{{\"x\": \"{}\"}}", "x".repeat(2 << 20));
    says(&refuses_manifest(huge, MANIFEST), &["sent more than 1048576 bytes for the manifest"]);
    let mut huge: Value = gate.clone();
    huge["size"] = json!(300_u64 << 20);
    let huge = manifest(&[huge]).to_string();
    says(&refuses_manifest(huge, MANIFEST), &["has 314572800 bytes; the limit is 268435456"]);
    let mut odd = gate;
    odd["digest"] = json!("sha256:../../../etc/passwd");
    says(&refuses_manifest(manifest(&[odd]).to_string(), MANIFEST), &["digest other than SHA-256"]);
}

#[test]
fn a_layer_that_is_no_gate_is_refused() {
    for (wasm, reason) in [
        (b"\0asm\x01\0\0\0".to_vec(), "is a core WebAssembly module"),
        (b"\0asm\x0d\0\x01\0".to_vec(), "is a component but not a gate"),
        (b"#!/bin/sh".to_vec(), "is not WebAssembly"),
        (echo()[..5000].to_vec(), "is not a valid component"),
    ] {
        let fake = Fake::start(honest(&manifest(&[layer(WASM, &wasm)]), wasm));
        says(&refuses(&fake, &fake.reference(), &[]), &[reason]);
    }
}

#[test]
fn redirects_are_followed_as_far_as_they_are_safe() {
    let gate = echo();
    let store = Fake::start({
        let gate = gate.clone();
        move |_| Answer::new(200, gate.clone())
    });
    let sends = |to: String| {
        let manifest = manifest(&[layer(WASM, &gate)]).to_string();
        Fake::start(move |request: &Request| match request.path.contains("/manifests/") {
            true => Answer::new(200, manifest.clone()).header("content-type", MANIFEST),
            false => Answer::new(307, "").header("location", to.clone()),
        })
    };
    let fake = sends(format!("http://{}/blob?signature=secret", store.address));
    run(&Place::with(PRESETS, &[]), 0, &["gates", "add", &fake.reference()]);
    assert_eq!(store.seen().len(), 1);

    let fake = sends("/again".into());
    says(&refuses(&fake, &fake.reference(), &[]), &["redirects more than 5 times"]);
    for elsewhere in ["http://192.0.2.1/blob", "http://localhost.evil.example/blob", "file:///etc/passwd"] {
        let fake = sends(elsewhere.into());
        says(&refuses(&fake, &fake.reference(), &[]), &["without TLS; refusing to follow"]);
    }
    let fake = Fake::start(|_| Answer::new(302, ""));
    says(&refuses(&fake, &fake.reference(), &[]), &["redirects without a location"]);
}
