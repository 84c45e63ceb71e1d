//! Rules of `.gitignore` files, as git matches them: bytes, of which the last matching rule counts.

use std::{
    fs::{self, File},
    io::Read as _,
    path::Path,
};

use gix_ignore::glob::{Pattern, pattern::Case, wildmatch::Mode};

/// Each rule is matched with each name below its folder.
const MAX_RULES: usize = 2_000;

const MAX_BYTES: u64 = 64 << 10;

/// Matching takes time that is exponential in their number.
const MAX_DOUBLE_STARS: usize = 8;

pub(crate) const TOO_MANY_RULES: &str =
    "has a .gitignore of more than 64 KiB or 2,000 lines, so it is not read";

/// Rules from several files. Those that were added last come first.
#[derive(Default)]
pub(crate) struct IgnoreRules {
    files: Vec<RuleFile>,
}

struct RuleFile {
    /// Path of the folder that the rules are for, with `/` at its end unless it is empty.
    base: Vec<u8>,
    patterns: Vec<Pattern>,
}

impl IgnoreRules {
    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    pub(crate) fn truncate(&mut self, count: usize) {
        self.files.truncate(count);
    }

    /// Adds the rules of a file, if there is one. Like git, does not follow a link. The error is a reason to leave the
    /// folder out.
    pub(crate) fn add(&mut self, file: &Path, base: &[u8]) -> Result<(), &'static str> {
        if !fs::symlink_metadata(file).is_ok_and(|of| of.is_file()) {
            return Ok(());
        }
        let mut bytes = Vec::new();
        let read = File::open(file).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes));
        read.map_err(|_| "has a .gitignore that cannot be read")?;
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
        if bytes.len() as u64 > MAX_BYTES || lines > MAX_RULES {
            return Err(TOO_MANY_RULES);
        }
        let double_stars = |line: &[u8]| line.windows(2).filter(|pair| *pair == b"**").count();
        if bytes.split(|byte| *byte == b'\n').any(|line| double_stars(line) > MAX_DOUBLE_STARS) {
            return Err("has a .gitignore with a rule of more than 8 `**`, so it is not read");
        }
        let patterns = gix_ignore::parse(&bytes, false).map(|(pattern, ..)| pattern).collect();
        let mut base = base.to_owned();
        if !base.is_empty() {
            base.push(b'/');
        }
        self.files.push(RuleFile { base, patterns });
        Ok(())
    }

    /// Returns whether the rules exclude a path, relative to the checkout. Only the path itself is matched, not its
    /// folders.
    pub(crate) fn exclude(&self, path: &[u8], is_dir: bool) -> bool {
        let matching = self.files.iter().rev().find_map(|file| {
            let path = path.strip_prefix(&*file.base)?;
            let name = path.iter().rposition(|byte| *byte == b'/').map(|at| at + 1);
            let matches = |pattern: &&Pattern| {
                let mode = Mode::NO_MATCH_SLASH_LITERAL;
                pattern.matches_repo_relative_path(path.into(), name, Some(is_dir), Case::Sensitive, mode)
            };
            file.patterns.iter().rev().find(matches)
        });
        matching.is_some_and(|pattern| !pattern.is_negative())
    }
}
