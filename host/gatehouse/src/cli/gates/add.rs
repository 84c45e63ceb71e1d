//! `gatehouse gates add`: installs a gate's component, from a registry or a file, and writes its block into
//! `presets.toml`. Grants nothing, and runs none of the code.

use std::{fmt, path::Path};

use clap::Args;
use gatehouse_sandbox::{ComponentInfo, MAX_FILE};
use gatehouse_wire::registry::{
    Credentials, OciReference, PublishedArtifact, RegistryAccess, RegistryClient, RegistryError,
};
use serde_json::json;

use super::{
    CommandError, CommandResult, GlobalArgs, OutputFormat, PlainError,
    install::{Installer, NewGate, installed, read_component},
};
use crate::{
    config::{Env, GateConfig, docker, gates},
    out, progress,
};

#[derive(Args)]
pub(in crate::cli) struct AddGateArgs {
    /// oci://registry[:port]/name[:tag][@sha256:…], or a component file; without it, every missing gate whose reference
    /// presets.toml names
    reference: Option<String>,
    /// Name of the gate [default: the last part of the reference]
    #[arg(long, requires = "reference")]
    name: Option<String>,
    /// Expected SHA-256 of the component file
    #[arg(long, value_name = "HEX", requires = "reference", value_parser = digest)]
    sha256: Option<String>,
    /// Use plain HTTP for a registry on another machine
    #[arg(long)]
    insecure: bool,
    #[command(flatten)]
    output: OutputFormat,
}

fn digest(text: &str) -> Result<String, PlainError> {
    let digest = gates::is_digest(text).then(|| text.to_ascii_lowercase());
    digest.ok_or_else(|| "not a SHA-256 in hexadecimal (64 digits)".into())
}

pub(super) async fn run(arguments: AddGateArgs, global: &GlobalArgs, env: &Env) -> CommandResult {
    let installer = Installer::open(global, env)?;
    let (name, pin) = (arguments.name.as_deref(), arguments.sha256.as_deref());
    match &arguments.reference {
        None => install_missing(&installer, &arguments).await,
        Some(reference) if OciReference::is_oci(reference) => {
            let reference: OciReference = reference.parse().map_err(CommandError::usage)?;
            let same = |gate: &GateConfig| {
                gate.origin.as_ref().is_some_and(|origin| origin.same_repository(&reference))
            };
            let name = installer.name(name, reference.short_name(), same)?;
            let FetchedComponent { digest, info, wasm } =
                fetch(&installer, &reference, true, pin, arguments.insecure).await?;
            let component = reference.with_digest(&digest).to_string();
            let file = gates::installed(&installer.config.state, &info.digest);
            let gate = NewGate { name, component, file, info, wasm, in_place: false };
            installer.install(gate, arguments.output)
        }
        Some(file) => installer.install(new_gate(&installer, file.as_ref(), name, pin)?, arguments.output),
    }
}

pub(super) struct FetchedComponent {
    pub(super) digest: String,
    pub(super) info: ComponentInfo,
    pub(super) wasm: Vec<u8>,
}

/// Fetches a component, unless its file is already installed. `named` is true if the user named the registry in this
/// command, not a file that another user may have written.
async fn fetch(
    installer: &Installer<'_>,
    reference: &OciReference,
    named: bool,
    pin: Option<&str>,
    insecure: bool,
) -> CommandResult<FetchedComponent> {
    let mut registry = registry(reference, RegistryAccess::Pull, named, insecure, installer.env)?;
    let published = registry.resolve(MAX_FILE).await.map_err(registry_failure)?;
    fetch_component(installer, &mut registry, reference, published, pin).await
}

pub(super) async fn fetch_component(
    installer: &Installer<'_>,
    registry: &mut RegistryClient,
    reference: &OciReference,
    published: PublishedArtifact,
    pin: Option<&str>,
) -> CommandResult<FetchedComponent> {
    let layer = &published.layer;
    if let Some(pin) = pin.filter(|pin| !pin.eq_ignore_ascii_case(&layer.sha256)) {
        let sha256 = &layer.sha256;
        bail!("{reference}: its SHA-256 is {sha256}, expected {pin}");
    }
    let local_copy = installed(&gates::installed(&installer.config.state, &layer.sha256), &layer.sha256);
    let (wasm, info) = match local_copy {
        Some(local_copy) => local_copy,
        None => {
            let bar = progress::bar(layer.size, "fetching [{bar:30}] {bytes}/{total_bytes} {elapsed}");
            let fetched = registry.download(layer, &|bytes| bar.set_position(bytes)).await;
            bar.finish_and_clear();
            let wasm = fetched.map_err(registry_failure)?;
            let info = ComponentInfo::read(&wasm);
            let info = info.map_err(|reason| CommandError::failed(format!("{reference} {reason}")))?;
            (wasm, info)
        }
    };
    Ok(FetchedComponent { digest: published.digest, info, wasm })
}

/// Installs the gates that `presets.toml` names and that are missing, for users who share that file.
async fn install_missing(installer: &Installer<'_>, arguments: &AddGateArgs) -> CommandResult {
    let (mut lines, mut failed) = (Vec::new(), 0);
    for (name, gate) in &installer.config.gates {
        let (Some(origin), Some(file), Some(pin)) = (&gate.origin, &gate.component, &gate.settings.sha256)
        else {
            continue;
        };
        let pin = pin.to_ascii_lowercase();
        let mut line = json!({"name": name, "component": origin.to_string(), "sha256": pin});
        if installed(file, &pin).is_some() {
            line["changed"] = json!(false);
        } else {
            let fetched = fetch(installer, origin, false, Some(&pin), arguments.insecure).await;
            match fetched.and_then(|fetched| installer.store(file, &fetched.wasm)) {
                Ok(()) => line["changed"] = json!(true),
                Err(error) => {
                    failed += 1;
                    line["error"] = json!(error.message);
                }
            }
        }
        if !arguments.output.json {
            out::line(match (line["error"].as_str(), line["changed"].as_bool()) {
                (Some(reason), _) => format!("gate '{name}' cannot be installed: {reason}"),
                (None, Some(true)) => format!("installed gate '{name}' from {origin}"),
                _ => format!("gate '{name}' is installed"),
            });
        }
        lines.push(line);
    }
    arguments.output.print(&lines, || {
        if lines.is_empty() {
            out::line(format!("{} names no gate from a registry", installer.text.name()));
        }
    });
    match failed {
        0 => Ok(()),
        _ => Err(CommandError::failed(format!("{failed} of {} gates cannot be installed", lines.len()))),
    }
}

/// Prepares a gate from a file: used in place if the file is below the directory of `presets.toml`, else copied to the gate
/// directory.
fn new_gate(
    installer: &Installer<'_>,
    named: &Path,
    name: Option<&str>,
    pin: Option<&str>,
) -> CommandResult<NewGate> {
    let failed = |reason: &dyn fmt::Display| CommandError::failed(format!("{}: {reason}", named.display()));
    let source = named
        .canonicalize()
        .map_err(|error| failed(&format!("{error}; a reference to a registry begins with oci://")))?;
    let wasm = read_component(&source).map_err(|error| failed(&error))?;
    let info = ComponentInfo::read(&wasm).map_err(|reason| failed(&reason))?;
    if let Some(pin) = pin.filter(|pin| *pin != info.digest) {
        return Err(failed(&format!("its SHA-256 is {}, expected {pin}", info.digest)));
    }
    let stem = named.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let name = installer.name(name, &stem, |gate| is_same(installer, gate, &stem, &source))?;
    let (file, component, in_place) = match source.strip_prefix(installer.base()) {
        Ok(relative) => (source.clone(), relative.to_path_buf(), true),
        Err(_) => {
            let missing = "`gates` of presets.toml names no directory to copy the gate into";
            let folder = installer.config.own_gate_folder().ok_or(missing).map_err(CommandError::usage)?;
            let file = folder.join(format!("{name}.wasm"));
            replaceable(installer, &name, &file, &info.digest)?;
            let relative = file.strip_prefix(installer.base()).map(Path::to_path_buf);
            (file.clone(), relative.unwrap_or(file), false)
        }
    };
    let component = component
        .to_str()
        .ok_or_else(|| failed(&"has a path that is not UTF-8, which TOML cannot hold"))?
        .to_owned();
    Ok(NewGate { name, component, file, info, wasm, in_place })
}

/// Returns whether a gate is this file, or the copy that an earlier run made of it.
fn is_same(installer: &Installer<'_>, gate: &GateConfig, stem: &str, source: &Path) -> bool {
    let dropped = || installer.files_in_folders(stem).find(|file| file.exists());
    let file = gate.component.clone().or_else(dropped);
    file.is_some_and(|file| {
        file.canonicalize().is_ok_and(|file| file == source) || is_our_copy(installer, gate, stem, &file)
    })
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
fn replaceable(installer: &Installer<'_>, name: &str, file: &Path, digest: &str) -> CommandResult {
    let ours = installer.config.gates.get(name).is_some_and(|gate| is_our_copy(installer, gate, name, file));
    if !file.exists() || ours || installed(file, digest).is_some() {
        return Ok(());
    }
    bail!("{} already exists with other content; remove it, or use another --name", file.display());
}

/// Returns a client for the registry of a reference.
///
/// The password from the environment is sent only to a registry that the user `named` in this command. Docker's
/// credentials already belong to one registry.
pub(super) fn registry(
    reference: &OciReference,
    purpose: RegistryAccess,
    named: bool,
    insecure: bool,
    env: &Env,
) -> CommandResult<RegistryClient> {
    let credentials = match env.registry()?.filter(|_| named) {
        Some((user, password)) => Some(Credentials { user: user.into(), password: password.into() }),
        None => docker::credentials(&reference.registry)?,
    };
    RegistryClient::new(reference, purpose, credentials, insecure).map_err(registry_failure)
}

pub(super) fn registry_failure(error: RegistryError) -> CommandError {
    let hint = match error.needs_credentials {
        true => {
            "; name the reference in the command and set GATEHOUSE_REGISTRY_USER and GATEHOUSE_REGISTRY_PASSWORD, or \
            let `docker login` write them to ~/.docker/config.json (its credential helpers are not used)"
        }
        false => "",
    };
    CommandError::failed(format!("{error}{hint}"))
}
