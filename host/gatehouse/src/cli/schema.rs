//! `gatehouse schema`

use super::Failure;
use crate::{config::schema::schema, out};

pub(super) fn run() -> Result<(), Failure> {
    out::json(&schema());
    Ok(())
}
