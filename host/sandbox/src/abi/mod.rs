//! One file per version of the contract: the bindings and the conversions between their types and
//! core's. A new version gets a new file; the old one stays as it is until it is dropped.

pub(crate) mod v0_1;
