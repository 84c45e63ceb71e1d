//! The logins to servers, in the data folder. They are in no backup: a refresh token that was used since is worth nothing,
//! and showing it once more ends the login.

use std::sync::Arc;

use gatehouse_wire::login::Logins;

use super::SystemClock;
use crate::config::Config;

/// Those of a configuration. Opens nothing.
pub(crate) fn logins(config: &Config) -> Logins {
    Logins::new(config.state.join("logins"), Arc::new(SystemClock))
}
