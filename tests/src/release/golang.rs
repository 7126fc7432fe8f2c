//! The Go toolchain: finding it, and building a component's binaries so that nothing of the user's settings reaches the bytes.

use std::collections::{BTreeMap, VecDeque};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use super::error::{ReleaseError, Result};
use super::host::PROGRAM_FOLDERS;
use super::progress::Progress;
use super::recipe::GoRecipe;
use super::source::Component;

/// The lowest Go that builds the oldest component here; a component's `go.mod` may ask for a newer one.
const LOWEST_GO: &str = "1.26";

/// Settings of the user that say where modules come from. They can't change bytes, as `go.sum` stands beside each `go.mod`.
const MODULE_SETTINGS: [&str; 10] = [
    "GOPATH",
    "GOMODCACHE",
    "GOPROXY",
    "GONOPROXY",
    "GOPRIVATE",
    "GOSUMDB",
    "GONOSUMDB",
    "GOINSECURE",
    "GOVCS",
    "GOAUTH",
];

/// Variables that Go and git need to reach the network and their folders.
const PASSED_ON: [&str; 14] = [
    "HOME",
    "TMPDIR",
    "NETRC",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
];

/// Enough of a failed build's output to see the cause.
const OUTPUT_LINES: usize = 40;

/// A Go toolchain that has been checked.
pub struct Go {
    program: PathBuf,
    version: String,
    environment: BTreeMap<String, OsString>,
}

impl Go {
    /// Finds Go on PATH or in `/usr/local/go/bin` and checks that it is new enough for every component. Compiled packages are
    /// kept in `build_cache`, modules in Go's own module cache.
    ///
    /// # Errors
    /// [`ReleaseError::GoMissing`] and [`ReleaseError::GoTooOld`].
    pub fn find(components: &[Component], build_cache: &Path, architecture: &str) -> Result<Self> {
        let program = find_program().ok_or_else(|| ReleaseError::GoMissing {
            required: LOWEST_GO.to_owned(),
        })?;
        let settings = ask(&program)?;
        let version = settings.get("GOVERSION").cloned().unwrap_or_default();
        check_version(&program, &version, components)?;
        let environment = environment(&settings, &program, build_cache, architecture);
        Ok(Self {
            program,
            version,
            environment,
        })
    }

    /// What Go says about itself: `go1.26.8`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
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
        let status = child
            .wait()
            .map_err(ReleaseError::io("wait for", &self.program))?;
        if !status.success() {
            let what = format!(
                "go build of {} in {}",
                component.label(),
                component.folder.display()
            );
            return Err(ReleaseError::Command {
                what,
                status: status.to_string(),
                output: tail,
            });
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
            .arg(&self.program)
            .args([
                "build",
                "-v",
                "-mod=readonly",
                "-trimpath",
                "-buildvcs=false",
                "-tags",
            ])
            .arg(recipe.tags.join(","))
            .args(["-ldflags", &linker_options(recipe), "-o"])
            .arg(destination)
            .args(recipe.binaries.values())
            .current_dir(&component.folder)
            .env_clear()
            .envs(&self.environment)
            .env("CGO_ENABLED", if recipe.cgo { "1" } else { "0" })
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(ReleaseError::io("start (by setpriv)", &self.program))
    }
}

fn find_program() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders
        .chain([PathBuf::from("/usr/local/go/bin")])
        .map(|folder| folder.join("go"))
        .find(|file| file.is_file())
}

/// The user's settings, from their environment and from `go env -w`.
fn ask(program: &Path) -> Result<BTreeMap<String, String>> {
    let output = Command::new(program)
        .args(["env", "-json", "GOVERSION"])
        .args(MODULE_SETTINGS)
        // Neither a go.mod around here nor a setting may make another toolchain answer.
        .env("GOTOOLCHAIN", "local")
        .current_dir("/")
        .output()
        .map_err(ReleaseError::io("run", program))?;
    serde_json::from_slice(&output.stdout).map_err(|_| ReleaseError::Command {
        what: format!("{} env", program.display()),
        status: output.status.to_string(),
        output: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

fn check_version(program: &Path, found: &str, components: &[Component]) -> Result<()> {
    let lowest = (
        parse_version(LOWEST_GO),
        "the release".to_owned(),
        LOWEST_GO.to_owned(),
    );
    let wanted = components.iter().map(|component| {
        (
            parse_version(&component.go_version),
            component.label(),
            component.go_version.clone(),
        )
    });
    for (required, needed_by, text) in wanted.chain([lowest]) {
        if parse_version(found) < required {
            return Err(ReleaseError::GoTooOld {
                needed_by,
                required: text,
                program: program.to_path_buf(),
                found: found.to_owned(),
            });
        }
    }
    Ok(())
}

/// The numbers of `go1.26.8`, `1.26` or `go1.27rc1`; zeros where there are none.
fn parse_version(text: &str) -> [u32; 3] {
    let text = text.strip_prefix("go").unwrap_or(text);
    let number = |part: &str| {
        part.split(|c: char| !c.is_ascii_digit())
            .next()
            .and_then(|digits| digits.parse().ok())
            .unwrap_or(0)
    };
    let mut parts = text.split('.').map(number);
    std::array::from_fn(|_| parts.next().unwrap_or(0))
}

fn environment(
    settings: &BTreeMap<String, String>,
    program: &Path,
    build_cache: &Path,
    architecture: &str,
) -> BTreeMap<String, OsString> {
    let mut environment: BTreeMap<String, OsString> = PASSED_ON
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), env::var_os(name)?)))
        .collect();
    for name in MODULE_SETTINGS {
        if let Some(value) = settings.get(name).filter(|value| !value.is_empty()) {
            environment.insert(name.to_owned(), value.into());
        }
    }
    let mut path = program
        .parent()
        .map(|folder| folder.as_os_str().to_owned())
        .unwrap_or_default();
    for folder in PROGRAM_FOLDERS {
        path.push(":");
        path.push(folder);
    }
    environment.insert("PATH".to_owned(), path);
    environment.insert("GOCACHE".to_owned(), build_cache.as_os_str().to_owned());
    // GOENV=off: what `go env -w` has stored doesn't count. The rest are Go's own defaults, said so that nothing else does.
    let fixed = [
        ("GOENV", "off"),
        ("GOFLAGS", ""),
        ("GOTOOLCHAIN", "local"),
        ("GOWORK", "off"),
        ("GO111MODULE", "on"),
        ("GOEXPERIMENT", ""),
        ("GODEBUG", ""),
        ("GOOS", "linux"),
        ("GOARCH", architecture),
        ("GOAMD64", "v1"),
        ("GOARM64", "v8.0"),
        ("GOFIPS140", "off"),
        ("CC", "gcc"),
        ("CXX", "g++"),
        ("LC_ALL", "C"),
    ];
    environment.extend(fixed.map(|(name, value)| (name.to_owned(), value.into())));
    environment
}

/// No symbols and no debugging information, as upstream's binaries; no build id, which would differ with the cache's path.
fn linker_options(recipe: &GoRecipe) -> String {
    let mut options = vec!["-s -w -buildid=".to_owned()];
    if recipe.cgo {
        options.push("-linkmode external -extldflags -static".to_owned());
    }
    options.extend(
        recipe
            .define
            .iter()
            .map(|(name, value)| format!("-X {name}={value}")),
    );
    options.join(" ")
}

/// The file that `go build` makes of a package: the last part of its path that isn't a major version (`go help build`).
#[must_use]
pub fn executable_name(package: &str) -> &str {
    let is_major = |part: &str| {
        part.strip_prefix('v')
            .is_some_and(|digits| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit()))
    };
    package
        .rsplit('/')
        .find(|part| !is_major(part))
        .unwrap_or(package)
}

/// Follows Go's output until it ends. Returns the number of packages compiled and the last other lines.
fn watch(child: &mut Child, progress: &mut Progress) -> (usize, String) {
    let lines = lines_of(child);
    let (mut count, mut now) = (0, String::from("starting"));
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
            for line in BufReader::new(output)
                .lines()
                .map_while(std::result::Result::ok)
            {
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
    fn versions_compare_by_number() {
        assert!(parse_version("go1.26.8") >= parse_version("1.26"));
        assert!(parse_version("go1.26.10") > parse_version("1.26.8"));
        assert!(parse_version("go1.9") < parse_version("1.26"));
        assert!(parse_version("go1.27rc1 X:nodwarf5") > parse_version("1.26.8"));
        assert_eq!(parse_version("devel +abc"), [0, 0, 0]);
    }

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
