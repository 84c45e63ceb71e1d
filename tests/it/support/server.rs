//! A web server on loopback for one test. It records requests, and its paths cover what a server may do to a client.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    /// Lines of `name: value`, the name in lower case.
    pub(crate) headers: Vec<String>,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// Returns everything after the parameter's name.
    fn parameter(&self, name: &str) -> &str {
        self.target.split_once(&format!("{name}=")).map_or("", |(_, value)| value)
    }
}

#[derive(Default)]
struct Memory {
    seen: Vec<Seen>,
    connections: usize,
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    memory: Arc<Mutex<Memory>>,
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let memory = Arc::new(Mutex::new(Memory::default()));
        let kept = Arc::clone(&memory);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                kept.lock().expect("memory").connections += 1;
                let memory = Arc::clone(&kept);
                std::thread::spawn(move || serve(stream, &memory));
            }
        });
        Self { address, memory }
    }

    /// Returns the host in the form that rules in `presets.toml` use.
    pub(crate) fn host(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.memory.lock().expect("memory").seen.clone()
    }

    pub(crate) fn only(&self) -> Seen {
        let mut seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen.remove(0)
    }

    pub(crate) fn connections(&self) -> usize {
        self.memory.lock().expect("memory").connections
    }

    pub(crate) fn saw_nothing(&self) {
        assert_eq!(self.connections(), 0, "{:?}", self.seen());
    }
}

fn serve(stream: TcpStream, memory: &Mutex<Memory>) {
    // Head and body are sent separately.
    stream.set_nodelay(true).expect("no delay");
    let mut writer = stream.try_clone().expect("a second handle");
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader) {
        memory.lock().expect("memory").seen.push(request.clone());
        if answer(&request, &mut writer, &mut reader).is_err() {
            return;
        }
    }
}

/// Reads the next request. `None` if the client disconnected.
pub(crate) fn read(reader: &mut impl BufRead) -> Option<Seen> {
    let mut line = || {
        let mut line = String::new();
        let read = reader.read_line(&mut line).ok()?;
        (read > 0).then(|| line.trim_end().to_owned())
    };
    let first = line()?;
    let mut words = first.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let line = line()?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.push(format!("{}: {}", name.to_lowercase(), value.trim()));
    }
    let mut seen = Seen { method, target, headers, body: Vec::new() };
    let length = seen.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    seen.body = vec![0; length];
    reader.read_exact(&mut seen.body).ok()?;
    Some(seen)
}

/// Serves every request on a free loopback port with the status, the header lines and the body that `answer` returns.
pub(crate) fn serve_answers(
    answer: impl Fn(Seen) -> (u16, String, String) + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
                while let Some(seen) = read(&mut reader) {
                    let (status, headers, body) = answer(seen);
                    let length = body.len();
                    let head = format!("HTTP/1.1 {status} Said\r\ncontent-length: {length}\r\n{headers}\r\n");
                    if stream.write_all(format!("{head}{body}").as_bytes()).is_err() {
                        break;
                    }
                }
            });
        }
    });
    address
}

/// Encodes a short text as gzip, in one stored block (RFC 1951 section 3.2.4, RFC 1952).
fn gzip(text: &[u8]) -> Vec<u8> {
    let crc = !text.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    });
    let length = u16::try_from(text.len()).expect("a short text");
    let mut all = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    all.extend([length.to_le_bytes(), (!length).to_le_bytes()].concat());
    all.extend(text);
    all.extend([crc.to_le_bytes(), u32::from(length).to_le_bytes()].concat());
    all
}

fn answer(request: &Seen, writer: &mut impl Write, reader: &mut impl Read) -> std::io::Result<()> {
    let mut whole = |status: &str, headers: &str, body: &[u8]| {
        let length = body.len();
        write!(writer, "HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{headers}\r\n")?;
        writer.write_all(body)
    };
    match request.target.split(['?', '#']).next().unwrap_or_default() {
        // Returns the request's headers and body, and the credential in a header.
        "/echo" => {
            let credential = request.header("authorization").unwrap_or("nothing");
            let body = format!("{}\n{}", request.headers.join("\n"), String::from_utf8_lossy(&request.body));
            whole("200 OK", &format!("x-echo: {credential}\r\n"), body.as_bytes())
        }
        "/redirect" => {
            let (status, to) = request.parameter("status").split_once("&to=").unwrap_or_default();
            whole(&format!("{status} Elsewhere"), &format!("location: {to}\r\n"), b"")
        }
        // Puts the credential into a redirect.
        "/tell" => {
            let token = request.header("authorization").unwrap_or_default().replace("Bearer ", "");
            whole("302 Found", &format!("location: /ok?token={token}\r\n"), b"")
        }
        // Returns the credential in encodings that a redaction of plain text would miss.
        "/disguised" => {
            let token = request.header("authorization").unwrap_or_default().replace("Bearer ", "");
            let escaped = |escape: fn(char) -> String| {
                token
                    .chars()
                    .map(|c| if c.is_alphanumeric() { c.to_string() } else { escape(c) })
                    .collect::<String>()
            };
            let html = escaped(|c| format!("&#{};", u32::from(c)));
            let json = escaped(|c| format!("\\u{:04x}", u32::from(c)));
            let url = json.replace('\\', "%5c");
            let headers = format!("x-{token}: 1\r\nx-kept: 1\r\n");
            whole("200 OK", &headers, format!("<p>{html}</p> {json} {url}").as_bytes())
        }
        // Compresses although the request does not accept it.
        "/gzip" => {
            let text = format!(
                "{} said {}",
                request.header("accept-encoding").unwrap_or("nothing"),
                request.header("authorization").unwrap_or("nothing")
            );
            whole("200 OK", "content-encoding: gzip\r\n", &gzip(text.as_bytes()))
        }
        "/br" => whole("200 OK", "content-encoding: br\r\n", b"\x0b\x02\x80hello\x03"),
        "/loop" => whole("302 Found", "location: /loop\r\n", b""),
        "/big" => whole("200 OK", "", &vec![b'x'; request.parameter("bytes").parse().unwrap_or(0)]),
        "/headers" => {
            let line = format!("x-long: {}\r\n", "x".repeat(8000));
            whole("200 OK", &line.repeat(request.parameter("lines").parse().unwrap_or(0)), b"")
        }
        "/status" => whole(&format!("{} Said", request.parameter("code")), "", b"as asked"),
        "/stuck" => {
            write!(writer, "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nx")?;
            writer.flush()?;
            reader.read(&mut [0]).map(drop)
        }
        "/flood" => {
            write!(writer, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")?;
            let chunk = [b'x'; 65_536];
            loop {
                write!(writer, "{:x}\r\n", chunk.len())?;
                writer.write_all(&chunk)?;
                writer.write_all(b"\r\n")?;
            }
        }
        _ => whole("200 OK", "content-type: text/plain\r\n", b"ok"),
    }
}
