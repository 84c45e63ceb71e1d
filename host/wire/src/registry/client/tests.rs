//! Rules for plain HTTP.

use super::*;

fn registry(reference: &str, insecure: bool) -> RegistryClient {
    let reference: OciReference = reference.parse().expect("a reference");
    RegistryClient::new(&reference, RegistryAccess::Pull, None, insecure).expect("a client")
}

#[test]
fn only_this_machine_is_spoken_to_without_tls_unless_the_operator_says_so() {
    let base = |reference: &str, insecure: bool| registry(reference, insecure).base.to_string();
    assert_eq!(base("oci://ghcr.io/a/b", false), "https://ghcr.io/v2/a/b/");
    assert_eq!(base("oci://docker.io/a/b", false), "https://registry-1.docker.io/v2/a/b/");
    assert_eq!(base("oci://10.0.0.1:5000/a", false), "https://10.0.0.1:5000/v2/a/");
    assert_eq!(base("oci://127.0.0.1:5000/a", false), "http://127.0.0.1:5000/v2/a/");
    assert_eq!(base("oci://[::1]:5000/a", false), "http://[::1]:5000/v2/a/");
    assert_eq!(base("oci://10.0.0.1:5000/a", true), "http://10.0.0.1:5000/v2/a/");
}

#[test]
fn no_answer_talks_us_out_of_tls() {
    let may =
        |registry: &RegistryClient, url: &str| registry.check_url(&Url::parse(url).expect("a URL")).is_ok();
    let far = registry("oci://ghcr.io/a", false);
    assert!(may(&far, "https://blobs.example/x"));
    assert!(!may(&far, "http://ghcr.io/x") && !may(&far, "http://127.0.0.1/x") && !may(&far, "file:///x"));
    let near = registry("oci://localhost:5000/a", false);
    assert!(may(&near, "http://localhost:5001/x") && !may(&near, "http://blobs.example/x"));
    assert!(may(&registry("oci://r.example/a", true), "http://blobs.example/x"));
}
