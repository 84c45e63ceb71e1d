//! A folder for one test: configuration, state, and the environment that a host in it gets.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;

/// The root of the checkout.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ has a parent").to_path_buf()
}

/// The built binary, which stands beside the tests.
pub(crate) fn binary() -> PathBuf {
    let test = env::current_exe().expect("a test has a path");
    let folder = test.parent().and_then(Path::parent).expect("target/<profile>/deps");
    let binary = folder.join("gatehouse");
    assert!(binary.exists(), "{} is missing; `cargo xtask test` builds it", binary.display());
    binary
}

/// The bytes of a built gate, shipped or fixture.
pub(crate) fn built(gate: &str) -> Vec<u8> {
    let file = format!("{gate}.wasm");
    let built = ["gates", "target/fixture-gates"].map(|folder| repository().join(folder).join(&file));
    let found = built.iter().find(|path| path.exists());
    let found =
        found.unwrap_or_else(|| panic!("{file} is not built; `cargo xtask gates --fixtures` builds it"));
    fs::read(found).expect("read a gate")
}

/// The gates that ship.
pub(crate) const SHIPPED: [&str; 8] =
    ["kg", "idea", "code", "research", "document-retrieval", "proxy", "script", "summarizer"];

/// A fresh folder with gates, configuration and state; gone when the test ends.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
}

impl Place {
    /// With the shipped presets and gates.
    pub(crate) fn shipped() -> Self {
        let presets = fs::read_to_string(repository().join("presets.toml")).expect("presets.toml");
        Self::with(&presets, &SHIPPED)
    }

    /// The same, where clients get data beside text.
    pub(crate) fn structured() -> Self {
        let presets = fs::read_to_string(repository().join("presets.toml")).expect("presets.toml");
        Self::with(&super::structured(&presets), &SHIPPED)
    }

    /// With these presets, and these gates in its `gates` folder.
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

    /// To compile a gate takes seconds, so all tests keep machine code in one folder. Files in it are named
    /// by content, so no test finds what it would not have made itself.
    #[cfg(unix)]
    fn share_machine_code(&self) {
        use std::os::unix::fs::{DirBuilderExt, symlink};
        let shared = Path::new(env!("CARGO_TARGET_TMPDIR")).join("machine-code");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&shared).expect("shared folder");
        let private = |path| fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
        private(self.path(".cache/gatehouse")).expect("cache folder");
        symlink(shared, self.path(".cache/gatehouse/machine-code")).expect("link the shared folder");
    }

    /// From now on with machine code of its own, for tests of what is kept of it.
    pub(crate) fn with_own_cache(self) -> Self {
        fs::remove_dir_all(self.path(".cache")).expect("remove the cache folder");
        self
    }

    /// Copies a built gate, shipped or fixture, into the gates folder.
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

    /// A copy of the sample wiki, to be indexed and edited.
    pub(crate) fn sample_wiki(&self) -> PathBuf {
        let target = self.path("wiki");
        copy_folder(&repository().join("docs/sample-wiki"), &target);
        target
    }

    /// A command of the binary in this place, whose presets.toml is named. Nothing of the caller's environment
    /// gets in.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.nameless(arguments);
        let presets = self.path("presets.toml");
        if presets.symlink_metadata().is_ok() {
            command.env("GATEHOUSE_CONFIG", presets);
        }
        command
    }

    /// The same, but nobody names the presets.toml that lies in the working folder.
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

    /// Runs a command to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran(self.command(arguments).output().expect("run gatehouse"))
    }
}

/// What a command printed, and how it ended.
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

    /// Standard output as JSON, of a command that worked.
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
