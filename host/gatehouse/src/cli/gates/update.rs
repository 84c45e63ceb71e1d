//! `gatehouse gates update`: resolves the tags of installed gates again, and installs the new components.
//!
//! Grants nothing. Asks for confirmation if a new version requests more capabilities.
//!
//! `gatehouse gates push`: publishes a gate to a registry. The same file always gives the same artifact.

use std::{fmt, path::PathBuf};

use clap::Args;
use gatehouse_core::{
    Source as _,
    capability::{AccessLevel, Capability},
    names::did_you_mean,
};
use gatehouse_sandbox::{ComponentInfo, MAX_FILE};
use gatehouse_wire::registry::{GatePackage, OciReference, PublishedArtifact, RegistryAccess};
use serde_json::{Map, Value, json};

use super::{
    CommandError, CommandResult, GlobalArgs, OutputFormat,
    add::{fetch_component, registry, registry_failure},
    confirm,
    install::{Installer, installed, read_component},
};
use crate::{
    config::{Env, edit, gates},
    out,
};

#[derive(Args)]
pub(in crate::cli) struct UpdateGateArgs {
    /// Name of the gate [default: every gate that was added by a tag]
    gate: Option<String>,
    /// Tag to install, instead of the previous one
    #[arg(long, requires = "gate")]
    tag: Option<String>,
    /// Install without asking, even if the gate requests more than before
    #[arg(long)]
    yes: bool,
    /// Use plain HTTP for a registry on another machine
    #[arg(long)]
    insecure: bool,
    /// Print JSON; asks no question
    #[arg(long)]
    json: bool,
}

struct TaggedGate {
    name: String,
    pinned: OciReference,
    tagged: OciReference,
}

pub(super) async fn run(arguments: &UpdateGateArgs, global: &GlobalArgs, env: &Env) -> CommandResult {
    let origins = origins(&Installer::open(global, env)?, arguments)?;
    let (mut lines, mut failed) = (Vec::new(), 0);
    for origin in origins {
        // Open again for each gate: the previous update may have written the file.
        let installer = Installer::open(global, env)?;
        let line = match update(&installer, &origin, arguments).await {
            Ok(line) => line,
            Err(error) if arguments.gate.is_some() => return Err(error),
            Err(error) => {
                failed += 1;
                if !arguments.json {
                    out::line(format!("gate '{}' is unchanged: {}", origin.name, error.message));
                }
                json!({"name": origin.name, "changed": false, "error": error.message})
            }
        };
        lines.push(line);
    }
    if arguments.json {
        out::json(&lines);
    } else if lines.is_empty() {
        out::line("no gate was added by a registry tag, so there is nothing to update");
    }
    match failed {
        0 => Ok(()),
        _ => Err(CommandError::failed(format!("{failed} of {} gates cannot be updated", lines.len()))),
    }
}

fn origins(installer: &Installer<'_>, arguments: &UpdateGateArgs) -> CommandResult<Vec<TaggedGate>> {
    let gates = &installer.config.gates;
    let from = |name: &str, tag: Option<&str>| {
        let pinned = gates.get(name)?.origin.clone()?;
        let tagged = pinned.with_tag(tag.or(pinned.tag.as_deref())?);
        Some(TaggedGate { name: name.to_owned(), pinned, tagged })
    };
    let Some(name) = arguments.gate.as_deref() else {
        return Ok(gates.keys().filter_map(|name| from(name, None)).collect());
    };
    if let Some(origin) = from(name, arguments.tag.as_deref()) {
        return Ok(vec![origin]);
    }
    Err(CommandError::usage(match gates.get(name).filter(|gate| !gate.shipped) {
        Some(gate) if gate.origin.is_some() => {
            format!("gate '{name}' was added by its digest, which never changes; name a tag with --tag")
        }
        Some(_) => format!(
            "gate '{name}' did not come from a registry; `gatehouse gates add FILE --name {name}` replaces it"
        ),
        None => {
            let blocks = gates.iter().filter(|(_, gate)| !gate.shipped);
            let suggestion = did_you_mean(name, blocks.map(|(name, _)| name.as_str()));
            format!("{} has no block [gates.{name}].{suggestion}", installer.text.name())
        }
    }))
}

async fn update(
    installer: &Installer<'_>,
    origin: &TaggedGate,
    arguments: &UpdateGateArgs,
) -> CommandResult<Value> {
    let TaggedGate { name, pinned, tagged } = origin;
    // Another user may have chosen the registry in `presets.toml`, so it gets no password from the environment.
    let mut registry = registry(tagged, RegistryAccess::Pull, false, arguments.insecure, installer.env)?;
    let published = registry.resolve(MAX_FILE).await.map_err(registry_failure)?;
    let tag = tagged.tag.as_deref().unwrap_or_default();
    let version = published.version.clone();
    let mut line = json!({"name": name, "tag": tag, "version": version, "changed": false});
    let component = tagged.with_digest(&published.digest).to_string();
    if component == pinned.to_string() {
        if !arguments.json {
            let version = version.map(|version| format!(" ({version})")).unwrap_or_default();
            out::line(format!("gate '{name}' is up to date with the tag {tag}{version}"));
        }
        return Ok(line);
    }
    let before = current_version(installer, pinned, arguments.insecure).await;
    let fetched = fetch_component(installer, &mut registry, tagged, published, None).await?;
    let settings = installer.config.gates.get(name).map(|gate| gate.settings.clone()).unwrap_or_default();
    let old_digest = settings.sha256.clone().unwrap_or_default().to_ascii_lowercase();
    let old = installed(&gates::installed(&installer.config.state, &old_digest), &old_digest);
    let old_capabilities = old.map(|(_, info)| info.ask.capabilities).unwrap_or_default();
    let added: Vec<Capability> =
        fetched.info.ask.capabilities.iter().copied().filter(|new| !old_capabilities.contains(new)).collect();
    let granted = |capability: &Capability| {
        capability.always_granted() || settings.grants.require(name, *capability, AccessLevel::Read).is_ok()
    };
    let (granted, denied): (Vec<Capability>, Vec<Capability>) = added.iter().partition(|new| granted(new));
    let [added, granted, denied] = [added, granted, denied]
        .map(|capabilities| capabilities.iter().map(Capability::to_string).collect::<Vec<_>>());
    line["was"] = json!({"version": before, "sha256": old_digest});
    line["sha256"] = json!(fetched.info.digest);
    line["asks_more"] = json!({"granted": granted, "not_granted": denied});
    let all_added = added.join(", ");
    if !arguments.json {
        let display_version = |version: Option<String>| version.unwrap_or_else(|| "?".into());
        out::line(format!("gate '{name}': {} -> {}", display_version(before), display_version(version)));
        out::line(format!("sha256       {old_digest} -> {}", fetched.info.digest));
        out::line(match added.as_slice() {
            [] => "asks for     no more than before".into(),
            _ => format!("asks for     more: {all_added}"),
        });
        if !granted.is_empty() {
            let granted = granted.join(", ");
            out::line(format!("granted      {granted} already, so it can use that immediately"));
        }
        if !denied.is_empty() {
            let denied = denied.join(", ");
            out::line(format!(
                "not granted  {denied}; `gatehouse gates inspect {name}` shows the lines to add"
            ));
        }
    }
    if !added.is_empty() && !confirm(arguments.yes, arguments.json, "Install it? [y/N] ").await? {
        bail!(
            "gate '{name}' asks for more than before ({all_added}) and was not updated; add --yes to install it"
        );
    }
    let change = edit::set_component(&installer.text, name, &component, &fetched.info.digest, installer.env)?;
    installer.store(&gates::installed(&installer.config.state, &fetched.info.digest), &fetched.wasm)?;
    change.write_trusted(&installer.config)?;
    line["changed"] = json!(true);
    if !arguments.json {
        out::line(format!("updated gate '{name}' to {component}"));
    }
    Ok(line)
}

/// Returns the version in use. `None` if its registry no longer has it.
async fn current_version(installer: &Installer<'_>, pinned: &OciReference, insecure: bool) -> Option<String> {
    let mut registry = registry(pinned, RegistryAccess::Pull, false, insecure, installer.env).ok()?;
    let PublishedArtifact { version, .. } = registry.resolve(MAX_FILE).await.ok()?;
    version
}

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

pub(super) async fn push(arguments: PushGateArgs, global: &GlobalArgs, env: &Env) -> CommandResult {
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
    let failed = |reason: &dyn fmt::Display| CommandError::failed(format!("{}: {reason}", file.display()));
    let wasm = read_component(file).map_err(|error| failed(&error))?;
    let info = ComponentInfo::read(&wasm).map_err(|reason| failed(&reason))?;
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
