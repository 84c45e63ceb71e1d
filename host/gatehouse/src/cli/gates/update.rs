//! `gatehouse gates update`: resolves the tags of installed gates again, and installs the new components.
//!
//! Grants nothing. Asks for confirmation if a new version requests more capabilities.

use std::collections::BTreeSet;

use clap::Args;
use gatehouse_core::{
    capability::{AccessLevel, Capability},
    names::did_you_mean,
};
use gatehouse_sandbox::MAX_FILE;
use gatehouse_wire::registry::{OciReference, PublishedArtifact, RegistryAccess};
use serde_json::{Value, json};

use super::{
    super::{CommandError, GlobalArgs, confirm},
    add::fetch_component,
    install::{Installer, installed, listed},
    remote,
};
use crate::{
    config::{Env, component, edit},
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

pub(super) async fn run(
    arguments: &UpdateGateArgs,
    place: &GlobalArgs,
    env: &Env,
) -> Result<(), CommandError> {
    let origins = origins(&Installer::open(place, env)?, arguments)?;
    let (mut told, mut failed) = (Vec::new(), 0);
    for origin in origins {
        // Open again for each gate: the previous update may have written the file.
        let installer = Installer::open(place, env)?;
        let line = match update(&installer, &origin, arguments).await {
            Ok(line) => line,
            Err(why) if arguments.gate.is_some() => return Err(why),
            Err(why) => {
                failed += 1;
                if !arguments.json {
                    out::line(format!("gate '{}' is unchanged: {}", origin.name, why.message()));
                }
                json!({"name": origin.name, "changed": false, "error": why.message()})
            }
        };
        told.push(line);
    }
    if arguments.json {
        out::json(&told);
    } else if told.is_empty() {
        out::line("no gate was added by a registry tag, so there is nothing to update");
    }
    match failed {
        0 => Ok(()),
        _ => Err(CommandError::Failed(format!("{failed} of {} gates cannot be updated", told.len()))),
    }
}

fn origins(installer: &Installer<'_>, arguments: &UpdateGateArgs) -> Result<Vec<TaggedGate>, CommandError> {
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
    Err(CommandError::Usage(match gates.get(name).filter(|gate| !gate.shipped) {
        Some(gate) if gate.origin.is_some() => {
            format!("gate '{name}' was added by its digest, which never changes; name a tag with --tag")
        }
        Some(_) => format!(
            "gate '{name}' did not come from a registry; `gatehouse gates add FILE --name {name}` replaces it"
        ),
        None => {
            let blocks = gates.iter().filter(|(_, gate)| !gate.shipped);
            let near = did_you_mean(name, blocks.map(|(name, _)| name.as_str()));
            format!("{} has no block [gates.{name}].{near}", installer.text.name())
        }
    }))
}

async fn update(
    installer: &Installer<'_>,
    origin: &TaggedGate,
    arguments: &UpdateGateArgs,
) -> Result<Value, CommandError> {
    let TaggedGate { name, pinned, tagged } = origin;
    // Another user may have chosen the registry in `presets.toml`, so it gets no password from the environment.
    let mut registry =
        remote::registry(tagged, RegistryAccess::Pull, false, arguments.insecure, installer.env)?;
    let published = registry.find(MAX_FILE).await.map_err(remote::failed)?;
    let tag = tagged.tag.as_deref().unwrap_or_default();
    let version = published.version.clone();
    let mut told = json!({"name": name, "tag": tag, "version": version, "changed": false});
    let component = tagged.with_digest(&published.digest).to_string();
    if component == pinned.to_string() {
        if !arguments.json {
            let version = version.map(|version| format!(" ({version})")).unwrap_or_default();
            out::line(format!("gate '{name}' is up to date with the tag {tag}{version}"));
        }
        return Ok(told);
    }
    let before = current_version(installer, pinned, arguments.insecure).await;
    let fetched = fetch_component(installer, &mut registry, tagged, published, None).await?;
    let settings = installer.config.gates.get(name).map(|gate| gate.settings.clone()).unwrap_or_default();
    let was = settings.sha256.clone().unwrap_or_default().to_ascii_lowercase();
    let old = installed(&component::installed(&installer.config.state, &was), &was).map(|(_, info)| info);
    let asked: BTreeSet<Capability> =
        old.iter().flat_map(|info| info.ask.capabilities.iter().copied()).collect();
    let more: Vec<Capability> =
        fetched.info.ask.capabilities.iter().copied().filter(|new| !asked.contains(new)).collect();
    let granted = |capability: &Capability| {
        capability.always_granted() || settings.grants.require(name, *capability, AccessLevel::Read).is_ok()
    };
    let (at_once, denied): (Vec<&Capability>, Vec<&Capability>) = more.iter().partition(|more| granted(more));
    let names = |all: &[&Capability]| all.iter().map(ToString::to_string).collect::<Vec<String>>();
    let (at_once, denied) = (names(&at_once), names(&denied));
    told["was"] = json!({"version": before, "sha256": was});
    told["sha256"] = json!(fetched.info.digest);
    told["asks_more"] = json!({"granted": at_once, "not_granted": denied});
    if !arguments.json {
        let known = |version: &Option<String>| version.clone().unwrap_or_else(|| "?".into());
        out::line(format!("gate '{name}': {} -> {}", known(&before), known(&version)));
        out::line(format!("sha256       {was} -> {}", fetched.info.digest));
        out::line(format!(
            "asks for     {}",
            if more.is_empty() {
                "no more than before".into()
            } else {
                format!("more: {}", listed(&names(&more.iter().collect::<Vec<_>>())))
            }
        ));
        if !at_once.is_empty() {
            out::line(format!("granted      {} already, so it can use that immediately", listed(&at_once)));
        }
        if !denied.is_empty() {
            out::line(format!(
                "not granted  {}; `gatehouse gates inspect {name}` shows the lines to add",
                listed(&denied)
            ));
        }
    }
    if !more.is_empty() && !confirm(arguments.yes, arguments.json, "Install it? [y/N] ").await? {
        let more = listed(&names(&more.iter().collect::<Vec<_>>()));
        return Err(CommandError::Failed(format!(
            "gate '{name}' asks for more than before ({more}) and was not updated; add --yes to install it"
        )));
    }
    let change = edit::set_component(&installer.text, name, &component, &fetched.info.digest, installer.env)?;
    installer.store(&component::installed(&installer.config.state, &fetched.info.digest), &fetched.wasm)?;
    installer.write(change)?;
    told["changed"] = json!(true);
    if !arguments.json {
        out::line(format!("updated gate '{name}' to {component}"));
    }
    Ok(told)
}

/// Returns the version in use. `None` if its registry no longer has it.
async fn current_version(installer: &Installer<'_>, pinned: &OciReference, insecure: bool) -> Option<String> {
    let mut registry = remote::registry(pinned, RegistryAccess::Pull, false, insecure, installer.env).ok()?;
    let PublishedArtifact { version, .. } = registry.find(MAX_FILE).await.ok()?;
    version
}
