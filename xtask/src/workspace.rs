//! Facts from `cargo metadata` about this repository.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process;

pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    /// Cargo's output directory; `CARGO_TARGET_DIR` can move it out of `root`.
    pub(crate) target: PathBuf,
    pub(crate) packages: Vec<WorkspaceMember>,
}

pub(crate) struct WorkspaceMember {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) folder: PathBuf,
    /// True if it builds a dynamic library; on the wasm target, that is a component.
    pub(crate) cdylib: bool,
    /// True for a gate whose calls start from the memory that `describe` leaves.
    pub(crate) snapshot: bool,
}

impl Workspace {
    pub(crate) fn load() -> Result<Self> {
        let mut command = process::cargo();
        let text = process::output(command.args(["metadata", "--no-deps", "--format-version", "1"]))?;
        let metadata: Value = serde_json::from_str(&text).context("cargo metadata is not JSON")?;
        let root = PathBuf::from(string(&metadata["workspace_root"])?);
        let members = metadata["packages"].as_array().context("cargo metadata has no packages")?;
        let packages =
            members.iter().map(|member| WorkspaceMember::read(member, &root)).collect::<Result<_>>()?;
        Ok(Self { target: PathBuf::from(string(&metadata["target_directory"])?), root, packages })
    }

    pub(crate) fn binary(&self, profile: &str, name: &str) -> PathBuf {
        self.target.join(profile).join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
    }

    pub(crate) fn version(&self) -> &str {
        self.packages
            .iter()
            .find(|package| package.name == "gatehouse")
            .map_or("0", |package| &package.version)
    }
}

impl WorkspaceMember {
    fn read(member: &Value, root: &Path) -> Result<Self> {
        let manifest = Path::new(string(&member["manifest_path"])?);
        let folder = manifest.parent().context("manifest has no parent directory")?;
        let kinds: Vec<&str> = member["targets"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|target| target["kind"].as_array().into_iter().flatten())
            .filter_map(Value::as_str)
            .collect();
        Ok(Self {
            name: string(&member["name"])?.to_owned(),
            version: string(&member["version"])?.to_owned(),
            folder: folder.strip_prefix(root).unwrap_or(folder).to_owned(),
            cdylib: kinds.contains(&"cdylib"),
            snapshot: member["metadata"]["gate"]["snapshot"] == true,
        })
    }
}

fn string(value: &Value) -> Result<&str> {
    value.as_str().context("unexpected format of cargo metadata")
}
