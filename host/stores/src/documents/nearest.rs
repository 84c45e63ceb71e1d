//! Suggestions for a path that does not exist.

use std::cmp::Reverse;

use gatehouse_core::{outcome::Fault, ports::documents::FileHead, search::composed};

use crate::nearest::{MAX_COMPARED_CHARS, MAX_SUGGESTIONS};

/// Number of paths whose spelling is compared in full, chosen by shared byte pairs.
const MAX_COMPARED_PATHS: usize = 200;

/// Returns the stored path that a person means: without `./` before it, and with characters composed in another way.
pub(super) fn same_path(requested_path: &str, heads: &[FileHead]) -> Option<String> {
    let requested_path = requested_path.trim_start_matches("./").trim_start_matches('/');
    let key = composed(requested_path);
    let paths = heads.iter().map(|head| &head.path);
    let equal: Vec<&String> = paths.filter(|path| composed(path) == key).collect();
    equal.iter().find(|path| **path == requested_path).or(equal.first()).map(|path| (*path).clone())
}

pub(super) async fn unknown_path(repository: &str, requested_path: &str, heads: Vec<FileHead>) -> Fault {
    let display_path: String = requested_path.chars().take(300).collect();
    let missing = format!("document '{display_path}' not found in repository '{repository}'");
    let suggestions = tokio::task::spawn_blocking(move || nearest(&display_path, &heads).join(", ")).await;
    match suggestions.unwrap_or_default() {
        suggestions if suggestions.is_empty() => Fault::not_found(missing),
        suggestions => Fault::not_found(format!("{missing}; nearest: {suggestions}")),
    }
}

/// Returns the nearest paths, nearest first: the same file name, then a file name that starts or ends with the
/// requested one, then similar spelling.
fn nearest(requested_path: &str, heads: &[FileHead]) -> Vec<String> {
    let requested_path = FoldedPath::from_path(requested_path);
    let mut rough: Vec<(u8, Reverse<u32>, usize)> = heads
        .iter()
        .enumerate()
        .map(|(at, head)| {
            let path = FoldedPath::from_path(&head.path);
            (path.class(&requested_path), Reverse(path.shared_pairs(&requested_path)), at)
        })
        .collect();
    if rough.len() > MAX_COMPARED_PATHS {
        rough.select_nth_unstable(MAX_COMPARED_PATHS);
        rough.truncate(MAX_COMPARED_PATHS);
    }
    let close = |(class, _, at): (u8, _, usize)| {
        let path = &heads[at].path;
        (class, Reverse(FoldedPath::from_path(path).similarity(&requested_path)), path)
    };
    let mut ranked: Vec<_> = rough.into_iter().map(close).collect();
    ranked.sort_unstable();
    ranked.into_iter().take(MAX_SUGGESTIONS).map(|(_, _, path)| path.clone()).collect()
}

/// A lowercase path. Long paths keep their end, because the file name matters most.
struct FoldedPath {
    path: String,
    name: usize,
    /// Set of adjacent byte pairs in the file name, hashed to 64 bits.
    pairs: u64,
}

impl FoldedPath {
    fn from_path(path: &str) -> Self {
        let path = path.trim().trim_matches('/');
        let letters = path.chars().count();
        let path: String = path
            .chars()
            .skip(letters.saturating_sub(MAX_COMPARED_CHARS))
            .flat_map(char::to_lowercase)
            .collect();
        let name = path.rfind('/').map_or(0, |slash| slash + 1);
        let pairs = path.as_bytes()[name..]
            .windows(2)
            .fold(0, |pairs, pair| pairs | 1 << ((usize::from(pair[0]) * 31 + usize::from(pair[1])) % 64));
        Self { path, name, pairs }
    }

    fn name(&self) -> &str {
        &self.path[self.name..]
    }

    fn stem(&self) -> &str {
        self.name().split('.').next().unwrap_or_default()
    }

    fn class(&self, asked: &Self) -> u8 {
        let (name, stem) = (self.name(), asked.stem());
        if name == asked.name() {
            0
        } else if self.stem() == stem {
            1
        } else if stem.len() > 2 && (name.starts_with(stem) || self.stem().ends_with(stem)) {
            2
        } else {
            3
        }
    }

    /// Returns the score of pairs in both names minus pairs in only one, at least 0.
    fn shared_pairs(&self, asked: &Self) -> u32 {
        let both = (self.pairs & asked.pairs).count_ones() * 2;
        both.saturating_sub((self.pairs ^ asked.pairs).count_ones())
    }

    /// Returns the similarity in millionths, because floats are not `Ord`.
    fn similarity(&self, asked: &Self) -> u64 {
        let names = strsim::jaro_winkler(self.name(), asked.name());
        let paths = strsim::jaro(&self.path, &asked.path);
        ((2.0 * names + paths) / 3.0 * 1e6) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads(paths: &[&str]) -> Vec<FileHead> {
        paths.iter().map(|path| FileHead { path: (*path).to_owned(), hash: String::new() }).collect()
    }

    #[test]
    fn the_same_file_name_comes_first_then_the_spelling() {
        let all = heads(&[
            "README.md",
            "docs/install.md",
            "docs/guide/index.rst",
            "src/installer.rs",
            "src/main.rs",
        ]);
        for (asked, expected) in [
            ("install.md", "docs/install.md"),
            ("guide/INSTALL.MD", "docs/install.md"),
            ("docs/install.rst", "docs/install.md"),
            ("readme", "README.md"),
            ("/src/mian.rs", "src/main.rs"),
            ("docs/guides/index.rst", "docs/guide/index.rst"),
        ] {
            assert_eq!(nearest(asked, &all)[0], expected, "{asked}");
        }
        assert_eq!(nearest("installer", &all)[..2], ["src/installer.rs", "docs/install.md"]);
    }

    #[test]
    fn any_question_is_answered() {
        for asked in ["", "/", "\0", "..", &"é/".repeat(100_000)] {
            assert_eq!(nearest(asked, &heads(&["a", "b", "c", "d"])).len(), 3);
        }
        assert!(nearest("x", &[]).is_empty());
    }

    #[test]
    fn among_very_many_the_nearest_is_found() {
        let mut paths: Vec<String> =
            (0..100_000).map(|n| format!("part{}/module_{n:06}.md", n % 100)).collect();
        paths.push("docs/configuration.md".into());
        let all: Vec<FileHead> =
            paths.into_iter().map(|path| FileHead { path, hash: String::new() }).collect();
        assert_eq!(nearest("configration.md", &all)[0], "docs/configuration.md");
        assert_eq!(nearest("part7/module_04210.md", &all).len(), 3);
    }
}
