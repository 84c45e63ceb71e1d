//! The file `environment` in the configuration directory: variables for every start of Gatehouse, however it is started.
//! It has the format of systemd's `EnvironmentFile`, so that the packaged service reads one like it.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, ErrorKind},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use gatehouse_files::{Durability, write_private};

use super::{ConfigError, PlainError, credentials::is_variable, locate, locked_files};

/// Variables of the file, by name.
pub(crate) type FileVariables = BTreeMap<String, String>;

/// Returns the path of the file. `None` without a home directory.
pub(crate) fn path() -> Option<PathBuf> {
    Some(locate::config_home()?.join("environment"))
}

/// Reads the file. It has no variables if it does not exist.
///
/// # Errors
/// If others could have written or can read it, if it is larger than 4 MiB, or if a line is not a variable. Errors contain
/// no values.
pub(crate) fn read() -> Result<FileVariables, ConfigError> {
    path().map_or_else(|| Ok(FileVariables::new()), |path| Ok(read_checked(&path)?.1))
}

/// Returns the text of the file and its variables.
fn read_checked(path: &Path) -> Result<(String, FileVariables), ConfigError> {
    let failed = |reason: PlainError| ConfigError::new(path.display(), reason);
    let unread = |error: io::Error| failed(format!("cannot be read: {error}").into());
    let about = match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Default::default()),
        about => about.map_err(unread)?,
    };
    if about.uid() != rustix::process::geteuid().as_raw() || about.mode() & 0o077 != 0 {
        let path = path.display();
        let reason =
            format!("has secrets, so only you may read and write it: run `chmod 600 {path}` as its owner");
        return Err(failed(reason.into()));
    }
    let text = locate::read_bounded(path).map_err(unread)?;
    let text = String::from_utf8(text).map_err(|_| failed("is not UTF-8 text".into()))?;
    match parse(&text) {
        Ok(variables) => Ok((text, variables)),
        Err((line, reason)) => Err(ConfigError::new(format!("{}:{line}", path.display()), reason)),
    }
}

fn parse(text: &str) -> Result<FileVariables, (usize, PlainError)> {
    let mut variables = FileVariables::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let named = line.split_once('=').filter(|(name, _)| is_variable(name.trim_end()));
        let wrong = |reason: &str| (index + 1, PlainError::from(reason));
        let (name, value) = named.ok_or_else(|| wrong("expected a line such as NAME=value"))?;
        let value =
            unquoted(value.trim_start()).ok_or_else(|| wrong("the quote of this value is not closed"))?;
        variables.insert(name.trim_end().to_owned(), value);
    }
    Ok(variables)
}

/// Returns a value without its quotes and backslashes. `None` if its quote is not closed.
fn unquoted(text: &str) -> Option<String> {
    if let Some(rest) = text.strip_prefix('\'') {
        return rest.strip_suffix('\'').map(str::to_owned);
    }
    let (quote, text) = text.strip_prefix('"').map_or((false, text), |rest| (true, rest));
    let (mut value, mut chars) = (String::new(), text.chars());
    while let Some(c) = chars.next() {
        match c {
            '\\' => value.extend(chars.next()),
            '"' if quote => return chars.as_str().is_empty().then_some(value),
            c => value.push(c),
        }
    }
    (!quote).then_some(value)
}

fn quoted(value: &str) -> String {
    let mut quoted = String::from("\"");
    for c in value.chars() {
        if matches!(c, '"' | '\\' | '$' | '`') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push('"');
    quoted
}

/// Writes variables into the file, and returns its path. An empty value removes its variable. Other lines stay.
pub(crate) fn write(changed: &FileVariables) -> Result<PathBuf, ConfigError> {
    let path =
        path().ok_or_else(|| ConfigError::new("HOME", "there is no home directory for the variables"))?;
    let failed = |error: io::Error| ConfigError::new(path.display(), format!("cannot be written: {error}"));
    let _lock = locked_files::lock(&path).map_err(failed)?;
    let (before, _) = read_checked(&path)?;
    let is_changed =
        |line: &str| line.split_once('=').is_some_and(|(name, _)| changed.contains_key(name.trim()));
    let mut text: String =
        before.lines().filter(|line| !is_changed(line)).map(|line| format!("{line}\n")).collect();
    for (name, value) in changed {
        if !is_variable(name) || value.contains(char::is_control) {
            let reason = "a variable has a name of letters, digits and _, and a value of one line";
            return Err(ConfigError::new(gatehouse_core::names::quoted(name, 64), reason));
        }
        if !value.is_empty() {
            text.push_str(&format!("{name}={}\n", quoted(value)));
        }
    }
    if text.len() as u64 > locate::MAX_FILE {
        return Err(ConfigError::new(path.display(), "would be larger than 4 MiB; the value is too long"));
    }
    write_private(&path, text.as_bytes(), Durability::Synced).map_err(failed)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_mean_what_they_mean_to_systemd() {
        let text = "# a comment\n; another\n\nA=b c \nB = \"x \\\"y\\\\ $z\"\nC='it \\ is'\nD=a\\ b\nE=\n";
        let expected = [("A", "b c"), ("B", "x \"y\\ $z"), ("C", "it \\ is"), ("D", "a b"), ("E", "")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(parse(text).expect("valid"), FileVariables::from(expected));
        for (text, line) in [("A=b\nexport", 2), ("1A=b", 1), ("A=\"b", 1), ("A='b", 1), ("A=\"b\" c", 1)] {
            assert_eq!(parse(text).map(drop).map_err(|(line, _)| line), Err(line), "{text}");
        }
    }

    #[test]
    fn written_values_are_read_back() {
        for value in ["plain", "", " sp ace ", "q\"uo'te", "back\\slash\\", "$HOME `x`", "#hash", "ü=;"] {
            assert_eq!(unquoted(&quoted(value)).as_deref(), Some(value));
        }
    }
}
