//! Readiness of the host: whether calls would find what they need.

use async_trait::async_trait;

/// Parts of the host that do not work now, such as `storage`. Names no address and no path, because anyone may ask.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadinessReport {
    /// Parts without which no call, or none of a kind, is served.
    pub failing: Vec<&'static str>,
    /// Parts that can be read, but not written.
    pub not_writable: Vec<&'static str>,
}

#[async_trait]
pub trait ReadinessCheck: Send + Sync {
    /// Returns the parts that do not work now. Answers within seconds, and costs little if asked often.
    async fn report(&self) -> ReadinessReport;
}
