//! The whole builder on one small component of each kind. It needs Go and compiles Go's library twice, so it runs only when asked:
//! `cargo test -p kok-tests --test suites -- release_build:: --ignored`.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kok_tests::release::paths;
use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

/// A cache and an output of their own, and descriptions that hold `pause` alone.
struct Place {
    root: TempDir,
}

impl Place {
    /// With the compiled packages of all other builds, so that Go's library needn't be compiled again.
    fn new() -> Self {
        let place = Self::fresh();
        let build_cache = paths::build_cache().unwrap();
        fs::create_dir_all(&build_cache).unwrap();
        fs::create_dir_all(place.path("xdg/kok")).unwrap();
        symlink(build_cache, place.path("xdg/kok/go-build")).unwrap();
        place
    }

    /// With nothing compiled yet.
    fn fresh() -> Self {
        Self::with_recipe("pause/3.10.2")
    }

    fn with_recipe(component: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("release").join(component);
        let to = root.path().join("recipes").join(component);
        fs::create_dir_all(&to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
        Self { root }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_release"));
        command.env("XDG_CACHE_HOME", self.path("xdg")).stdout(Stdio::null()).stderr(Stdio::piped());
        command.arg("build").arg("--recipes").arg(self.path("recipes"));
        command.arg("--output").arg(self.path("bundle"));
        command
    }

    fn build(&self) -> String {
        stderr_of_success(&self.command().output().unwrap())
    }

    fn index(&self) -> Option<String> {
        fs::read_to_string(self.path("bundle/bundle.json")).ok()
    }

    fn components(&self) -> usize {
        fs::read_dir(self.path("xdg/kok/release/components")).unwrap().count()
    }
}

fn stderr_of_success(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

#[test]
#[ignore = "needs Go"]
fn the_same_sources_give_the_same_bytes_with_other_caches_and_settings() {
    let (one, other) = (Place::new(), Place::fresh());
    assert!(one.build().contains("1 of 1 components built"));
    let mut command = other.command();
    command.env("GOFLAGS", "-race -tags=other").env("GOAMD64", "v3").env("CGO_ENABLED", "1").env("GOOS", "plan9");
    stderr_of_success(&command.output().unwrap());
    assert_eq!(one.index().unwrap(), other.index().unwrap());
}

#[test]
#[ignore = "downloads packages"]
fn packages_give_the_same_image_each_time_and_are_not_unpacked_again() {
    let (one, other) = (Place::with_recipe("haproxy/debian"), Place::with_recipe("haproxy/debian"));
    let said = one.build();
    assert!(said.contains("1 of 1 components built") && !said.contains("haproxy debian"), "{said}");
    other.build();
    let index = one.index().unwrap();
    assert_eq!(index, other.index().unwrap());
    assert!(index.contains("\"ghcr.io/kokctl/haproxy:2."), "the tag is the package's version: {index}");
    assert!(one.build().contains("0 of 1 components built"));
}

#[test]
#[ignore = "downloads packages"]
fn a_library_that_no_package_of_the_component_has_is_told() {
    let place = Place::with_recipe("haproxy/debian");
    let recipe = place.path("recipes/haproxy/debian/component.yaml");
    let text = fs::read_to_string(&recipe).unwrap();
    fs::write(&recipe, text.replace("    - libsystemd0\n", "")).unwrap();
    let output = place.command().output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("libsystemd.so.0"), "{said}");
    assert!(place.index().is_none());
}

#[test]
#[ignore = "needs Go"]
fn what_is_unchanged_is_not_built_again_and_what_changed_is() {
    let place = Place::new();
    place.build();
    let before = place.index();
    let again = place.build();
    assert!(again.contains("0 of 1 components built") && again.contains("bundle unchanged"), "{again}");
    let source = place.path("recipes/pause/3.10.2/main.go");
    let text = fs::read_to_string(&source).unwrap();
    fs::write(&source, text.replace("make(chan os.Signal, 16)", "make(chan os.Signal, 17)")).unwrap();
    assert!(place.build().contains("1 of 1 components built"));
    assert_ne!(place.index(), before);
    fs::write(&source, text).unwrap();
    assert!(place.build().contains("0 of 1 components built"), "the former one is still in the cache");
    assert_eq!(place.index(), before);
}

#[test]
#[ignore = "needs Go"]
fn a_damaged_cache_is_built_again() {
    let place = Place::new();
    place.build();
    let before = place.index();
    let folder = fs::read_dir(place.path("xdg/kok/release/components")).unwrap().next().unwrap().unwrap().path();
    let image = folder.join("images/registry.k8s.io/pause/3.10.2-linux-amd64.tar");
    let size = fs::metadata(&image).unwrap().len();
    File::options().write(true).open(&image).unwrap().set_len(size - 1).unwrap();
    let again = place.build();
    assert!(again.contains("is damaged") && again.contains("1 of 1 components built"), "{again}");
    assert_eq!(place.index(), before);
}

#[test]
#[ignore = "needs Go"]
fn a_builder_that_is_killed_leaves_nothing_half_and_takes_go_with_it() {
    let place = Place::fresh();
    let mut builder = place.command().spawn().unwrap();
    let mut lines = BufReader::new(builder.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().ends_with("building")));
    // Go has begun to compile when there is something in its cache.
    let go_cache = place.path("xdg/kok/go-build");
    wait("go to begin", || fs::read_dir(&go_cache).is_ok_and(|entries| entries.count() > 3));
    builder.kill().unwrap();
    builder.wait().unwrap();
    assert_eq!((place.components(), place.index()), (0, None));
    let marker = place.root.path().to_str().unwrap().to_owned();
    wait("go to end", || !any_process_with(&marker));
    assert!(place.build().contains("1 of 1 components built"));
    assert_eq!(place.components(), 1);
    assert!(place.index().is_some());
}

#[test]
#[ignore = "needs Go"]
fn a_second_builder_says_that_it_waits_and_then_works() {
    let place = Place::new();
    fs::create_dir_all(place.path("xdg/kok/release")).unwrap();
    let lock = File::create(place.path("xdg/kok/release/lock")).unwrap();
    fs::write(place.path("xdg/kok/release/lock"), "4711\n").unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let mut builder = place.command().spawn().unwrap();
    let mut lines = BufReader::new(builder.stderr.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.contains("process 4711") && first.contains("waiting"), "{first}");
    assert_eq!(place.index(), None);
    drop(lock);
    assert!(lines.any(|line| line.unwrap().contains("1 of 1 components built")));
    assert!(builder.wait().unwrap().success());
}

fn wait(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "waited for {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a process other than this one has the text among its arguments.
fn any_process_with(text: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes.filter(|entry| entry.file_name().to_string_lossy().chars().all(|c| c.is_ascii_digit())).any(|entry| {
        let arguments = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(text)
    })
}
