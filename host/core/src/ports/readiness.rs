//! Readiness of the host: whether calls would find what they need.

use async_trait::async_trait;

#[async_trait]
pub trait ReadinessCheck: Send + Sync {
    /// Returns the parts that calls need and that fail now, such as `storage`. Names no address and no path, because anyone
    /// may ask. Answers within seconds, and costs little if asked often.
    async fn failing(&self) -> Vec<&'static str>;
}
