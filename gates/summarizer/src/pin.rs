//! `pin_artifact`: pins a stored result beyond its expiry, or tags it.

use gatehouse_sdk::{
    Call, Effect, Fault, Intent, Reply, Tool,
    artifacts::{self, Changes},
    context,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Params, address, time};

pub(crate) const NAME: &str = "pin_artifact";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    id: String,
    pinned: Option<bool>,
    #[schemars(length(max = 16))]
    tags: Option<Vec<String>>,
}

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, Args>(NAME)
        .description(|_| "Pin a stored result so that it does not expire; add tags.")
        .default_from("pinned", |_| true.into())
        .intent(Intent::Modify)
        .effect(Effect::Mutating)
        .additive()
        .idempotent()
        .run(run)
}

fn run(_: &Call<Params>, args: Args) -> Result<Reply, Fault> {
    let changes = Changes {
        summary: None,
        add_tags: args.tags.unwrap_or_default(),
        pinned: Some(args.pinned.unwrap_or(true)),
    };
    let artifact = artifacts::change(address::id(&args.id), &changes)?;
    let kept = match artifact.expires {
        None => "is pinned".to_owned(),
        Some(at) => format!("expires in {}", time::span(at.saturating_sub(context::now()))),
    };
    let tags = artifact.tags.join(", ");
    Ok(Reply::markdown(format!("{} {kept}. Tags: {tags}.", artifact.id)))
}
