//! Hosts that were killed, that hang, and whose data directory has a long path.

use std::{fs, os::unix::fs::PermissionsExt as _, os::unix::net::UnixListener, path::Path};

use super::{socket::folder, *};

/// Answers one request with the host of this process id.
async fn answer(socket: &ControlSocket, pid: u32) {
    let mut stream = socket.accept().await.expect("a connection");
    read_request(&mut stream).await;
    let facts = HostFacts { pid, ..HostFacts::default() };
    let reply = serde_json::to_vec(&RunningHost { facts, ..RunningHost::default() }).unwrap();
    stream.write_all(&reply).await.unwrap();
}

async fn read_request(stream: &mut UnixStream) {
    BufReader::new(stream).read_line(&mut String::new()).await.unwrap();
}

fn sockets(state: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder(state)).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_answers_until_it_ends() {
    let dir = tempfile::tempdir().unwrap();
    assert!(running(dir.path()).await.is_empty());
    let socket = ControlSocket::bind(dir.path(), 7).unwrap();
    let [name] = &sockets(dir.path())[..] else { panic!("{:?}", sockets(dir.path())) };
    let mode = fs::metadata(folder(dir.path()).join(name)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let (hosts, ()) = tokio::join!(running(dir.path()), answer(&socket, 7));
    assert_eq!((hosts.len(), hosts[0].facts.pid, &hosts[0].silent), (1, 7, &None));
    drop(socket);
    assert!(sockets(dir.path()).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_directory_may_have_a_long_path() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("a".repeat(120)).join("b".repeat(120));
    let socket = ControlSocket::bind(&state, 7).unwrap();
    let (hosts, ()) = tokio::join!(running(&state), answer(&socket, 7));
    assert_eq!(hosts.len(), 1);
    drop(socket);
    assert!(sockets(&state).is_empty());
}

#[tokio::test]
async fn the_socket_of_a_host_that_was_killed_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let hosts = folder(dir.path());
    fs::create_dir_all(&hosts).unwrap();
    drop(UnixListener::bind(hosts.join("7-x.sock")).unwrap());
    // A link that another container placed there.
    fs::write(dir.path().join("precious"), "here").unwrap();
    std::os::unix::fs::symlink(dir.path().join("precious"), hosts.join("8-y.sock")).unwrap();
    fs::write(hosts.join("9-z.new"), "").unwrap();
    assert!(running(dir.path()).await.is_empty());
    assert_eq!(sockets(dir.path()), ["9-z.new"], "one that starts keeps its socket");
    assert_eq!(fs::read_to_string(dir.path().join("precious")).unwrap(), "here");
}

#[tokio::test]
async fn a_host_that_hangs_or_talks_nonsense_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let hosts = folder(dir.path());
    fs::create_dir_all(&hosts).unwrap();
    let _hangs = UnixListener::bind(hosts.join("7-x.sock")).unwrap();
    let found = running(dir.path()).await;
    assert_eq!((found.len(), found[0].facts.pid), (1, 7));
    let said = found[0].to_string();
    assert!(said.contains("process 7: does not answer on ") && said.ends_with("within 3 s"), "{said}");
    let nonsense = UnixListener::bind(hosts.join("8-x.sock")).unwrap();
    nonsense.set_nonblocking(true).unwrap();
    let nonsense = tokio::net::UnixListener::from_std(nonsense).unwrap();
    let talk = async {
        let (mut stream, _) = nonsense.accept().await.unwrap();
        read_request(&mut stream).await;
        stream.write_all(b"nonsense\n").await.unwrap();
    };
    let (found, ()) = tokio::join!(running(dir.path()), talk);
    assert!(found[1].to_string().contains("process 8: cannot be asked on "), "{}", found[1]);
}

#[test]
fn requests_and_hosts_survive_the_socket() {
    let request = serde_json::to_string(&ControlRequest::Reload).unwrap();
    assert_eq!(request, r#"{"request":"reload"}"#);
    assert_eq!(serde_json::from_str::<ControlRequest>(&request).unwrap(), ControlRequest::Reload);
    assert!(serde_json::from_str::<ControlRequest>(r#"{"request":"erase"}"#).is_err());
}
