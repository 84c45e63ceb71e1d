//! Request bodies of authenticated clients, with limits on size, time, JSON values and total memory, which principals
//! share. Small bodies never wait for large ones.

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use gatehouse_core::{
    Principal,
    fair_semaphore::{FairPermit, FairSemaphore},
    json::{self as bounds, MAX_VALUES},
};
use http::StatusCode;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::reply::{BoxResponse, refuse_request};
use crate::serve::json_text::MessageOutline;

/// Maximum request body in bytes. Lower than over stdio, because a large body affects other clients.
pub(super) const MAX_BODY: usize = 4 << 20;

/// Bodies up to this many bytes have a pool of their own.
const MAX_SMALL_BODY: usize = 64 << 10;

/// Maximum total bytes of larger bodies that are being read.
const MAX_READING_BYTES: usize = 64 << 20;

/// Maximum total memory of larger requests that are being answered.
const MAX_WORKING_BYTES: usize = 256 << 20;

/// Divisor of the process's memory limit; each of the pools gets one such share at most.
const MEMORY_SHARE: u64 = 16;

/// Estimated memory of a parsed JSON value, in bytes.
const JSON_VALUE_BYTES: usize = 96;

/// Bytes per permit of a pool.
const PERMIT_UNIT: usize = 1 << 10;

pub(super) struct BodyReader {
    small: MemoryPool,
    reading: MemoryPool,
    working: MemoryPool,
    time: Duration,
}

/// Refusal of a request because of its body.
pub(super) struct BodyRejection {
    status: StatusCode,
    /// ID of the request, if it is known.
    request: Value,
    reason: String,
}

impl BodyRejection {
    pub(super) fn new(status: StatusCode, reason: impl Into<String>) -> Self {
        Self { status, request: Value::Null, reason: reason.into() }
    }

    fn too_large() -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, format!("request body exceeds {MAX_BODY} bytes"))
    }

    pub(super) fn response(self) -> BoxResponse {
        refuse_request(self.status, self.request, &self.reason)
    }
}

impl BodyReader {
    /// `time` is the time limit of a body, and `memory` the memory limit of the process.
    pub(super) fn new(time: Duration, memory: Option<u64>) -> Self {
        let share =
            memory.map_or(usize::MAX, |bytes| usize::try_from(bytes / MEMORY_SHARE).unwrap_or(usize::MAX));
        let room = |bytes: usize| MemoryPool::new(bytes.min(share.max(MAX_BODY)));
        Self {
            small: room(MAX_READING_BYTES),
            reading: room(MAX_READING_BYTES),
            working: room(MAX_WORKING_BYTES),
            time,
        }
    }

    /// Reads a body. The permit must be held until the request is answered.
    pub(super) async fn read(
        &self,
        body: Incoming,
        owner: &Principal,
    ) -> Result<(Bytes, Option<FairPermit>), BodyRejection> {
        let until = Instant::now() + self.time;
        let declared = body.size_hint().exact().map(|size| usize::try_from(size).unwrap_or(usize::MAX));
        if declared.is_some_and(|size| size > MAX_BODY) {
            return Err(BodyRejection::too_large());
        }
        let (body, _reading) = self.collect(body, declared, owner, until).await?;
        let values = bounds::max_value_count(&body);
        if values > MAX_VALUES {
            let request = MessageOutline::new(&body).request_id.unwrap_or_default();
            let reason = format!("the message has too many JSON values; the limit is {MAX_VALUES}");
            return Err(BodyRejection { status: StatusCode::PAYLOAD_TOO_LARGE, request, reason });
        }
        let size = body.len() + values * JSON_VALUE_BYTES;
        // No deadlock: this waits with a permit of reading, and holders of a `working` permit never wait for one.
        let working =
            if size > MAX_SMALL_BODY { Some(self.working.take(size, owner, until).await?) } else { None };
        Ok((body, working))
    }

    /// Reads a body into one buffer, because each of many pieces would hold a buffer of the connection.
    async fn collect(
        &self,
        mut body: Incoming,
        declared: Option<usize>,
        owner: &Principal,
        until: Instant,
    ) -> Result<(Bytes, FairPermit), BodyRejection> {
        let too_slow =
            |_| BodyRejection::new(StatusCode::REQUEST_TIMEOUT, "timed out while reading the request body");
        // The client disconnected, or sent an invalid body.
        let broken =
            |_| BodyRejection::new(StatusCode::BAD_REQUEST, "the request body is incomplete or malformed");
        let expected = declared.unwrap_or(MAX_SMALL_BODY);
        let mut is_small = expected <= MAX_SMALL_BODY;
        let pool = if is_small { &self.small } else { &self.reading };
        let mut permit = pool.take(expected, owner, until).await?;
        let mut buffer = BytesMut::new();
        while let Some(frame) = timeout_at(until, body.frame()).await.map_err(too_slow)? {
            let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
            let size = buffer.len() + data.len();
            if size > MAX_BODY {
                return Err(BodyRejection::too_large());
            }
            if is_small && size > MAX_SMALL_BODY {
                is_small = false;
                permit = self.reading.take(MAX_BODY, owner, until).await?;
            }
            if declared == Some(size) && buffer.is_empty() {
                // Most bodies arrive in one piece. Avoid a copy.
                return Ok((data, permit));
            }
            if size > buffer.capacity() {
                buffer.reserve(expected.max(size) - buffer.len());
            }
            buffer.extend_from_slice(&data);
        }
        Ok((buffer.freeze(), permit))
    }
}

/// Memory that principals share.
struct MemoryPool {
    free: FairSemaphore,
    units: usize,
    user: Arc<str>,
}

impl MemoryPool {
    fn new(bytes: usize) -> Self {
        let units = bytes / PERMIT_UNIT;
        Self { free: FairSemaphore::for_memory(units), units, user: "http".into() }
    }

    /// Reserves memory. A request larger than the share of one principal, three quarters of the pool, reserves that much.
    async fn take(
        &self,
        bytes: usize,
        owner: &Principal,
        until: Instant,
    ) -> Result<FairPermit, BodyRejection> {
        let units = bytes.div_ceil(PERMIT_UNIT).clamp(1, self.units / 4 * 3);
        let granted = timeout_at(until, self.free.acquire_many(owner, &self.user, units)).await;
        granted.map_err(|_| {
            BodyRejection::new(StatusCode::SERVICE_UNAVAILABLE, "too many large requests; try again later")
        })
    }
}
