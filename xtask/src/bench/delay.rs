//! A proxy on loopback that delays what a client sends, as a network does: without limiting how much is on its way.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

const CHUNK: usize = 64 << 10;

/// Listens on a free port, which it returns, and forwards each connection to `port` until this process ends.
pub(crate) fn delayed_port(port: u16, delay: Duration) -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("no free port")?;
    let own = listener.local_addr()?.port();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { continue };
            let _ = (client.set_nodelay(true), server.set_nodelay(true));
            let (Ok(from_server), Ok(to_client)) = (server.try_clone(), client.try_clone()) else { continue };
            thread::spawn(move || forward(client, server, delay));
            thread::spawn(move || forward(from_server, to_client, Duration::ZERO));
        }
    });
    Ok(own)
}

/// Copies a direction. Each piece arrives `delay` after it was read, so pieces do not wait for each other.
fn forward(mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    let (pieces, arriving) = mpsc::channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        for (due, piece) in arriving {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&piece).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
    let mut buffer = vec![0; CHUNK];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if pieces.send((Instant::now() + delay, buffer[..count].to_vec())).is_err() {
            break;
        }
    }
}
