//! Makes one component: builds its binaries and packs its files and images.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use kok_tasks::bundle::{BundleFile, BundleImage};

use super::cache::CachedComponent;
use super::debian::Deb;
use super::digest::{HashWriter, sha256_file};
use super::error::{ReleaseError, Result};
use super::golang::Go;
use super::oci::{ImageSpec, write_image};
use super::progress::Progress;
use super::recipe::{FileRecipe, ImageRecipe, split_reference};
use super::rootfs::Rootfs;
use super::source::Component;
use super::{archive, debian, elf, kubeadm};

/// Files of this machine by the program that needs them, with their SHA-256: the program itself and its libraries.
pub type HostFiles = BTreeMap<String, Vec<(String, String)>>;

/// Where and for what a component is made.
pub struct Making<'a> {
    /// The component.
    pub component: &'a Component,
    /// Its key.
    pub key: &'a str,
    /// The architecture that is built for.
    pub architecture: &'a str,
    /// Programs that go into images.
    pub host_files: &'a HostFiles,
    /// Packages that are unpacked for images.
    pub debs: &'a [Deb],
    /// Where binaries and layers stand meanwhile.
    pub work: &'a Path,
    /// Where the component's files and images come to stand.
    pub to: &'a Path,
}

impl Making<'_> {
    /// Builds and packs.
    ///
    /// # Errors
    /// When Go or apt fails, a binary is not static, or a file can't be read or written.
    pub fn run(&self, go: &Go, progress: &mut Progress) -> Result<CachedComponent> {
        let binaries = self.work.join("bin");
        let recipe = &self.component.recipe;
        if !recipe.go.binaries.is_empty() {
            go.build(self.component, &binaries, progress)?;
        }
        for name in recipe.go.binaries.keys() {
            self.check_static(&binaries.join(name))?;
        }
        let rootfs = self.unpack(progress)?;
        let files = recipe.files.iter().map(|file| self.file(file, &binaries)).collect::<Result<_>>()?;
        let images = recipe.images.iter().map(|image| self.image(image, &binaries, rootfs.as_ref())).collect::<Result<_>>()?;
        let kubernetes = match &recipe.kubernetes_release {
            Some(release) => Some(kubeadm::release_images(&binaries.join(&release.kubeadm), &self.component.version, self.work)?),
            None => None,
        };
        Ok(CachedComponent { key: self.key.to_owned(), files, images, kubernetes })
    }

    fn unpack(&self, progress: &mut Progress) -> Result<Option<Rootfs>> {
        if self.debs.is_empty() {
            return Ok(None);
        }
        progress.alive(&format!("downloading {} packages", self.debs.len()));
        let archives = debian::download(self.debs, &self.work.join("debs"))?;
        Rootfs::unpack(&archives, &self.work.join("rootfs")).map(Some)
    }

    fn check_static(&self, binary: &Path) -> Result<()> {
        let file = File::open(binary).map_err(ReleaseError::io("open", binary))?;
        if elf::is_dynamic(file).map_err(ReleaseError::io("read", binary))? {
            let name = binary.file_name().unwrap_or_default().to_string_lossy();
            return Err(ReleaseError::Dynamic { what: format!("{name} of {}", self.component.label()) });
        }
        Ok(())
    }

    fn file(&self, recipe: &FileRecipe, binaries: &Path) -> Result<BundleFile> {
        let path = format!("files/{}", recipe.path);
        let target = self.target(&path)?;
        let contents = match (&recipe.binary, &recipe.archive) {
            (Some(binary), _) => {
                let source = binaries.join(binary);
                // The binary may go into an image too; both stay the same file on disk as neither is written to again.
                fs::hard_link(&source, &target).map_err(ReleaseError::io("link", &source))?;
                fs::set_permissions(&target, Permissions::from_mode(0o755)).map_err(ReleaseError::io("change", &target))?;
                Vec::new()
            }
            (None, archive) => {
                let entries = archive.iter().flatten().map(|(path, binary)| (path.clone(), binaries.join(binary))).collect();
                let file = File::create(&target).map_err(ReleaseError::io("create", &target))?;
                let mut writer = HashWriter::new(BufWriter::new(file));
                let contents = archive::write_tar_gz(&entries, &mut writer)?;
                writer.flush().map_err(ReleaseError::io("write", &target))?;
                contents
            }
        };
        let (size, sha256) = sha256_file(&target)?;
        let (name, version) = (recipe.name.clone(), self.component.version.clone());
        Ok(BundleFile { name, version, architecture: self.architecture.to_owned(), path, size, sha256, contents })
    }

    fn image(&self, recipe: &ImageRecipe, binaries: &Path, rootfs: Option<&Rootfs>) -> Result<BundleImage> {
        // The description was checked when it was read, so there is a tag.
        let (repository, tag) = split_reference(&recipe.reference).unwrap_or((&recipe.reference, "latest"));
        let path = format!("images/{repository}/{tag}-linux-{}.tar", self.architecture);
        let target = self.target(&path)?;
        let spec = ImageSpec {
            reference: &recipe.reference,
            architecture: self.architecture,
            files: self.image_files(recipe, binaries, rootfs)?,
            user: recipe.user.as_deref(),
            entrypoint: &recipe.entrypoint,
            stop_signal: recipe.stop_signal.as_deref(),
        };
        let manifest_digest = write_image(&spec, self.work, &target)?;
        let (size, sha256) = sha256_file(&target)?;
        Ok(BundleImage {
            name: recipe.name.clone(),
            version: tag.strip_prefix('v').unwrap_or(tag).to_owned(),
            architecture: self.architecture.to_owned(),
            path,
            size,
            sha256,
            reference: recipe.reference.clone(),
            manifest_digest,
            lacks: recipe.lacks.clone(),
        })
    }

    fn image_files(&self, recipe: &ImageRecipe, binaries: &Path, rootfs: Option<&Rootfs>) -> Result<BTreeMap<String, PathBuf>> {
        let inside = |path: &str| path.trim_start_matches('/').to_owned();
        let mut files: BTreeMap<String, PathBuf> =
            recipe.contents.iter().map(|(path, binary)| (inside(path), binaries.join(binary))).collect();
        for (path, _) in recipe.host_programs.iter().filter_map(|program| self.host_files.get(program)).flatten() {
            files.insert(inside(path), PathBuf::from(path));
        }
        if let Some(rootfs) = rootfs.filter(|_| !recipe.package_programs.is_empty()) {
            for program in &recipe.package_programs {
                files.extend(rootfs.program(program)?);
            }
            files.extend(rootfs.licences()?);
        }
        Ok(files)
    }

    fn target(&self, path: &str) -> Result<PathBuf> {
        let target = self.to.join(path);
        let folder = target.parent().unwrap_or(self.to);
        fs::create_dir_all(folder).map_err(ReleaseError::io("create", folder))?;
        Ok(target)
    }
}
