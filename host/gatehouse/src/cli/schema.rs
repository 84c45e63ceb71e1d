//! `gatehouse schema`: prints the JSON Schema of `presets.toml`.

use super::CommandError;
use crate::{config::schema::schema, out};

pub(super) fn run() -> Result<(), CommandError> {
    out::json(&schema());
    Ok(())
}
