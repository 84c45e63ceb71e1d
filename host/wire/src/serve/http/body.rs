//! Request bodies of authenticated clients, with limits on size, time, JSON values and total memory. Small bodies never
//! wait for large ones.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use gatehouse_core::json::{self as bounds, MAX_VALUES};
use http::StatusCode;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use serde_json::Value;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout_at},
};

use super::reply::{BoxResponse, refuse_request};
use crate::serve::json_text::MessageOutline;

/// Maximum request body in bytes. Lower than over stdio, because a large body affects other clients.
pub(super) const MAX_BODY: usize = 4 << 20;

/// Bodies up to this many bytes are only limited by the number of connections.
const MAX_SMALL_BODY: usize = 64 << 10;

/// Maximum total bytes of larger bodies that are being read.
const MAX_READING_BYTES: usize = 64 << 20;

/// Maximum total memory of larger requests that are being answered.
const MAX_WORKING_BYTES: usize = 256 << 20;

/// Divisor of the process's memory limit; each of the two pools gets one such share at most.
const MEMORY_SHARE: u64 = 16;

/// Estimated memory of a parsed JSON value, in bytes.
const JSON_VALUE_BYTES: usize = 96;

/// Bytes per semaphore permit, because permits are counted in 32 bits.
const PERMIT_UNIT: usize = 1 << 10;

pub(super) struct BodyReader {
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
        Self { reading: room(MAX_READING_BYTES), working: room(MAX_WORKING_BYTES), time }
    }

    /// Reads a body. The permit must be held until the request is answered.
    pub(super) async fn read(
        &self,
        body: Incoming,
    ) -> Result<(Bytes, Option<OwnedSemaphorePermit>), BodyRejection> {
        let until = Instant::now() + self.time;
        let declared = body.size_hint().exact().map(|size| usize::try_from(size).unwrap_or(usize::MAX));
        if declared.is_some_and(|size| size > MAX_BODY) {
            return Err(BodyRejection::too_large());
        }
        let mut reading = None;
        if declared.is_some_and(|size| size > MAX_SMALL_BODY) {
            reading = Some(self.reading.take(declared.unwrap_or(MAX_BODY), until).await?);
        }
        let collected = self.collect(body, reading, until).await?;
        let values = bounds::max_value_count(&collected.0);
        if values > MAX_VALUES {
            let request = MessageOutline::new(&collected.0).request_id.unwrap_or_default();
            let reason = format!("the message has too many JSON values; the limit is {MAX_VALUES}");
            return Err(BodyRejection { status: StatusCode::PAYLOAD_TOO_LARGE, request, reason });
        }
        let size = collected.0.len() + values * JSON_VALUE_BYTES;
        // No deadlock: this waits with a `reading` permit, and holders of a `working` permit never wait for one.
        let working = if size > MAX_SMALL_BODY { Some(self.working.take(size, until).await?) } else { None };
        Ok((collected.0, working))
    }

    async fn collect(
        &self,
        mut body: Incoming,
        mut reading: Option<OwnedSemaphorePermit>,
        until: Instant,
    ) -> Result<(Bytes, Option<OwnedSemaphorePermit>), BodyRejection> {
        let too_slow =
            |_| BodyRejection::new(StatusCode::REQUEST_TIMEOUT, "timed out while reading the request body");
        // The client disconnected, or sent an invalid body.
        let broken =
            |_| BodyRejection::new(StatusCode::BAD_REQUEST, "the request body is incomplete or malformed");
        let (mut pieces, mut size) = (Vec::<Bytes>::new(), 0);
        while let Some(frame) = timeout_at(until, body.frame()).await.map_err(too_slow)? {
            let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
            size += data.len();
            if size > MAX_BODY {
                return Err(BodyRejection::too_large());
            }
            if size > MAX_SMALL_BODY && reading.is_none() {
                reading = Some(self.reading.take(MAX_BODY, until).await?);
            }
            pieces.push(data);
        }
        // A small body usually arrives in one piece. Avoid a copy.
        let body = if pieces.len() == 1 { pieces.pop().unwrap_or_default() } else { pieces.concat().into() };
        Ok((body, reading))
    }
}

struct MemoryPool {
    free: Arc<Semaphore>,
    units: usize,
}

impl MemoryPool {
    fn new(bytes: usize) -> Self {
        let units = bytes / PERMIT_UNIT;
        Self { free: Arc::new(Semaphore::new(units)), units }
    }

    /// Reserves memory. A request larger than the pool reserves all of it.
    async fn take(&self, bytes: usize, until: Instant) -> Result<OwnedSemaphorePermit, BodyRejection> {
        let units = u32::try_from(bytes.div_ceil(PERMIT_UNIT).min(self.units)).unwrap_or(u32::MAX);
        let granted = timeout_at(until, Arc::clone(&self.free).acquire_many_owned(units)).await;
        granted.ok().and_then(Result::ok).ok_or_else(|| {
            BodyRejection::new(StatusCode::SERVICE_UNAVAILABLE, "too many large requests; try again later")
        })
    }
}
