//! A folder with unpacked packages, and what one of its programs needs of it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use super::elf;
use super::error::{ReleaseError, Result};
use super::host::parse_ldd;

/// As many links as Linux itself follows (`MAXSYMLINKS`).
const LINKS: usize = 40;

/// The texts of licences that Debian's copyright files refer to.
const COMMON_LICENCES: &str = "usr/share/common-licenses";

/// The folder.
pub struct Rootfs(PathBuf);

/// Source file by path inside an image.
pub type Files = BTreeMap<String, PathBuf>;

impl Rootfs {
    /// Unpacks packages into a new folder, without running anything of them.
    ///
    /// # Errors
    /// When dpkg-deb fails.
    pub fn unpack(archives: &[PathBuf], root: &Path) -> Result<Self> {
        fs::create_dir(root).map_err(ReleaseError::io("create", root))?;
        for archive in archives {
            let run = Command::new("dpkg-deb").env("LC_ALL", "C").arg("--extract").args([archive, root]).output();
            let output = run.map_err(ReleaseError::io("run dpkg-deb for", archive))?;
            if !output.status.success() {
                return Err(ReleaseError::Command {
                    what: format!("dpkg-deb --extract {}", archive.display()),
                    status: output.status.to_string(),
                    output: String::from_utf8_lossy(&output.stderr).into_owned(),
                });
            }
        }
        Ok(Self(root.to_path_buf()))
    }

    /// A program, given by absolute path, with its loader and its libraries; at the paths where they are looked for.
    ///
    /// # Errors
    /// When one of them is in none of the packages.
    pub fn program(&self, path: &str) -> Result<Files> {
        let program = self.resolve(path)?;
        let opened = File::open(&program).map_err(ReleaseError::io("open", &program))?;
        let mut files = Files::from([(inside(path), program.clone())]);
        if let Some(interpreter) = elf::interpreter(opened).map_err(ReleaseError::io("read", &program))? {
            let loader = self.resolve(&interpreter)?;
            for library in self.libraries(&program, &loader)? {
                files.insert(inside(&library), self.resolve(&library)?);
            }
            files.insert(inside(&interpreter), loader);
        }
        Ok(files)
    }

    /// What the loader finds for a program when it looks nowhere but here; paths as in a container.
    fn libraries(&self, program: &Path, loader: &Path) -> Result<Vec<String>> {
        let refused = |message: String| ReleaseError::HostProgram { program: program.display().to_string(), message };
        let output = Command::new(loader)
            .env_clear()
            .args(["--inhibit-cache", "--library-path", &self.library_path(loader), "--list"])
            .arg(program)
            .output()
            .map_err(ReleaseError::io("run", loader))?;
        let mut libraries = Vec::new();
        for found in parse_ldd(&String::from_utf8_lossy(&output.stdout)).map_err(refused)? {
            if Path::new(&found) == loader {
                continue;
            }
            // The loader's last resort are the folders of this machine.
            let own = Path::new(&found).strip_prefix(&self.0).map_err(|_| {
                refused(format!("none of the component's packages has {found}. Add the one that has to `packages` under `debian`"))
            })?;
            libraries.push(format!("/{}", own.display()));
        }
        if libraries.is_empty() {
            return Err(refused(format!("its loader named no library: {}", String::from_utf8_lossy(&output.stderr).trim())));
        }
        Ok(libraries)
    }

    /// Debian keeps libraries in folders named after the machine's kind, below `/lib` and `/usr/lib`; the loader is in one.
    fn library_path(&self, loader: &Path) -> String {
        let kind = loader.parent().and_then(Path::file_name).unwrap_or_default();
        ["lib", "usr/lib"].map(|folder| self.0.join(folder).join(kind).display().to_string()).join(":")
    }

    /// The copyright file of each package, and the licences that these refer to.
    ///
    /// # Errors
    /// When one can't be read.
    pub fn licences(&self) -> Result<Files> {
        let mut files = Files::new();
        for (folder, name) in [(COMMON_LICENCES, ""), ("usr/share/doc", "/copyright")] {
            let path = self.0.join(folder);
            for entry in fs::read_dir(&path).map_err(ReleaseError::io("list", &path))? {
                let entry = entry.map_err(ReleaseError::io("list", &path))?.file_name();
                let licence = format!("/{folder}/{}{name}", entry.to_string_lossy());
                files.insert(inside(&licence), self.resolve(&licence)?);
            }
        }
        Ok(files)
    }

    /// Where a path of a container really is below this folder: links, absolute ones too, lead nowhere else.
    fn resolve(&self, path: &str) -> Result<PathBuf> {
        let error =
            |kind: io::ErrorKind| ReleaseError::io("find (in none of the component's packages)", &self.0.join(inside(path)))(kind.into());
        let mut left: Vec<PathBuf> = parts(Path::new(path));
        let (mut found, mut links) = (PathBuf::new(), 0);
        while let Some(part) = left.pop() {
            if part == Path::new("..") {
                found.pop();
                continue;
            }
            let next = self.0.join(&found).join(&part);
            let metadata = fs::symlink_metadata(&next).map_err(|cause| error(cause.kind()))?;
            if !metadata.is_symlink() {
                found.push(part);
                continue;
            }
            links += 1;
            if links > LINKS {
                return Err(error(io::ErrorKind::InvalidData));
            }
            let target = fs::read_link(&next).map_err(|cause| error(cause.kind()))?;
            if target.is_absolute() {
                found.clear();
            }
            left.extend(parts(&target));
        }
        Ok(self.0.join(found))
    }
}

fn inside(path: &str) -> String {
    path.trim_start_matches('/').to_owned()
}

/// The parts of a path, the last first.
fn parts(path: &Path) -> Vec<PathBuf> {
    let plain = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    plain.rev().map(|part| PathBuf::from(part.as_os_str())).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_lead_nowhere_but_into_the_folder() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        fs::create_dir_all(at("usr/lib/x")).unwrap();
        fs::write(at("usr/lib/x/ld"), "").unwrap();
        symlink("usr/lib", at("lib")).unwrap();
        symlink("/lib/x/ld", at("loader")).unwrap();
        symlink("../../../../etc/passwd", at("outside")).unwrap();
        symlink("again", at("again")).unwrap();
        let rootfs = Rootfs(root.path().to_path_buf());
        assert_eq!(rootfs.resolve("/loader").unwrap(), at("usr/lib/x/ld"));
        assert_eq!(rootfs.resolve("/lib/x/../x/ld").unwrap(), at("usr/lib/x/ld"));
        assert!(rootfs.resolve("/outside").is_err());
        assert!(rootfs.resolve("/again").is_err());
        assert!(rootfs.resolve("/absent").unwrap_err().to_string().contains("absent"));
    }

    #[test]
    fn libraries_of_this_machine_do_not_stand_in_for_missing_ones() {
        let program = std::env::current_exe().unwrap();
        let loader = elf::interpreter(File::open(&program).unwrap()).unwrap().unwrap();
        let root = tempfile::tempdir().unwrap();
        for (from, to) in [(program.as_path(), "/program"), (Path::new(&loader), loader.as_str())] {
            let to = root.path().join(inside(to));
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(from, to).unwrap();
        }
        let rootfs = Rootfs(root.path().to_path_buf());
        let error = rootfs.program("/program").unwrap_err().to_string();
        assert!(error.contains("none of the component's packages has") && error.contains("/lib"), "{error}");
        assert!(rootfs.program("/absent").is_err());
    }

    #[test]
    fn licences_are_those_of_every_package() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        for folder in [COMMON_LICENCES, "usr/share/doc/a"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        fs::write(at("usr/share/doc/a/copyright"), "a").unwrap();
        symlink("a", at("usr/share/doc/b")).unwrap();
        fs::write(at("usr/share/common-licenses/GPL-3"), "text").unwrap();
        symlink("GPL-3", at("usr/share/common-licenses/GPL")).unwrap();
        let files = Rootfs(root.path().to_path_buf()).licences().unwrap();
        let inside =
            ["usr/share/common-licenses/GPL", "usr/share/common-licenses/GPL-3", "usr/share/doc/a/copyright", "usr/share/doc/b/copyright"];
        assert_eq!(files.keys().map(String::as_str).collect::<Vec<_>>(), inside);
        fs::remove_file(at("usr/share/doc/a/copyright")).unwrap();
        assert!(Rootfs(root.path().to_path_buf()).licences().is_err(), "a package without a licence");
    }
}
