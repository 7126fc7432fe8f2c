//! A cluster from what `apply` fetches itself, and bundles that are fetched: from a server that answers under upstream's names.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster;
use crate::cluster_support::kokctl::{Kokctl, KokctlOutput, program};
use crate::cluster_support::up;
use kok_tasks::catalog::Catalog;
use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab};
use kok_tests::upstream::{catalog_of, index_of};

/// Upstream's names that a cluster with flannel needs.
const NAMES: &str = "127.0.0.1 localhost\n10.20.0.1 dl.k8s.io github.com registry.k8s.io ghcr.io index.docker.io\n";

/// Gives the program names of its own: the machine's stay as they are.
const WITH_NAMES: &str = "mount --bind \"$0\" /etc/hosts && exec \"$@\"";

/// The server in the lab's network; it ends with its value.
pub struct Upstream(Child);

impl Upstream {
    pub fn start(lab: &Lab, kokctl: &Kokctl<'_>, faults: &[&str]) -> Self {
        let mut command = lab.command(program().with_file_name("upstream")).unwrap();
        command.args(["serve", "--listen", "10.20.0.1:443", "--bundle"]).arg(kokctl.bundle());
        command.arg("--ca").arg(kokctl.folder().join("ca.crt")).args(faults).stdout(Stdio::piped());
        // Whoever starts it is replaced by it.
        let mut child = command.process_group(0).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "ready\n");
        Self(child)
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Jump<'a> {
    lab: &'a Lab,
    kokctl: &'a Kokctl<'a>,
}

impl Jump<'_> {
    fn file(&self, name: &str) -> PathBuf {
        self.kokctl.folder().join(name)
    }

    fn write_catalog(&self, name: &str, catalog: &Catalog) {
        fs::write(self.file(name), serde_json::to_string(catalog).unwrap()).unwrap();
    }

    /// kokctl with upstream's names, without a bundle.
    fn run(&self, catalog: &str, arguments: &[&str]) -> KokctlOutput {
        fs::write(self.file("hosts"), NAMES).unwrap();
        let mut command: Command = self.lab.command("unshare").unwrap();
        command.args(["--mount", "sh", "-c", WITH_NAMES]).arg(self.file("hosts")).arg(program()).args(arguments);
        command.arg("--catalog").arg(self.file(catalog)).arg("--ca").arg(self.file("ca.crt"));
        command.env("HOME", self.kokctl.folder()).env("XDG_STATE_HOME", self.file("state")).env("XDG_CACHE_HOME", self.file("cache"));
        command.env_remove("KOKCTL_BUNDLE").env_remove("SSH_AUTH_SOCK").stdin(Stdio::null());
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        KokctlOutput { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    fn create(&self, catalog: &str, output: &Path, version: &str) -> KokctlOutput {
        let (manifest, output) = (self.kokctl.manifest(), output.display().to_string());
        self.run(catalog, &["bundle", "create", "--for", manifest.to_str().unwrap(), "--kubernetes", version, "--output", &output])
    }
}

#[test]
fn one_host_becomes_a_cluster_of_what_apply_fetches() {
    let lab = up(1);
    let kokctl = Kokctl::new(&lab);
    let manifest = fs::read_to_string(kokctl.manifest()).unwrap();
    kokctl.write_manifest(&manifest.replace("roles: [control-plane]}", "roles: [control-plane, worker]}"));
    let jump = Jump { lab: &lab, kokctl: &kokctl };
    let mut clock = Clock::start();
    let own = catalog_of(&index_of(kokctl.bundle()).unwrap()).unwrap();
    jump.write_catalog("catalog.json", &own);
    // What is served was built here: upstream's own digests refuse it.
    let digests = Catalog::built_in().unwrap().digests.clone();
    jump.write_catalog("pinned.json", &Catalog { digests, ..own });
    {
        let _upstream = Upstream::start(&lab, &kokctl, &["--fault", "runc.amd64=wrong"]);
        wrong_files_are_refused(&jump);
        clock.lap("files that are not upstream's");
    }
    let cuts = ["--fault", "linux/amd64/kubelet=cut:1000000", "--fault", "/blobs/=cut:100000"];
    let _upstream = Upstream::start(&lab, &kokctl, &cuts);
    let manifest = kokctl.manifest();
    let apply = ["apply", "-f", manifest.to_str().unwrap()];
    let said = jump.run("catalog.json", &apply);
    assert_eq!(said.code, 0, "{}\n{}", said.stdout, said.stderr);
    assert!(said.stderr.contains("fetching ") && said.stderr.contains(" MB"), "{}", said.stderr);
    cluster::assert_complete(&lab, DEFAULT_KUBERNETES_VERSION);
    clock.lap("apply without a bundle");
    let said = jump.run("catalog.json", &apply);
    assert_eq!((said.code, said.stdout.as_str()), (0, "nothing to do\n"), "{}", said.stderr);
    assert!(!said.stderr.contains("fetch"), "{}", said.stderr);
    clock.lap("apply again");
    is_carried_across(&jump);
    clock.lap("carried across in one file");
}

/// A site without a network gets one file, and its hosts find nothing to do by it.
fn is_carried_across(jump: &Jump<'_>) {
    let (archive, site) = (jump.file("bundle.tar.zst"), jump.file("site"));
    let said = jump.create("catalog.json", &archive, DEFAULT_KUBERNETES_VERSION);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stderr.contains("holds all of it already"), "nothing is fetched twice: {}", said.stderr);
    let (archive, site) = (archive.to_str().unwrap(), site.to_str().unwrap());
    let said = jump.kokctl.verb("apply", &["--bundle", archive]);
    assert!(said.code == 2 && said.stderr.contains("kokctl bundle import"), "{}", said.stderr);
    for arguments in [&["bundle", "import", archive, "--output", site][..], &["bundle", "verify", site]] {
        let said = jump.kokctl.run(arguments);
        assert_eq!(said.code, 0, "{}", said.stderr);
    }
    assert!(!index_of(Path::new(site)).unwrap().kubernetes.is_empty());
    let said = jump.kokctl.verb("apply", &["--bundle", site]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "nothing to do\n"), "{}", said.stderr);
}

/// Each file is named, with both digests, and nothing of it stays.
fn wrong_files_are_refused(jump: &Jump<'_>) {
    let folder = jump.file("wrong");
    let said = jump.create("catalog.json", &folder, DEFAULT_KUBERNETES_VERSION);
    assert_eq!(said.code, 2, "{}", said.stderr);
    assert!(said.stderr.contains("error: runc ") && said.stderr.contains("and has to be"), "{}", said.stderr);
    let held = index_of(&folder).unwrap();
    assert!(held.files.iter().all(|file| file.name != "runc") && held.kubernetes.is_empty(), "{held:?}");
    assert!(held.files.iter().any(|file| file.name == "kubelet"), "what was right is kept");
    if index_of(jump.kokctl.bundle()).unwrap().kubernetes.iter().any(|release| release.version == PINNED) {
        what_upstream_did_not_publish_is_refused(jump);
    } else {
        println!("skip - files that are not upstream's: the bundle has no Kubernetes {PINNED}");
    }
}

/// The release whose digests the catalog has.
const PINNED: &str = "1.36.3";

fn what_upstream_did_not_publish_is_refused(jump: &Jump<'_>) {
    let folder = jump.file("pinned");
    let said = jump.create("pinned.json", &folder, PINNED);
    assert_eq!(said.code, 2, "{}", said.stderr);
    for name in ["kubeadm", "kubelet", "kubectl"] {
        assert!(said.stderr.contains(&format!("error: {name} {PINNED} for amd64 can't be fetched")), "{}", said.stderr);
    }
    let pinned = "46707a53209f826ad0f0d62371ac69cd00e78fd9a8176cf5f6f87f18f7f8b718";
    assert!(said.stderr.contains(pinned), "the kubelet's, as upstream published it: {}", said.stderr);
    assert!(index_of(&folder).unwrap().files.iter().all(|file| file.version != PINNED));
}
