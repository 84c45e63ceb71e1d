//! Bearer tokens: the caller that an API key or an OAuth access token belongs to.

mod api_key;
mod settings;

pub use api_key::{ApiKey, NewApiKey, is_key_name};
pub use gatehouse_net::Url;
pub use settings::{AuthSettings, IntrospectionSettings, IssuerSettings, SigningAlgorithm};
