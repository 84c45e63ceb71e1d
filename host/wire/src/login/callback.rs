//! Redirect endpoint of a login: a loopback port that accepts one answer with the right state and then closes. Other
//! requests have no effect, and silent connections are closed in favor of newer ones.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use gatehouse_core::{Fault, FaultKind, http::Secret, names::quoted};
use gatehouse_net::Url;
use subtle::ConstantTimeEq as _;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::{AbortHandle, JoinSet},
    time::{error::Elapsed, timeout},
};

const MAX_LOGIN_TIME: Duration = Duration::from_secs(5 * 60);

/// Time for a browser to send its request.
const MAX_HEAD_TIME: Duration = Duration::from_secs(10);

const MAX_HEAD: usize = 32 << 10;

const MAX_CONNECTIONS: usize = 64;

const ANSWER_RECEIVED: &str =
    "Gatehouse received the answer and continues in the terminal. You can close this window.";

pub(super) struct CallbackListener {
    listener: TcpListener,
    pub(super) redirect: String,
}

pub(super) struct ExpectedAnswer<'a> {
    pub(super) state: &'a Secret,
    pub(super) issuer: &'a str,
    /// True if the answer must name the issuer (RFC 9207).
    pub(super) names_issuer: bool,
}

/// Parameters of an answer by name; those without a meaning here are absent.
type Parameters = BTreeMap<&'static str, String>;

const PARAMETER_NAMES: [&str; 5] = ["code", "state", "iss", "error", "error_description"];

impl CallbackListener {
    pub(super) async fn open(port: Option<u16>) -> Result<Self, Fault> {
        let failed = |error: std::io::Error| {
            let port = port.map_or_else(String::new, |port| format!(" {port}"));
            Fault::unavailable(format!("cannot open port{port} for the answer: {error}"))
        };
        let listener = TcpListener::bind(("127.0.0.1", port.unwrap_or(0))).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self { listener, redirect: format!("http://127.0.0.1:{port}/callback") })
    }

    /// Waits for the authorization code.
    ///
    /// # Errors
    /// `denied` for a refusal or an answer of another issuer, `timed-out` after [`MAX_LOGIN_TIME`].
    pub(super) async fn code(self, expected: &ExpectedAnswer<'_>) -> Result<Secret, Fault> {
        timeout(MAX_LOGIN_TIME, self.wait(expected)).await.unwrap_or_else(|_| {
            let minutes = MAX_LOGIN_TIME.as_secs() / 60;
            Err(Fault::new(FaultKind::TimedOut, format!("no login within {minutes} minutes")))
        })
    }

    async fn wait(self, expected: &ExpectedAnswer<'_>) -> Result<Secret, Fault> {
        let mut connections: JoinSet<Result<Option<Request>, Elapsed>> = JoinSet::new();
        let mut oldest_first: VecDeque<AbortHandle> = VecDeque::new();
        loop {
            tokio::select! {
                // Answer a complete request before a newer connection can replace it.
                biased;
                Some(read) = connections.join_next() => {
                    oldest_first.retain(|connection| !connection.is_finished());
                    let Ok(Ok(Some((mut stream, target)))) = read else { continue };
                    let answer = target.as_deref().and_then(|target| expected.answer(target));
                    let (status, text) = match answer {
                        Some(_) => ("200 OK", ANSWER_RECEIVED),
                        None => ("400 Bad Request", "This is not the answer that Gatehouse expects."),
                    };
                    reply(&mut stream, status, text).await;
                    if let Some(answer) = answer {
                        return answer;
                    }
                }
                accepted = self.listener.accept() => {
                    let Ok((stream, _)) = accepted else { continue };
                    if oldest_first.len() >= MAX_CONNECTIONS {
                        oldest_first.pop_front().inspect(AbortHandle::abort);
                    }
                    oldest_first.push_back(connections.spawn(timeout(MAX_HEAD_TIME, head(stream))));
                }
            }
        }
    }
}

impl ExpectedAnswer<'_> {
    /// Returns the result of a request. `None` if it is not the expected answer.
    fn answer(&self, target: &str) -> Option<Result<Secret, Fault>> {
        let url = Url::parse("http://127.0.0.1").ok()?.join(target).ok()?;
        if url.path() != "/callback" {
            return None;
        }
        self.code_in(&url)
    }

    /// Returns the code in the query of the redirect. `None` if it is not the expected answer.
    pub(super) fn code_in(&self, url: &Url) -> Option<Result<Secret, Fault>> {
        let mut answer = Parameters::default();
        for (name, value) in url.query_pairs() {
            let Some(name) = PARAMETER_NAMES.into_iter().find(|parameter| *parameter == name) else {
                continue;
            };
            // Reject duplicates: parsers disagree on their meaning.
            if answer.insert(name, value.into_owned()).is_some() {
                return None;
            }
        }
        let state = answer.remove("state").unwrap_or_default();
        if !bool::from(state.as_bytes().ct_eq(self.state.reveal().as_bytes())) {
            return None;
        }
        Some(self.code_of(&answer))
    }

    fn code_of(&self, answer: &Parameters) -> Result<Secret, Fault> {
        let issuer = quoted(self.issuer, 200);
        match answer.get("iss") {
            Some(iss) if iss == self.issuer => {}
            Some(iss) => {
                let other = quoted(iss, 200);
                return Err(Fault::denied(format!("the login was sent to {issuer}, but '{other}' answered")));
            }
            None if self.names_issuer => {
                return Err(Fault::denied(format!(
                    "the answer to the login does not name its issuer {issuer}"
                )));
            }
            None => {}
        }
        if let Some(error) = answer.get("error") {
            let description =
                answer.get("error_description").map_or_else(String::new, |text| format!(", {text}"));
            let reason = quoted(&format!("{error}{description}"), 300);
            return Err(Fault::denied(format!(
                "{issuer} refused the login: {}",
                reason.trim_end_matches('.')
            )));
        }
        let code = answer.get("code").filter(|code| !code.is_empty());
        let code =
            code.ok_or_else(|| Fault::denied(format!("{issuer} answered the login without a code")))?;
        Ok(Secret::new(code.as_str()))
    }
}

/// Connection and target. The target is `None` if the request is not a GET.
type Request = (TcpStream, Option<String>);

/// Reads a request head. `None` if it is incomplete or too long.
async fn head(mut stream: TcpStream) -> Option<Request> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut piece = [0; 4096];
        let read = stream.read(&mut piece).await.ok()?;
        if read == 0 || head.len() + read > MAX_HEAD {
            return None;
        }
        head.extend_from_slice(&piece[..read]);
    }
    let text = String::from_utf8_lossy(&head);
    let mut words = text.lines().next().unwrap_or_default().split(' ');
    let target = (words.next() == Some("GET")).then(|| words.next().map(str::to_owned)).flatten();
    Some((stream, target.filter(|target| target.starts_with('/') && !target.starts_with("//"))))
}

async fn reply(stream: &mut TcpStream, status: &str, text: &str) {
    let length = text.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {length}\r\n\
         cache-control: no-store\r\nreferrer-policy: no-referrer\r\nconnection: close\r\n\r\n{text}"
    );
    // Ignore errors: the browser may be closed.
    let _ = timeout(MAX_HEAD_TIME, async {
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await
    })
    .await;
}

#[cfg(test)]
mod tests;
