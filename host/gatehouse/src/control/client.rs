//! Requests to the hosts of a data directory.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
    runtime::{Builder, Handle},
    task::{JoinSet, block_in_place},
    time::timeout,
};

use super::{
    ControlRequest, HostFacts, RunningHost,
    socket::{folder, is_own},
};

/// Time for a host to answer. One that reloads describes its gates first.
const REPLY_TIMEOUT: Duration = Duration::from_secs(3);
const RELOAD_TIMEOUT: Duration = Duration::from_secs(60);

/// More than a host answers with thousands of servers and clients.
const MAX_REPLY_BYTES: u64 = 64 << 20;

/// Returns the hosts that use this data directory, by process id.
pub(crate) async fn running(state: &Path) -> Vec<RunningHost> {
    ask_all(state, ControlRequest::Status, REPLY_TIMEOUT).await
}

/// Like [`running`], for callers that block.
pub(crate) fn running_now(state: &Path) -> Vec<RunningHost> {
    match Handle::try_current() {
        Ok(runtime) => block_in_place(|| runtime.block_on(running(state))),
        Err(_) => {
            let runtime = Builder::new_current_thread().enable_all().build();
            runtime.map(|runtime| runtime.block_on(running(state))).unwrap_or_default()
        }
    }
}

/// Makes the hosts that use this data directory read their files again, and returns them as they are afterwards, by
/// process id.
pub(crate) async fn reload(state: &Path) -> Vec<RunningHost> {
    ask_all(state, ControlRequest::Reload, RELOAD_TIMEOUT).await
}

async fn ask_all(state: &Path, request: ControlRequest, limit: Duration) -> Vec<RunningHost> {
    let entries = fs::read_dir(folder(state)).into_iter().flatten().flatten().map(|entry| entry.path());
    let sockets = entries.filter(|path| path.extension().is_some_and(|extension| extension == "sock"));
    let requests: JoinSet<_> = sockets.map(|path| ask_one(path, request, limit)).collect();
    let mut hosts: Vec<RunningHost> = requests.join_all().await.into_iter().flatten().collect();
    hosts.sort_by_key(|host| host.facts.pid);
    hosts
}

async fn ask_one(path: PathBuf, request: ControlRequest, limit: Duration) -> Option<RunningHost> {
    // Too long for a socket's path, then.
    let socket = fs::read_link(&path).unwrap_or_else(|_| path.clone());
    let silent = match timeout(limit, ask(&socket, request)).await {
        Ok(Ok(host)) => return Some(host),
        Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
            // The host was killed.
            let _ = fs::remove_file(&path);
            if socket != path {
                let _ = fs::remove_file(&socket);
                let _ = socket.parent().map(fs::remove_dir);
            }
            return None;
        }
        // It ended meanwhile.
        Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => {
            let _ = fs::remove_file(&path);
            return None;
        }
        Ok(Err(error)) => format!("cannot be asked on {}: {error}", socket.display()),
        Err(_) => format!("does not answer on {} within {} s", socket.display(), limit.as_secs()),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let pid = name.split('-').next().and_then(|pid| pid.parse().ok()).unwrap_or_default();
    let facts = HostFacts { pid, ..HostFacts::default() };
    Some(RunningHost { facts, silent: Some(silent), ..RunningHost::default() })
}

async fn ask(socket: &Path, request: ControlRequest) -> io::Result<RunningHost> {
    let mut stream = UnixStream::connect(socket).await?;
    if !is_own(&stream) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "another user listens there"));
    }
    let mut line = serde_json::to_vec(&request)?;
    line.push(b'\n');
    stream.write_all(&line).await?;
    let mut reply = Vec::new();
    stream.take(MAX_REPLY_BYTES).read_to_end(&mut reply).await?;
    Ok(serde_json::from_slice(&reply)?)
}
