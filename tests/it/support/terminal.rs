//! A terminal with a user at it.

use std::fs::File;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Opens a terminal. Returns the user's end, and the end for a command's standard input.
pub(crate) fn terminal() -> (File, File) {
    let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&user).and_then(|()| unlockpt(&user)).expect("unlocked");
    let name = ptsname(&user, Vec::new()).expect("a name").into_string().expect("a path");
    (user.into(), File::options().read(true).write(true).open(name).expect("the other end"))
}
