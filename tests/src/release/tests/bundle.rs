//! The cache, the bundle's folder and its verification.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;

use kok_tasks::bundle::{Bundle, BundleFile, BundleImage, FORMAT, INDEX};

use super::*;
use crate::release::archive;
use crate::release::assemble::Output;
use crate::release::cache::{Cache, CachedComponent};
use crate::release::digest::sha256_file;
use crate::release::error::ReleaseError;
use crate::release::oci::{ImageSpec, write_image};
use crate::release::progress::Progress;
use crate::release::recipe::{GoRecipe, Recipe};
use crate::release::source::Component;
use crate::release::verify::verify;

const PLAIN: &str = "files/example.org/tool";
const ARCHIVE: &str = "files/example.org/tool.tgz";
const IMAGE: &str = "images/example.org/tool/v1-linux-amd64.tar";

/// A component as if it had been built, in a folder as the cache's.
fn built(folder: &Path, key: &str) -> CachedComponent {
    for path in [PLAIN, ARCHIVE, IMAGE] {
        fs::create_dir_all(folder.join(path).parent().unwrap()).unwrap();
    }
    let work = tempfile::tempdir().unwrap();
    fs::write(folder.join(PLAIN), "plain").unwrap();
    let files = sources(work.path(), 0, &[("bin/a", "one"), ("bin/b", "two")]);
    let contents = archive::write_tar_gz(&files, File::create(folder.join(ARCHIVE)).unwrap()).unwrap();
    let reference = "example.org/tool:v1";
    let spec = ImageSpec { reference, architecture: "amd64", files, user: None, entrypoint: &["/bin/a".to_owned()], stop_signal: None };
    let manifest_digest = write_image(&spec, work.path(), &folder.join(IMAGE)).unwrap();
    let file = |name: &str, path: &str, contents| {
        let (size, sha256) = sha256_file(&folder.join(path)).unwrap();
        let (version, architecture) = ("1".to_owned(), "amd64".to_owned());
        BundleFile { name: name.to_owned(), version, architecture, path: path.to_owned(), size, sha256, contents }
    };
    let (size, sha256) = sha256_file(&folder.join(IMAGE)).unwrap();
    let image = BundleImage {
        name: "tool".to_owned(),
        version: "1".to_owned(),
        architecture: "amd64".to_owned(),
        path: IMAGE.to_owned(),
        size,
        sha256,
        reference: reference.to_owned(),
        manifest_digest,
        lacks: Vec::new(),
    };
    let files = vec![file("archive", ARCHIVE, contents), file("plain", PLAIN, Vec::new())];
    CachedComponent { key: key.to_owned(), files, images: vec![image], kubernetes: None }
}

fn bundle(component: &CachedComponent) -> Bundle {
    Bundle {
        format: FORMAT,
        kubernetes: Vec::new(),
        files: component.files.clone(),
        images: component.images.clone(),
        packages: Vec::new(),
    }
}

struct Folders {
    _root: tempfile::TempDir,
    cached: PathBuf,
    output: PathBuf,
    component: CachedComponent,
}

impl Folders {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let (cached, output) = (root.path().join("cached"), root.path().join("output"));
        let component = built(&cached, "key");
        Self { _root: root, cached, output, component }
    }

    fn assemble(&self) -> Result<bool, ReleaseError> {
        let mut output = Output::open(&self.output)?;
        output.place(&self.component, &self.cached)?;
        output.finish(&bundle(&self.component))
    }

    fn problems(&self) -> Vec<String> {
        verify(&self.output).unwrap().1
    }
}

#[test]
fn a_bundle_is_whole_and_put_together_only_when_something_changed() {
    let folders = Folders::new();
    assert!(folders.assemble().unwrap());
    assert_eq!(folders.problems(), Vec::<String>::new());
    assert!(!folders.assemble().unwrap());
}

/// Writes as many bytes as the plain file has, so that only the digest tells.
fn overwrite(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "PLAIN").unwrap();
}

#[test]
fn what_was_changed_removed_or_added_is_found_and_made_good() {
    let folders = Folders::new();
    folders.assemble().unwrap();
    let damages = [
        (PLAIN, overwrite as fn(&Path)),
        (ARCHIVE, |path| File::options().write(true).open(path).unwrap().set_len(20).unwrap()),
        (IMAGE, |path| fs::remove_file(path).unwrap()),
        ("files/more/file", overwrite),
    ];
    for (path, damage) in damages {
        damage(&folders.output.join(path));
        let problems = folders.problems();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with(path), "{problems:?}");
        assert!(folders.assemble().unwrap(), "{path}");
        assert_eq!(folders.problems(), Vec::<String>::new(), "{path}");
    }
}

#[test]
fn an_image_whose_inside_lies_is_found_even_if_its_own_digest_is_right() {
    let mut folders = Folders::new();
    let path = folders.cached.join(IMAGE);
    let mut bytes = fs::read(&path).unwrap();
    // A byte of the layer's content, which ends the archive.
    let place = bytes.windows(3).rposition(|window| window == b"two").unwrap();
    bytes[place] = b'T';
    fs::write(&path, bytes).unwrap();
    (folders.component.images[0].size, folders.component.images[0].sha256) = sha256_file(&path).unwrap();
    folders.assemble().unwrap();
    let problems = folders.problems();
    assert!(problems.len() == 1 && problems[0].contains("blob"), "{problems:?}");
}

#[test]
fn a_damaged_cache_is_refused_and_leaves_no_index() {
    let folders = Folders::new();
    folders.assemble().unwrap();
    fs::write(folders.cached.join(PLAIN), "PLAIN").unwrap();
    let error = folders.assemble().unwrap_err();
    assert!(matches!(error, ReleaseError::Damaged { .. }), "{error}");
    assert!(!folders.output.join(INDEX).exists());
    assert!(!folders.output.join(PLAIN).exists());
}

#[test]
fn a_folder_with_something_else_in_it_is_left_alone() {
    let folders = Folders::new();
    fs::create_dir_all(&folders.output).unwrap();
    fs::write(folders.output.join("thesis.tex"), "years of work").unwrap();
    let error = folders.assemble().unwrap_err();
    assert!(error.to_string().contains("thesis.tex"), "{error}");
    assert_eq!(fs::read_dir(&folders.output).unwrap().count(), 1);
}

fn component() -> Component {
    Component {
        name: "tool".to_owned(),
        version: "1".to_owned(),
        folder: PathBuf::new(),
        recipe: Recipe {
            on_request: false,
            group: None,
            debian: None,
            go: GoRecipe { binaries: BTreeMap::new(), cgo: false, tags: Vec::new(), define: BTreeMap::new() },
            packages: Vec::new(),
            files: Vec::new(),
            images: Vec::new(),
            kubernetes_release: None,
        },
        go_version: "1.26".to_owned(),
        files: Vec::new(),
    }
}

#[test]
fn the_cache_knows_a_component_by_its_whole_key_once_it_is_stored() {
    let root = tempfile::tempdir().unwrap();
    let cache = Cache::open(root.path(), &mut Progress::new()).unwrap();
    // The folder's name holds only the beginning of the key.
    let (key, other) = ("a".repeat(64), format!("{}b", "a".repeat(63)));
    assert_eq!(cache.load(&component(), &key), None);
    let work = cache.work_folder().unwrap();
    let to = work.path().join("component");
    let made = built(&to, &key);
    assert_eq!(cache.load(&component(), &key), None, "not before it is stored");
    cache.store(&component(), &made, &to).unwrap();
    assert_eq!(cache.load(&component(), &key), Some(made));
    assert_eq!(cache.load(&component(), &other), None);
    cache.prune().unwrap();
    assert!(cache.load(&component(), &key).is_some(), "just used");
    let manifest = cache.folder(&component(), &key).join("component.json");
    let long_ago = SystemTime::now() - Duration::from_secs(15 * 24 * 3600);
    File::options().append(true).open(manifest).unwrap().set_modified(long_ago).unwrap();
    cache.prune().unwrap();
    assert_eq!(cache.load(&component(), &key), None, "not used for two weeks");
}

#[test]
fn what_a_killed_builder_left_is_removed_and_a_second_one_waits() {
    let root = tempfile::tempdir().unwrap();
    let half = root.path().join("tmp/half/component");
    fs::create_dir_all(&half).unwrap();
    let first = Cache::open(root.path(), &mut Progress::new()).unwrap();
    assert!(!half.exists());
    let (sender, receiver) = channel();
    let path = root.path().to_path_buf();
    let second = thread::spawn(move || {
        let opened = Cache::open(&path, &mut Progress::new());
        sender.send(()).unwrap();
        opened.map(drop)
    });
    assert_eq!(receiver.recv_timeout(Duration::from_millis(300)), Err(RecvTimeoutError::Timeout));
    drop(first);
    receiver.recv_timeout(Duration::from_secs(20)).unwrap();
    second.join().unwrap().unwrap();
}
