//! Which folders may be touched. A path is made canonical before it is compared, so neither `..` nor a
//! symbolic link leads out. Knows nothing about what the folders hold.

use std::path::{Path, PathBuf};

use gatehouse_core::outcome::Fault;

/// The folders that the knowledge tools may read and write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WikiRoots {
    /// Any folder: the operator at the command line.
    Any,
    /// These folders and what is below them: tools that a client calls. May be empty.
    Only(Vec<PathBuf>),
}

impl WikiRoots {
    /// The same, and one folder more.
    #[must_use]
    pub fn and(self, root: Option<&Path>) -> Self {
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

    /// The canonical form of an existing path, if it may be touched.
    ///
    /// # Errors
    /// `denied` with the line to add where it may not; `not-found` where it is allowed and does not exist.
    pub fn resolve(&self, path: &Path) -> Result<PathBuf, Fault> {
        match path.canonicalize() {
            Ok(real) if self.holds(&real) => Ok(real),
            Ok(real) => Err(self.denied(path, &real)),
            // Whether something exists is told only of places that may be looked at.
            Err(error) => match nearest_existing(path) {
                Some(real) if self.holds(&real) => {
                    Err(Fault::not_found(format!("'{}' cannot be opened: {error}", path.display()))
                        .hint("Name a folder that exists."))
                }
                _ => Err(self.denied(path, path)),
            },
        }
    }

    /// The canonical form of a file that is to be written, whose folder exists.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve) has them for the folder.
    pub fn resolve_new(&self, path: &Path) -> Result<PathBuf, Fault> {
        let invalid = || Fault::invalid(format!("'{}' does not name a file", path.display()));
        let name = path.file_name().ok_or_else(invalid)?;
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let target = self.resolve(folder)?.join(name);
        // A link that lies here may lead elsewhere.
        if target.is_symlink() { self.resolve(&target) } else { Ok(target) }
    }

    /// Whether a canonical path lies in one of the folders.
    fn holds(&self, real: &Path) -> bool {
        match self {
            Self::Any => true,
            Self::Only(roots) => {
                roots.iter().filter_map(|root| root.canonicalize().ok()).any(|root| real.starts_with(root))
            }
        }
    }

    fn denied(&self, asked: &Path, real: &Path) -> Fault {
        let mut allowed: Vec<String> = match self {
            Self::Any => Vec::new(),
            Self::Only(roots) => roots.iter().map(|root| quoted(root)).collect(),
        };
        allowed.push(quoted(real));
        Fault::denied(format!("'{}' is outside the wiki folders that tools may touch", asked.display())).hint(
            format!(
                "To allow it, write under [knowledge] in presets.toml: wiki_roots = [{}]; or use the command \
                 line, `gatehouse kg index DIR`.",
                allowed.join(", ")
            ),
        )
    }
}

/// A path as a string of TOML.
fn quoted(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}

fn nearest_existing(path: &Path) -> Option<PathBuf> {
    // `..` behind a folder that does not exist means nothing that could be checked.
    if path.components().any(|part| matches!(part, std::path::Component::ParentDir)) {
        return None;
    }
    let absolute = std::path::absolute(path).ok()?;
    absolute.ancestors().find_map(|ancestor| ancestor.canonicalize().ok())
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
