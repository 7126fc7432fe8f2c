//! Checks a bundle's folder against its index, and its archives against themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use kok_tasks::bundle::{ArchiveEntry, Bundle, BundleFile, BundleImage, INDEX};
use tar::Archive;

use super::digest::{sha256_file, sha256_reader};
use super::error::{ReleaseError, Result};
use super::oci::{self, Descriptor, Index, Manifest, NAME_ANNOTATION};

/// `index.json` and manifests are below 10 KB; a blob larger than this is a layer and is only hashed.
const SMALL_BLOB: u64 = 1 << 20;

/// Reads everything in the folder again. Returns the index and what is wrong, one line each; nothing when the bundle is good.
///
/// # Errors
/// When there is no index, or it isn't one.
pub fn verify(root: &Path) -> Result<(Bundle, Vec<String>)> {
    let index = root.join(INDEX);
    let text = fs::read_to_string(&index).map_err(ReleaseError::io("read", &index))?;
    let bundle = Bundle::parse(&text)?;
    let mut problems = Vec::new();
    let mut listed = BTreeSet::from([index]);
    for file in &bundle.files {
        let path = root.join(&file.path);
        report(&mut problems, &file.path, check_whole(&path, file.size, &file.sha256).and_then(|()| check_file(&path, file)));
        listed.insert(path);
    }
    for image in &bundle.images {
        let path = root.join(&image.path);
        report(&mut problems, &image.path, check_whole(&path, image.size, &image.sha256).and_then(|()| check_image(&path, image)));
        listed.insert(path);
    }
    find_unlisted(root, root, &listed, &mut problems)?;
    Ok((bundle, problems))
}

fn report(problems: &mut Vec<String>, path: &str, outcome: std::result::Result<(), String>) {
    if let Err(problem) = outcome {
        problems.push(format!("{path}: {problem}"));
    }
}

fn check_whole(path: &Path, size: u64, sha256: &str) -> std::result::Result<(), String> {
    let (found_size, found_sha256) = sha256_file(path).map_err(|error| describe(&error))?;
    if (found_size, found_sha256.as_str()) == (size, sha256) {
        return Ok(());
    }
    Err(format!("{found_size} bytes with sha256 {found_sha256}, but {INDEX} says {size} bytes with {sha256}: get it again"))
}

fn describe(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}

fn check_file(path: &Path, file: &BundleFile) -> std::result::Result<(), String> {
    if file.contents.is_empty() {
        return Ok(());
    }
    let found = archive_contents(path).map_err(|error| format!("not a gzipped tar archive: {error}"))?;
    if found == file.contents {
        return Ok(());
    }
    Err(format!("its contents are not what {INDEX} says: get the bundle again"))
}

fn archive_contents(path: &Path) -> io::Result<Vec<ArchiveEntry>> {
    let mut archive = Archive::new(GzDecoder::new(BufReader::new(File::open(path)?)));
    let mut contents = Vec::new();
    for entry in archive.entries()? {
        let entry = entry?;
        if entry.header().entry_type().is_file() {
            let path = entry.path()?.to_string_lossy().into_owned();
            let (size, sha256) = sha256_reader(entry)?;
            contents.push(ArchiveEntry { path, size, sha256 });
        }
    }
    contents.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(contents)
}

/// What stands in an OCI archive: the digest of every entry by path, and the bytes of the small ones.
#[derive(Default)]
struct Contents {
    digests: BTreeMap<String, (u64, String)>,
    small: BTreeMap<String, Vec<u8>>,
}

impl Contents {
    fn read(path: &Path) -> io::Result<Self> {
        let mut archive = Archive::new(BufReader::new(File::open(path)?));
        let mut contents = Self::default();
        for entry in archive.entries()? {
            let mut entry = entry?;
            let path = entry.path()?.to_string_lossy().into_owned();
            if entry.size() <= SMALL_BLOB {
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes)?;
                contents.digests.insert(path.clone(), sha256_reader(bytes.as_slice())?);
                contents.small.insert(path, bytes);
            } else {
                contents.digests.insert(path, sha256_reader(entry)?);
            }
        }
        Ok(contents)
    }

    fn blob(&self, descriptor: &Descriptor) -> std::result::Result<(), String> {
        let path = oci::blob_path(&descriptor.digest);
        match self.digests.get(&path) {
            Some((size, sha256)) if *size == descriptor.size && descriptor.digest == format!("sha256:{sha256}") => Ok(()),
            Some(_) => Err(format!("the blob {path} is not what its name and size say")),
            None => Err(format!("the blob {path} is missing")),
        }
    }

    fn json<T: serde::de::DeserializeOwned>(&self, path: &str) -> std::result::Result<T, String> {
        let bytes = self.small.get(path).ok_or_else(|| format!("{path} is missing"))?;
        serde_json::from_slice(bytes).map_err(|error| format!("{path}: {error}"))
    }
}

fn check_image(path: &Path, image: &BundleImage) -> std::result::Result<(), String> {
    let contents = Contents::read(path).map_err(|error| format!("not a tar archive: {error}"))?;
    let index: Index = contents.json("index.json")?;
    let [descriptor] = index.manifests.as_slice() else {
        return Err(format!("index.json names {} images instead of one", index.manifests.len()));
    };
    if descriptor.digest != image.manifest_digest {
        return Err(format!("its manifest is {}, but {INDEX} says {}", descriptor.digest, image.manifest_digest));
    }
    if descriptor.annotations.get(NAME_ANNOTATION) != Some(&image.reference) {
        return Err(format!("its index.json does not name it {}", image.reference));
    }
    contents.blob(descriptor)?;
    let manifest: Manifest = contents.json(&oci::blob_path(&descriptor.digest))?;
    contents.blob(&manifest.config)?;
    manifest.layers.iter().try_for_each(|layer| contents.blob(layer))
}

fn find_unlisted(root: &Path, folder: &Path, listed: &BTreeSet<PathBuf>, problems: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(ReleaseError::io("list", folder))? {
        let path = entry.map_err(ReleaseError::io("list", folder))?.path();
        if path.is_dir() && !path.is_symlink() {
            find_unlisted(root, &path, listed, problems)?;
        } else if !listed.contains(&path) {
            problems.push(format!("{}: not in {INDEX}: remove it", path.strip_prefix(root).unwrap_or(&path).display()));
        }
    }
    Ok(())
}
