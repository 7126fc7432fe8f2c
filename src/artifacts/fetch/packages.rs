//! Packages of a distribution: its signed lists, what they name, and the archive that is made of both.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter};
use std::path::{Path, PathBuf};

use kok_tasks::bundle::{BundlePackage, BundlePackages, PackageSuite};
use kok_tasks::catalog::{ArchiveSource, PackagesItem};
use kok_tasks::debian::{Deb, Release, closure};
use kok_tasks::digest::sha256;
use liblzma::bufread::XzDecoder;
use tar::Builder;
use tokio::task::spawn_blocking;

use super::client::Client;
use super::file::{fetch_to, get};
use super::image::{Blobs, blob_path};
use super::trouble::Trouble;
use super::{Progress, folder_of, layout, part};
use crate::clock::Clock;

/// So many packages of one distribution are fetched at the same time: they are small, and come from one server.
const AT_ONCE: usize = 8;
/// What a list says of one package has some kilobytes.
const MOST_STANZA: usize = 1 << 20;

/// A suite as it was found.
struct Suite<'a> {
    archive: &'a ArchiveSource,
    about: PackageSuite,
    text: String,
    release: Release,
}

/// What is in the archive.
pub(super) struct ResolvedPackages {
    suites: Vec<PackageSuite>,
    /// `InRelease` by its path.
    signed: Vec<(String, String)>,
    /// Lists by their paths, with their digests.
    lists: Vec<(String, String)>,
    debs: Vec<Deb>,
}

impl ResolvedPackages {
    /// How many bytes are to be fetched.
    pub(super) fn bytes(&self) -> u64 {
        self.unique().map(|deb| deb.size).sum()
    }

    /// The same file may stand in two archives.
    fn unique(&self) -> impl Iterator<Item = &Deb> {
        let unique: BTreeMap<&str, &Deb> = self.debs.iter().map(|deb| (deb.sha256.as_str(), deb)).collect();
        unique.into_values()
    }
}

/// Reads the lists, and says which packages are needed. None if the folder has them, and there are no newer lists.
pub(super) async fn resolve(
    client: &Client,
    folder: &Path,
    (item, held): (&PackagesItem, &[BundlePackages]),
    progress: &dyn Progress,
) -> Result<Option<ResolvedPackages>, Trouble> {
    let resolved = async {
        let suites = suites(client, item).await?;
        if held.iter().any(|held| is_same(held, item, &suites) && is_there(folder, held)) {
            return Ok(None);
        }
        progress.notice(&format!("reading the lists of {}", item.title()));
        let (lists, debs) = lists(client, folder, &suites, &item.architecture).await?;
        let wanted = item.packages.clone();
        let at = item.archives.iter().map(ArchiveSource::folder).collect::<Vec<_>>().join(", ");
        let taken = spawn_blocking(move || closure(&debs, &wanted).map(|taken| taken.into_iter().cloned().collect::<Vec<_>>()));
        let debs = taken.await.map_err(|error| Trouble::of_program(&error.to_string()))?;
        let debs = debs.map_err(|error| Trouble::of_content(&at, error.to_string()))?;
        let signed = suites.iter().map(|suite| (format!("{}/InRelease", suite.folder()), suite.text.clone())).collect();
        Ok(Some(ResolvedPackages { suites: suites.into_iter().map(|suite| suite.about).collect(), signed, lists, debs }))
    };
    resolved.await.map_err(|trouble: Trouble| trouble.while_fetching(&item.title()))
}

impl Suite<'_> {
    fn folder(&self) -> String {
        format!("{}/dists/{}", self.about.archive, self.about.suite)
    }
}

async fn suites<'a>(client: &Client, item: &'a PackagesItem) -> Result<Vec<Suite<'a>>, Trouble> {
    let mut suites = Vec::new();
    for archive in &item.archives {
        for suite in &archive.suites {
            let address = client.mirrors.address(&format!("{}/dists/{suite}/InRelease", archive.address));
            let text = get(client, &address).await?;
            let release =
                Release::parse(&text, suite, Clock::seconds()).map_err(|error| Trouble::of_content(&address, error.to_string()))?;
            let (folder, sha256) = (archive.folder().to_owned(), sha256(text.as_bytes()));
            let about = PackageSuite { archive: folder, suite: suite.clone(), components: archive.components.clone(), sha256 };
            suites.push(Suite { archive, about, text, release });
        }
    }
    Ok(suites)
}

fn is_same(held: &BundlePackages, item: &PackagesItem, suites: &[Suite<'_>]) -> bool {
    let is_of = (&held.distribution, &held.architecture) == (&item.distribution, &item.architecture);
    is_of && held.names == item.packages && held.suites.iter().eq(suites.iter().map(|suite| &suite.about))
}

fn is_there(folder: &Path, held: &BundlePackages) -> bool {
    folder.join(&held.path).metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() == held.size)
}

/// Fetches the lists of all suites, and reads them.
async fn lists(
    client: &Client,
    folder: &Path,
    suites: &[Suite<'_>],
    architecture: &str,
) -> Result<(Vec<(String, String)>, Vec<Deb>), Trouble> {
    let (mut lists, mut debs) = (Vec::new(), Vec::new());
    for suite in suites {
        for component in &suite.about.components {
            let suite_name = &suite.about.suite;
            let wrong = |because: String| Trouble::of_content(&suite.folder(), because);
            let (path, below, digest, _) = suite.release.list(component, architecture).map_err(|error| wrong(error.to_string()))?;
            let address = client.mirrors.address(&format!("{}/dists/{suite_name}/{below}", suite.archive.address));
            let file = blob(folder, digest);
            if !file.exists() {
                fetch_to(client, &address, &file, digest, &Silent).await?;
            }
            let archive = suite.about.archive.clone();
            let read = spawn_blocking(move || read(&file, &archive)).await.map_err(|error| Trouble::of_program(&error.to_string()))?;
            debs.extend(read.map_err(|error| Trouble::of_content(&address, format!("the list can't be read: {error}")))?);
            lists.push((format!("{}/{path}", suite.folder()), digest.to_owned()));
        }
    }
    Ok((lists, debs))
}

fn blob(folder: &Path, sha256: &str) -> PathBuf {
    blob_path(folder, &format!("sha256:{sha256}"))
}

/// The packages of a list, which has empty lines between them.
fn read(path: &Path, archive: &str) -> io::Result<Vec<Deb>> {
    let mut lines = BufReader::with_capacity(1 << 16, XzDecoder::new_multi_decoder(BufReader::new(File::open(path)?)));
    let (mut debs, mut stanza) = (Vec::new(), String::new());
    loop {
        let before = stanza.len();
        let read = lines.read_line(&mut stanza)?;
        if stanza.len() > MOST_STANZA {
            return Err(io::Error::other("what it says of one package does not end"));
        }
        if read == 0 || stanza.get(before..).is_some_and(|line| line.trim().is_empty()) {
            debs.extend(Deb::parse(&stanza).map(|deb| deb.below(archive)));
            stanza.clear();
        }
        if read == 0 {
            return Ok(debs);
        }
    }
}

/// Lists are read before it is known how much is to be fetched.
struct Silent;

impl Progress for Silent {
    fn begins(&self, _: usize, _: u64) {}
    fn came(&self, _: u64) {}
    fn done(&self, _: &str) {}
    fn notice(&self, _: &str) {}
}

/// Fetches the packages, and makes their archive.
pub(super) async fn fetch(
    client: &Client,
    folder: &Path,
    (item, resolved): (&PackagesItem, &ResolvedPackages),
    blobs: &Blobs,
    progress: &dyn Progress,
) -> Result<BundlePackages, Trouble> {
    let unique: Vec<&Deb> = resolved.unique().collect();
    for some in unique.chunks(AT_ONCE) {
        let fetches = some.iter().map(|deb| fetch_one(client, folder, (item, deb), blobs, progress));
        futures_util::future::try_join_all(fetches).await?;
    }
    let path = BundlePackages::path_of(&item.distribution, &item.architecture);
    let (size, sha256) = write(folder, &folder.join(&path), resolved).await.map_err(|trouble| trouble.while_fetching(&item.title()))?;
    let package = |deb: &Deb| BundlePackage {
        name: deb.name.clone(),
        version: deb.version.clone(),
        path: deb.path.clone(),
        size: deb.size,
        sha256: deb.sha256.clone(),
    };
    Ok(BundlePackages {
        distribution: item.distribution.clone(),
        architecture: item.architecture.clone(),
        path,
        size,
        sha256,
        names: item.packages.clone(),
        suites: resolved.suites.clone(),
        packages: resolved.debs.iter().map(package).collect(),
    })
}

async fn fetch_one(
    client: &Client,
    folder: &Path,
    (item, deb): (&PackagesItem, &Deb),
    blobs: &Blobs,
    progress: &dyn Progress,
) -> Result<(), Trouble> {
    // Packages for all architectures are the same for each.
    let turn = blobs.turn(&deb.sha256);
    let _turn = turn.lock().await;
    let file = blob(folder, &deb.sha256);
    if file.exists() {
        progress.came(deb.size);
        return Ok(());
    }
    let below = |archive: &&ArchiveSource| deb.path.strip_prefix(archive.folder()).is_some_and(|rest| rest.starts_with('/'));
    let archive = item.archives.iter().find(below);
    let scheme = archive.and_then(|archive| archive.address.strip_suffix(archive.folder())).unwrap_or("https://");
    let address = client.mirrors.address(&format!("{scheme}{}", deb.path));
    let fetched = fetch_to(client, &address, &file, &deb.sha256, progress).await;
    fetched.map(|_| ()).map_err(|trouble| trouble.while_fetching(&format!("package {} {} of {}", deb.name, deb.version, item.distribution)))
}

/// Puts lists and packages into a tar, which has its name when it is whole. Returns its length and its sha256.
async fn write(folder: &Path, path: &Path, resolved: &ResolvedPackages) -> Result<(u64, String), Trouble> {
    folder_of(path)?;
    let debs = resolved.debs.iter().map(|deb| (deb.path.clone(), deb.sha256.clone()));
    let files: BTreeMap<String, PathBuf> =
        resolved.lists.iter().cloned().chain(debs).map(|(path, sha256)| (path, blob(folder, &sha256))).collect();
    let (signed, to) = (resolved.signed.clone(), path.to_owned());
    let written = spawn_blocking(move || write_tar(&signed, &files, &to)).await;
    written.map_err(|error| Trouble::of_program(&error.to_string()))?.map_err(|error| Trouble::of_disk(path, &error))
}

fn write_tar(signed: &[(String, String)], files: &BTreeMap<String, PathBuf>, path: &Path) -> io::Result<(u64, String)> {
    let part = part(path);
    let mut archive = Builder::new(layout::Hashing::new(BufWriter::with_capacity(1 << 16, File::create(&part)?)));
    for (inside, text) in signed {
        layout::append(&mut archive, inside, text.len() as u64, text.as_bytes())?;
    }
    for (inside, file) in files {
        let file = File::open(file)?;
        let size = file.metadata()?.len();
        layout::append(&mut archive, inside, size, file)?;
    }
    let (file, size, sum) = archive.into_inner()?.finish()?;
    file.sync_data()?;
    std::fs::rename(&part, path)?;
    Ok((size, sum))
}
