//! A folder for one test: configuration, state, and the environment of hosts in it.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ has a parent").to_path_buf()
}

/// Returns the path of the built binary, next to the tests.
pub(crate) fn binary() -> PathBuf {
    let test = env::current_exe().expect("a test has a path");
    let folder = test.parent().and_then(Path::parent).expect("target/<profile>/deps");
    let binary = folder.join("gatehouse");
    assert!(binary.exists(), "{} is missing; `cargo xtask test` builds it", binary.display());
    binary
}

pub(crate) fn built(gate: &str) -> Vec<u8> {
    let file = format!("{gate}.wasm");
    let built = ["gates", "target/fixture-gates"].map(|folder| repository().join(folder).join(&file));
    let found = built.iter().find(|path| path.exists());
    let found =
        found.unwrap_or_else(|| panic!("{file} is not built; `cargo xtask gates --fixtures` builds it"));
    fs::read(found).expect("read a gate")
}

pub(crate) const SHIPPED: [&str; 9] =
    ["code", "converter", "document-retrieval", "idea", "kg", "proxy", "research", "script", "summarizer"];

pub(crate) struct Place {
    pub(crate) folder: TempDir,
}

impl Place {
    pub(crate) fn shipped() -> Self {
        let presets = fs::read_to_string(repository().join("presets.toml")).expect("presets.toml");
        Self::with(&presets, &SHIPPED)
    }

    pub(crate) fn structured() -> Self {
        let presets = fs::read_to_string(repository().join("presets.toml")).expect("presets.toml");
        Self::with(&super::structured(&presets), &SHIPPED)
    }

    pub(crate) fn with(presets: &str, gates: &[&str]) -> Self {
        let place = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        fs::create_dir(place.path("gates")).expect("gates folder");
        #[cfg(unix)]
        place.share_machine_code();
        for gate in gates {
            place.add_gate(gate);
        }
        place.write("presets.toml", presets);
        place
    }

    /// All tests share machine code, because compiling a gate takes seconds. Files are named by content, so a test
    /// finds only what it would have compiled itself.
    #[cfg(unix)]
    fn share_machine_code(&self) {
        use std::os::unix::fs::{DirBuilderExt, symlink};
        let shared = Path::new(env!("CARGO_TARGET_TMPDIR")).join("machine-code");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&shared).expect("shared folder");
        let private = |path| fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
        private(self.path(".cache/gatehouse")).expect("cache folder");
        symlink(shared, self.path(".cache/gatehouse/machine-code")).expect("link the shared folder");
    }

    /// Removes the shared cache, for tests of the cache itself.
    pub(crate) fn with_own_cache(self) -> Self {
        fs::remove_dir_all(self.path(".cache")).expect("remove the cache folder");
        self
    }

    pub(crate) fn add_gate(&self, name: &str) {
        fs::write(self.path("gates").join(format!("{name}.wasm")), built(name)).expect("copy a gate");
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("make the folder");
        fs::write(&path, content).expect("write a file");
        path
    }

    pub(crate) fn sample_wiki(&self) -> PathBuf {
        let target = self.path("wiki");
        copy_folder(&repository().join("docs/sample-wiki"), &target);
        target
    }

    /// A command of the binary in this place, with the place's `presets.toml` and no other environment of the caller.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.nameless(arguments);
        let presets = self.path("presets.toml");
        if presets.symlink_metadata().is_ok() {
            command.env("GATEHOUSE_CONFIG", presets);
        }
        command
    }

    /// Like `command`, but without naming the `presets.toml` in the working folder.
    pub(crate) fn nameless(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_clear()
            .env("HOME", self.folder.path())
            .env("PATH", env::var_os("PATH").unwrap_or_default())
            .env("GATEHOUSE_STATE", self.path("state"))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran(self.command(arguments).output().expect("run gatehouse"))
    }
}

pub(crate) struct Ran(pub(crate) Output);

impl Ran {
    pub(crate) fn code(&self) -> i32 {
        self.0.status.code().unwrap_or(-1)
    }

    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    /// Parses standard output as JSON; the command must have succeeded.
    pub(crate) fn json(&self) -> serde_json::Value {
        assert_eq!(self.code(), 0, "{}", self.stderr());
        serde_json::from_str(&self.stdout()).expect("JSON on standard output")
    }
}

pub(crate) fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("make the folder");
    for entry in fs::read_dir(from).expect("read the folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copy a file");
        }
    }
}
