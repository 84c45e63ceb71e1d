//! Reads the body of a request whose sender is known, within bounds: its size, its time, the values it may
//! hold, and what all bodies together may take of the memory. Small ones never wait for large ones.

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use gatehouse_core::json::{self as bounds, MAX_VALUES};
use http::StatusCode;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout_at},
};

use super::reply::{BoxResponse, refuse, refuse_request};
use crate::serve::{json_text::MessageOutline, shutdown};

/// The largest request body, in bytes. Over stdio one client can only hurt itself; here it would hurt others.
pub(super) const MAX_BODY: usize = 4 << 20;

/// What a body up to this size takes is bounded by the number of connections.
const MAX_SMALL_BODY: usize = 64 << 10;

/// Bytes of larger bodies that are being read at the same time.
const MAX_READING_BYTES: usize = 64 << 20;

/// What larger requests that are being answered may take of the memory.
const MAX_WORKING_BYTES: usize = 256 << 20;

/// The part of the memory that each of the two may take where the process has a limit.
const MEMORY_SHARE: u64 = 16;

/// What a JSON value takes once it is read.
const JSON_VALUE_BYTES: usize = 96;

/// Permits are counted in KiB, because they are counted in 32 bits.
const PERMIT_UNIT: usize = 1 << 10;

/// The memory that there is for bodies.
pub(super) struct BodyReader {
    reading: MemoryPool,
    working: MemoryPool,
    time: Duration,
}

/// Why a body was not read.
pub(super) enum BodyRejection {
    TooLarge,
    TooSlow,
    /// Other bodies have the memory.
    NoMemory,
    /// The sender broke off, or sent an invalid body.
    Broken,
    TooManyValues(Bytes),
    ShuttingDown,
}

impl BodyReader {
    /// `time` is how long a body may take, `memory` what the process may have.
    pub(super) fn new(time: Duration, memory: Option<u64>) -> Self {
        let share =
            memory.map_or(usize::MAX, |bytes| usize::try_from(bytes / MEMORY_SHARE).unwrap_or(usize::MAX));
        let room = |bytes: usize| MemoryPool::new(bytes.min(share.max(MAX_BODY)));
        Self { reading: room(MAX_READING_BYTES), working: room(MAX_WORKING_BYTES), time }
    }

    /// Reads it whole. What comes with it is kept until the request is answered.
    pub(super) async fn read(
        &self,
        body: Incoming,
    ) -> Result<(Bytes, Option<OwnedSemaphorePermit>), BodyRejection> {
        let until = Instant::now() + self.time;
        let declared = body.size_hint().exact().map(|size| usize::try_from(size).unwrap_or(usize::MAX));
        if declared.is_some_and(|size| size > MAX_BODY) {
            return Err(BodyRejection::TooLarge);
        }
        let mut reading = None;
        if declared.is_some_and(|size| size > MAX_SMALL_BODY) {
            reading = Some(self.reading.take(declared.unwrap_or(MAX_BODY), until).await?);
        }
        let collected = self.collect(body, declared, reading, until).await?;
        let values = bounds::max_value_count(&collected.0);
        if values > MAX_VALUES {
            return Err(BodyRejection::TooManyValues(collected.0));
        }
        let size = collected.0.len() + values * JSON_VALUE_BYTES;
        // Who waits here holds room for reading only, and nobody who has this room waits for that one.
        let working = if size > MAX_SMALL_BODY { Some(self.working.take(size, until).await?) } else { None };
        Ok((collected.0, working))
    }

    async fn collect(
        &self,
        mut body: Incoming,
        declared: Option<usize>,
        mut reading: Option<OwnedSemaphorePermit>,
        until: Instant,
    ) -> Result<(Bytes, Option<OwnedSemaphorePermit>), BodyRejection> {
        let mut first = Bytes::new();
        let mut rest = BytesMut::new();
        while let Some(frame) = timeout_at(until, body.frame()).await.map_err(|_| BodyRejection::TooSlow)? {
            let Ok(data) = frame.map_err(|_| BodyRejection::Broken)?.into_data() else { continue };
            let size = first.len().max(rest.len()) + data.len();
            if size > MAX_BODY {
                return Err(BodyRejection::TooLarge);
            }
            if size > MAX_SMALL_BODY && reading.is_none() {
                reading = Some(self.reading.take(MAX_BODY, until).await?);
            }
            // A small body comes in one piece, and is not copied.
            if first.is_empty() {
                first = data;
                continue;
            }
            if rest.is_empty() {
                rest.reserve(declared.unwrap_or_default());
                rest.extend_from_slice(&first);
            }
            rest.extend_from_slice(&data);
        }
        Ok((if rest.is_empty() { first } else { rest.freeze() }, reading))
    }
}

/// Memory that bodies share.
struct MemoryPool {
    free: Arc<Semaphore>,
    units: usize,
}

impl MemoryPool {
    fn new(bytes: usize) -> Self {
        let units = bytes / PERMIT_UNIT;
        Self { free: Arc::new(Semaphore::new(units)), units }
    }

    /// Waits for so many bytes. A body that would take more than there is takes all of it, and is alone then.
    async fn take(&self, bytes: usize, until: Instant) -> Result<OwnedSemaphorePermit, BodyRejection> {
        let units = u32::try_from(bytes.div_ceil(PERMIT_UNIT).min(self.units)).unwrap_or(u32::MAX);
        let granted = timeout_at(until, Arc::clone(&self.free).acquire_many_owned(units)).await;
        granted.map_err(|_| BodyRejection::NoMemory)?.map_err(|_| BodyRejection::NoMemory)
    }
}

impl BodyRejection {
    pub(super) fn response(&self) -> BoxResponse {
        match self {
            Self::TooLarge => {
                refuse(StatusCode::PAYLOAD_TOO_LARGE, &format!("A request has at most {MAX_BODY} bytes."))
            }
            Self::TooSlow => refuse(StatusCode::REQUEST_TIMEOUT, "The body did not come in time."),
            Self::NoMemory => {
                refuse(StatusCode::SERVICE_UNAVAILABLE, "Too many large requests at once; try again later.")
            }
            Self::ShuttingDown => {
                refuse(StatusCode::SERVICE_UNAVAILABLE, &shutdown::aborted_fault().in_one_line())
            }
            Self::Broken => refuse(StatusCode::BAD_REQUEST, "The body broke off."),
            Self::TooManyValues(body) => {
                let why = format!("The message has more than {MAX_VALUES} values");
                let id = MessageOutline::new(body).request_id.unwrap_or_default();
                refuse_request(StatusCode::PAYLOAD_TOO_LARGE, id, &why)
            }
        }
    }
}
