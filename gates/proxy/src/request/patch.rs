//! Parses unified diffs as `diff -u` and git write them: checks their form and lists their files.

use crate::reply_format;

const MOVES: [&str; 4] = ["rename from ", "rename to ", "copy from ", "copy to "];

/// Returns the files that a patch changes, sorted. The error is the end of a sentence about the patch.
pub(super) fn files(text: &str) -> Result<Vec<String>, String> {
    let mut files = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    let mut hunks = 0;
    while let Some((number, line)) = lines.next() {
        if let Some(name) = line.strip_prefix("+++ ").or_else(|| line.strip_prefix("--- ")) {
            files.extend(path(name)?);
        } else if let Some(name) = MOVES.iter().find_map(|word| line.strip_prefix(word)) {
            files.extend(path(name)?);
        } else if let Some(rest) = line.strip_prefix("@@ -") {
            let (mut old, mut new) =
                counts(rest).ok_or_else(|| format!("line {} is not a hunk header", number + 1))?;
            hunks += 1;
            while old > 0 || new > 0 {
                let (_, line) = lines.next().ok_or("its last hunk ends too early")?;
                match line.as_bytes().first() {
                    Some(b'-') => old = decrement(old, number)?,
                    Some(b'+') => new = decrement(new, number)?,
                    Some(b'\\') => {}
                    Some(b' ') | None => (old, new) = (decrement(old, number)?, decrement(new, number)?),
                    Some(_) => return Err(format!("the hunk at line {} ends too early", number + 1)),
                }
            }
        } else if hunks > 0 && line.starts_with(['+', '-', ' ']) && line != "-- " {
            // git writes `-- ` between a patch and its version.
            return Err(format!("line {} is outside all hunks", number + 1));
        }
    }
    if hunks == 0 || files.is_empty() {
        return Err("it has no hunk with a file name".into());
    }
    files.sort();
    files.dedup();
    Ok(files)
}

fn decrement(count: u64, hunk: usize) -> Result<u64, String> {
    count
        .checked_sub(1)
        .ok_or_else(|| format!("the hunk at line {} has more lines than its header declares", hunk + 1))
}

/// Parses a hunk header: `1,2 +3,4 @@ …` has 2 old and 4 new lines.
fn counts(head: &str) -> Option<(u64, u64)> {
    let (ranges, _) = head.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let count = |range: &str| match range.split_once(',') {
        Some((start, count)) => start.parse::<u64>().ok().and_then(|_| count.parse().ok()),
        None => range.parse::<u64>().ok().map(|_| 1),
    };
    Some((count(old)?, count(new)?))
}

/// Parses a file name, without `a/` or `b/` and the time. `None` for `/dev/null`. A file outside the target folder is
/// an error.
fn path(name: &str) -> Result<Option<String>, String> {
    let name = name.split('\t').next().unwrap_or(name).trim();
    let name = if name.starts_with('"') { unquoted(name) } else { name.to_owned() };
    let name = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(&name);
    if name == "/dev/null" || name.is_empty() {
        return Ok(None);
    }
    if is_outside(name) {
        return Err(format!("'{}' is outside the target folder", reply_format::line(name, 200)));
    }
    Ok(Some(name.to_owned()))
}

/// Returns whether a path is absolute, on Unix or Windows, or leaves its folder.
fn is_outside(path: &str) -> bool {
    let drive = path.as_bytes().get(1) == Some(&b':');
    drive || path.starts_with(['/', '\\', '~']) || has_parent_component(path)
}

pub(super) fn has_parent_component(path: &str) -> bool {
    path.split(['/', '\\']).any(|part| part == "..")
}

/// Decodes a name that git quoted, including octal escapes.
fn unquoted(name: &str) -> String {
    let inside = name.trim_matches('"').as_bytes();
    let mut bytes = Vec::with_capacity(inside.len());
    let mut at = 0;
    while let Some(byte) = inside.get(at) {
        let octal = inside.get(at + 1..at + 4).and_then(|digits| std::str::from_utf8(digits).ok());
        let octal = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        let (read, length) = match (byte, octal, inside.get(at + 1)) {
            (b'\\', Some(byte), _) => (byte, 4),
            (b'\\', None, Some(escaped)) => (*escaped, 2),
            _ => (*byte, 1),
        };
        bytes.push(read);
        at += length;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "diff --git a/x.rs b/x.rs\n--- a/x.rs\n+++ b/x.rs\n@@ -1,2 +1,3 @@ fn x\n a\n-b\n+c\n+d\n\
                         --- /dev/null\n+++ b/new.rs\n@@ -0,0 +1 @@\n+one\n\\ No newline at end of file\n";

    #[test]
    fn files_of_a_patch_are_told_and_counts_are_kept_to() {
        assert_eq!(files(PATCH), Ok(vec!["new.rs".into(), "x.rs".into()]));
        for (broken, reason) in [
            (PATCH.replace("+1,3", "+1,9"), "the hunk at line 4 has more lines than its header declares"),
            (PATCH.replace("-1,2 +1,3", "-1,2"), "line 4 is not a hunk header"),
            (PATCH.replace("-1,2 +1,3", "-1,2 +1,2"), "line 8 is outside all hunks"),
            (PATCH.replace("+one\n\\ No newline at end of file\n", ""), "its last hunk ends too early"),
            ("no patch".into(), "it has no hunk with a file name"),
        ] {
            assert_eq!(files(&broken), Err(reason.to_owned()));
        }
    }

    #[test]
    fn a_patch_stays_in_its_folder() {
        let named = |name: &str| files(&PATCH.replace("b/x.rs\n@@", &format!("{name}\n@@")));
        for outside in [
            "../../etc/passwd",
            "b/../../etc/passwd",
            "/etc/passwd",
            "b/x/../../y",
            "..\\x",
            "C:\\x",
            "~/.ssh/config",
            "\"b/\\056\\056/x\"",
        ] {
            let reason = named(outside).expect_err(outside);
            assert!(reason.ends_with("is outside the target folder"), "{outside}: {reason}");
        }
        assert_eq!(named("b/x..y.rs"), Ok(vec!["new.rs".into(), "x..y.rs".into(), "x.rs".into()]));
        let moved = PATCH.replace("--- a/x.rs", "rename to ../x.rs\n--- a/x.rs");
        assert!(files(&moved).is_err());
    }
}
