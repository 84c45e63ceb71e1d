//! A fake Weaviate: REST and GraphQL for the official client, real cosines, and simulated failures. A test
//! with the official client verifies it.

mod graphql;
mod query;
mod store;

use std::{
    io::{BufReader, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex},
    thread::JoinHandle,
};

use serde_json::{Value, json};
use tokio::sync::watch;

use store::{Store, error};

/// A simulated failure of requests whose path contains a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    /// Returns this status and body.
    Says(u16, &'static str),
    Endless,
    /// Does not respond until the mood changes.
    Silent,
    /// Sends half of the response and closes the connection.
    Cut,
}

#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: Value,
    pub(crate) authorization: Option<String>,
}

#[derive(Default)]
struct Shared {
    store: Mutex<Store>,
    mood: Mutex<Option<(&'static str, Mood)>>,
    changed: Condvar,
    asked: Mutex<Vec<Asked>>,
    connections: Mutex<Vec<TcpStream>>,
    stopping: Mutex<bool>,
}

pub(crate) struct Fake {
    shared: Arc<Shared>,
    count: watch::Sender<usize>,
    address: SocketAddr,
    accepting: Mutex<Option<JoinHandle<()>>>,
}

impl Fake {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let fake =
            Self { shared: Arc::default(), count: watch::channel(0).0, address, accepting: Mutex::default() };
        fake.accept(listener);
        fake
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sets the failure of requests whose path contains `on`. `None` for normal responses.
    pub(crate) fn mood(&self, mood: Option<(&'static str, Mood)>) {
        *self.shared.mood.lock().unwrap() = mood;
        self.shared.changed.notify_all();
    }

    /// Stops the server but retains its data.
    pub(crate) fn stop(&self) {
        *self.shared.stopping.lock().unwrap() = true;
        self.shared.changed.notify_all();
        // Wake the accepting thread.
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.lock().unwrap().take() {
            accepting.join().unwrap();
        }
        for connection in self.shared.connections.lock().unwrap().drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    pub(crate) fn again(&self) {
        *self.shared.stopping.lock().unwrap() = false;
        self.accept(TcpListener::bind(self.address).unwrap());
    }

    pub(crate) fn forget(&self) {
        *self.shared.store.lock().unwrap() = Store::default();
    }

    /// Rejects objects of pages whose key contains this text.
    pub(crate) fn refuse(&self, page: Option<&'static str>) {
        self.shared.store.lock().unwrap().refuses = page;
    }

    pub(crate) fn have(&self, name: &str, description: &str) {
        let class = json!({
            "class": name, "description": description, "vectorizer": "none",
            "vectorIndexConfig": {"distance": "cosine"}, "properties": [],
        });
        self.shared.store.lock().unwrap().make(class).unwrap();
    }

    pub(crate) fn asked(&self, on: &str) -> Vec<Asked> {
        self.shared.asked.lock().unwrap().iter().filter(|asked| asked.path.contains(on)).cloned().collect()
    }

    pub(crate) async fn heard(&self, on: &str, times: usize) {
        let mut count = self.count.subscribe();
        while self.asked(on).len() < times {
            count.changed().await.unwrap();
        }
    }

    /// Returns the names of the collections, sorted, with their numbers of objects and of vectors.
    pub(crate) fn collections(&self) -> Vec<(String, usize, usize)> {
        let store = self.shared.store.lock().unwrap();
        let counts = |(name, collection): (&String, &store::Collection)| {
            let vectors = collection.objects.values().filter(|object| object.vector.is_some()).count();
            (name.clone(), collection.objects.len(), vectors)
        };
        store.collections.iter().map(counts).collect()
    }

    /// Deletes objects unnoticed by the engine.
    pub(crate) fn lose(&self, objects: usize) {
        let mut store = self.shared.store.lock().unwrap();
        for collection in store.collections.values_mut() {
            for _ in 0..objects {
                collection.objects.pop_first();
            }
        }
    }

    fn accept(&self, listener: TcpListener) {
        let (shared, count) = (Arc::clone(&self.shared), self.count.clone());
        let accepting = std::thread::spawn(move || {
            for connection in listener.incoming() {
                let connection = connection.unwrap();
                if *shared.stopping.lock().unwrap() {
                    return;
                }
                shared.connections.lock().unwrap().push(connection.try_clone().unwrap());
                let (shared, count) = (Arc::clone(&shared), count.clone());
                std::thread::spawn(move || serve(&shared, &count, connection));
            }
        });
        *self.accepting.lock().unwrap() = Some(accepting);
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Serves one connection. Returns `None` when the client disconnects.
fn serve(shared: &Shared, count: &watch::Sender<usize>, connection: TcpStream) -> Option<()> {
    let mut reader = BufReader::new(connection.try_clone().ok()?);
    let mut writer = connection;
    loop {
        let asked = read(&mut reader)?;
        shared.asked.lock().unwrap().push(asked.clone());
        count.send_modify(|count| *count += 1);
        let mut mood = shared.mood.lock().unwrap();
        let of = |mood: &Option<(&'static str, Mood)>| {
            mood.filter(|(on, _)| asked.path.contains(on)).map(|(_, mood)| mood)
        };
        while of(&mood) == Some(Mood::Silent) {
            if *shared.stopping.lock().unwrap() {
                return None;
            }
            mood = shared.changed.wait(mood).unwrap();
        }
        let mood = of(&mood);
        let (status, body) = match mood {
            Some(Mood::Says(status, body)) => (status, body.to_owned()),
            _ => {
                let (status, body) = respond(&mut shared.store.lock().unwrap(), &asked);
                (status, if body.is_null() { String::new() } else { body.to_string() })
            }
        };
        if mood == Some(Mood::Endless) {
            write!(writer, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[").ok()?;
            loop {
                writer.write_all(&[b' '; 65536]).ok()?;
            }
        }
        let length = body.len();
        write!(
            writer,
            "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        )
        .ok()?;
        if mood == Some(Mood::Cut) {
            writer.write_all(&body.as_bytes()[..length / 2]).ok()?;
            return writer.shutdown(Shutdown::Both).ok();
        }
        writer.write_all(body.as_bytes()).ok()?;
    }
}

fn read(reader: &mut impl std::io::BufRead) -> Option<Asked> {
    let mut line = String::new();
    (reader.read_line(&mut line).ok()? > 0).then_some(())?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let (mut length, mut authorization) = (0, None);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        match name.to_lowercase().as_str() {
            "content-length" => length = value.parse().ok()?,
            "authorization" => authorization = Some(value.to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some(Asked { method, path, body, authorization })
}

fn respond(store: &mut Store, asked: &Asked) -> (u16, Value) {
    let path = asked.path.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match (asked.method.as_str(), parts.as_slice()) {
        ("GET", ["v1", "meta"]) => {
            (200, json!({"hostname": "http://[::]:8080", "modules": {}, "version": "1.27.0"}))
        }
        ("GET", ["v1", "schema"]) => {
            (200, json!({"classes": store.collections.values().map(|one| &one.class).collect::<Vec<_>>()}))
        }
        ("GET", ["v1", "schema", name]) => match store.collections.get(*name) {
            Some(collection) => (200, collection.class.clone()),
            None => (404, Value::Null),
        },
        ("POST", ["v1", "schema"]) => match store.make(asked.body.clone()) {
            Ok(class) => (200, class),
            Err(error) => (422, error),
        },
        ("DELETE", ["v1", "schema", name]) => {
            store.collections.remove(*name);
            (200, Value::Null)
        }
        ("POST", ["v1", "batch", "objects"]) => {
            let Some(objects) = asked.body["objects"].as_array() else {
                return (422, error("objects is required"));
            };
            let result = |object: &Value| {
                let mut answer = object.clone();
                answer["result"] = match store.put(object) {
                    Ok(()) => json!({"status": "SUCCESS"}),
                    Err(message) => json!({"status": "FAILED", "errors": error(message)}),
                };
                answer
            };
            (200, objects.iter().map(result).collect())
        }
        ("DELETE", ["v1", "batch", "objects"]) => match query::delete(store, &asked.body["match"]) {
            Ok(count) => (200, json!({"results": {"matches": count, "successful": count, "failed": 0}})),
            Err(message) => (422, error(message)),
        },
        ("GET", ["v1", "objects", class, id]) => {
            let object = store.collections.get(*class).and_then(|one| one.objects.get(*id));
            object.map_or((404, Value::Null), |object| {
                (200, json!({"class": class, "id": id, "properties": object.properties, "vector": object.vector}))
            })
        }
        ("DELETE", ["v1", "objects", class, id]) => {
            let removed = store.collections.get_mut(*class).and_then(|one| one.objects.remove(*id));
            (if removed.is_some() { 204 } else { 404 }, Value::Null)
        }
        ("POST", ["v1", "graphql"]) => (200, query::answer(store, &asked.body)),
        _ => (404, error(format!("path {path} was not found"))),
    }
}
