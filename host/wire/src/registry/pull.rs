//! Brings an artifact: the manifest first, then the one layer, each as large as declared and no larger,
//! each with the digest that it must have.

use gatehouse_core::{hash::sha256_hex, names::quoted};
use gatehouse_net::{StatusCode, header::CONTENT_TYPE};

use super::{
    RegistryClient, RegistryError,
    client::Request,
    manifest::{ACCEPTED, ComponentLayer, component, version},
};

/// A manifest of ours has a few hundred bytes; registries take up to 4 MiB, and none needs that for a gate.
const MAX_MANIFEST: u64 = 1 << 20;

/// What stands behind a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedArtifact {
    /// Digest of the manifest, `sha256:` and 64 digits.
    pub digest: String,
    /// The component.
    pub layer: ComponentLayer,
    /// The version that whoever published it says it has.
    pub version: Option<String>,
}

impl RegistryClient {
    /// Reads the manifest. A component of more than `max` bytes is refused.
    pub async fn find(&mut self, max: u64) -> Result<PublishedArtifact, RegistryError> {
        let name = quoted(&self.reference.to_string(), 300);
        let url = self.url(&format!("manifests/{}", self.reference.version()))?;
        let response = self.send(Request::get(url, ACCEPTED)).await?;
        let response = self.expect_status(response, &[StatusCode::OK], &name).await?;
        let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let kind = kind.map(str::to_owned);
        let manifest = self.read(response, MAX_MANIFEST, "the manifest", &|_| ()).await?;
        let digest = format!("sha256:{}", sha256_hex(&manifest));
        if let Some(wanted) = self.reference.digest.as_ref().filter(|wanted| **wanted != digest) {
            return Err(self.error(format!("sends the manifest {digest} where {wanted} was asked for")));
        }
        let layer = component(&manifest, kind.as_deref());
        let layer = layer.map_err(|why| RegistryError::new(format!("{name} {why}")))?;
        if layer.size > max {
            let size = layer.size;
            return Err(RegistryError::new(format!("{name} has {size} bytes, the most is {max}")));
        }
        Ok(PublishedArtifact { digest, layer, version: version(&manifest) })
    }

    /// Brings the component. `progress` hears how many bytes there are already.
    pub async fn fetch(
        &mut self,
        layer: &ComponentLayer,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Vec<u8>, RegistryError> {
        let url = self.url(&format!("blobs/sha256:{}", layer.sha256))?;
        let response = self.send(Request::get(url, "application/wasm, */*")).await?;
        let response = self.expect_status(response, &[StatusCode::OK], "the component").await?;
        let bytes = self.read(response, layer.size, "the component", progress).await?;
        if bytes.len() as u64 != layer.size {
            let (got, size) = (bytes.len(), layer.size);
            return Err(self.error(format!("sends {got} bytes for the component, its manifest says {size}")));
        }
        let found = sha256_hex(&bytes);
        if found != layer.sha256 {
            let wanted = &layer.sha256;
            return Err(
                self.error(format!("sends a component with SHA-256 {found}, its manifest says {wanted}"))
            );
        }
        Ok(bytes)
    }
}
