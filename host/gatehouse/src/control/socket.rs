//! The socket of a host: a file that only this user can open, and that the next reader removes if the host was killed.

use std::{
    fs, io,
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _, net::UnixListener as StdListener},
    path::{Path, PathBuf},
};

use gatehouse_files::make_private;
use tempfile::TempDir;
use tokio::net::{UnixListener, UnixStream};

/// Bytes of a path to which every system can bind a socket: 104 with the final NUL on macOS, 108 on Linux.
const MAX_PATH_BYTES: usize = 103;

/// Returns the directory of the sockets.
pub(super) fn folder(state: &Path) -> PathBuf {
    state.join("hosts")
}

pub(super) struct ControlSocket {
    listener: UnixListener,
    /// The socket, or a link to it if its path is too long for one.
    path: PathBuf,
    _elsewhere: Option<TempDir>,
}

impl ControlSocket {
    /// Creates the socket. Needs a runtime. Blocks.
    pub(super) fn bind(state: &Path, pid: u32) -> io::Result<Self> {
        let folder = folder(state);
        // This can be the first code that needs the data directory.
        make_private(&folder)?;
        // Hosts in different containers can have the same process id, so the name also contains a random part.
        let random = tempfile::Builder::new().prefix("").tempfile_in(&folder)?;
        let random = random.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = folder.join(format!("{pid}-{random}.sock"));
        // A socket that is bound and does not listen yet looks like one of a host that was killed, so it gets its name
        // afterwards.
        let unnamed = path.with_extension("new");
        let mut elsewhere = None;
        let listener = if unnamed.as_os_str().as_bytes().len() <= MAX_PATH_BYTES {
            listen(&unnamed)?
        } else {
            let folder = tempfile::Builder::new().prefix("gatehouse-").tempdir()?;
            let listener = listen(&folder.path().join("host.sock"))?;
            std::os::unix::fs::symlink(folder.path().join("host.sock"), &unnamed)?;
            elsewhere = Some(folder);
            listener
        };
        fs::rename(&unnamed, &path)?;
        Ok(Self { listener, path, _elsewhere: elsewhere })
    }

    /// Returns the next connection of a process of this user. `None` if it failed, or belongs to another user.
    pub(super) async fn accept(&self) -> Option<UnixStream> {
        match self.listener.accept().await {
            Ok((stream, _)) => is_own(&stream).then_some(stream),
            Err(error) => {
                // For example, no file descriptor is free. Trying again at once would fail in the same way.
                tracing::debug!(%error, "cannot accept a connection on the control socket");
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                None
            }
        }
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether the process at the other end belongs to this user, or to root.
pub(super) fn is_own(stream: &UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| [own, 0].contains(&peer.uid()))
}

fn listen(path: &Path) -> io::Result<UnixListener> {
    let listener = StdListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    UnixListener::from_std(listener)
}
