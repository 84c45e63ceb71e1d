//! `gatehouse gates update`: asks the registries that gates came from what their tags mean now, and brings that. Grants
//! nothing; where a new version could do more than the old one, it asks first.

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
    /// The gate [default: every gate that was added by a tag]
    gate: Option<String>,
    /// The tag to bring, instead of the one that the gate was added by
    #[arg(long, requires = "gate")]
    tag: Option<String>,
    /// Bring it without a question, also where it asks for more than before
    #[arg(long)]
    yes: bool,
    /// Speak plain HTTP to a registry that is not on this machine
    #[arg(long)]
    insecure: bool,
    /// Print JSON; asks nothing
    #[arg(long)]
    json: bool,
}

/// A gate that can be brought again.
struct TaggedGate {
    name: String,
    /// What presets.toml says.
    pinned: OciReference,
    /// What is asked for.
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
        // Anew for each: the gate before may have been written.
        let installer = Installer::open(place, env)?;
        let line = match update(&installer, &origin, arguments).await {
            Ok(line) => line,
            Err(why) if arguments.gate.is_some() => return Err(why),
            Err(why) => {
                failed += 1;
                if !arguments.json {
                    out::line(format!("gate '{}' stays as it is: {}", origin.name, why.message()));
                }
                json!({"name": origin.name, "changed": false, "error": why.message()})
            }
        };
        told.push(line);
    }
    if arguments.json {
        out::json(&told);
    } else if told.is_empty() {
        out::line("no gate was added by a tag of a registry, so there is nothing to update");
    }
    match failed {
        0 => Ok(()),
        _ => Err(CommandError::Failed(format!("{failed} of {} gates cannot be updated", told.len()))),
    }
}

/// The gates that are meant.
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
        Some(gate) if gate.origin.is_some() => format!(
            "gate '{name}' was added by its digest, which will never mean another one; name a tag with --tag"
        ),
        Some(_) => format!(
            "gate '{name}' did not come from a registry; `gatehouse gates add FILE --name {name}` puts another file in its place"
        ),
        None => {
            let blocks = gates.iter().filter(|(_, gate)| !gate.shipped);
            let near = did_you_mean(name, blocks.map(|(name, _)| name.as_str()));
            format!("{} has no block [gates.{name}].{near}", installer.text.name())
        }
    }))
}

/// Brings one gate, if there is another one; what became of it, for programs.
async fn update(
    installer: &Installer<'_>,
    origin: &TaggedGate,
    arguments: &UpdateGateArgs,
) -> Result<Value, CommandError> {
    let TaggedGate { name, pinned, tagged } = origin;
    // What presets.toml names may be somebody else's choice: it gets no password that is for another registry.
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
            out::line(format!("gate '{name}' is what the tag {tag} means{version}"));
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
            out::line(format!("granted      {} already, so it can use that at once", listed(&at_once)));
        }
        if !denied.is_empty() {
            out::line(format!(
                "not granted  {}; `gatehouse gates inspect {name}` says which lines would",
                listed(&denied)
            ));
        }
    }
    if !more.is_empty() && !confirm(arguments.yes, arguments.json, "Bring it? [y/N] ").await? {
        let more = listed(&names(&more.iter().collect::<Vec<_>>()));
        return Err(CommandError::Failed(format!(
            "gate '{name}' asks for more than before ({more}) and was left as it is; --yes brings it"
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

/// The version that is in use, where its registry still tells.
async fn current_version(installer: &Installer<'_>, pinned: &OciReference, insecure: bool) -> Option<String> {
    let mut registry = remote::registry(pinned, RegistryAccess::Pull, false, insecure, installer.env).ok()?;
    let PublishedArtifact { version, .. } = registry.find(MAX_FILE).await.ok()?;
    version
}
