//! Gate parameters that are read from a file: `{"$file" = "scripts/report.ts"}` is replaced by the file's text.
//!
//! The file must be in the directory of `presets.toml` or below. The host reloads when it changes.

use std::{
    collections::BTreeMap,
    fs,
    path::{Component, Path, PathBuf},
};

use gatehouse_core::names::quoted;
use serde_json::{Map, Value};

const KEY: &str = "$file";

const MAX_FILE_BYTES: u64 = 256 << 10;

/// Depth to which parameters are searched for files.
const MAX_DEPTH: usize = 16;

/// Files inserted into parameters, with their text.
pub(crate) type ParamFiles = BTreeMap<PathBuf, String>;

/// Replaces each `$file` object with the text of its file. The error names the file.
pub(super) fn insert(
    params: &mut Map<String, Value>,
    base: Option<&Path>,
    inserted: &mut ParamFiles,
) -> Result<(), String> {
    params.values_mut().try_for_each(|value| insert_within(value, base, inserted, MAX_DEPTH))
}

fn insert_within(
    value: &mut Value,
    base: Option<&Path>,
    inserted: &mut ParamFiles,
    left: usize,
) -> Result<(), String> {
    if left == 0 {
        return Ok(());
    }
    match value {
        Value::Object(object) if object.contains_key(KEY) => {
            let (Some(path), 1) = (object[KEY].as_str(), object.len()) else {
                return Err(format!("expected {{\"{KEY}\" = \"PATH\"}} without other keys"));
            };
            let text = read(path, base, inserted)?;
            *value = text.into();
            Ok(())
        }
        Value::Object(object) => {
            object.values_mut().try_for_each(|one| insert_within(one, base, inserted, left - 1))
        }
        Value::Array(list) => {
            list.iter_mut().try_for_each(|one| insert_within(one, base, inserted, left - 1))
        }
        _ => Ok(()),
    }
}

fn read(path: &str, base: Option<&Path>, inserted: &mut ParamFiles) -> Result<String, String> {
    let wrong = |why: &str| format!("{KEY} '{}': {why}", quoted(path, 200));
    let base = base.ok_or_else(|| wrong("the built-in presets.toml has no directory"))?;
    if !Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(wrong("the path must be relative and inside the directory of presets.toml"));
    }
    let file = base.join(path);
    let failed = |error: std::io::Error| wrong(&format!("cannot be read: {error}"));
    // Links may point to other places in the directory, but not outside it.
    let (real, folder) = (file.canonicalize().map_err(failed)?, base.canonicalize().map_err(failed)?);
    if !real.starts_with(&folder) {
        return Err(wrong("it is outside the directory of presets.toml"));
    }
    let about = fs::metadata(&real).map_err(failed)?;
    if !about.is_file() {
        return Err(wrong("it is not a regular file"));
    }
    if about.len() > MAX_FILE_BYTES {
        return Err(wrong(&format!("it has {} bytes; the limit is {MAX_FILE_BYTES}", about.len())));
    }
    let text = String::from_utf8(fs::read(&real).map_err(failed)?).map_err(|_| wrong("it is not UTF-8"))?;
    inserted.insert(real, text.clone());
    Ok(text)
}

/// Returns whether one of the files was changed or removed.
pub(crate) fn changed(inserted: &ParamFiles) -> bool {
    inserted.iter().any(|(file, text)| {
        let same_length =
            fs::metadata(file).is_ok_and(|about| about.is_file() && about.len() == text.len() as u64);
        !same_length || fs::read(file).is_ok_and(|now| now != text.as_bytes())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn inserted(params: Value, base: Option<&Path>) -> Result<(Value, ParamFiles), String> {
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
        assert_eq!(
            params,
            json!({"top_k": 3, "scripts": ["return 1\n", "inline"], "o": {"x": "return 1\n"}})
        );
        assert_eq!(files.len(), 1);
        assert!(!changed(&files));
        fs::write(folder.path().join("below/a.ts"), "return 2\n").expect("written");
        assert!(changed(&files), "as long, and other");
        fs::remove_file(folder.path().join("below/a.ts")).expect("removed");
        assert!(changed(&files));
    }

    #[test]
    fn what_may_not_or_cannot_be_read_is_refused_with_the_reason() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().join("config");
        fs::create_dir_all(base.join("sub")).expect("made");
        fs::write(folder.path().join("secret"), "s").expect("written");
        fs::write(base.join("binary"), [0xff, 0xfe]).expect("written");
        fs::write(base.join("large"), vec![b'x'; (MAX_FILE_BYTES + 1) as usize]).expect("written");
        std::os::unix::fs::symlink(folder.path().join("secret"), base.join("link")).expect("linked");
        rustix::fs::mknodat(rustix::fs::CWD, base.join("fifo"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .expect("a FIFO");
        for (path, why) in [
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
            let told = inserted(json!({"a": {"$file": path}}), Some(&base)).expect_err(path);
            assert!(told.contains(why) && told.contains(path), "{told}");
        }
        let told = inserted(json!({"a": {"$file": "x", "b": 1}}), Some(&base)).expect_err("more than a path");
        assert!(told.contains("without other keys"), "{told}");
        assert!(inserted(json!({"a": {"$file": "x"}}), None).expect_err("no folder").contains("built-in"));
    }
}
