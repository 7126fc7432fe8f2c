//! A bundle of a few small images that share a layer, with one name at two hosts and two architectures.

use std::fs;
use std::path::{Path, PathBuf};

use kok_tasks::bundle::{Bundle, BundleImage, FORMAT, INDEX};
use kok_tasks::digest::sha256;
use kok_tests::upstream::index_of;
use serde_json::json;

/// References and architectures.
pub const IMAGES: [(&str, &str); 4] = [
    ("docker.io/pause:3", "amd64"),
    ("registry.k8s.io/pause:3", "amd64"),
    ("registry.k8s.io/pause:3", "arm64"),
    ("registry.k8s.io/other/one:v1", "amd64"),
];

const LAYER: &[u8] = b"a shared layer";
const KIND: &str = "application/vnd.oci.image";

/// Writes it into a folder, and returns the path of the last archive.
pub fn write(folder: &Path, images: &[(&str, &str)]) -> PathBuf {
    let images: Vec<BundleImage> = images.iter().map(|(reference, architecture)| image(folder, reference, architecture)).collect();
    let last = folder.join(&images.last().unwrap().path);
    write_index(folder, images);
    last
}

/// Makes the index go with the archives as they are.
pub fn index_again(folder: &Path) {
    let images = index_of(folder).unwrap().images.into_iter().map(|image| {
        let bytes = fs::read(folder.join(&image.path)).unwrap();
        BundleImage { sha256: sha256(&bytes), size: bytes.len() as u64, ..image }
    });
    write_index(folder, images.collect());
}

fn write_index(folder: &Path, images: Vec<BundleImage>) {
    let mut bundle = Bundle { format: FORMAT, kubernetes: Vec::new(), files: Vec::new(), images, packages: Vec::new() };
    bundle.sort();
    fs::write(folder.join(INDEX), serde_json::to_vec(&bundle).unwrap()).unwrap();
}

fn image(folder: &Path, reference: &str, architecture: &str) -> BundleImage {
    let config = json!({"architecture": architecture, "os": "linux", "author": reference}).to_string();
    let blob = |kind: &str, bytes: &[u8]| json!({"mediaType": format!("{KIND}.{kind}"), "digest": digest(bytes), "size": bytes.len()});
    let manifest = json!({
        "schemaVersion": 2, "mediaType": format!("{KIND}.manifest.v1+json"),
        "config": blob("config.v1+json", config.as_bytes()), "layers": [blob("layer.v1.tar", LAYER)],
    })
    .to_string();
    let mut archive = tar::Builder::new(Vec::new());
    for bytes in [manifest.as_bytes(), config.as_bytes(), LAYER] {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        archive.append_data(&mut header, format!("blobs/{}", digest(bytes).replace(':', "/")), bytes).unwrap();
    }
    let (bytes, path) = (archive.into_inner().unwrap(), format!("images/{}-{architecture}.tar", reference.replace(':', "/")));
    fs::create_dir_all(folder.join(&path).parent().unwrap()).unwrap();
    fs::write(folder.join(&path), &bytes).unwrap();
    BundleImage {
        name: reference.rsplit('/').next().unwrap().to_owned(),
        version: reference.to_owned(),
        architecture: architecture.to_owned(),
        path,
        size: bytes.len() as u64,
        sha256: sha256(&bytes),
        reference: reference.to_owned(),
        manifest_digest: digest(manifest.as_bytes()),
        lacks: Vec::new(),
    }
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", sha256(bytes))
}
