//! Parts of `wasi:http` with negligible memory, and parts that gates never use.

use wasmtime::component::Resource;
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, DynPollable};
use wasmtime_wasi_http::{
    FieldMap,
    p2::{HttpResult, bindings::http::types},
};

use super::{GuardedHttp, RefusableResult, Result, as_they_are};

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
