//! `wasi:http` that charges headers, unsent bodies and unsent requests to the guest's budget. The capability `http`
//! decides which requests can be sent.
//!
//! Longer than 300 lines because `wasi:http` has that many functions.

use wasmtime::component::{HasData, Resource, ResourceTable};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, DynPollable};
use wasmtime_wasi_http::{
    FieldMap, WasiHttpCtx, WasiHttpCtxView,
    p2::{
        HeaderError, HeaderResult, HttpError, HttpResult,
        bindings::http::{outgoing_handler, types},
    },
};

use super::{BudgetExceeded, ResourceLedger};
use crate::capability::http::{CHUNK, OutgoingHandler};

/// Maximum bytes that a body buffers: a chunk in transit and one waiting.
const MAX_BODY_BUFFER: usize = 2 * CHUNK;

const MAX_METHOD: usize = 32;
const MAX_AUTHORITY: usize = 1 << 10;

const OBJECT_OVERHEAD: usize = 256;

/// Bytes of a header in addition to its text: its entries in the map, which doubles when full.
const HEADER_OVERHEAD: usize = 256;

pub(crate) struct GuardedHttp<'a> {
    pub(crate) ctx: &'a mut WasiHttpCtx,
    pub(crate) table: &'a mut ResourceTable,
    pub(crate) outgoing: &'a mut OutgoingHandler,
    pub(crate) ledger: &'a mut ResourceLedger,
}

/// Marks [`GuardedHttp`] for the linker.
pub(crate) struct HasGuardedHttp;

impl HasData for HasGuardedHttp {
    type Data<'a> = GuardedHttp<'a>;
}

pub(crate) fn size(headers: &http::HeaderMap) -> usize {
    OBJECT_OVERHEAD
        + headers
            .iter()
            .map(|(name, value)| HEADER_OVERHEAD + name.as_str().len() + value.len())
            .sum::<usize>()
}

/// Functions that are passed through.
macro_rules! as_they_are {
    ($trait:ident: $($name:ident($($argument:ident: $type:ty),*) -> $out:ty;)*) => {
        $(fn $name(&mut self, $($argument: $type),*) -> $out {
            types::$trait::$name(&mut self.inner(), $($argument),*)
        })*
    };
}

/// Functions that change headers, which are weighed again.
macro_rules! changes {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        $(fn $name(&mut self, fields: Resource<FieldMap>, $($argument: $type),*) -> HeaderResult<()> {
            let at = fields.rep();
            types::HostFields::$name(&mut self.inner(), fields, $($argument),*)?;
            self.weigh(at).map_err(|error| HeaderError::trap(wasmtime::Error::new(error)))
        })*
    };
}

/// Functions of a message, which measure its headers and release its bytes when it is dropped.
macro_rules! message {
    ($trait:ident($message:ty)) => {
        fn headers(&mut self, message: Resource<$message>) -> Result<Resource<FieldMap>> {
            let headers = types::$trait::headers(&mut self.inner(), message)?;
            self.weighed(headers)
        }

        fn drop(&mut self, message: Resource<$message>) -> Result<()> {
            self.ledger.release(message.rep());
            types::$trait::drop(&mut self.inner(), message)
        }
    };
}

/// The same for messages that the guest creates and whose body it writes.
macro_rules! outgoing {
    ($trait:ident($message:ty)) => {
        fn new(&mut self, headers: Resource<FieldMap>) -> Result<Resource<$message>> {
            let held = self.ledger.release(headers.rep());
            let message = types::$trait::new(&mut self.inner(), headers)?;
            self.ledger.hand_over(held, message.rep());
            self.ledger.add(message.rep(), OBJECT_OVERHEAD)?;
            Ok(message)
        }

        fn body(&mut self, message: Resource<$message>) -> RefusableResult<Resource<types::OutgoingBody>> {
            // Unsent bytes stay with the message even if the body is dropped.
            let at = message.rep();
            let body = types::$trait::body(&mut self.inner(), message)?;
            if body.is_ok() {
                self.ledger.add(at, MAX_BODY_BUFFER)?;
            }
            Ok(body)
        }

        message! { $trait($message) }
    };
}

type Result<T> = wasmtime::Result<T>;
/// The result of a function that can fail without a reason.
type RefusableResult<T = ()> = wasmtime::Result<std::result::Result<T, ()>>;
type IncomingResult = std::result::Result<Resource<types::IncomingResponse>, types::ErrorCode>;

impl GuardedHttp<'_> {
    fn inner(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut *self.outgoing, table: &mut *self.table, ctx: &mut *self.ctx }
    }

    /// Records the current bytes of these headers.
    fn weigh(&mut self, fields: u32) -> std::result::Result<(), BudgetExceeded> {
        let fields_of = Resource::<FieldMap>::new_borrow(fields);
        let bytes = self.table.get(&fields_of).map_or(OBJECT_OVERHEAD, |fields| size(fields));
        self.ledger.charge(fields, bytes)
    }

    fn weighed(&mut self, fields: Resource<FieldMap>) -> Result<Resource<FieldMap>> {
        self.weigh(fields.rep())?;
        Ok(fields)
    }
}

impl outgoing_handler::Host for GuardedHttp<'_> {
    fn handle(
        &mut self,
        request: Resource<types::OutgoingRequest>,
        options: Option<Resource<types::RequestOptions>>,
    ) -> HttpResult<Resource<types::FutureIncomingResponse>> {
        // The request's bytes stay reserved until it is finished.
        self.outgoing.reservation = self.ledger.release(request.rep());
        outgoing_handler::Host::handle(&mut self.inner(), request, options)
    }
}

impl types::Host for GuardedHttp<'_> {
    as_they_are! { Host:
        convert_error_code(error: HttpError) -> Result<types::ErrorCode>;
        convert_header_error(error: HeaderError) -> Result<types::HeaderError>;
        http_error_code(error: Resource<types::IoError>) -> Result<Option<types::ErrorCode>>;
    }
}

impl types::HostFields for GuardedHttp<'_> {
    as_they_are! { HostFields:
        get(fields: Resource<FieldMap>, name: String) -> Result<Vec<Vec<u8>>>;
        has(fields: Resource<FieldMap>, name: String) -> Result<bool>;
        entries(fields: Resource<FieldMap>) -> Result<Vec<(String, Vec<u8>)>>;
    }

    fn new(&mut self) -> Result<Resource<FieldMap>> {
        let fields = types::HostFields::new(&mut self.inner())?;
        self.weighed(fields)
    }

    fn from_list(&mut self, entries: Vec<(String, Vec<u8>)>) -> HeaderResult<Resource<FieldMap>> {
        let fields = types::HostFields::from_list(&mut self.inner(), entries)?;
        self.weighed(fields).map_err(HeaderError::trap)
    }

    changes! {
        set(name: String, values: Vec<Vec<u8>>);
        append(name: String, value: Vec<u8>);
        delete(name: String);
    }

    fn clone(&mut self, fields: Resource<FieldMap>) -> Result<Resource<FieldMap>> {
        let copy = types::HostFields::clone(&mut self.inner(), fields)?;
        self.weighed(copy)
    }

    fn drop(&mut self, fields: Resource<FieldMap>) -> Result<()> {
        self.ledger.release(fields.rep());
        types::HostFields::drop(&mut self.inner(), fields)
    }
}

impl types::HostOutgoingRequest for GuardedHttp<'_> {
    as_they_are! { HostOutgoingRequest:
        method(request: Resource<types::OutgoingRequest>) -> Result<types::Method>;
        path_with_query(request: Resource<types::OutgoingRequest>) -> Result<Option<String>>;
        scheme(request: Resource<types::OutgoingRequest>) -> Result<Option<types::Scheme>>;
        set_scheme(request: Resource<types::OutgoingRequest>, scheme: Option<types::Scheme>) -> RefusableResult;
        authority(request: Resource<types::OutgoingRequest>) -> Result<Option<String>>;
    }

    outgoing! { HostOutgoingRequest(types::OutgoingRequest) }

    fn set_method(
        &mut self,
        request: Resource<types::OutgoingRequest>,
        method: types::Method,
    ) -> RefusableResult {
        if matches!(&method, types::Method::Other(name) if name.len() > MAX_METHOD) {
            return Ok(Err(()));
        }
        types::HostOutgoingRequest::set_method(&mut self.inner(), request, method)
    }

    fn set_path_with_query(
        &mut self,
        request: Resource<types::OutgoingRequest>,
        path: Option<String>,
    ) -> RefusableResult {
        self.ledger.add(request.rep(), path.as_ref().map_or(0, String::len))?;
        types::HostOutgoingRequest::set_path_with_query(&mut self.inner(), request, path)
    }

    fn set_authority(
        &mut self,
        request: Resource<types::OutgoingRequest>,
        authority: Option<String>,
    ) -> RefusableResult {
        if authority.as_ref().is_some_and(|authority| authority.len() > MAX_AUTHORITY) {
            return Ok(Err(()));
        }
        types::HostOutgoingRequest::set_authority(&mut self.inner(), request, authority)
    }
}

impl types::HostOutgoingResponse for GuardedHttp<'_> {
    as_they_are! { HostOutgoingResponse:
        status_code(response: Resource<types::OutgoingResponse>) -> Result<u16>;
        set_status_code(response: Resource<types::OutgoingResponse>, status: u16) -> RefusableResult;
    }

    outgoing! { HostOutgoingResponse(types::OutgoingResponse) }
}

impl types::HostIncomingResponse for GuardedHttp<'_> {
    as_they_are! { HostIncomingResponse:
        status(response: Resource<types::IncomingResponse>) -> Result<u16>;
        consume(response: Resource<types::IncomingResponse>) -> RefusableResult<Resource<types::IncomingBody>>;
    }

    message! { HostIncomingResponse(types::IncomingResponse) }
}

impl types::HostFutureIncomingResponse for GuardedHttp<'_> {
    as_they_are! { HostFutureIncomingResponse:
        drop(answer: Resource<types::FutureIncomingResponse>) -> Result<()>;
        subscribe(answer: Resource<types::FutureIncomingResponse>) -> Result<Resource<DynPollable>>;
    }

    fn get(
        &mut self,
        answer: Resource<types::FutureIncomingResponse>,
    ) -> Result<Option<std::result::Result<IncomingResult, ()>>> {
        let got = types::HostFutureIncomingResponse::get(&mut self.inner(), answer)?;
        if let Some(Ok(Ok(response))) = &got {
            let bytes = size(&self.table.get(response)?.headers);
            self.ledger.charge(response.rep(), bytes)?;
        }
        Ok(got)
    }
}

type TrailersResult = std::result::Result<Option<Resource<types::Trailers>>, types::ErrorCode>;
type Response = std::result::Result<Resource<types::OutgoingResponse>, types::ErrorCode>;

impl types::HostOutgoingBody for GuardedHttp<'_> {
    as_they_are! { HostOutgoingBody:
        write(body: Resource<types::OutgoingBody>) -> RefusableResult<Resource<DynOutputStream>>;
        drop(body: Resource<types::OutgoingBody>) -> Result<()>;
    }

    fn finish(
        &mut self,
        body: Resource<types::OutgoingBody>,
        trailers: Option<Resource<types::Trailers>>,
    ) -> HttpResult<()> {
        if let Some(trailers) = &trailers {
            self.ledger.release(trailers.rep());
        }
        types::HostOutgoingBody::finish(&mut self.inner(), body, trailers)
    }
}

impl types::HostIncomingBody for GuardedHttp<'_> {
    as_they_are! { HostIncomingBody:
        stream(body: Resource<types::IncomingBody>) -> RefusableResult<Resource<DynInputStream>>;
        finish(body: Resource<types::IncomingBody>) -> Result<Resource<types::FutureTrailers>>;
        drop(body: Resource<types::IncomingBody>) -> Result<()>;
    }
}

impl types::HostFutureTrailers for GuardedHttp<'_> {
    as_they_are! { HostFutureTrailers:
        subscribe(trailers: Resource<types::FutureTrailers>) -> Result<Resource<DynPollable>>;
        get(trailers: Resource<types::FutureTrailers>) -> Result<Option<std::result::Result<TrailersResult, ()>>>;
        drop(trailers: Resource<types::FutureTrailers>) -> Result<()>;
    }
}

impl types::HostRequestOptions for GuardedHttp<'_> {
    as_they_are! { HostRequestOptions:
        new() -> Result<Resource<types::RequestOptions>>;
        connect_timeout(options: Resource<types::RequestOptions>) -> Result<Option<u64>>;
        set_connect_timeout(options: Resource<types::RequestOptions>, time: Option<u64>) -> RefusableResult;
        first_byte_timeout(options: Resource<types::RequestOptions>) -> Result<Option<u64>>;
        set_first_byte_timeout(options: Resource<types::RequestOptions>, time: Option<u64>) -> RefusableResult;
        between_bytes_timeout(options: Resource<types::RequestOptions>) -> Result<Option<u64>>;
        set_between_bytes_timeout(options: Resource<types::RequestOptions>, time: Option<u64>) -> RefusableResult;
        drop(options: Resource<types::RequestOptions>) -> Result<()>;
    }
}

// Gates receive no requests, so these never exist.

impl types::HostIncomingRequest for GuardedHttp<'_> {
    as_they_are! { HostIncomingRequest:
        method(request: Resource<types::IncomingRequest>) -> Result<types::Method>;
        path_with_query(request: Resource<types::IncomingRequest>) -> Result<Option<String>>;
        scheme(request: Resource<types::IncomingRequest>) -> Result<Option<types::Scheme>>;
        authority(request: Resource<types::IncomingRequest>) -> Result<Option<String>>;
        headers(request: Resource<types::IncomingRequest>) -> Result<Resource<FieldMap>>;
        consume(request: Resource<types::IncomingRequest>) -> RefusableResult<Resource<types::IncomingBody>>;
        drop(request: Resource<types::IncomingRequest>) -> Result<()>;
    }
}

impl types::HostResponseOutparam for GuardedHttp<'_> {
    as_they_are! { HostResponseOutparam:
        set(to: Resource<types::ResponseOutparam>, response: Response) -> Result<()>;
        send_informational(to: Resource<types::ResponseOutparam>, status: u16, headers: Resource<FieldMap>)
            -> HttpResult<()>;
        drop(to: Resource<types::ResponseOutparam>) -> Result<()>;
    }
}
