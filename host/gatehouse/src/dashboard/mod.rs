//! Pages for the person who runs the hosts of a data directory: what happens now, single calls, tools, servers, presets
//! and the wiki, and the decisions that wait.
//!
//! The pages ask all hosts at their control sockets, and read the same functions as the commands do. They have no script.

mod actions;
mod add;
mod calls;
mod charts;
mod now;
mod presets;
mod servers;
mod session;
mod snapshot;
mod tool_forms;
mod tools;
mod view;
mod wiki;

use std::{borrow::Cow, collections::HashMap, sync::Arc, time::Duration};

use askama::Template as _;
use async_trait::async_trait;
use bytes::Bytes;
use gatehouse_core::ports::{
    Clock as _,
    ledger::{Activity, ActivityFilter},
};
use gatehouse_net::Url;
use gatehouse_wire::serve::PageHandler;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use tokio::{sync::Mutex, time::Instant};

use self::{
    charts::Week,
    session::Sessions,
    snapshot::{Snapshot, SnapshotReader},
    view::{Cell, Content, Page, Section},
};
use crate::{compose::SystemClock, config::Env, control, global_args::GlobalArgs, plain_error::PlainError};

const STYLE: &str = include_str!("../../templates/dashboard/style.css");

/// A gate of two posts and a beam.
const ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\"><path fill=\"#0b62b8\" d=\"M1 2h14v3H1zM2 5h3v9H2zM11 5h3v9h-3z\"/></svg>";

/// Time for which the figures of charts are used again. A week of calls takes longer to read than a page.
const CHART_AGE: Duration = Duration::from_secs(10);

/// Activity of a week, and when it was read. Its key is a source and a tool, empty for all tools.
type ReadActivity = (Instant, Vec<Activity>);

pub(crate) struct Dashboard {
    reader: Arc<SnapshotReader>,
    sessions: Sessions,
    weeks: Mutex<HashMap<(String, String), ReadActivity>>,
}

impl Dashboard {
    pub(crate) fn new(global: GlobalArgs, env: Env) -> Result<Self, PlainError> {
        let reader = Arc::new(SnapshotReader::new(global, env));
        Ok(Self { reader, sessions: Sessions::new()?, weeks: Mutex::default() })
    }

    /// Returns the path that opens the pages once.
    pub(crate) fn entry(&self) -> String {
        format!("/open?token={}", self.sessions.token())
    }

    /// Reads everything once, so that the first page is fast and a broken configuration fails at the start.
    pub(crate) async fn prepare(&self) -> Result<(), PlainError> {
        self.reader.read().await.map(drop)
    }

    pub(crate) async fn close(&self) {
        self.reader.close().await;
    }

    async fn answer(&self, request: &Request<Bytes>) -> Result<Reply, PlainError> {
        let query = Query::parse(request.uri().query().unwrap_or_default());
        let path = request.uri().path();
        match path {
            "/style.css" => return Ok(Reply::File("text/css; charset=utf-8", STYLE)),
            "/icon.svg" => return Ok(Reply::File("image/svg+xml", ICON)),
            "/open" if request.method() == Method::GET => {
                return Ok(match self.sessions.open(query.get("token")) {
                    Some(cookie) => Reply::SignedIn(cookie),
                    None => Reply::Refused,
                });
            }
            _ => {}
        }
        let Some(session) = self.sessions.find(request.headers()) else { return Ok(Reply::Refused) };
        if request.method() == Method::POST {
            let form = Query::parse(std::str::from_utf8(request.body()).unwrap_or_default());
            if !session.allows(form.get("csrf")) {
                return Ok(Reply::Refused);
            }
            // In its own task: a browser that goes away must not stop it between a change and its record.
            let (reader, action) = (Arc::clone(&self.reader), path.to_owned());
            let run = async move {
                let notice = actions::run(&reader, &action, &form).await;
                (notice.unwrap_or_else(|reason| reason.to_string()), form)
            };
            let (notice, form) = tokio::spawn(run).await.map_err(|error| error.to_string())?;
            let number = session.leave_notice(Cell::lines(&notice).text);
            let back = actions::page_after(path, &form);
            return Ok(Reply::See(format!("{back}?notice={number}")));
        }
        let snapshot = self.reader.read().await?;
        let segments: Vec<String> = path.split('/').skip(1).map(decoded).collect();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        // Each page that needs no host is fast, even if one hangs.
        let hosts = match segments.as_slice() {
            ["" | "servers", ..] => control::running(&snapshot.composition.config.state).await,
            _ => Vec::new(),
        };
        let page = match segments.as_slice() {
            [""] => Some(now::page(&snapshot, &hosts, &self.week(&snapshot, "", "").await?).await?),
            ["calls"] => Some(calls::page(&snapshot, &query).await?),
            ["calls", id] => calls::call(&snapshot, id).await?,
            ["tools"] => Some(tools::page(&snapshot, &query).await?),
            ["tools", source, tool] => {
                let week = self.week(&snapshot, source, tool).await?;
                tools::tool(&snapshot, source, tool, &week).await?
            }
            ["servers"] => Some(servers::page(&snapshot, &hosts, &self.reader, &query).await?),
            ["servers", name] => servers::server(&snapshot, &hosts, name).await?,
            ["presets"] => Some(presets::page(&snapshot, &query)),
            ["presets", name] => presets::preset(&snapshot, name, self.reader.origin()),
            ["wiki"] => Some(wiki::page(&snapshot, &query).await?),
            _ => None,
        };
        let Some(mut page) = page else {
            let section = Section::new("", Content::Nothing)
                .about("There is no such page, call, tool, server or preset.");
            return Ok(Reply::Page(StatusCode::NOT_FOUND, Page::new("Not found", "", vec![section])));
        };
        page.csrf = session.csrf();
        page.notices.extend(session.take_notice(query.get("notice")));
        page.notices.extend(snapshot.config_error.clone());
        page.notices.extend(hosts.iter().filter_map(|host| host.silent.as_ref().map(|_| host.to_string())));
        Ok(Reply::Page(StatusCode::OK, page))
    }

    /// Returns the activity of a tool in the last week, or of all tools.
    async fn week(&self, snapshot: &Snapshot, source: &str, tool: &str) -> Result<Week, PlainError> {
        let now = SystemClock.now_ms();
        let mut weeks = self.weeks.lock().await;
        weeks.retain(|_, (read_at, _)| read_at.elapsed() < CHART_AGE);
        let key = (source.to_owned(), tool.to_owned());
        if let Some((_, activity)) = weeks.get(&key) {
            return Ok(Week::new(now, activity));
        }
        let named = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
        let filter = ActivityFilter {
            source: named(source),
            tool: named(tool),
            since: Week::start(now),
            slot_ms: 3_600_000,
        };
        let activity = snapshot.composition.stores.recorded.activity(&filter).await?;
        let week = Week::new(now, &activity);
        weeks.insert(key, (Instant::now(), activity));
        Ok(week)
    }
}

enum Reply {
    Page(StatusCode, Page),
    File(&'static str, &'static str),
    /// The browser gets this cookie, and goes to the first page.
    SignedIn(String),
    See(String),
    Refused,
}

#[async_trait]
impl PageHandler for Dashboard {
    async fn respond(&self, request: Request<Bytes>) -> Response<Bytes> {
        let reply = self.answer(&request).await.unwrap_or_else(|reason| {
            let section = Section::new("", Content::Text(reason.to_string()));
            Reply::Page(
                StatusCode::SERVICE_UNAVAILABLE,
                Page::new("This page cannot be read", "", vec![section]),
            )
        });
        let mut response = Response::default();
        let mut set = |name, value: &str| {
            HeaderValue::try_from(value).ok().map(|value| response.headers_mut().insert(name, value));
        };
        let (status, kind, body) = match reply {
            Reply::Page(status, page) if page.refresh > 0 => {
                set(header::REFRESH, &page.refresh.to_string());
                (status, "text/html; charset=utf-8", page.render().unwrap_or_default())
            }
            Reply::Page(status, page) => {
                (status, "text/html; charset=utf-8", page.render().unwrap_or_default())
            }
            Reply::File(kind, text) => (StatusCode::OK, kind, text.to_owned()),
            Reply::SignedIn(cookie) => {
                set(header::SET_COOKIE, &cookie);
                set(header::LOCATION, "/");
                (StatusCode::SEE_OTHER, "text/plain", String::new())
            }
            Reply::See(path) => {
                set(header::LOCATION, &path);
                (StatusCode::SEE_OTHER, "text/plain", String::new())
            }
            Reply::Refused => {
                let text = "These pages are open for one browser. Run `gatehouse dashboard` again, and use the address that it prints.\n";
                (StatusCode::FORBIDDEN, "text/plain; charset=utf-8", text.to_owned())
            }
        };
        set(header::CONTENT_TYPE, kind);
        *response.status_mut() = status;
        *response.body_mut() = body.into();
        response
    }
}

/// Pairs of an address or a form.
struct Query(Vec<(String, String)>);

impl Query {
    fn parse(text: &str) -> Self {
        let url = Url::parse(&format!("http://localhost/?{text}"));
        // Browsers send the lines of a text with CR LF.
        let pair =
            |(name, value): (Cow<'_, str>, Cow<'_, str>)| (name.into_owned(), value.replace("\r\n", "\n"));
        Self(url.map(|url| url.query_pairs().map(pair).collect()).unwrap_or_default())
    }

    /// Returns the value, or an empty text.
    fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the pairs with another value, for an address. Another filter starts at the first page.
    fn with(&self, name: &str, value: &str) -> String {
        let stays = |key: &str| key != name && !["page", "before", "notice"].contains(&key);
        let pairs = self.0.iter().filter(|(key, value)| stays(key) && !value.is_empty());
        let pairs = pairs.map(|(key, value)| (key.as_str(), value.as_str()));
        encoded(pairs.chain([(name, value)].into_iter().filter(|(_, value)| !value.is_empty())))
    }
}

/// Returns a pair for an address.
fn encoded_pair(name: &str, value: &str) -> String {
    encoded([(name, value)].into_iter())
}

/// Rows of a page of a long list.
const PAGE_LEN: usize = 50;

/// Returns the rows that a request asks for, the links to the others, and which page it is.
fn paged<T>(rows: Vec<T>, path: &str, query: &Query) -> (Vec<T>, Vec<Cell>, String) {
    let pages = rows.len().div_ceil(PAGE_LEN).max(1);
    let number = query.get("page").parse::<usize>().unwrap_or(1).clamp(1, pages);
    let turn = |text: &str, number: usize| {
        Cell::link(text, format!("{path}?{}", query.with("page", &number.to_string())))
    };
    let mut links = Vec::new();
    if number > 1 {
        links.push(turn("Previous page", number - 1));
    }
    if number < pages {
        links.push(turn("Next page", number + 1));
    }
    let rows = rows.into_iter().skip((number - 1) * PAGE_LEN).take(PAGE_LEN).collect();
    (rows, links, format!("Page {number} of {pages}."))
}

fn encoded<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let Ok(mut url) = Url::parse("http://localhost/") else { return String::new() };
    url.query_pairs_mut().extend_pairs(pairs);
    url.query().unwrap_or_default().to_owned()
}

/// Encodes a name as a segment of a path.
fn segment(name: &str) -> String {
    percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC).to_string()
}

fn decoded(segment: &str) -> String {
    percent_encoding::percent_decode_str(segment).decode_utf8_lossy().into_owned()
}
