//! A fake provider of language models on loopback, which sends scripted answers and records requests.

pub(crate) mod wire;

use std::{
    collections::VecDeque,
    io::{BufReader, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, Sender, channel},
    },
    time::Duration,
};

use serde_json::Value;

use super::server::{Seen, read};

#[derive(Clone)]
pub(crate) enum Answer {
    /// Status, header lines that each end in CRLF, and body.
    Whole(&'static str, &'static str, String),
    /// Events, and how their stream ends.
    Stream(Vec<Value>, End),
}

#[derive(Clone, Copy)]
pub(crate) enum End {
    Done,
    Cut,
    /// Not before the client disconnects.
    Stuck,
}

pub(crate) struct Provider {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    disconnects: Receiver<()>,
}

impl Provider {
    pub(crate) fn saying(script: impl IntoIterator<Item = Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let script: Arc<Mutex<VecDeque<Answer>>> = Arc::new(Mutex::new(script.into_iter().collect()));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (tell, disconnects) = channel();
        let kept = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (script, seen, tell) = (Arc::clone(&script), Arc::clone(&kept), tell.clone());
                std::thread::spawn(move || serve(stream, &script, &seen, &tell));
            }
        });
        Self { address, seen, disconnects }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("memory").clone()
    }

    pub(crate) fn only(&self) -> (Seen, Value) {
        let mut seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:?}");
        let request = seen.remove(0);
        let body = serde_json::from_slice(&request.body).expect("JSON");
        (request, body)
    }

    pub(crate) fn asked(&self) {
        while self.seen.lock().expect("memory").is_empty() {
            std::thread::yield_now();
        }
    }

    /// Waits until a client disconnects during an answer.
    pub(crate) fn left(&self) {
        self.disconnects.recv_timeout(Duration::from_secs(60)).expect("the client stays on the line");
    }
}

fn serve(
    stream: TcpStream,
    script: &Mutex<VecDeque<Answer>>,
    seen: &Mutex<Vec<Seen>>,
    disconnects: &Sender<()>,
) {
    let mut writer = stream.try_clone().expect("a second handle");
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader) {
        let say = {
            let mut script = script.lock().expect("the script");
            let next = if script.len() > 1 { script.pop_front() } else { script.front().cloned() };
            next.expect("something to say")
        };
        seen.lock().expect("memory").push(request);
        let end = match answer(&say, &mut writer) {
            Ok(end) => end,
            Err(_) => {
                let _ = disconnects.send(());
                return;
            }
        };
        match end {
            End::Done => {}
            End::Cut => {
                let _ = writer.shutdown(Shutdown::Both);
                return;
            }
            End::Stuck => {
                // A waiting client sends nothing, so this read ends when it disconnects.
                let _ = reader.read(&mut [0]);
                let _ = disconnects.send(());
                return;
            }
        }
    }
}

fn answer(say: &Answer, writer: &mut impl Write) -> std::io::Result<End> {
    match say {
        Answer::Whole(status, headers, body) => {
            write!(writer, "HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len())?;
            writer.flush()?;
            Ok(End::Done)
        }
        Answer::Stream(events, end) => {
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            writer.write_all(head.as_bytes())?;
            for event in events {
                let name = event["type"].as_str().map(|name| format!("event: {name}\n")).unwrap_or_default();
                let text = format!("{name}data: {event}\n\n");
                write!(writer, "{:x}\r\n{text}\r\n", text.len())?;
                writer.flush()?;
            }
            if matches!(end, End::Done) {
                writer.write_all(b"0\r\n\r\n")?;
            }
            Ok(*end)
        }
    }
}
