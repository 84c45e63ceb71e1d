//! The weather service of the example gate: one answer a city, and a memory of what it was asked.

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

/// What the service knows the gate by; it stands in the host's environment only.
pub(super) const TOKEN: &str = "t0ken-of-the-weather";

pub(super) struct Service {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Service {
    /// Listens on loopback until the test is over.
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let memory = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                // A client that went away has its answer already.
                let _gone = answer(stream, &memory);
            }
        });
        Self { address, asked }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The head of every request so far.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("memory").clone()
    }
}

fn answer(mut stream: TcpStream, memory: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    while reader.read_line(&mut head)? > 2 {}
    let city = head.split("city=").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_default();
    let (status, body) = match city {
        "Nowhere" => ("404 Not Found", ""),
        "Forbidden" => ("403 Forbidden", ""),
        "Broken" => ("500 Internal Server Error", ""),
        "Garbage" => ("200 OK", "<html>"),
        _ => ("200 OK", r#"{"sky": "light rain", "celsius": 7.5}"#),
    };
    memory.lock().expect("memory").push(head);
    let length = body.len();
    write!(stream, "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}")
}
