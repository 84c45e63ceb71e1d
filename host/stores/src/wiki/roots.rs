//! Access control for directories. Paths are canonicalized before the check, so neither `..` nor a symbolic link can
//! escape.
//!
//! A denial does not reveal whether the path exists: it contains only text from the caller and from the configuration.

use std::path::{Component, Path, PathBuf};

use gatehouse_core::outcome::Fault;

/// Directories that the knowledge tools can read and write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WikiRoots {
    /// Any directory. For operators on the command line.
    Any,
    /// These directories and their contents. For tools that clients call. Can be empty.
    Only(Vec<PathBuf>),
}

impl WikiRoots {
    #[must_use]
    pub fn with_root(self, root: Option<&Path>) -> Self {
        match (self, root) {
            (Self::Only(mut roots), Some(root)) => {
                if !roots.iter().any(|other| other == root) {
                    roots.push(root.to_owned());
                }
                Self::Only(roots)
            }
            (same, _) => same,
        }
    }

    /// Returns the canonical form of an existing, allowed path.
    ///
    /// # Errors
    ///
    /// Returns `denied` with the required setting if the path is not allowed, and `not-found` if it is allowed but
    /// missing.
    pub fn resolve(&self, path: &Path) -> Result<PathBuf, Fault> {
        match path.canonicalize() {
            Ok(real) if self.contains(&real) => Ok(real),
            // Reveal whether something exists only within allowed directories.
            Err(error) if nearest_existing(path).is_some_and(|real| self.contains(&real)) => {
                Err(Fault::not_found(format!("cannot open '{}': {error}", path.display()))
                    .hint("Choose an existing folder."))
            }
            Ok(_) | Err(_) => Err(self.denied(path)),
        }
    }

    /// Returns the canonical form of a file to write, whose directory must exist.
    ///
    /// # Errors
    ///
    /// Same as [`resolve`](Self::resolve) for the directory.
    pub fn resolve_new(&self, path: &Path) -> Result<PathBuf, Fault> {
        let invalid = || Fault::invalid(format!("'{}' does not name a file", path.display()));
        let name = path.file_name().ok_or_else(invalid)?;
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let target = self.resolve(folder)?.join(name);
        // An existing symbolic link can lead elsewhere.
        if target.is_symlink() { self.resolve(&target) } else { Ok(target) }
    }

    /// Returns `true` if a canonical path is in an allowed directory.
    fn contains(&self, real: &Path) -> bool {
        match self {
            Self::Any => true,
            Self::Only(roots) => {
                roots.iter().filter_map(|root| root.canonicalize().ok()).any(|root| real.starts_with(root))
            }
        }
    }

    /// Builds the denial, which must not depend on whether `asked` exists or where its links lead.
    fn denied(&self, asked: &Path) -> Fault {
        let mut allowed: Vec<String> = match self {
            Self::Any => Vec::new(),
            Self::Only(roots) => roots.iter().map(|root| toml_string(root)).collect(),
        };
        allowed.push(toml_string(&normalize(asked)));
        Fault::denied(format!("'{}' is outside the wiki folders that tools can access", asked.display())).hint(
            format!(
                "To allow it, set wiki_roots = [{}] under [knowledge] in presets.toml, or run `gatehouse kg index \
                DIR`.",
                allowed.join(", ")
            ),
        )
    }
}

fn toml_string(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}

/// Makes a path absolute and removes `..` lexically, without file system access.
fn normalize(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

/// Returns the canonical form of the longest existing ancestor. `None` if it cannot be determined safely.
fn nearest_existing(path: &Path) -> Option<PathBuf> {
    // `..` after a missing directory cannot be resolved.
    if path.components().any(|part| matches!(part, Component::ParentDir)) {
        return None;
    }
    let absolute = std::path::absolute(path).ok()?;
    for ancestor in absolute.ancestors() {
        match ancestor.canonicalize() {
            Ok(real) => return Some(real),
            // A dangling symbolic link can lead outside.
            Err(_) if ancestor.is_symlink() => return None,
            Err(_) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehouse_core::outcome::FaultKind;

    #[test]
    fn paths_inside_resolve_and_others_are_denied_with_the_line_to_add() {
        let folder = tempfile::tempdir().unwrap();
        let (inside, outside) = (folder.path().join("wiki/sub"), folder.path().join("wiki2"));
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        let roots = WikiRoots::Only(vec![folder.path().join("wiki")]);
        assert_eq!(roots.resolve(&inside).unwrap(), inside.canonicalize().unwrap());
        for path in
            [outside.clone(), inside.join("../../wiki2"), PathBuf::from("/etc"), inside.join("../../gone")]
        {
            let fault = roots.resolve(&path).unwrap_err();
            assert_eq!(fault.kind, FaultKind::Denied, "{path:?}");
            assert!(fault.hint.unwrap().contains("wiki_roots = ["));
        }
        assert_eq!(roots.resolve(&inside.join("gone")).unwrap_err().kind, FaultKind::NotFound);
        assert!(WikiRoots::Any.resolve(&outside).is_ok());
        assert_eq!(WikiRoots::Only(vec![]).resolve(&inside).unwrap_err().kind, FaultKind::Denied);
    }

    #[cfg(unix)]
    #[test]
    fn a_denial_says_the_same_whether_the_path_exists_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for made in ["wiki/sub", "elsewhere/there"] {
            std::fs::create_dir_all(at(made)).unwrap();
        }
        std::fs::write(at("elsewhere/file"), "x").unwrap();
        std::os::unix::fs::symlink(at("elsewhere/there"), at("elsewhere/link")).unwrap();
        std::os::unix::fs::symlink(at("elsewhere/there"), at("wiki/link-to-there")).unwrap();
        std::os::unix::fs::symlink(at("elsewhere/gone"), at("wiki/link-to-gone")).unwrap();
        let roots = WikiRoots::Only(vec![at("wiki")]);
        type Resolve = fn(&WikiRoots, &Path) -> Result<PathBuf, Fault>;
        assert_eq!(normalize(Path::new("/a/../../b/./c/..")), Path::new("/b"));
        for resolve in [WikiRoots::resolve as Resolve, WikiRoots::resolve_new] {
            let told = |path: &str| {
                let fault = resolve(&roots, &at(path)).unwrap_err();
                let name = Path::new(path).file_name().unwrap().to_str().unwrap();
                (fault.kind, format!("{} {}", fault.message, fault.hint.unwrap()).replace(name, "*"))
            };
            for (there, gone) in [
                ("elsewhere/there", "elsewhere/gone"),
                ("elsewhere/link", "elsewhere/gone"),
                ("elsewhere/file", "elsewhere/gone"),
                ("elsewhere/there/deeper", "elsewhere/gone/deeper"),
                ("wiki/../elsewhere/there", "wiki/../elsewhere/gone"),
                ("wiki/link-to-there", "wiki/link-to-gone"),
                ("wiki/link-to-there/deeper", "wiki/link-to-there/gone"),
            ] {
                let (there, gone) = (told(there), told(gone));
                assert_eq!(there.0, FaultKind::Denied, "{there:?}");
                assert_eq!(there.1.replace("there", "gone"), gone.1.replace("there", "gone"));
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_does_not_lead_out() {
        let folder = tempfile::tempdir().unwrap();
        let wiki = folder.path().join("wiki");
        std::fs::create_dir(&wiki).unwrap();
        std::os::unix::fs::symlink("/etc", wiki.join("out")).unwrap();
        std::os::unix::fs::symlink("/etc/new", wiki.join("new")).unwrap();
        let roots = WikiRoots::Only(vec![wiki.clone()]);
        assert_eq!(roots.resolve(&wiki.join("out")).unwrap_err().kind, FaultKind::Denied);
        assert_eq!(roots.resolve_new(&wiki.join("out/x.index")).unwrap_err().kind, FaultKind::Denied);
        assert!(roots.resolve_new(&wiki.join("new")).is_err());
        assert!(roots.resolve_new(&wiki.join("x.index")).is_ok());
    }
}
