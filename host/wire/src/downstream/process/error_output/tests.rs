//! Summaries of standard error.

use super::*;

fn summary(output: &str) -> Option<String> {
    let errors = ErrorOutput::default();
    errors.read_to_end(output.as_bytes());
    errors.error_summary()
}

#[test]
fn the_line_that_names_the_error_is_quoted() {
    for (output, expected) in [
        (
            "node:internal/modules/esm/resolve:873\n  throw new ERR_MODULE_NOT_FOUND(packageName);\n        ^\n\n\
             Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'zod'\n    at packageResolve (node:internal:8)\n  \
             code: 'ERR_MODULE_NOT_FOUND'\n}\n\nNode.js v20.20.2\n",
            "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'zod'",
        ),
        (
            "Downloading cryptography (4.2MiB)\nerror: Failed to fetch: `https://pypi.org/simple/x/`\n  \
             Caused by: Request failed after 3 retries\n  Caused by: invalid peer certificate: UnknownIssuer\n",
            "error: Failed to fetch: `https://pypi.org/simple/x/` / invalid peer certificate: UnknownIssuer",
        ),
        (
            "  × Failed to download `x==1`\n  ├─▶ error sending request\n  ╰─▶ invalid peer certificate\n",
            "× Failed to download `x==1` / invalid peer certificate",
        ),
        (
            "Error: no database\n\nCaused by:\n    0: cannot open it\n    1: permission denied\n",
            "Error: no database / 1: permission denied",
        ),
        (
            "Traceback (most recent call last):\n  File \"/a.py\", line 3, in look\n    raise ValueError(\"x\")\n\
             ValueError: x\n",
            "ValueError: x",
        ),
        (
            "INFO errors are logged\n\nthread 'main' (1) panicked at src/main.rs:3:5:\nno home\nnote: run with it\n",
            "thread 'main' (1) panicked at src/main.rs:3:5: no home",
        ),
        (
            "npm warn deprecated a@1: it has an error\nnpm error code E404\nnpm error 404 Not Found\n",
            "npm error code E404",
        ),
        (
            "starting\nUsage: server-filesystem DIRECTORY\nsee the docs\n",
            "Usage: server-filesystem DIRECTORY",
        ),
        ("one\ntwo\n\nthree\nfour\n", "two / three / four"),
    ] {
        assert_eq!(summary(output).as_deref(), Some(expected), "{output}");
    }
    assert_eq!(summary("\n \n"), None);
}

#[test]
fn a_long_trace_or_line_does_not_hide_the_error() {
    let trace: String = (0..10_000).map(|line| format!("goroutine {line} [running]:\n")).collect();
    assert_eq!(summary(&format!("panic: nil map\n{trace}")).as_deref(), Some("panic: nil map"));
    let long = summary(&format!("Error: {}", "x".repeat(1 << 20))).expect("a line");
    assert!(long.starts_with("Error: xxx") && long.len() < 400, "{long}");
}

#[test]
fn an_error_before_a_pause_does_not_explain_the_end() {
    let (mut event, start) = (ErrorEvent::default(), Instant::now());
    event.add("error: this tool failed", start);
    event.add("out of licenses", start + EVENT_PAUSE + Duration::from_secs(1));
    assert_eq!(event.error_summary().as_deref(), Some("out of licenses"));
}

#[test]
fn a_credential_is_redacted_before_its_line_is_cut() {
    let redactor = Redactor::new([&gatehouse_core::http::Secret::new("s3cret-that-is-cut-in-two")]);
    let errors = ErrorOutput::new(Arc::new(redactor), ServerLog::default());
    for before in [285, 295, 1_190, 1_199] {
        let line = format!("{}s3cret-that-is-cut-in-two and more{}", "x".repeat(before), "y".repeat(20_000));
        errors.read_to_end(line.as_bytes());
        let shown = errors.error_summary().expect("a line");
        assert!(!shown.contains("s3cret") && !shown.contains("in-two"), "{shown}");
    }
}
