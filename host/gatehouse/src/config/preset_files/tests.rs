//! Tests of parameters from files.

use serde_json::json;

use super::*;

fn inserted(params: Value, base: Option<&Path>) -> Result<(Value, ParamFiles), PlainError> {
    let Value::Object(mut params) = params else { panic!("no object") };
    let mut files = ParamFiles::new();
    insert(&mut params, base, &mut files)?;
    Ok((Value::Object(params), files))
}

#[test]
fn files_stand_where_they_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("below")).expect("made");
    fs::write(folder.path().join("below/a.ts"), "return 1\n").expect("written");
    let params = json!({"top_k": 3, "scripts": [{"$file": "./below/a.ts"}, "inline"], "o": {"x": {"$file": "below/a.ts"}}});
    let (params, files) = inserted(params, Some(folder.path())).expect("read");
    assert_eq!(params, json!({"top_k": 3, "scripts": ["return 1\n", "inline"], "o": {"x": "return 1\n"}}));
    assert_eq!(files.len(), 1);
    assert!(!params_changed(&files));
    fs::write(folder.path().join("below/a.ts"), "return 2\n").expect("written");
    assert!(params_changed(&files), "as long, and other");
    fs::remove_file(folder.path().join("below/a.ts")).expect("removed");
    assert!(params_changed(&files));
}

#[test]
fn unreadable_files_are_refused_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let base = folder.path().join("config");
    fs::create_dir_all(base.join("sub")).expect("made");
    fs::write(folder.path().join("secret"), "s").expect("written");
    fs::write(base.join("binary"), [0xff, 0xfe]).expect("written");
    fs::write(base.join("large"), vec![b'x'; (MAX_FILE_BYTES + 1) as usize]).expect("written");
    std::os::unix::fs::symlink(folder.path().join("secret"), base.join("link")).expect("linked");
    rustix::fs::mknodat(rustix::fs::CWD, base.join("fifo"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .expect("a FIFO");
    for (path, reason) in [
        ("../secret", "relative and inside"),
        ("/etc/passwd", "relative and inside"),
        ("sub/../../secret", "relative and inside"),
        ("link", "outside the directory"),
        ("nowhere", "cannot be read: "),
        ("sub", "it is not a regular file"),
        ("fifo", "it is not a regular file"),
        ("binary", "it is not UTF-8"),
        ("large", "the limit is 262144"),
    ] {
        let message = inserted(json!({"a": {"$file": path}}), Some(&base)).expect_err(path);
        assert!(message.contains(reason) && message.contains(path), "{message}");
    }
    let message = inserted(json!({"a": {"$file": "x", "b": 1}}), Some(&base)).expect_err("more than a path");
    assert!(message.contains("without other keys"), "{message}");
    assert!(inserted(json!({"a": {"$file": "x"}}), None).expect_err("no folder").contains("built-in"));
}
