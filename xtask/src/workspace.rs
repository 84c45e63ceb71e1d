//! What cargo knows about this repository.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process;

/// The workspace that the current folder belongs to.
pub(crate) struct Workspace {
    /// The repository's top folder.
    pub(crate) root: PathBuf,
    /// Where cargo builds. Not always `root/target`: CARGO_TARGET_DIR moves it.
    pub(crate) target: PathBuf,
    pub(crate) packages: Vec<WorkspaceMember>,
}

/// One member of the workspace.
pub(crate) struct WorkspaceMember {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Its folder, relative to the root.
    pub(crate) folder: PathBuf,
    /// Builds a dynamic library; for the wasm target that is a component.
    pub(crate) cdylib: bool,
    /// A gate whose calls begin with the memory that describing it leaves.
    pub(crate) snapshot: bool,
}

impl Workspace {
    pub(crate) fn load() -> Result<Self> {
        let mut command = process::cargo();
        let text = process::output(command.args(["metadata", "--no-deps", "--format-version", "1"]))?;
        let metadata: Value = serde_json::from_str(&text).context("cargo metadata is not JSON")?;
        let root = PathBuf::from(string(&metadata["workspace_root"])?);
        let members = metadata["packages"].as_array().context("cargo metadata names no packages")?;
        let packages =
            members.iter().map(|member| WorkspaceMember::read(member, &root)).collect::<Result<_>>()?;
        Ok(Self { target: PathBuf::from(string(&metadata["target_directory"])?), root, packages })
    }

    /// A file that cargo built, for example `binary("release", "gatehouse")`.
    pub(crate) fn binary(&self, profile: &str, name: &str) -> PathBuf {
        self.target.join(profile).join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
    }

    /// The version of the gateway.
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
        let folder = manifest.parent().context("a manifest lies in no folder")?;
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
    value.as_str().context("cargo metadata has another shape than expected")
}
