//! Owner of a data directory. A command of another user, such as root, would leave files there that its host cannot
//! write.

use std::{env, fs, os::unix::fs::MetadataExt as _, path::Path};

use rustix::{
    fs::{Access, AtFlags, CWD, accessat},
    io::Errno,
};

use crate::{config::ConfigError, pinned_command::quoted};

/// Checks that this user may write the data directory without changing who can. A directory that does not exist yet is
/// fine.
pub(crate) fn check(state: &Path, config: Option<&Path>) -> Result<(), ConfigError> {
    let Ok(about) = fs::metadata(state) else { return Ok(()) };
    let (owner, user) = (about.uid(), rustix::process::geteuid().as_raw());
    // Another user can have the rights of a group. Root has all, and its files are no one else's.
    let is_denied = || accessat(CWD, state, Access::WRITE_OK, AtFlags::EACCESS) == Err(Errno::ACCESS);
    if owner == user || (user != 0 && !is_denied()) {
        return Ok(());
    }
    let [owner_name, user_name] = [owner, user].map(user_name);
    let message = format!(
        "the data directory belongs to user {owner_name}, and this command runs as {user_name}. Run it as its owner: \
         `{}`",
        command_line(owner, state, config)
    );
    Err(ConfigError::new(state.display(), message))
}

/// Returns the name of a user, or its number with `#`, as sudo reads it.
pub(crate) fn user_name(user: u32) -> String {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mut lines = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let line = lines.find(|fields| fields.get(2).is_some_and(|number| *number == user.to_string()));
    line.map_or_else(|| format!("#{user}"), |fields| fields[0].to_owned())
}

/// Returns this command as a line that runs it as another user. Variables are in it, because sudo drops them.
fn command_line(owner: u32, state: &Path, config: Option<&Path>) -> String {
    let mut words = vec!["sudo".to_owned(), "-u".to_owned(), quoted(&user_name(owner)), "env".to_owned()];
    words.push(quoted(&format!("GATEHOUSE_STATE={}", state.display())));
    words.extend(config.map(|file| quoted(&format!("GATEHOUSE_CONFIG={}", file.display()))));
    words.push("gatehouse".to_owned());
    words.extend(env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy())));
    words.join(" ")
}
