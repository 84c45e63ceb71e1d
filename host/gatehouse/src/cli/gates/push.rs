//! `gatehouse gates push`: publishes a gate to a registry. The same file always gives the same artifact.

use std::{fmt, path::PathBuf};

use clap::Args;
use gatehouse_core::Source as _;
use gatehouse_sandbox::ComponentInfo;
use gatehouse_wire::registry::{GatePackage, OciReference, RegistryAccess};
use serde_json::{Map, json};

use super::{
    CommandError, CommandResult, GlobalArgs, OutputFormat,
    add::{registry, registry_failure},
    install::read_component,
};
use crate::{config::Env, out};

#[derive(Args)]
pub(in crate::cli) struct PushGateArgs {
    /// Component file
    file: PathBuf,
    /// Destination: oci://registry[:port]/name[:tag] [default tag: latest]
    reference: String,
    /// Use plain HTTP for a registry on another machine
    #[arg(long)]
    insecure: bool,
    #[command(flatten)]
    output: OutputFormat,
}

pub(super) async fn run(arguments: PushGateArgs, global: &GlobalArgs, env: &Env) -> CommandResult {
    let reference: OciReference = arguments.reference.parse().map_err(CommandError::usage)?;
    if reference.digest.is_some() {
        let message = "the registry computes the digest; remove @sha256:… from the reference";
        return Err(CommandError::usage(message));
    }
    let composition = global.compose(env)?;
    // List it in the sandbox without grants. A gate that fails here would fail for every user.
    let file = &arguments.file;
    let gate = composition.gates.load_without_grants(reference.short_name(), file).await?;
    let listing = gate.list(&Map::new()).await?;
    let failed = |why: &dyn fmt::Display| CommandError::failed(format!("{}: {why}", file.display()));
    let wasm = read_component(file).map_err(|error| failed(&error))?;
    let info = ComponentInfo::read(&wasm).map_err(|why| failed(&why))?;
    if info.digest != gate.info().digest {
        return Err(failed(&"changed during the command; run it again"));
    }
    let sha256 = info.digest;
    let package = GatePackage {
        wasm: wasm.into(),
        imports: info.imports,
        exports: info.exports,
        title: listing.name.clone(),
        version: listing.version.clone(),
        description: listing.summary.clone(),
    };
    let mut registry = registry(&reference, RegistryAccess::Push, true, arguments.insecure, env)?;
    let digest = registry.publish(&package).await.map_err(registry_failure)?;
    let pinned = reference.pinned(&digest);
    let tag = reference.tag.as_deref().unwrap_or("latest");
    let report = json!({"reference": pinned.to_string(), "digest": digest, "tag": tag, "sha256": sha256});
    arguments.output.print(&report, || {
        out::line(pinned.to_string());
        out::note(format!("published {} {} with the tag {tag}", package.title, package.version));
        out::note(format!("to install it: gatehouse gates add {pinned} --sha256 {sha256}"));
    });
    Ok(())
}
