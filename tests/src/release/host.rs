//! What a build takes from this machine besides Go: Debian packages and, for some images, programs with their libraries.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::digest::sha256_file;
use super::error::{ReleaseError, Result};

/// The folders of a Debian system's programs. Not the user's PATH, which may hold something else under the same name.
pub const PROGRAM_FOLDERS: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Versions of the installed Debian packages, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Packages(BTreeMap<String, String>);

impl Packages {
    /// Asks dpkg for the packages that the requirements name. Packages that aren't installed are left out.
    ///
    /// # Errors
    /// When dpkg-query can't be run: this is neither Debian nor one of its relatives.
    pub fn query<'a>(requirements: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let names: BTreeSet<&str> = requirements.into_iter().flat_map(alternatives).collect();
        if names.is_empty() {
            return Ok(Self::default());
        }
        // dpkg-query ends with status 1 when it doesn't know one of them, and still prints the others.
        let output = Command::new("dpkg-query")
            .env_clear()
            .args(["--show", "--showformat=${db:Status-Status} ${Package} ${Version}\\n"])
            .args(&names)
            .output()
            .map_err(|source| ReleaseError::HostProgram {
                program: "dpkg-query".to_owned(),
                message: format!("{source}. Parts of the release are built with Debian's packages: build it on Debian or Ubuntu"),
            })?;
        Ok(Self::parse(&String::from_utf8_lossy(&output.stdout)))
    }

    fn parse(text: &str) -> Self {
        let installed = text.lines().filter_map(|line| line.strip_prefix("installed ")?.split_once(' '));
        Self(installed.map(|(name, version)| (name.to_owned(), version.to_owned())).collect())
    }

    /// Name and version of the first installed alternative of each requirement, or the first alternatives of what is missing.
    ///
    /// # Errors
    /// The names of the packages that have to be installed.
    pub fn select(&self, requirements: &[String]) -> std::result::Result<Vec<(String, String)>, Vec<String>> {
        let mut found = Vec::new();
        let mut missing = Vec::new();
        for requirement in requirements {
            match alternatives(requirement).find_map(|name| self.0.get_key_value(name)) {
                Some((name, version)) => found.push((name.clone(), version.clone())),
                None => missing.extend(alternatives(requirement).next().map(str::to_owned)),
            }
        }
        if missing.is_empty() { Ok(found) } else { Err(missing) }
    }
}

fn alternatives(requirement: &str) -> impl Iterator<Item = &str> {
    requirement.split('|').map(str::trim)
}

/// What programs read besides, with the packages that have it. Without names of protocols nft says numbers, and kube-proxy takes what it has made
/// itself for another's when it is started again: it removes every Service that was there.
const READS: [(&str, &str, &str); 1] = [("nft", "/etc/protocols", "netbase")];

fn reads(program: &str) -> Result<Vec<PathBuf>> {
    let of_program = READS.iter().filter(|(name, _, _)| *name == program);
    let there = |(_, path, package): &(&str, &str, &str)| {
        let message = || format!("it reads {path}, which is not there. Install {package}");
        let missing = || ReleaseError::HostProgram { program: program.to_owned(), message: message() };
        Some(PathBuf::from(path)).filter(|path| path.is_file()).ok_or_else(missing)
    };
    of_program.map(there).collect()
}

/// A program, what it reads, and the libraries that it is loaded with, each with its SHA-256; sorted by path. Libraries stand under the paths
/// at which the loader looks for them.
///
/// # Errors
/// When the program or one of its libraries isn't there.
pub fn with_libraries(program: &str) -> Result<Vec<(String, String)>> {
    let missing = || ReleaseError::HostProgram {
        program: program.to_owned(),
        message: format!("not found in {}. Add the package that holds it to `packages` of the component", PROGRAM_FOLDERS.join(", ")),
    };
    let path = PROGRAM_FOLDERS.iter().map(|folder| Path::new(folder).join(program)).find(|path| path.is_file()).ok_or_else(missing)?;
    let mut files = BTreeSet::from([path.clone()]);
    files.extend(libraries(&[path])?);
    // What is loaded later needs libraries of its own, such as that for mathematics.
    let extensions = extensions(&files)?;
    files.extend(libraries(&extensions)?);
    files.extend(extensions);
    files.extend(reads(program)?);
    files.into_iter().map(|path| Ok((path.display().to_string(), sha256_file(&path)?.1))).collect()
}

/// The libraries that these files are loaded with, and the loader itself, under the paths at which it looks for them.
///
/// # Errors
/// When one of them is not there.
pub fn libraries(files: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let Some(first) = files.first() else { return Ok(Vec::new()) };
    let output = Command::new("ldd").env_clear().env("LC_ALL", "C").args(files).output().map_err(ReleaseError::io("run ldd for", first))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let libraries = parse_ldd(&text).map_err(|message| ReleaseError::HostProgram { program: first.display().to_string(), message })?;
    Ok(libraries.into_iter().map(PathBuf::from).collect())
}

/// iptables loads the code for each kind of match and target when it meets it, from the folder `xtables` beside its library; `ldd` knows
/// nothing of these.
fn extensions(files: &BTreeSet<PathBuf>) -> Result<Vec<PathBuf>> {
    let is_xtables = |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libxtables.so"));
    let Some(library) = files.iter().find(is_xtables) else {
        return Ok(Vec::new());
    };
    let real = library.canonicalize().map_err(ReleaseError::io("resolve", library))?;
    let folder = real.with_file_name("xtables");
    let entries = std::fs::read_dir(&folder).map_err(ReleaseError::io("list", &folder))?;
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(ReleaseError::io("list", &folder))).collect()
}

/// The paths of the libraries in what `ldd` or the loader itself lists.
pub(super) fn parse_ldd(text: &str) -> std::result::Result<Vec<String>, String> {
    let mut libraries = Vec::new();
    for line in text.lines().map(str::trim) {
        let place = line.split_once(" => ").map_or(line, |(_, place)| place);
        if place.starts_with("not found") {
            return Err(format!("a library is missing: {line}. Reinstall its package, or add that to the component"));
        }
        // What has no path of its own is the kernel's: linux-vdso.so.1.
        if let Some((path, _)) = place.split_once(" (").filter(|(path, _)| path.starts_with('/')) {
            libraries.push(path.to_owned());
        }
    }
    Ok(libraries)
}

/// What the C compiler says about itself: the package `gcc` only names the version of the package that it points to.
///
/// # Errors
/// When gcc can't be run.
pub fn compiler_version() -> Result<String> {
    let output = Command::new("/usr/bin/gcc").env_clear().env("LC_ALL", "C").arg("--version").output();
    let output = output.map_err(ReleaseError::io("run", Path::new("/usr/bin/gcc")))?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn ldd_gives_paths_and_refuses_what_is_missing() {
        let text = "\tlinux-vdso.so.1 (0x7efe)\n\tlibmnl.so.0 => /lib/x/libmnl.so.0 (0x7ef)\n\t/lib64/ld-linux-x86-64.so.2 (0x7)\n";
        assert_eq!(parse_ldd(text).unwrap(), ["/lib/x/libmnl.so.0", "/lib64/ld-linux-x86-64.so.2"]);
        assert!(parse_ldd("\tlibmnl.so.0 => not found\n").unwrap_err().contains("libmnl.so.0"));
        assert!(parse_ldd("\tstatically linked\n").unwrap().is_empty());
    }

    #[test]
    fn what_nft_calls_protocols_by_comes_with_it() {
        assert_eq!(reads("nft").unwrap(), [PathBuf::from("/etc/protocols")]);
        assert!(reads("iptables").unwrap().is_empty());
    }

    /// As it prints several files.
    #[test]
    fn what_is_loaded_later_brings_its_own_libraries() {
        let text = "/usr/lib/xtables/libxt_comment.so:\n\tlibc.so.6 => /lib/libc.so.6 (0x7)\n\
                    /usr/lib/xtables/libxt_statistic.so:\n\tlibm.so.6 => /lib/libm.so.6 (0x7)\n";
        assert_eq!(parse_ldd(text).unwrap(), ["/lib/libc.so.6", "/lib/libm.so.6"]);
    }

    #[test]
    fn only_installed_packages_count_and_alternatives_do() {
        let packages = Packages::parse("installed gcc 4:12\nconfig-files nftables 1.0\ninstalled pkg-config 1.8\n");
        let wanted = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let found = packages.select(&wanted(&["gcc", "pkgconf | pkg-config"])).unwrap();
        assert_eq!(found, [("gcc".to_owned(), "4:12".to_owned()), ("pkg-config".to_owned(), "1.8".to_owned())]);
        assert_eq!(packages.select(&wanted(&["nftables", "a | b", "gcc"])).unwrap_err(), ["nftables", "a"]);
    }
}
