//! Registries as the command line meets them: with the operator's credentials.

use gatehouse_wire::registry::{Credentials, OciReference, RegistryAccess, RegistryClient, RegistryError};

use super::super::CommandError;
use crate::config::{Env, docker};

/// The registry of a reference. The variables' password goes only to a registry that the operator `named`
/// in this very command; what Docker keeps is bound to its registry anyway.
pub(super) fn registry(
    reference: &OciReference,
    purpose: RegistryAccess,
    named: bool,
    insecure: bool,
    env: &Env,
) -> Result<RegistryClient, CommandError> {
    let credentials = match env.registry()?.filter(|_| named) {
        Some((user, password)) => Some(Credentials { user: user.into(), password: password.into() }),
        None => docker::credentials(&reference.registry)?,
    };
    RegistryClient::new(reference, purpose, credentials, insecure).map_err(failed)
}

/// What went wrong, with the way to credentials where they could help.
pub(super) fn failed(error: RegistryError) -> CommandError {
    let hint = match error.wants_credentials {
        true => {
            "; name the reference in the command and set GATEHOUSE_REGISTRY_USER and GATEHOUSE_REGISTRY_PASSWORD, \
             or let `docker login` write them to ~/.docker/config.json (its credential helpers are not asked)"
        }
        false => "",
    };
    CommandError::Failed(format!("{error}{hint}"))
}
