//! Requests to the hosts of a data directory.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::de::DeserializeOwned;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
    runtime::{Builder, Handle},
    task::{JoinSet, block_in_place},
    time::timeout,
};

use super::{
    AnswerEffect, ControlRequest, HostFacts, RECONNECT_TIMEOUT, RELOAD_TIMEOUT, RunningHost,
    socket::{ShortFolder, folder, is_own},
};
use crate::out;

const REPLY_TIMEOUT: Duration = Duration::from_secs(3);

/// Time for hosts to notice a decision, for which the command need not wait longer.
const NOTICE_TIMEOUT: Duration = Duration::from_secs(5);

/// More than a host answers with thousands of servers and clients.
const MAX_REPLY_BYTES: u64 = 64 << 20;

/// Returns the hosts that use this data directory, by process id.
pub(crate) async fn running(state: &Path) -> Vec<RunningHost> {
    ask_all(sockets(state), ControlRequest::Status, REPLY_TIMEOUT).await
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

/// Makes the hosts with this configuration read it again, and returns them as they are afterwards, by process id, and
/// those that do not answer.
pub(crate) async fn reload(state: &Path, config: &Path) -> Vec<RunningHost> {
    let (mut hosts, mut reloading) = (Vec::new(), Vec::new());
    for path in sockets(state) {
        match ask_one(path.clone(), ControlRequest::Status, REPLY_TIMEOUT).await {
            Some(host) if host.silent.is_some() => hosts.push(host),
            Some(host) if host.facts.config.as_deref() == Some(config) => reloading.push(path),
            _ => {}
        }
    }
    hosts.extend(ask_all(reloading, ControlRequest::Reload, RELOAD_TIMEOUT + REPLY_TIMEOUT).await);
    hosts.sort_by_key(|host| host.facts.pid);
    hosts
}

/// Answers a request for approval of a host.
pub(crate) async fn answer(state: &Path, pid: u32, id: &str, allow: bool) -> io::Result<AnswerEffect> {
    let prefix = format!("{pid}-");
    let is_host =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix));
    let request = ControlRequest::Answer { id: id.to_owned(), allow };
    // Hosts in different containers can have the same process id, and only one of them has this request.
    let mut effect = Err(io::Error::new(io::ErrorKind::NotFound, "the host has ended, and the call with it"));
    for path in sockets(state).into_iter().filter(is_host) {
        effect = timeout(REPLY_TIMEOUT, ask(&path, request.clone())).await?;
        if !matches!(effect, Ok(AnswerEffect::Unknown)) {
            break;
        }
    }
    effect
}

/// Makes the hosts with a server connect to it again. Returns their number, and the reasons of those that cannot.
pub(crate) async fn reconnect(state: &Path, server: &str) -> (usize, Vec<String>) {
    let request = ControlRequest::Reconnect { server: server.to_owned() };
    let requests = sockets(state).into_iter().map(|path| {
        let request = request.clone();
        async move {
            let asked = ask::<Option<String>>(&path, request);
            timeout(RECONNECT_TIMEOUT + REPLY_TIMEOUT, asked).await.ok()?.ok()
        }
    });
    let replies: Vec<Option<String>> =
        requests.collect::<JoinSet<_>>().join_all().await.into_iter().flatten().collect();
    (replies.len(), replies.into_iter().flatten().collect())
}

/// Tells the hosts that use this data directory of a decision about tools, and notes which do not answer.
pub(crate) async fn tell_hosts(state: &Path) {
    for host in ask_all(sockets(state), ControlRequest::Reload, NOTICE_TIMEOUT).await {
        if host.silent.is_some() {
            out::note(format!(
                "the host of process {} does not answer; it may notice this later",
                host.facts.pid
            ));
        }
    }
}

fn sockets(state: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder(state)).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "sock")).collect()
}

async fn ask_all(sockets: Vec<PathBuf>, request: ControlRequest, limit: Duration) -> Vec<RunningHost> {
    let requests: JoinSet<_> =
        sockets.into_iter().map(|path| ask_one(path, request.clone(), limit)).collect();
    let mut hosts: Vec<RunningHost> = requests.join_all().await.into_iter().flatten().collect();
    hosts.sort_by_key(|host| host.facts.pid);
    hosts
}

/// Returns the host of a socket. `None` if it ended, or was killed, whose socket is removed.
async fn ask_one(path: PathBuf, request: ControlRequest, limit: Duration) -> Option<RunningHost> {
    let silent = match timeout(limit, ask(&path, request)).await {
        Ok(Ok(host)) => return Some(host),
        Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
            // Only what has this name goes, and never what a link leads to.
            let _ = fs::remove_file(&path);
            return None;
        }
        Ok(Err(error)) if [io::ErrorKind::NotFound, io::ErrorKind::UnexpectedEof].contains(&error.kind()) => {
            return None;
        }
        Ok(Err(error)) => format!("cannot be asked on {}: {error}", path.display()),
        Err(_) => format!("does not answer on {} within {} s", path.display(), limit.as_secs()),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let pid = name.split('-').next().and_then(|pid| pid.parse().ok()).unwrap_or_default();
    let facts = HostFacts { pid, ..HostFacts::default() };
    Some(RunningHost { facts, silent: Some(silent), ..RunningHost::default() })
}

async fn ask<T: DeserializeOwned>(path: &Path, request: ControlRequest) -> io::Result<T> {
    let folder = ShortFolder::open(path.parent().unwrap_or(Path::new(".")))?;
    let mut stream = UnixStream::connect(folder.path(path)).await?;
    if !is_own(&stream) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "another user listens there"));
    }
    let mut line = serde_json::to_vec(&request)?;
    line.push(b'\n');
    stream.write_all(&line).await?;
    let mut reply = Vec::new();
    stream.take(MAX_REPLY_BYTES).read_to_end(&mut reply).await?;
    if reply.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_slice(&reply)?)
}
