//! Building a component's binaries with Go.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use super::error::{ReleaseError, Result};
use super::progress::Progress;
use super::recipe::GoRecipe;
use super::source::Component;
use super::toolchain::{self, Toolchain};

/// Enough of a failed build's output to see the cause.
const OUTPUT_LINES: usize = 40;

/// A Go toolchain that has been checked.
pub struct Go(Toolchain);

impl Go {
    /// Finds Go on PATH or in `/usr/local/go/bin` and checks that it is new enough for every component. Compiled packages are
    /// kept in `build_cache`, modules in Go's own module cache.
    ///
    /// # Errors
    /// [`ReleaseError::GoMissing`] and [`ReleaseError::GoTooOld`].
    pub fn find(components: &[Component], build_cache: &Path, architecture: &str) -> Result<Self> {
        Toolchain::find(&toolchain::folders(), components, build_cache, architecture).map(Self)
    }

    /// What Go says about itself: `go1.26.8`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.0.version
    }

    /// Builds the component's binaries into the folder, under the names that its description gives them.
    ///
    /// # Errors
    /// When Go fails: the end of its output is in the error.
    pub fn build(&self, component: &Component, to: &Path, progress: &mut Progress) -> Result<()> {
        let compiled = to.join("compiled");
        fs::create_dir_all(&compiled).map_err(ReleaseError::io("create", &compiled))?;
        let recipe = &component.recipe.go;
        let mut child = self.spawn(component, &compiled)?;
        let (count, tail) = watch(&mut child, progress);
        let status = child.wait().map_err(ReleaseError::io("wait for", &self.0.program))?;
        if !status.success() {
            let what = format!("go build of {} in {}", component.label(), component.folder.display());
            return Err(ReleaseError::Command { what, status: status.to_string(), output: tail });
        }
        progress.alive(&format!("{count} packages compiled, packing"));
        for (name, package) in &recipe.binaries {
            let (from, target) = (compiled.join(executable_name(package)), to.join(name));
            fs::rename(&from, &target).map_err(ReleaseError::io("rename", &from))?;
        }
        fs::remove_dir(&compiled).map_err(ReleaseError::io("remove", &compiled))
    }

    fn spawn(&self, component: &Component, output: &Path) -> Result<Child> {
        let recipe = &component.recipe.go;
        let mut destination = output.as_os_str().to_owned();
        destination.push("/");
        // Go would go on for minutes when this program is killed.
        Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--"])
            .arg(&self.0.program)
            .args(["build", "-v", "-mod=readonly", "-trimpath", "-buildvcs=false", "-tags"])
            .arg(recipe.tags.join(","))
            .args(["-ldflags", &linker_options(recipe), "-o"])
            .arg(destination)
            .args(recipe.binaries.values())
            .current_dir(&component.folder)
            .env_clear()
            .envs(&self.0.environment)
            .env("CGO_ENABLED", if recipe.cgo { "1" } else { "0" })
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(ReleaseError::io("start (by setpriv)", &self.0.program))
    }
}

/// No symbols and no debugging information, as upstream's binaries; no build id, which would differ with the cache's path.
fn linker_options(recipe: &GoRecipe) -> String {
    let mut options = vec!["-s -w -buildid=".to_owned()];
    if recipe.cgo {
        options.push("-linkmode external -extldflags -static".to_owned());
    }
    options.extend(recipe.define.iter().map(|(name, value)| format!("-X {name}={value}")));
    options.join(" ")
}

/// The file that `go build` makes of a package: the last part of its path that isn't a major version (`go help build`).
#[must_use]
pub fn executable_name(package: &str) -> &str {
    let is_major =
        |part: &str| part.strip_prefix('v').is_some_and(|digits| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit()));
    package.rsplit('/').find(|part| !is_major(part)).unwrap_or(package)
}

/// Follows Go's output until it ends. Returns the number of packages compiled and the last other lines.
fn watch(child: &mut Child, progress: &mut Progress) -> (usize, String) {
    let lines = lines_of(child);
    let (mut count, mut now) = (0, String::from("looking for what has changed"));
    let mut tail = VecDeque::new();
    loop {
        match lines.recv_timeout(Duration::from_secs(1)) {
            Ok(line) if is_package(&line) => {
                count += 1;
                now = line;
            }
            Ok(line) => {
                if let Some(module) = line.strip_prefix("go: downloading ") {
                    now = format!("downloading {module}");
                }
                if tail.len() == OUTPUT_LINES {
                    tail.pop_front();
                }
                tail.push_back(line);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        progress.alive(&format!("{count} packages compiled, {now}"));
    }
    (count, Vec::from(tail).join("\n"))
}

fn lines_of(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = channel();
    if let Some(output) = child.stderr.take() {
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(std::result::Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
    }
    receiver
}

/// `go build -v` prints the import path of each package that it compiles, and nothing else on that line.
fn is_package(line: &str) -> bool {
    !line.is_empty() && !line.contains(' ') && !line.contains(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executables_are_named_as_go_names_them() {
        assert_eq!(executable_name("go.etcd.io/etcd/server/v3"), "server");
        assert_eq!(executable_name("github.com/opencontainers/runc"), "runc");
        assert_eq!(executable_name("example.org/vlan"), "vlan");
    }

    #[test]
    fn only_bare_import_paths_count_as_packages() {
        assert!(is_package("k8s.io/api/core/v1"));
        assert!(!is_package("go: downloading k8s.io/api v0.37.1"));
        assert!(!is_package("# runtime/cgo"));
        assert!(!is_package("main.go:3:4:"));
    }
}
