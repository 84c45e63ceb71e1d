//! A fake weather service for the example gate, which records requests.

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

/// Token of the service, which only the host's environment contains.
pub(super) const TOKEN: &str = "t0ken-of-the-weather";

pub(super) struct Service {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Service {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let memory = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                // Ignore a client that closed the connection.
                let _gone = answer(stream, &memory);
            }
        });
        Self { address, asked }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

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
