//! OCI manifests: parsing those of others, and creating our own.

use std::collections::BTreeMap;

use bytes::Bytes;
use gatehouse_core::{hash::sha256_hex, names::quoted};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::reference::sha256_digits;

/// Media types of manifests and indexes (OCI image specification, Docker registry API).
pub(super) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";

/// `Accept` header. Includes the types that are rejected later, because a registry that must not send them answers "not
/// found".
pub(super) const ACCEPTED: &str = "application/vnd.oci.image.manifest.v1+json, \
     application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.v2+json, \
     application/vnd.docker.distribution.manifest.list.v2+json";

/// Media types of a component: the CNCF's, and an older one that is still published.
const WASM: &str = "application/wasm";
const LEGACY_WASM: &str = "application/vnd.wasm.content.layer.v1+wasm";

const CONFIG: &str = "application/vnd.wasm.config.v0+json";

/// Annotation of the version (OCI image specification, "Pre-Defined Annotation Keys").
const VERSION: &str = "org.opencontainers.image.version";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentLayer {
    /// Hexadecimal SHA-256 of the blob, which is the component file.
    pub sha256: String,
    pub size: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    media_type: Option<String>,
    #[serde(default)]
    layers: Vec<Descriptor>,
    #[serde(default)]
    manifests: Vec<serde::de::IgnoredAny>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: String,
    digest: String,
    size: u64,
}

/// Returns the component layer of a manifest. Errors are clauses that follow the name of the artifact.
pub(crate) fn component(manifest: &[u8], content_type: Option<&str>) -> Result<ComponentLayer, String> {
    let manifest: Manifest = serde_json::from_slice(manifest)
        .map_err(|error| format!("is not a manifest: {}", quoted(&error.to_string(), 200)))?;
    let kind = manifest.media_type.as_deref().or(content_type).unwrap_or_default();
    if [INDEX, DOCKER_LIST].contains(&kind) || !manifest.manifests.is_empty() {
        return Err("is an index of several artifacts; use the digest of one of them".into());
    }
    let is_wasm = |layer: &&Descriptor| [WASM, LEGACY_WASM].contains(&layer.media_type.as_str());
    let wasm: Vec<&Descriptor> = manifest.layers.iter().filter(is_wasm).collect();
    let layer = match wasm.as_slice() {
        [one] => one,
        [] => {
            let types = manifest.layers.iter().take(5).map(|layer| quoted(&layer.media_type, 80));
            let types: Vec<String> = types.collect();
            let listed = if types.is_empty() { "none".into() } else { types.join(", ") };
            return Err(format!("contains no gate: no layer is {WASM}; its layers are: {listed}"));
        }
        more => return Err(format!("has {} layers of {WASM}; a gate has exactly one", more.len())),
    };
    let sha256 = sha256_digits(&layer.digest).ok_or_else(|| {
        format!("has a layer with a digest other than SHA-256: '{}'", quoted(&layer.digest, 80))
    })?;
    Ok(ComponentLayer { sha256: sha256.to_owned(), size: layer.size })
}

pub(super) fn version(manifest: &[u8]) -> Option<String> {
    let manifest: Manifest = serde_json::from_slice(manifest).ok()?;
    let version = manifest.annotations.get(VERSION)?.trim();
    (!version.is_empty()).then(|| quoted(version, 64))
}

#[derive(Debug, Clone)]
pub struct GatePackage {
    pub wasm: Bytes,
    pub imports: Vec<String>,
    pub exports: Vec<String>,
    /// The gate's own name.
    pub title: String,
    pub version: String,
    pub description: String,
}

pub(super) struct Blob {
    pub(super) digest: String,
    pub(super) bytes: Bytes,
}

impl Blob {
    fn new(bytes: Bytes) -> Self {
        Self { digest: format!("sha256:{}", sha256_hex(&bytes)), bytes }
    }

    fn descriptor(&self, media_type: &str) -> Descriptor {
        Descriptor {
            media_type: media_type.into(),
            digest: self.digest.clone(),
            size: self.bytes.len() as u64,
        }
    }
}

/// Parts of an artifact, in the order of their upload.
pub(super) struct ArtifactParts {
    pub(super) config: Blob,
    pub(super) layer: Blob,
    pub(super) manifest: Blob,
}

impl GatePackage {
    /// Builds the parts. The result is reproducible: the same package always has the same digest.
    pub(super) fn parts(&self) -> ArtifactParts {
        let layer = Blob::new(self.wasm.clone());
        // Readers require `created`; a real time would change the digest.
        let config = json!({
            "created": "1970-01-01T00:00:00Z",
            "architecture": "wasm",
            "os": "wasip2",
            "layerDigests": [layer.digest],
            "component": {"exports": self.exports, "imports": self.imports},
        });
        let config = Blob::new(config.to_string().into());
        let annotations = BTreeMap::from([
            ("org.opencontainers.image.title", &self.title),
            (VERSION, &self.version),
            ("org.opencontainers.image.description", &self.description),
        ]);
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": config.descriptor(CONFIG),
            "layers": [layer.descriptor(WASM)],
            "annotations": annotations,
        });
        ArtifactParts { manifest: Blob::new(manifest.to_string().into()), config, layer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_manifests_can_be_parsed() {
        let package = GatePackage {
            wasm: Bytes::from_static(b"component"),
            imports: vec!["gatehouse:gate/text@0.1.0".into()],
            exports: vec!["gatehouse:gate/tools@0.1.0".into()],
            title: "weather".into(),
            version: "1.0.0".into(),
            description: "Returns the weather.".into(),
        };
        let (first, second) = (package.parts(), package.parts());
        assert_eq!(first.manifest.digest, second.manifest.digest);
        let layer = component(&first.manifest.bytes, Some(MANIFEST)).expect("a component");
        assert_eq!(layer, ComponentLayer { sha256: sha256_hex(b"component"), size: 9 });
    }

    #[test]
    fn other_manifests_are_rejected() {
        let layer = |kind: &str, digest: &str| json!({"mediaType": kind, "digest": digest, "size": 1});
        let good = format!("sha256:{}", "0".repeat(64));
        let says = |manifest: serde_json::Value, part: &str| {
            let error = component(manifest.to_string().as_bytes(), None).expect_err("refused");
            assert!(error.contains(part), "{error}");
        };
        says(json!({"mediaType": INDEX, "manifests": []}), "is an index");
        says(json!({"manifests": [{}]}), "is an index");
        says(json!({"layers": [layer("application/vnd.oci.image.layer.v1.tar+gzip", &good)]}), "tar+gzip");
        says(json!({"layers": []}), "contains no gate");
        says(json!({"layers": [layer(WASM, &good), layer(LEGACY_WASM, &good)]}), "has 2 layers");
        says(json!({"layers": [layer(WASM, "sha256:../../etc/passwd")]}), "other than SHA-256");
        says(json!({"layers": [layer(WASM, "sha512:00")]}), "other than SHA-256");
        says(json!([]), "is not a manifest");
        assert!(component(b"<html>", None).is_err_and(|error| error.contains("is not a manifest")));
    }
}
