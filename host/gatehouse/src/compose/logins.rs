//! Logins to servers, in the data directory. Backups omit them: a used refresh token is worthless, and sending it again
//! ends the login.

use std::sync::Arc;

use gatehouse_wire::login::Logins;

use super::SystemClock;
use crate::config::Config;

pub(crate) fn logins(config: &Config) -> Logins {
    Logins::new(config.state.join("logins"), Arc::new(SystemClock))
}
