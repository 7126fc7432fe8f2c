//! Hosts that fetch for themselves (`delivery: pull`), from a server that answers under upstream's names: kokctl has no more than the index of the
//! bundle, and what upstream does not have.

use std::fs;
use std::path::PathBuf;

use crate::cluster_support::clock::Clock;
use crate::cluster_support::cluster;
use crate::cluster_support::kokctl::{Kokctl, KokctlOutput};
use crate::cluster_support::{hosts, ok, up};
use crate::fetched::Upstream;
use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab};
use kok_tests::upstream::index_of;

/// Upstream's names, as hosts look them up.
const NAMES: &str = "10.20.0.1 dl.k8s.io github.com registry.k8s.io ghcr.io registry-1.docker.io";

/// What `ctr` says that it has.
const IMAGES: &str = "ctr -n k8s.io images ls -q";

struct Story<'a> {
    lab: &'a Lab,
    kokctl: &'a Kokctl<'a>,
    /// The lab's manifest, with hosts that fetch.
    manifest: String,
}

impl<'a> Story<'a> {
    fn new(lab: &'a Lab, kokctl: &'a Kokctl<'a>) -> Self {
        for host in hosts(lab) {
            ok(&host, &format!("echo '{NAMES}' >>/etc/hosts"));
        }
        let manifest = fs::read_to_string(kokctl.manifest()).unwrap();
        let manifest = manifest.replacen("spec:\n", "spec:\n  delivery: pull\n", 1);
        let story = Self { lab, kokctl, manifest };
        story.keep_the_index();
        story
    }

    /// A bundle of which hosts could be sent nothing but what is kokctl's own.
    fn index(&self) -> PathBuf {
        self.kokctl.folder().join("index")
    }

    fn keep_the_index(&self) {
        let (whole, own) = (self.kokctl.bundle(), "images/ghcr.io/kokctl/");
        for path in index_of(whole).unwrap().images.into_iter().map(|image| image.path).filter(|path| path.starts_with(own)) {
            fs::create_dir_all(self.index().join(&path).parent().unwrap()).unwrap();
            fs::copy(whole.join(&path), self.index().join(&path)).unwrap();
        }
        fs::copy(whole.join("bundle.json"), self.index().join("bundle.json")).unwrap();
    }

    fn log(&self) -> PathBuf {
        self.kokctl.folder().join("log")
    }

    /// The server, with the hosts told to trust it.
    fn serve(&self, faults: &[&str]) -> Upstream {
        let log = self.log();
        let _ = fs::remove_file(&log);
        let upstream = Upstream::start(self.lab, self.kokctl, &[faults, &["--log", log.to_str().unwrap()]].concat());
        let pem = fs::read_to_string(self.kokctl.folder().join("ca.crt")).unwrap();
        let vars = format!("    trusted_certificates: {{upstream: {}}}\n", serde_json::json!(pem));
        self.kokctl.write_manifest(&format!("{}\n{vars}", self.manifest.trim_end()));
        upstream
    }

    fn verb(&self, verb: &str) -> KokctlOutput {
        self.kokctl.verb(verb, &["--bundle", self.index().to_str().unwrap()])
    }

    /// How many requests were noted that have all these words in them.
    fn requests(&self, words: &[&str]) -> usize {
        let log = fs::read_to_string(self.log()).unwrap();
        log.lines().filter(|line| words.iter().all(|word| line.contains(word))).count()
    }
}

#[test]
fn hosts_fetch_for_themselves() {
    let lab = up(2);
    let kokctl = Kokctl::new(&lab);
    let story = Story::new(&lab, &kokctl);
    let mut clock = Clock::start();
    is_refused_where_it_is_wrong(&story);
    clock.lap("apply, with a wrong file and a wrong layer");
    is_gone_on_with(&story);
    clock.lap("apply, with cuts");
    is_told_where_nobody_answers(&story);
    clock.lap("apply, without upstream");
}

/// What is right is installed, a cut within it is gone on with, and nothing of what is wrong stays.
fn is_refused_where_it_is_wrong(story: &Story<'_>) {
    let faults = ["amd64/kubectl=wrong", "/pause/blobs/=wrong", "amd64/kubelet=cut:1000000"];
    let faults: Vec<&str> = faults.iter().flat_map(|fault| ["--fault", fault]).collect();
    let _upstream = story.serve(&faults);
    let said = story.verb("plan");
    let address = format!("https://dl.k8s.io/release/v{DEFAULT_KUBERNETES_VERSION}/bin/linux/amd64/kubelet");
    assert!(said.stdout.contains(&format!("fetched by the host from {address}")), "{}\n{}", said.stdout, said.stderr);
    assert!(said.stdout.contains("sent by kokctl: it is an image of kokctl's own"), "{}", said.stdout);
    let said = story.verb("apply");
    assert_ne!(said.code, 0, "{}", said.stderr);
    for part in
        ["amd64/kubectl can't be fetched: it is another file than the bundle's", "registry.k8s.io/pause@sha256:", "`delivery: push`"]
    {
        assert!(said.stderr.contains(part), "{part}: {}", said.stderr);
    }
    assert_eq!(story.requests(&["GET dl.k8s.io", "amd64/kubelet 1000000 "]), 1, "it goes on where the cut was");
    for host in hosts(story.lab) {
        assert!(!ok(&host, IMAGES).contains("/pause:"), "{}", host.name());
        assert_eq!(ok(&host, "ls -A /usr/local/bin | grep -e kubectl -e kokctl || :"), "", "{}", host.name());
        ok(&host, "test -x /usr/local/bin/kubelet && test -x /usr/local/sbin/runc");
    }
}

fn is_gone_on_with(story: &Story<'_>) {
    let _upstream = story.serve(&["--fault", "/blobs/=cut:100000"]);
    let said = story.verb("apply");
    assert_eq!(said.code, 0, "{}\n{}", said.stdout, said.stderr);
    cluster::assert_complete(story.lab, DEFAULT_KUBERNETES_VERSION);
    assert_eq!(story.requests(&["amd64/kubelet"]), 0, "what is there is not fetched again");
    assert_eq!(story.requests(&["GET dl.k8s.io", "amd64/kubectl 0 "]), 1, "a control plane alone has it");
    assert_eq!(story.requests(&["/pause/blobs/", " 100000 "]), 1, "containerd goes on where the cut was");
    let before = story.requests(&[]);
    let said = story.verb("apply");
    assert_eq!((said.code, said.stdout.as_str()), (0, "nothing to do\n"), "{}", said.stderr);
    assert_eq!(story.requests(&[]), before, "nobody asks for anything");
    for host in hosts(story.lab) {
        assert_eq!(ok(&host, &format!("{IMAGES} | grep @ || :")), "", "an image has its own name alone");
    }
}

/// The address, what curl said, and the way out, which is one.
fn is_told_where_nobody_answers(story: &Story<'_>) {
    let worker = story.lab.host("worker1").unwrap();
    ok(&worker, "rm /usr/local/bin/kubeadm");
    let said = story.verb("apply");
    assert_ne!(said.code, 0, "{}", said.stderr);
    for part in ["worker1", "amd64/kubeadm can't be fetched: curl: (7) ", "`delivery: push`"] {
        assert!(said.stderr.contains(part), "{part}: {}", said.stderr);
    }
    let manifest = fs::read_to_string(story.kokctl.manifest()).unwrap();
    let pushed = manifest.replacen("roles: [worker]", "roles: [worker], delivery: push", 1);
    assert_ne!(pushed, manifest);
    story.kokctl.write_manifest(&pushed);
    story.kokctl.converge("apply");
    ok(&worker, "test -x /usr/local/bin/kubeadm");
    story.kokctl.has_nothing_to_do();
}
