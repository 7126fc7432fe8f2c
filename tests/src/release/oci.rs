//! Images as OCI archives: a tar with `oci-layout`, `index.json` and the blobs of one image with one uncompressed layer.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tar::Builder;

use super::archive;
use super::digest::{HashWriter, sha256};
use super::error::{ReleaseError, Result};

/// When everything was created, so that the bytes are the same each time. The time of the archives' entries.
const CREATED: &str = "1980-01-01T00:00:00Z";

/// Where containers look for programs that are named without a path.
const PATH: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Media types, annotations and layout version of the OCI image specification 1.1.
const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";
const CONFIG_TYPE: &str = "application/vnd.oci.image.config.v1+json";
const LAYER_TYPE: &str = "application/vnd.oci.image.layer.v1.tar";
const LAYOUT: &str = r#"{"imageLayoutVersion":"1.0.0"}"#;
/// The tag alone.
const TAG_ANNOTATION: &str = "org.opencontainers.image.ref.name";
/// The full reference, under which containerd files an imported image.
pub const NAME_ANNOTATION: &str = "io.containerd.image.name";

/// What an image is made of.
#[derive(Debug, Clone)]
pub struct ImageSpec<'a> {
    /// Full reference with tag.
    pub reference: &'a str,
    /// Architecture as Go spells it.
    pub architecture: &'a str,
    /// Source file by path inside, without the leading `/`.
    pub files: BTreeMap<String, PathBuf>,
    /// Numbers of user and group that a container runs as; root without it.
    pub user: Option<&'a str>,
    /// What a container runs.
    pub entrypoint: &'a [String],
    /// The signal by which it is asked to end, if that is another one than `SIGTERM`.
    pub stop_signal: Option<&'a str>,
}

/// A blob as manifests name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// Kind of the blob.
    pub media_type: String,
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// Length in bytes.
    pub size: u64,
    /// Which machines the image is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    /// Names of the image.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// Machines that an image is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Platform {
    /// Architecture as Go spells it.
    pub architecture: String,
    /// Operating system as Go spells it.
    pub os: String,
}

/// The content of `index.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Index {
    /// Always 2.
    pub schema_version: u32,
    /// Kind of this document.
    pub media_type: String,
    /// The images of the archive.
    pub manifests: Vec<Descriptor>,
}

/// The content of an image manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// Always 2.
    pub schema_version: u32,
    /// Kind of this document.
    pub media_type: String,
    /// The image's configuration.
    pub config: Descriptor,
    /// The layers, lowest first.
    pub layers: Vec<Descriptor>,
}

/// The blobs of an image, written into a folder of their own until they are packed.
struct Blobs<'a> {
    layer: &'a Path,
    layer_descriptor: Descriptor,
    config: Vec<u8>,
    manifest: Vec<u8>,
}

/// Writes the archive of an image and returns the digest of its manifest. The layer stands in `work` meanwhile.
///
/// # Errors
/// When a file can't be read or written.
pub fn write_image(spec: &ImageSpec<'_>, work: &Path, to: &Path) -> Result<String> {
    let layer = work.join("layer.tar");
    let layer_descriptor = write_layer(&spec.files, &layer)?;
    let config = to_json(&config(spec, &layer_descriptor.digest), to)?;
    let manifest = Manifest {
        schema_version: 2,
        media_type: MANIFEST_TYPE.to_owned(),
        config: describe(CONFIG_TYPE, &config),
        layers: vec![layer_descriptor.clone()],
    };
    let manifest = to_json(&manifest, to)?;
    let digest = describe(MANIFEST_TYPE, &manifest).digest;
    pack(spec, &Blobs { layer: &layer, layer_descriptor, config, manifest }, to)?;
    std::fs::remove_file(&layer).map_err(ReleaseError::io("remove", &layer))?;
    Ok(digest)
}

fn write_layer(files: &BTreeMap<String, PathBuf>, path: &Path) -> Result<Descriptor> {
    let file = File::create(path).map_err(ReleaseError::io("create", path))?;
    let mut writer = HashWriter::new(BufWriter::with_capacity(1 << 20, file));
    // Programs expect a place for temporary files.
    archive::write_tree(files, &[("tmp", 0o1777)], &mut writer)?;
    let (_, size, sha256) = writer.finish();
    Ok(Descriptor {
        media_type: LAYER_TYPE.to_owned(),
        digest: format!("sha256:{sha256}"),
        size,
        platform: None,
        annotations: BTreeMap::new(),
    })
}

fn config(spec: &ImageSpec<'_>, layer: &str) -> serde_json::Value {
    let mut run = serde_json::json!({ "Env": [PATH], "Entrypoint": spec.entrypoint });
    if let Some(run) = run.as_object_mut() {
        let more = [("User", spec.user), ("StopSignal", spec.stop_signal)];
        run.extend(more.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into()))));
    }
    serde_json::json!({
        "created": CREATED,
        "architecture": spec.architecture,
        "os": "linux",
        "config": run,
        "rootfs": { "type": "layers", "diff_ids": [layer] },
        "history": [{ "created": CREATED, "created_by": "kokctl release" }],
    })
}

fn pack(spec: &ImageSpec<'_>, blobs: &Blobs<'_>, to: &Path) -> Result<()> {
    let write = |error| ReleaseError::io("write", to)(error);
    let file = File::create(to).map_err(ReleaseError::io("create", to))?;
    let mut builder = Builder::new(BufWriter::with_capacity(1 << 20, file));
    let manifest = named_manifest(spec, &blobs.manifest);
    let small = [
        ("oci-layout".to_owned(), LAYOUT.as_bytes().to_vec()),
        ("index.json".to_owned(), to_json(&index(&manifest), to)?),
        (blob_path(&manifest.digest), blobs.manifest.clone()),
        (blob_path(&describe(CONFIG_TYPE, &blobs.config).digest), blobs.config.clone()),
    ];
    for (path, bytes) in &small {
        let size = bytes.len() as u64;
        archive::append(&mut builder, path, 0o644, size, bytes.as_slice()).map_err(write)?;
    }
    let layer = File::open(blobs.layer).map_err(ReleaseError::io("open", blobs.layer))?;
    let path = blob_path(&blobs.layer_descriptor.digest);
    archive::append(&mut builder, &path, 0o644, blobs.layer_descriptor.size, layer).map_err(write)?;
    builder.into_inner().and_then(|mut inner| inner.flush()).map_err(write)
}

/// The manifest as the index names it: with the image's reference, tag and platform.
fn named_manifest(spec: &ImageSpec<'_>, bytes: &[u8]) -> Descriptor {
    let tag = spec.reference.rsplit_once(':').map_or("latest", |(_, tag)| tag);
    Descriptor {
        platform: Some(Platform { architecture: spec.architecture.to_owned(), os: "linux".to_owned() }),
        annotations: BTreeMap::from([(NAME_ANNOTATION.to_owned(), spec.reference.to_owned()), (TAG_ANNOTATION.to_owned(), tag.to_owned())]),
        ..describe(MANIFEST_TYPE, bytes)
    }
}

fn index(manifest: &Descriptor) -> Index {
    Index { schema_version: 2, media_type: INDEX_TYPE.to_owned(), manifests: vec![manifest.clone()] }
}

fn describe(media_type: &str, bytes: &[u8]) -> Descriptor {
    Descriptor {
        media_type: media_type.to_owned(),
        digest: format!("sha256:{}", sha256(bytes)),
        size: bytes.len() as u64,
        platform: None,
        annotations: BTreeMap::new(),
    }
}

/// Where a blob stands in an archive.
#[must_use]
pub fn blob_path(digest: &str) -> String {
    format!("blobs/{}", digest.replacen(':', "/", 1))
}

fn to_json(value: &impl Serialize, to: &Path) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|error| ReleaseError::io("write", to)(error.into()))
}
