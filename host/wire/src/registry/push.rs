//! Publishing an artifact: missing blobs first, then the manifest.

use gatehouse_net::{Method, StatusCode};

use super::{
    GatePackage, RegistryClient, RegistryError,
    client::Request,
    manifest::{Blob, MANIFEST},
};

impl RegistryClient {
    /// Publishes a gate under the tag of the reference. Returns the digest of its manifest.
    pub async fn publish(&mut self, package: &GatePackage) -> Result<String, RegistryError> {
        let parts = package.parts()?;
        self.upload(&parts.config).await?;
        self.upload(&parts.layer).await?;
        let url = self.url(&format!("manifests/{}", self.reference.version()))?;
        let body = Some((MANIFEST, parts.manifest.bytes.clone()));
        let response = self.send(Request { method: Method::PUT, url, accept: "*/*", body }).await?;
        let codes = [StatusCode::CREATED, StatusCode::OK];
        let response = self.expect_status(response, &codes, "the manifest").await?;
        let digest = parts.manifest.digest;
        let told = response.headers().get("docker-content-digest").and_then(|value| value.to_str().ok());
        match told.filter(|told| *told != digest) {
            Some(_) => Err(self.error(format!("stored a different manifest than {digest}"))),
            None => Ok(digest),
        }
    }

    async fn upload(&mut self, blob: &Blob) -> Result<(), RegistryError> {
        let there = self.url(&format!("blobs/{}", blob.digest))?;
        let head = Request { method: Method::HEAD, url: there, accept: "*/*", body: None };
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
