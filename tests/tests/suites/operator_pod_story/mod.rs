//! A meta-cluster of one host, and what the operator needs to run in it: image, bundle, volumes.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Host, Lab};
use kok_tests::release::build::native_architecture;
use kok_tests::release::operator_image;

use crate::cluster_support::kokctl::{Kokctl, program, program_of};
use crate::cluster_support::ok;
use crate::operator_story::{Kubectl, source};

/// That of deploy/manifests.
pub const NAMESPACE: &str = "kokctl";
/// That of deploy/manifests too.
const IMAGE: &str = concat!("ghcr.io/kokctl/kokctl-operator:", env!("CARGO_PKG_VERSION"));
/// Where deploy/examples has the folders, and where they are here: a lab's host is an overlay, of which the operator says that it is no place for state.
const FOLDERS: (&str, &str) = ("/srv/kokctl", "/var/lib/containerd/kokctl");

/// The meta-cluster, asked as its administrator.
pub struct Meta<'a> {
    lab: &'a Lab,
    kubectl: PathBuf,
    kubeconfig: PathBuf,
}

impl<'a> Meta<'a> {
    /// Has kokctl make it of the lab's first host.
    pub fn make(lab: &'a Lab, kokctl: &Kokctl<'_>) -> Self {
        kokctl.write_manifest(&one_host(lab, lab.name(), &host_of_operators(lab)));
        let said = kokctl.converge("apply");
        assert!(said.contains("is ready: 1 host"), "{said}");
        let said = kokctl.verb("kubeconfig", &[]);
        assert_eq!(said.code, 0, "{said:?}");
        let kubeconfig = kokctl.folder().join("meta.conf");
        fs::write(&kubeconfig, said.stdout).unwrap();
        Self { lab, kubectl: program_of(kokctl.bundle(), "kubectl"), kubeconfig }
    }

    /// Puts the image of the operator that was built beside this test onto the host.
    pub fn has_the_image(&self, kokctl: &Kokctl<'_>) {
        let (archive, program) = (kokctl.folder().join("operator.tar"), program());
        let options = operator_image::ImageOptions {
            program: &program,
            with_libraries: true,
            authorities: Path::new("/etc/ssl/certs/ca-certificates.crt"),
            reference: IMAGE,
            architecture: native_architecture(),
        };
        let made = operator_image::write(&options, &archive).unwrap();
        println!("image {} with {} MB", made.digest, made.unpacked / 1_000_000);
        let host = host_of_operators(self.lab);
        let import = format!("ctr -n k8s.io images import - && ctr -n k8s.io images label {IMAGE} io.cri-containerd.pinned=pinned");
        let output = host.ssh_command("root", import).unwrap().stdin(File::open(&archive).unwrap()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    /// Copies the bundle onto the host, beside folders for state.
    pub fn has_the_bundle(&self, kokctl: &Kokctl<'_>) {
        let (host, folder) = (host_of_operators(self.lab), FOLDERS.1);
        ok(&host, &format!("mkdir -p {folder}/bundle {folder}/state-0 {folder}/state-1"));
        let mut pack = Command::new("tar").arg("-C").arg(kokctl.bundle()).args(["-c", "."]).stdout(Stdio::piped()).spawn().unwrap();
        let unpack = format!("tar -C {folder}/bundle -x --no-same-owner");
        let output = host.ssh_command("root", unpack).unwrap().stdin(pack.stdout.take().unwrap()).output().unwrap();
        assert!(output.status.success() && pack.wait().unwrap().success(), "{output:?}");
    }

    /// Applies what `kokctl operator manifests` prints, with the volumes, and waits until both replicas are ready.
    pub fn runs_the_operator(&self, kokctl: &Kokctl<'_>) {
        let said = kokctl.run(&["operator", "manifests"]);
        assert_eq!(said.code, 0, "{said:?}");
        self.ok(&["apply", "--server-side", "--force-conflicts", "-f", "-"], &said.stdout);
        let volumes = source("deploy/examples/local-volumes.yaml").replace(FOLDERS.0, FOLDERS.1);
        self.ok(&["apply", "-f", "-"], &volumes);
        let rollout = self.run_kubectl(&["rollout", "status", "statefulset/kokctl-operator", "-n", NAMESPACE, "--timeout=180s"], "");
        assert!(rollout.0, "{}\n{}\n{}", rollout.1, self.run_kubectl(&["describe", "pods", "-n", NAMESPACE], "").1, self.logs());
    }

    /// Which pod works on a cluster, if any.
    pub fn at_work(&self, cluster: &str) -> Option<String> {
        let uid = self.ok(&["get", "kok", cluster, "-o", "jsonpath={.metadata.uid}"], "");
        let lease = format!("lease/kokctl-{uid}");
        let holder = self.ok(&["get", &lease, "-n", NAMESPACE, "--ignore-not-found", "-o", "jsonpath={.spec.holderIdentity}"], "");
        holder.split_once('_').map(|(pod, _)| pod.to_owned())
    }

    /// What the operators that run now have logged, also those before them in the same pods.
    pub fn logs(&self) -> String {
        let of = |pod: &str| {
            let now = self.run_kubectl(&["logs", "-n", NAMESPACE, pod], "").1;
            now + &self.run_kubectl(&["logs", "--previous", "-n", NAMESPACE, pod], "").1
        };
        ["kokctl-operator-0", "kokctl-operator-1"].map(of).concat()
    }

    /// Whether kubectl succeeded, and all that it said.
    fn run_kubectl(&self, arguments: &[&str], input: &str) -> (bool, String) {
        let mut command = self.lab.command(&self.kubectl).unwrap();
        command.arg("--kubeconfig").arg(&self.kubeconfig).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // It may end without reading.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let said = if output.status.success() { text(&output.stdout) } else { text(&output.stdout) + &text(&output.stderr) };
        (output.status.success(), said)
    }
}

impl Kubectl for Meta<'_> {
    fn ok(&self, arguments: &[&str], input: &str) -> String {
        let (success, said) = self.run_kubectl(arguments, input);
        assert!(success, "kubectl {arguments:?}: {said}");
        said
    }
}

/// The host of the meta-cluster.
fn host_of_operators(lab: &Lab) -> Host {
    lab.host("cp1").unwrap()
}

/// The host that becomes a cluster of its own.
pub fn member(lab: &Lab) -> Host {
    lab.host("worker1").unwrap()
}

/// The lab's own file for a cluster of this host alone.
pub fn one_host(lab: &Lab, name: &str, host: &Host) -> String {
    let text = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    let is_of_others = |line: &&str| line.starts_with("    - {name: ") && !line.contains(&format!("name: {},", host.name()));
    let lines = text.lines().filter(|line| !is_of_others(line));
    let of_host = lines.map(|line| match line.trim_start() {
        own if own.starts_with("- {name: ") => {
            format!("    - {{name: {}, address: {}, roles: [control-plane, worker]}}\n", host.name(), host.address())
        }
        sources if sources.starts_with("sources: [") => format!("    sources: [{}]\n", host.name()),
        named if named.starts_with("name: ") => format!("  name: {name}\n"),
        _ => format!("{line}\n"),
    });
    of_host.collect()
}
