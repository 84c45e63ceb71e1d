//! HTTP requests of gates, with one connection pool for all gates.
//!
//! Each hop is checked by the rules, waits for a slot, uses a resolver that drops forbidden addresses, and gets the
//! headers of its own host's rule only. Responses are read whole, within bounds, and secrets are redacted.

mod hop;
mod request_slots;
pub(crate) mod resolver;
mod response;
#[cfg(test)]
mod tests;

use async_trait::async_trait;
use gatehouse_core::{
    Fault, FaultKind,
    http::{AllowedUrl, HttpRules},
    ports::http::{HttpFetcher, HttpRequest, HttpResponse, RedirectMode},
};
use gatehouse_net::Response;
use tokio::time::{Instant, timeout_at};

use self::{
    hop::HopRequest,
    request_slots::{RequestSlot, RequestSlots},
    resolver::{LookupFn, ScopedClients},
};

const MAX_REDIRECTS: usize = 5;

const IDLE_PER_HOST: usize = 8;

/// HTTP client for all gates. Opens nothing before the first request.
pub struct Outbound {
    clients: ScopedClients,
    slots: RequestSlots,
}

impl Outbound {
    fn with_lookup(lookup: &LookupFn) -> Self {
        Self { clients: ScopedClients::new(lookup, IDLE_PER_HOST), slots: RequestSlots::new() }
    }

    async fn follow(
        &self,
        rules: &HttpRules,
        first: AllowedUrl<'_>,
        request: HttpRequest,
    ) -> Result<HttpResponse, Fault> {
        let (redirects, reservation) = (request.redirects, request.budget.reserve());
        let mut hop = HopRequest::new(request)?;
        let mut allowed = first;
        for _ in 0..=MAX_REDIRECTS {
            let (response, slot) = self.send(&allowed, &hop).await?;
            let status = response.status();
            let target = match redirects {
                RedirectMode::Follow => hop::redirect(status, response.headers(), &allowed)?,
                RedirectMode::Return => None,
            };
            let Some(target) = target else {
                return response::read(rules, &allowed, response, reservation).await;
            };
            drop((response, slot));
            let here = (allowed.url.origin(), allowed.host);
            allowed = rules.check_url(target).map_err(|fault| {
                let message = format!("{} answered with a redirect: {}", here.1, fault.message);
                Fault { message, ..fault }
            })?;
            hop = hop.redirected(status, allowed.url.origin() == here.0);
        }
        Err(Fault::unavailable(format!("{} redirects more than {MAX_REDIRECTS} times", allowed.host)))
    }

    /// Sends one hop. Returns the slot with the response, to hold while its body is read.
    async fn send(
        &self,
        allowed: &AllowedUrl<'_>,
        hop: &HopRequest,
    ) -> Result<(Response, RequestSlot), Fault> {
        let slot = self.slots.take(&hop.principal, allowed.gate(), &allowed.url).await;
        let request = hop.request(allowed)?;
        let client = self.clients.for_url(allowed.scope, &allowed.url)?;
        let sent = Instant::now();
        let answered = resolver::for_gate((&hop.principal, allowed.gate()), client.execute(request)).await;
        let ms = sent.elapsed().as_millis() as u64;
        let (method, host) = (&hop.method, allowed.host.as_str());
        match answered {
            Ok(response) => {
                tracing::debug!(%method, host, status = response.status().as_u16(), ms, "request of a gate");
                Ok((response, slot))
            }
            Err(error) => {
                tracing::debug!(%method, host, ms, "request of a gate failed");
                Err(response::failed(allowed, error))
            }
        }
    }
}

impl Default for Outbound {
    fn default() -> Self {
        Self::with_lookup(&resolver::system_lookup())
    }
}

#[async_trait]
impl HttpFetcher for Outbound {
    async fn fetch(&self, rules: &HttpRules, request: HttpRequest) -> Result<HttpResponse, Fault> {
        let first = rules.check(&request.url)?;
        let (host, start, deadline) = (first.host.clone(), Instant::now(), request.deadline);
        let fetched = timeout_at(deadline, self.follow(rules, first, request)).await.unwrap_or_else(|_| {
            let seconds = deadline.saturating_duration_since(start).as_secs_f32();
            Err(Fault::new(FaultKind::TimedOut, format!("{host} did not answer within {seconds:.1} s")))
        });
        // A server could put a credential into the URL of a redirect.
        let clean = |text| rules.redactor().redact_text(text);
        fetched.map_err(|fault| Fault { message: clean(fault.message), hint: fault.hint.map(clean), ..fault })
    }
}
