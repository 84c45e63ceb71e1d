//! Reads the remote and the commit of a checkout. Does not run git, because the configuration of an untrusted checkout
//! can make git run programs.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use crate::clean::one_line;

/// `packed-refs` with 100,000 branches is 7 MB.
const MAX_FILE: u64 = 16 << 20;

const MAX_SYMBOLIC_REFS: usize = 5;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitCheckout {
    /// Remote `origin`, without credentials.
    pub url: Option<String>,
    pub commit: Option<String>,
}

/// Files of a checkout.
pub(crate) struct WorkTree {
    pub(crate) root: PathBuf,
    /// Folder of its HEAD and its index.
    pub(crate) git: PathBuf,
    /// Folder that a linked work tree shares with others. Otherwise the same as `git`.
    pub(crate) common: PathBuf,
    /// Bytes of the name of an object.
    pub(crate) object_bytes: usize,
}

impl WorkTree {
    /// Returns the checkout that contains the directory, if any.
    pub(crate) fn containing(folder: &Path) -> Option<Self> {
        let (root, git) = folder.ancestors().find_map(|root| Some((root, git_folder(root)?)))?;
        let common = read(&git.join("commondir")).map_or_else(|| git.clone(), |path| git.join(path.trim()));
        let config = read(&common.join("config")).unwrap_or_default().to_ascii_lowercase();
        let config: String = config.split_whitespace().collect();
        let object_bytes = if config.contains("objectformat=sha256") { 32 } else { 20 };
        Some(Self { root: root.to_owned(), git, common, object_bytes })
    }
}

/// Returns the checkout that contains the directory, if any.
pub fn checkout(folder: &Path) -> Option<GitCheckout> {
    let WorkTree { git, common, .. } = WorkTree::containing(folder)?;
    let url =
        read(&common.join("config")).and_then(|config| origin(&config)).map(|url| without_credentials(&url));
    Some(GitCheckout { url, commit: commit(&git, &common) })
}

fn git_folder(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    if git.is_dir() {
        return git.join("HEAD").is_file().then_some(git);
    }
    let target = folder.join(read(&git)?.strip_prefix("gitdir:")?.trim());
    target.join("HEAD").is_file().then_some(target)
}

fn read(path: &Path) -> Option<String> {
    // Opening a pipe would block.
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(MAX_FILE).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn commit(own: &Path, common: &Path) -> Option<String> {
    let mut value = read(&own.join("HEAD"))?;
    for _ in 0..MAX_SYMBOLIC_REFS {
        let Some(name) = value.trim().strip_prefix("ref:").map(str::trim).map(str::to_owned) else {
            return object_id(value.trim());
        };
        if !name.starts_with("refs/") || name.split('/').any(|part| part == "..") {
            return None;
        }
        value = read(&own.join(&name))
            .or_else(|| read(&common.join(&name)))
            .or_else(|| packed_ref(common, &name))?;
    }
    None
}

fn packed_ref(common: &Path, name: &str) -> Option<String> {
    let refs = read(&common.join("packed-refs"))?;
    let entry = refs.lines().find_map(|line| line.split_once(' ').filter(|(_, at)| at.trim() == name));
    entry.map(|(object, _)| object.to_owned())
}

fn object_id(text: &str) -> Option<String> {
    let hex = text.chars().all(|c| c.is_ascii_hexdigit());
    (hex && matches!(text.len(), 40 | 64)).then(|| text.to_ascii_lowercase())
}

fn origin(config: &str) -> Option<String> {
    let mut in_section = false;
    let mut url = None;
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            in_section = line.split_whitespace().collect::<String>() == "[remote\"origin\"]";
        } else if in_section
            && let Some((key, value)) = line.split_once('=')
            && key.trim().eq_ignore_ascii_case("url")
        {
            url = Some(value.trim().trim_matches('"').to_owned());
        }
    }
    url.filter(|url| !url.is_empty())
}

/// Removes passwords, tokens and the query. Keeps the user of SSH URLs, usually `git`, which is part of the address.
fn without_credentials(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let clean_url = match url.split_once("://") {
        None => url.to_owned(),
        Some((scheme, rest)) => {
            let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
            let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
            let user = user.split(':').next().unwrap_or_default();
            let ssh = scheme.eq_ignore_ascii_case("ssh") || scheme.eq_ignore_ascii_case("git+ssh");
            let user = if ssh && !user.is_empty() { format!("{user}@") } else { String::new() };
            format!("{scheme}://{user}{host}{path}")
        }
    };
    one_line(&clean_url, 500)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::put;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    #[test]
    fn the_commit_is_found_however_head_names_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        assert_eq!(checkout(&root.join("none")), None);
        put(root, ".git/HEAD", "ref: refs/heads/main\n");
        put(
            root,
            ".git/config",
            "[core]\n\turl = x\n[remote \"origin\"]\n\turl = https://u:secret@example.org/a.git\n",
        );
        put(root, ".git/packed-refs", format!("# pack-refs\n{COMMIT} refs/heads/main\n^{COMMIT}\n"));
        let found =
            GitCheckout { url: Some("https://example.org/a.git".into()), commit: Some(COMMIT.into()) };
        assert_eq!(checkout(root), Some(found.clone()), "packed");
        put(root, ".git/refs/heads/main", format!("{}\n", COMMIT.replace('0', "f")));
        assert_eq!(checkout(root).and_then(|found| found.commit), Some(COMMIT.replace('0', "f")), "loose");
        put(root, ".git/HEAD", COMMIT);
        fs::create_dir_all(root.join("docs/inner")).expect("made");
        assert_eq!(checkout(&root.join("docs/inner")), Some(found.clone()), "detached, from a folder within");
        put(root, ".git/worktrees/w/HEAD", "ref: refs/heads/main\n");
        put(root, ".git/worktrees/w/commondir", "../..\n");
        let tree = tempfile::tempdir().expect("a folder");
        put(tree.path(), ".git", format!("gitdir: {}\n", root.join(".git/worktrees/w").display()));
        let other = GitCheckout { commit: Some(COMMIT.replace('0', "f")), ..found };
        assert_eq!(checkout(tree.path()), Some(other), "a further work tree");
    }

    #[test]
    fn a_head_that_leads_astray_leads_nowhere() {
        let folder = tempfile::tempdir().expect("a folder");
        for head in ["ref: ../../etc/passwd", "ref: refs/../../x", "not a commit", "ref: refs/heads/loop"] {
            put(folder.path(), ".git/HEAD", head);
            put(folder.path(), ".git/refs/heads/loop", "ref: refs/heads/loop");
            assert_eq!(checkout(folder.path()), Some(GitCheckout::default()), "{head}");
        }
    }

    #[test]
    fn credentials_stay_out_of_urls() {
        for (url, bare) in [
            ("https://token@example.org/a/b?key=1#x", "https://example.org/a/b"),
            ("ssh://git:pw@example.org:22/a", "ssh://git@example.org:22/a"),
            ("git@example.org:a/b.git", "git@example.org:a/b.git"),
            ("/srv/git/a", "/srv/git/a"),
            ("https://a@b@example.org", "https://example.org"),
        ] {
            assert_eq!(without_credentials(url), bare);
        }
    }
}
