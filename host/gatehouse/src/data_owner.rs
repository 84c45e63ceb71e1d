//! Owner of a data directory. A command of another user, such as root, would leave files there that its host cannot
//! write.

use std::{env, fs, ops::RangeInclusive, os::unix::fs::MetadataExt as _, path::Path};

use rustix::{
    fs::{Access, AtFlags, CWD, accessat},
    io::Errno,
};

use crate::{config::ConfigError, pinned_command::quoted};

/// Users of services that exist only while they run (systemd's `DynamicUser`), and the command that runs another with the
/// directories of the packaged service.
const DYNAMIC_USERS: RangeInclusive<u32> = 61_184..=65_519;
const DYNAMIC_SERVICE: &str = "sudo systemd-run --pipe --wait --collect -p DynamicUser=yes -p User=gatehouse -p \
    StateDirectory=gatehouse -p CacheDirectory=gatehouse env XDG_CONFIG_HOME=/etc XDG_CACHE_HOME=/var/cache/gatehouse";

/// Checks that this command runs as the owner of the data directory, or as another user with write access. Returns `Ok`
/// if the directory does not exist.
pub(crate) fn check(state: &Path, config: Option<&Path>) -> Result<(), ConfigError> {
    let Ok(about) = fs::metadata(state) else { return Ok(()) };
    let (owner, user) = (about.uid(), rustix::process::geteuid().as_raw());
    // Another user can have the rights of a group. Root can always write, but others cannot write the files that root
    // creates.
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
    let mut words: Vec<String> = match DYNAMIC_USERS.contains(&owner) {
        true => DYNAMIC_SERVICE.split(' ').map(str::to_owned).collect(),
        false => ["sudo", "-u", &quoted(&user_name(owner)), "env"].map(str::to_owned).into(),
    };
    words.push(quoted(&format!("GATEHOUSE_STATE={}", state.display())));
    words.extend(config.map(|file| quoted(&format!("GATEHOUSE_CONFIG={}", file.display()))));
    let program =
        env::current_exe().map_or_else(|_| "gatehouse".to_owned(), |path| path.display().to_string());
    words.push(quoted(&program));
    words.extend(env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy())));
    words.join(" ")
}
