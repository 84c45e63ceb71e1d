//! Tests of the recognition of credentials.

use super::*;

fn marked(args: &[&str]) -> Vec<String> {
    let mark = |(arg, found): (&&str, Vec<CredentialSpan>)| {
        let mut text = (*arg).to_owned();
        for credential in found.iter().rev() {
            let value = format!("[{}]", &text[credential.range.clone()]);
            text.replace_range(credential.range.clone(), &value);
        }
        text
    };
    args.iter().zip(in_args(args)).map(mark).collect()
}

#[test]
fn arguments_with_credentials_are_recognized_in_each_of_their_forms() {
    for (args, wanted) in [
        (&["--header", "Authorization: Bearer sk-live-1"][..], "Authorization: Bearer [sk-live-1]"),
        (&["--header=Authorization:Bearer abcdefgh"], "--header=Authorization:Bearer [abcdefgh]"),
        (&["-H", "X-Api-Key: abcdefgh"], "X-Api-Key: [abcdefgh]"),
        (&["authorization: basic YWJjZGVmZ2g="], "authorization: basic [YWJjZGVmZ2g=]"),
        (&["https://a.example/mcp?api_key=abcdefgh&x=1#y"], "https://a.example/mcp?api_key=[abcdefgh]&x=1#y"),
        (
            &["--url=https://a.example/sk-0123456789abcdef/mcp"],
            "--url=https://a.example/[sk-0123456789abcdef]/mcp",
        ),
        (&["postgres://me:pass@db.example/x?a=b"], "postgres://me:[pass]@db.example/x?a=b"),
        (&["--dsn", "DSN=mysql://me:p@ss@db/x"], "DSN=mysql://me:[p@ss]@db/x"),
        (&["-e", "GITHUB_TOKEN=abcdefgh"], "GITHUB_TOKEN=[abcdefgh]"),
        (&["--env=GITHUB_TOKEN=abcdefgh"], "--env=GITHUB_TOKEN=[abcdefgh]"),
        (&["--api-key", "abcdefgh"], "[abcdefgh]"),
        (&["--token=abcdefgh"], "--token=[abcdefgh]"),
        (&["ghp_0123456789abcdef"], "[ghp_0123456789abcdef]"),
    ] {
        assert_eq!(marked(args).last().map(String::as_str), Some(wanted));
    }
}

#[test]
fn other_arguments_are_left_alone() {
    for args in [
        &["--header", "Accept: application/json"][..],
        &["--header", "Authorization: Bearer ${TOKEN}"],
        &["--header", "Authorization:${AUTH_HEADER}"],
        &["https://a.example/mcp?api_key=${KEY}&page=12345678"],
        &["postgres://me:${PASSWORD}@db.example/x", "postgres://me@db.example/x", "http://[::1]:8080/a@b"],
        &["--auth", "--verbose-output"],
        &["C:\\keys\\monkey-business", "--keys=short", "token-server:latest"],
        &["-y", "@acme/token-server@1.2.3"],
    ] {
        assert_eq!(marked(args), args);
    }
}

#[test]
fn a_credential_has_the_name_that_is_nearest_to_it() {
    let found = in_args(&["--header", "X-Key: abcdefgh", "https://u:secret@a/?token=abcdefgh"]);
    let names: Vec<_> = found.iter().flatten().filter_map(|found| found.name.as_deref()).collect();
    assert_eq!(names, ["X-Key", "password", "token"]);
    assert_eq!(in_value("", "ghp_0123456789abcdef").map(|found| found.name), Some(None));
}
