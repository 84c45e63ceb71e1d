//! Requests to issuers: bounded in size and time, never redirected. The addresses are those of `presets.toml`, and those
//! that a configured issuer names in its metadata.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use gatehouse_core::{Fault, names::quoted};
use gatehouse_net::{
    BodyError, HttpClients, Method, Request, StatusCode, Url,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue},
    http_cause, read_body,
};
use serde_json::{Map, Value};
use tokio::time::timeout;

const MAX_REQUEST_TIME: Duration = Duration::from_secs(5);

const MAX_BODY: usize = 256 << 10;

const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");

#[derive(Default)]
pub(super) struct IssuerHttp {
    clients: HttpClients,
}

impl IssuerHttp {
    pub(super) async fn get(&self, url: &Url) -> Result<Map<String, Value>, Fault> {
        self.send(Request::new(Method::GET, url.clone())).await
    }

    /// Posts a form with HTTP Basic credentials, encoded as OAuth requires.
    pub(super) async fn post(
        &self,
        url: &Url,
        form: &[(&str, &str)],
        (user, password): (&str, &str),
    ) -> Result<Map<String, Value>, Fault> {
        let mut request = Request::new(Method::POST, url.clone());
        *request.body_mut() = Some(encoded(form).into());
        let part = |text: &str| encoded(&[("", text)])[1..].to_owned();
        let credentials = STANDARD.encode(format!("{}:{}", part(user), part(password)));
        let mut value = HeaderValue::from_str(&format!("Basic {credentials}"))
            .map_err(|_| Fault::internal("the credentials cannot be sent in a header"))?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
        request.headers_mut().insert(CONTENT_TYPE, FORM);
        self.send(request).await
    }

    /// Sends a request and reads a JSON object. Faults name the host, but not the rest of the URL.
    async fn send(&self, mut request: Request) -> Result<Map<String, Value>, Fault> {
        let host = quoted(request.url().host_str().unwrap_or_default(), 200);
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
        let client = self.clients.for_url(request.url())?;
        let exchange = async {
            let response = client.execute(request).await.map_err(http_cause)?;
            let status = response.status();
            if status != StatusCode::OK {
                return Err(format!("it answered with status {}", status.as_u16()));
            }
            let body = read_body(response, MAX_BODY).await.map_err(|error| match error {
                BodyError::TooLarge | BodyError::Stopped => format!("its answer exceeds {MAX_BODY} bytes"),
                BodyError::Broken(error, _) => http_cause(error),
            })?;
            serde_json::from_slice(&body).map_err(|_| "its answer is not a JSON object".to_owned())
        };
        let answer = timeout(MAX_REQUEST_TIME, exchange).await;
        let answer = answer.unwrap_or_else(|_| Err(format!("no answer in {} s", MAX_REQUEST_TIME.as_secs())));
        answer.map_err(|reason| Fault::unavailable(format!("cannot use {host}: {}", quoted(&reason, 200))))
    }
}

fn encoded(form: &[(&str, &str)]) -> String {
    // The URL parser encodes forms.
    let mut url = Url::parse("a:?").unwrap_or_else(|_| unreachable!("a constant URL is valid"));
    url.query_pairs_mut().clear().extend_pairs(form);
    url.query().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_encoded() {
        assert_eq!(encoded(&[("token", "a+b/c="), ("x", "y z&")]), "token=a%2Bb%2Fc%3D&x=y+z%26");
        assert_eq!(encoded(&[("", "a:b")]), "=a%3Ab");
    }
}
