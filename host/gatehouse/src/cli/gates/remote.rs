//! Registries with the user's credentials.

use gatehouse_wire::registry::{Credentials, OciReference, RegistryAccess, RegistryClient, RegistryError};

use super::super::CommandError;
use crate::config::{Env, docker};

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
) -> Result<RegistryClient, CommandError> {
    let credentials = match env.registry()?.filter(|_| named) {
        Some((user, password)) => Some(Credentials { user: user.into(), password: password.into() }),
        None => docker::credentials(&reference.registry)?,
    };
    RegistryClient::new(reference, purpose, credentials, insecure).map_err(failed)
}

pub(super) fn failed(error: RegistryError) -> CommandError {
    let hint = match error.wants_credentials {
        true => {
            "; name the reference in the command and set GATEHOUSE_REGISTRY_USER and GATEHOUSE_REGISTRY_PASSWORD, or \
            let `docker login` write them to ~/.docker/config.json (its credential helpers are not used)"
        }
        false => "",
    };
    CommandError::Failed(format!("{error}{hint}"))
}
