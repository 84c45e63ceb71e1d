//! Pulling an artifact: first the manifest, then the layer, each verified against its digest and declared size.

use gatehouse_core::{hash::sha256_hex, names::quoted};
use gatehouse_net::{StatusCode, header::CONTENT_TYPE};

use super::{
    RegistryClient, RegistryError,
    client::Request,
    manifest::{ACCEPTED, ComponentLayer, component, version},
};

/// Maximum bytes of a manifest. Ours have a few hundred; registries accept up to 4 MiB.
const MAX_MANIFEST: u64 = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedArtifact {
    pub digest: String,
    pub layer: ComponentLayer,
    pub version: Option<String>,
}

impl RegistryClient {
    /// Reads the manifest.
    ///
    /// # Errors
    /// Also if the component has more than `max` bytes.
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
            return Err(self.error(format!("sent manifest {digest} instead of {wanted}")));
        }
        let layer = component(&manifest, kind.as_deref());
        let layer = layer.map_err(|why| RegistryError::new(format!("{name} {why}")))?;
        if layer.size > max {
            let size = layer.size;
            return Err(RegistryError::new(format!("{name} has {size} bytes; the limit is {max}")));
        }
        Ok(PublishedArtifact { digest, layer, version: version(&manifest) })
    }

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
            return Err(
                self.error(format!("sent {got} bytes for the component; its manifest declares {size}"))
            );
        }
        let found = sha256_hex(&bytes);
        if found != layer.sha256 {
            let wanted = &layer.sha256;
            return Err(
                self.error(format!("sent a component with SHA-256 {found}; its manifest declares {wanted}"))
            );
        }
        Ok(bytes)
    }
}
