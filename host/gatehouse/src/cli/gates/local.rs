//! Gates from files: used in place if the file is below the directory of `presets.toml`, else copied to the gate
//! directory.

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use gatehouse_sandbox::{ComponentInfo, MAX_FILE};

use super::{
    super::CommandError,
    install::{Installer, NewGate, installed},
};
use crate::config::GateConfig;

pub(super) fn new_gate(
    installer: &Installer<'_>,
    named: &Path,
    name: Option<&str>,
    pin: Option<&str>,
) -> Result<NewGate, CommandError> {
    let failed = |why: String| CommandError::Failed(format!("{}: {why}", named.display()));
    let source = named
        .canonicalize()
        .map_err(|error| failed(format!("{error}; a reference to a registry begins with oci://")))?;
    let wasm = read(&source).map_err(failed)?;
    let info = ComponentInfo::read(&wasm).map_err(|why| failed(why.to_string()))?;
    if let Some(pin) = pin.filter(|pin| *pin != info.digest) {
        return Err(failed(format!("its SHA-256 is {}, expected {pin}", info.digest)));
    }
    let stem = named.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let name = installer.name(name, &stem, |gate| is_same(installer, gate, &stem, &source))?;
    let (file, component, in_place) = match source.strip_prefix(installer.base()) {
        Ok(relative) => (source.clone(), relative.to_path_buf(), true),
        Err(_) => {
            let folder = installer.config.own_gate_folder();
            let folder = folder.ok_or_else(|| {
                CommandError::Usage("`gates` of presets.toml names no directory to copy the gate into".into())
            })?;
            let file = folder.join(format!("{name}.wasm"));
            replaceable(installer, &name, &file, &info.digest)?;
            let relative = file.strip_prefix(installer.base()).map(Path::to_path_buf);
            (file.clone(), relative.unwrap_or(file), false)
        }
    };
    let component = component
        .to_str()
        .ok_or_else(|| failed("has a path that is not UTF-8, which TOML cannot hold".into()))?
        .to_owned();
    Ok(NewGate { name, component, file, info, wasm, in_place })
}

/// Returns whether a gate is this file, or the copy that an earlier run made of it.
fn is_same(installer: &Installer<'_>, gate: &GateConfig, stem: &str, source: &Path) -> bool {
    let file = gate.component.clone().or_else(|| in_folders(installer, stem));
    file.is_some_and(|file| {
        file.canonicalize().is_ok_and(|file| file == source) || is_our_copy(installer, gate, stem, &file)
    })
}

fn in_folders(installer: &Installer<'_>, stem: &str) -> Option<PathBuf> {
    let files = installer.config.gate_folders.iter().map(|folder| folder.join(format!("{stem}.wasm")));
    files.into_iter().find(|file| file.exists())
}

/// Returns whether a file is a copy that this command made, with the content that `presets.toml` pins.
fn is_our_copy(installer: &Installer<'_>, gate: &GateConfig, name: &str, file: &Path) -> bool {
    let target = installer.config.own_gate_folder().map(|folder| folder.join(format!("{name}.wasm")));
    let pin = gate.settings.sha256.as_ref().map(|pin| pin.to_ascii_lowercase());
    target.as_deref() == Some(file)
        && gate.component.as_deref() == Some(file)
        && pin.is_some_and(|pin| installed(file, &pin).is_some())
}

/// Refuses to overwrite a file that this command did not write.
fn replaceable(installer: &Installer<'_>, name: &str, file: &Path, digest: &str) -> Result<(), CommandError> {
    let ours = installer.config.gates.get(name).is_some_and(|gate| is_our_copy(installer, gate, name, file));
    if !file.exists() || ours || installed(file, digest).is_some() {
        return Ok(());
    }
    let shown = file.display();
    Err(CommandError::Failed(format!(
        "{shown} already exists with other content; remove it, or use another --name"
    )))
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    let meta = file.metadata().map_err(|error| error.to_string())?;
    if !meta.is_file() {
        return Err("is not a file".into());
    }
    let mut wasm = Vec::new();
    let opened = File::open(file).and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut wasm));
    opened.map(|_| wasm).map_err(|error| error.to_string())
}
