//! Pulling and publishing of artifacts. A pull verifies each part against its digest and declared size. A push uploads
//! missing blobs first, then the manifest.

use gatehouse_core::{hash::sha256_hex, names::quoted};
use gatehouse_net::{Method, StatusCode, header::CONTENT_TYPE};

use super::{
    GatePackage, RegistryClient, RegistryError,
    client::Request,
    manifest::{ACCEPTED, Blob, ComponentLayer, MANIFEST, component, version},
};

/// Maximum bytes of a manifest. Ours have a few hundred; registries accept up to 4 MiB.
const MAX_MANIFEST: u64 = 1 << 20;

/// Subject of the transfer that may take longer than others.
pub(super) const COMPONENT: &str = "the component";

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
    pub async fn resolve(&mut self, max: u64) -> Result<PublishedArtifact, RegistryError> {
        let name = quoted(&self.reference.to_string(), 300);
        let url = self.url(&format!("manifests/{}", self.reference.version()))?;
        let response = self.send(Request::get(url, ACCEPTED)).await?;
        let response = self.expect_status(response, &[StatusCode::OK], &name).await?;
        let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let kind = kind.map(str::to_owned);
        let manifest = self.read(response, MAX_MANIFEST, "the manifest", &|_| ()).await?;
        let digest = format!("sha256:{}", sha256_hex(&manifest));
        if let Some(expected_digest) =
            self.reference.digest.as_ref().filter(|expected_digest| **expected_digest != digest)
        {
            return Err(self.error(format!("sent manifest {digest} instead of {expected_digest}")));
        }
        let layer = component(&manifest, kind.as_deref());
        let layer = layer.map_err(|reason| RegistryError::new(format!("{name} {reason}")))?;
        if layer.size > max {
            let size = layer.size;
            return Err(RegistryError::new(format!("{name} has {size} bytes; the limit is {max}")));
        }
        Ok(PublishedArtifact { digest, layer, version: version(&manifest) })
    }

    pub async fn download(
        &mut self,
        layer: &ComponentLayer,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Vec<u8>, RegistryError> {
        let url = self.url(&format!("blobs/sha256:{}", layer.sha256))?;
        let response = self.send(Request::get(url, "application/wasm, */*")).await?;
        let response = self.expect_status(response, &[StatusCode::OK], "the component").await?;
        let bytes = self.read(response, layer.size, COMPONENT, progress).await?;
        if bytes.len() as u64 != layer.size {
            let (got, size) = (bytes.len(), layer.size);
            return Err(
                self.error(format!("sent {got} bytes for the component; its manifest declares {size}"))
            );
        }
        let actual = sha256_hex(&bytes);
        if actual != layer.sha256 {
            let expected_digest = &layer.sha256;
            return Err(self.error(format!(
                "sent a component with SHA-256 {actual}; its manifest declares {expected_digest}"
            )));
        }
        Ok(bytes)
    }

    /// Publishes a gate under the tag of the reference. Returns the digest of its manifest.
    pub async fn publish(&mut self, package: &GatePackage) -> Result<String, RegistryError> {
        let parts = package.parts();
        self.upload(&parts.config).await?;
        self.upload(&parts.layer).await?;
        let url = self.url(&format!("manifests/{}", self.reference.version()))?;
        let body = Some((MANIFEST, parts.manifest.bytes.clone()));
        let response = self.send(Request { method: Method::PUT, url, accept: "*/*", body }).await?;
        let codes = [StatusCode::CREATED, StatusCode::OK];
        let response = self.expect_status(response, &codes, "the manifest").await?;
        let digest = parts.manifest.digest;
        let stored = response.headers().get("docker-content-digest").and_then(|value| value.to_str().ok());
        match stored.filter(|stored| *stored != digest) {
            Some(_) => Err(self.error(format!("stored a different manifest than {digest}"))),
            None => Ok(digest),
        }
    }

    async fn upload(&mut self, blob: &Blob) -> Result<(), RegistryError> {
        let url = self.url(&format!("blobs/{}", blob.digest))?;
        let head = Request { method: Method::HEAD, url, accept: "*/*", body: None };
        let response = self.send(head).await?;
        let codes = [StatusCode::OK, StatusCode::NOT_FOUND];
        if self.expect_status(response, &codes, "a blob check").await?.status() == StatusCode::OK {
            return Ok(());
        }
        let url = self.url("blobs/uploads/")?;
        let begin = Request { method: Method::POST, url, accept: "*/*", body: None };
        let response = self.send(begin).await?;
        let response = self.expect_status(response, &[StatusCode::ACCEPTED], "an upload").await?;
        let mut url = self.location(&response)?;
        url.query_pairs_mut().append_pair("digest", &blob.digest);
        let body = Some(("application/octet-stream", blob.bytes.clone()));
        let response = self.send(Request { method: Method::PUT, url, accept: "*/*", body }).await?;
        self.expect_status(response, &[StatusCode::CREATED], "a blob").await.map(drop)
    }
}
