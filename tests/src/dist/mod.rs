//! What a release of kokctl consists of, out of a program that is built: archive, Debian package, completions, man pages, licences, SBOM, sums.
//!
//! The same program and the same lock make the same bytes.

mod crates;
mod deb;
mod licences;
mod sbom;
mod tree;

use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::{Compression, GzBuilder};
use tempfile::TempDir;

use crate::release::digest::sha256_file;
use crate::release::elf::is_dynamic;
use tree::Tree;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What is packed, and how it is called.
#[derive(Debug)]
pub struct DistOptions {
    /// The program, which needs no loader.
    pub program: PathBuf,
    /// The folder of the project's sources, with its `Cargo.lock`.
    pub sources: PathBuf,
    /// Where the files go; what a former run left there is replaced.
    pub output: PathBuf,
    /// Its architecture, as Debian and Go spell it.
    pub architecture: String,
    /// What it was compiled for, as Rust spells it.
    pub target: String,
    /// When the sources were made, in seconds since 1970: every time that stands in a file.
    pub epoch: u64,
}

/// Makes the files and returns their paths, the sums last.
///
/// # Errors
/// If the program needs a loader, or does not run here; if a crate has no licence; if a file can't be written.
pub fn pack(options: &DistOptions) -> Result<Vec<PathBuf>> {
    if is_dynamic(File::open(&options.program)?)? {
        return Err(format!("{} asks for a dynamic loader, which a user's machine may have otherwise", options.program.display()).into());
    }
    let version = version(&options.program)?;
    let name = format!("kokctl-{version}-linux-{}", options.architecture);
    let crates = crates::of_program(&options.sources, &options.target)?;
    let work = TempDir::new()?;
    let tree = whole(options, &crates, &version, work.path())?;
    fs::create_dir_all(&options.output)?;
    let file = |name: String| options.output.join(name);
    let archive = file(format!("{name}.tar.gz"));
    tar_gz(&tree, &name, &archive)?;
    let package = file(format!("kokctl_{version}_{}.deb", options.architecture));
    deb::write(&tree, &version, &options.architecture, options.epoch, &package)?;
    let list = file(format!("{name}.spdx.json"));
    fs::copy(tree.source(sbom::NAME).ok_or("there is no SBOM")?, &list)?;
    let mut made = vec![archive, package, list];
    let sums = file("SHA256SUMS".to_owned());
    fs::write(&sums, sums_of(&made)?)?;
    made.push(sums);
    Ok(made)
}

/// As it says itself.
fn version(program: &Path) -> Result<String> {
    let output = Command::new(program).arg("--version").output()?;
    let text = String::from_utf8(output.stdout)?;
    text.trim().strip_prefix("kokctl ").map(str::to_owned).ok_or_else(|| format!("{} says {text:?}", program.display()).into())
}

/// Everything that comes into the archive.
fn whole(options: &DistOptions, crates: &[crates::Crate], version: &str, work: &Path) -> Result<Tree> {
    let mut tree = Tree::default();
    tree.add_program("kokctl", &options.program);
    tree.add_file("LICENSE", &options.sources.join("LICENSE"));
    tree.add_text(work, licences::NAME, &licences::text(crates)?)?;
    tree.add_text(work, sbom::NAME, &sbom::text(crates, version, options.epoch)?)?;
    for (shell, file) in [("bash", "kokctl"), ("zsh", "_kokctl"), ("fish", "kokctl.fish")] {
        let output = Command::new(&options.program).args(["completions", shell]).output()?;
        tree.add_text(work, &format!("completions/{shell}/{file}"), &String::from_utf8(output.stdout)?)?;
    }
    let pages = work.join("pages");
    let output = Command::new(&options.program).arg("man").arg(&pages).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    for page in fs::read_dir(&pages)? {
        let page = page?.path();
        let name = page.file_name().and_then(|name| name.to_str()).ok_or("a page without a name")?.to_owned();
        tree.add_file(&format!("man/man1/{name}"), &page);
    }
    Ok(tree)
}

fn tar_gz(tree: &Tree, top: &str, to: &Path) -> Result<()> {
    let gzip = GzBuilder::new().mtime(0).write(File::create(to)?, Compression::best());
    tree.write_tar(top, gzip)?.finish()?;
    Ok(())
}

/// As `sha256sum --check` reads them.
fn sums_of(files: &[PathBuf]) -> Result<String> {
    let line = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        Ok(format!("{}  {name}\n", sha256_file(path)?.1))
    };
    files.iter().map(line).collect()
}

#[cfg(test)]
mod tests;
