//! The socket of a host: a file that only this user can open, and that the next reader removes if the host was killed.

use std::{
    fs::{self, File},
    io,
    os::{
        fd::AsRawFd as _,
        unix::{fs::PermissionsExt as _, net::UnixListener as StdListener},
    },
    path::{Path, PathBuf},
};

use gatehouse_files::make_private;
use tokio::net::{UnixListener, UnixStream};

/// Returns the directory of the sockets.
pub(super) fn folder(state: &Path) -> PathBuf {
    state.join("hosts")
}

pub(super) struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
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
        let short = ShortFolder::open(&folder)?;
        let listener = StdListener::bind(short.path(&unnamed))?;
        fs::set_permissions(&unnamed, fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        let listener = UnixListener::from_std(listener)?;
        fs::rename(&unnamed, &path)?;
        Ok(Self { listener, path })
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

/// A directory under a short name, because the path of a socket has at most 107 bytes on Linux, and 103 on macOS.
pub(super) struct ShortFolder(File);

impl ShortFolder {
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        File::open(folder).map(Self)
    }

    /// Returns a path of a file in the directory that is short, where the system has one.
    pub(super) fn path(&self, file: &Path) -> PathBuf {
        match file.file_name() {
            Some(name) if cfg!(target_os = "linux") => {
                Path::new("/proc/self/fd").join(self.0.as_raw_fd().to_string()).join(name)
            }
            _ => file.to_owned(),
        }
    }
}
