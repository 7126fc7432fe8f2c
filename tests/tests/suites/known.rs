//! What kokctl knows of Kubernetes is what its programs know: the tables are those of the versions in the bundle, and what kokctl refuses the
//! programs of the bundle refuse. Needs the bundle and the Go that built it, and no hosts; as root, to run programs as nobody without a network.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

use kok_tasks::bundle::Bundle;
use kok_tests::lab::DEFAULT_KUBERNETES_VERSION;
use kok_tests::release::paths::{default_cache, default_output};
use tempfile::TempDir;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn the_tables_are_those_of_the_versions_in_the_bundle() {
    let place = tempfile::tempdir().unwrap();
    // What is not in the bundle was not compiled either, which takes minutes.
    let releases = bundle().kubernetes;
    let versions = releases.iter().map(|release| release.version.as_str());
    let made = Command::new("sh").arg(project().join("tests/make/tables.sh")).arg(place.path()).args(versions).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let known = project().join("crds/src/check/known");
    let names = |folder: &Path| {
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let (made, known_to_us) = (names(place.path()), names(&known));
    assert_eq!(made.len(), releases.len(), "{made:?}");
    assert!(
        made.iter().all(|name| known_to_us.contains(name)),
        "`make tables` writes them; a new one needs a line in crds/src/check/known.rs"
    );
    known_to_us
        .iter()
        .filter(|name| !made.contains(name))
        .for_each(|name| println!("\nskip - the table {}: the bundle has no such version", name.display()));
    for name in made {
        let [made, known] = [place.path(), &known].map(|folder| fs::read_to_string(folder.join(&name)).unwrap());
        assert!(made.lines().count() > 1000, "{name:?} is too short");
        assert!(made == known, "{name:?} is not what the programs know: run `make tables`");
    }
}

/// What a user says, the program that is told it, and how: an option, or what stands in its configuration; and what it says before it ends.
struct Case {
    vars: &'static str,
    program: &'static str,
    told: &'static str,
    says: &'static str,
}

const fn case(vars: &'static str, program: &'static str, told: &'static str, says: &'static str) -> Case {
    Case { vars, program, told, says }
}

const CIPHER: &str = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384";

const CASES: [Case; 32] = [
    case("etcd_heartbeat_interval: 250", "etcd", "--heartbeat-interval=250", "at least as 5 times"),
    case("etcd_election_timeout: 60000", "etcd", "--election-timeout=60000", "is too long"),
    case("etcd_extra_vars: {auto-compaction-mode: hourly}", "etcd", "--auto-compaction-mode=hourly", "unknown auto-compaction-mode"),
    case("kube_kubeadm_apiserver_extra_args: {insecure-port: 0}", "kube-apiserver", "--insecure-port=0", "unknown flag: --insecure-port"),
    case("kube_kubeadm_apiserver_extra_args: {v: much}", "kube-apiserver", "--v=much", "invalid argument"),
    case("kube_feature_gates: [Nope=true]", "kube-apiserver", "--feature-gates=Nope=true", "unrecognized feature gate: Nope"),
    case(
        "kube_feature_gates: [MutableCSINodeAllocatableCount=false]",
        "kube-apiserver",
        "--feature-gates=MutableCSINodeAllocatableCount=false",
        "locked to true",
    ),
    case(
        "kube_feature_gates: [DRAFractionalCapacityRange=true, DRAConsumableCapacity=false]",
        "kube-apiserver",
        "--feature-gates=DRAFractionalCapacityRange=true,DRAConsumableCapacity=false",
        "depends on features that are disabled",
    ),
    case(
        "kube_apiserver_enable_admission_plugins: [PodSecurityPolicy]",
        "kube-apiserver",
        "--enable-admission-plugins=PodSecurityPolicy",
        "is unknown",
    ),
    case(
        "{kube_apiserver_enable_admission_plugins: [AlwaysPullImages], kube_apiserver_disable_admission_plugins: [AlwaysPullImages]}",
        "kube-apiserver",
        "--enable-admission-plugins=AlwaysPullImages --disable-admission-plugins=AlwaysPullImages",
        "overlapped",
    ),
    case("tls_cipher_suites: [NULL-SHA]", "kube-apiserver", "--tls-cipher-suites=NULL-SHA", "not supported or doesn't exist"),
    case(
        "kube_api_runtime_config: [batch/v2alpha1=true]",
        "kube-apiserver",
        "--runtime-config=batch/v2alpha1=true",
        "has not been registered",
    ),
    case(
        "kube_kubeadm_apiserver_extra_args: {max-requests-inflight: -1}",
        "kube-apiserver",
        "--max-requests-inflight=-1",
        "can not be negative",
    ),
    case(
        "kube_kubeadm_scheduler_extra_args: {tls-cipher-suites: TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384}",
        "kube-scheduler",
        "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        "missing an HTTP/2-required AES_128_GCM_SHA256 cipher",
    ),
    case(
        "kube_kubeadm_controller_extra_args: {secure-port: 65536}",
        "kube-controller-manager",
        "--secure-port=65536",
        "between 1 and 65535",
    ),
    case(
        "kube_controller_manager_leader_elect_lease_duration: 10s",
        "kube-controller-manager",
        "--leader-elect-lease-duration=10s",
        "leaseDuration must be greater than renewDeadline",
    ),
    case("kube_scheduler_config_extra_opts: {paralelism: 8}", "kube-scheduler", "paralelism: 8", "unknown field"),
    case("kube_proxy_feature_gates: [Nope=true]", "kube-proxy", "featureGates: {Nope: true}", "unrecognized feature gate: Nope"),
    case("kubelet_feature_gates: [Nope=true]", "kubelet", "featureGates: {Nope: true}", "unrecognized feature gate: Nope"),
    case("kubelet_config_extra_args: {maxPods: lots}", "kubelet", "maxPods: lots", "cannot unmarshal string"),
    case(
        "kubelet_image_gc_low_threshold: 90",
        "kubelet",
        "imageGCLowThresholdPercent: 90",
        "must be less than imageGCHighThresholdPercent",
    ),
    case(
        "kubelet_shutdown_grace_period_critical_pods: 20s",
        "kubelet",
        "shutdownGracePeriodCriticalPods: 20s",
        "must be <= shutdownGracePeriod",
    ),
    case("kubelet_config_extra_args: {topologyManagerScope: pods}", "kubelet", "topologyManagerScope: pods", "must be one of"),
    case(
        "kubelet_config_extra_args: {enforceNodeAllocatable: [pods, kube-reserved]}",
        "kubelet",
        "enforceNodeAllocatable: [pods, kube-reserved]",
        "must be specified",
    ),
    case("kubelet_config_extra_args: {cpuCFSQuotaPeriod: 2s}", "kubelet", "cpuCFSQuotaPeriod: 2s", "must be between 1ms and 1sec"),
    case("kubelet_config_extra_args: {memoryThrottlingFactor: 2}", "kubelet", "memoryThrottlingFactor: 2", "memoryThrottlingFactor"),
    case(
        "kubelet_config_extra_args: {crashLoopBackOff: {maxContainerRestartPeriod: 400s}}",
        "kubelet",
        "crashLoopBackOff: {maxContainerRestartPeriod: 400s}",
        "between 1s and 300s",
    ),
    case(
        "kubelet_config_extra_args: {registerWithTaints: [{key: a, effect: Foo}]}",
        "kubelet",
        "registerWithTaints: [{key: a, effect: Foo}]",
        "invalid taint",
    ),
    case("kubelet_config_extra_args: {logging: {format: jsn}}", "kubelet", "logging: {format: jsn}", "Unsupported log format"),
    case(
        "kubelet_config_extra_args: {userNamespaces: {idsPerPod: 70000}}",
        "kubelet",
        "userNamespaces: {idsPerPod: 70000}",
        "must be a multiple",
    ),
    case("kubelet_custom_flags: [\"--no-such-flag=1\"]", "kubelet", "--no-such-flag=1", "unknown flag: --no-such-flag"),
    case(
        "kubeadm_feature_gates: [ControlPlaneKubeletLocalMode=true]",
        "kubeadm",
        "featureGates: {ControlPlaneKubeletLocalMode: true}",
        "is not a valid feature name",
    ),
];

#[test]
fn programs_refuse_what_kokctl_refuses() {
    let place = Place::new();
    let right = place.validated("kubelet_max_pods: 100");
    assert!(right.status.success(), "{right:?}");
    let mut wrong = Vec::new();
    for Case { vars, program, told, says } in CASES {
        if place.validated(vars).status.success() {
            wrong.push(format!("kokctl accepts {vars}"));
        }
        let said = place.said_by(program, told);
        if !said.contains(says) {
            wrong.push(format!("{program} with {told} does not say {says:?}, but: {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Every version of TLS but the last needs the cipher that is refused to be left out; with the last nothing is refused.
    assert!(place.validated(&format!("{{tls_min_version: VersionTLS13, tls_cipher_suites: [{CIPHER}]}}")).status.success());
}

/// Programs of the bundle, and a folder that nobody may write into.
struct Place {
    root: TempDir,
}

/// What a program is told besides.
const CONFIGURATIONS: [(&str, &str, &str); 4] = [
    ("kubelet", "--config", "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfailCgroupV1: false\n"),
    ("kube-scheduler", "--config", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"),
    ("kube-proxy", "--config", "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nmode: nftables\n"),
    ("kubeadm", "config validate --config", "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n"),
];

const KUBECONFIG: &str = "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: \"https://127.0.0.1:1\"}}]\n\
users: [{name: a, user: {token: a}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\ncurrent-context: a\n";

impl Place {
    fn new() -> Self {
        let place = Self { root: tempfile::tempdir().unwrap() };
        fs::set_permissions(place.root.path(), fs::Permissions::from_mode(0o777)).unwrap();
        fs::write(place.path("kubeconfig"), KUBECONFIG).unwrap();
        place.shell("openssl genrsa -out key 2048 && chmod 644 key");
        for program in ["kubelet", "kubeadm"] {
            let file = bundle().file(program, DEFAULT_KUBERNETES_VERSION, architecture()).unwrap().path.clone();
            fs::copy(folder().join(file), place.path(program)).unwrap();
        }
        let archive = folder().join(&bundle().newest_file("etcd", architecture()).unwrap().path);
        place.shell(&format!("tar -xzf {} --strip-components=1 --wildcards '*/etcd'", archive.display()));
        for program in ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"] {
            let image = folder().join(&bundle().newest_image(program, architecture()).unwrap().path);
            // One of the blobs is the layer.
            let unpack = format!(
                "mkdir image && tar -xf {} -C image && for blob in image/blobs/sha256/*; do tar -xf $blob usr/local/bin/{program} || :; done \
                 && mv usr/local/bin/{program} . && rm -r image",
                image.display()
            );
            place.shell(&unpack);
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn shell(&self, script: &str) {
        let done = Command::new("sh").args(["-ec", script]).current_dir(self.root.path()).output().unwrap();
        assert!(done.status.success(), "{script}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// What kokctl says of a cluster with these variables.
    fn validated(&self, vars: &str) -> Output {
        let file = self.path("cluster.yaml");
        let text = format!(
            "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {{name: a}}\nspec:\n  kubernetesVersion: \
             {DEFAULT_KUBERNETES_VERSION}\n  hosts: [{{name: cp1, address: 10.0.0.11, roles: [control-plane, worker]}}]\n  \
             network: {{plugin: flannel}}\n  vars:\n    {vars}\n"
        );
        fs::write(&file, text).unwrap();
        // target/debug/deps/known-1234 → target/debug/kokctl
        let kokctl = env::current_exe().unwrap().parent().unwrap().parent().unwrap().join("kokctl");
        Command::new(kokctl).args(["validate", "-f"]).arg(file).output().unwrap()
    }

    /// What a program says when it is told something, as nobody and without a network; it is given some seconds for its end.
    fn said_by(&self, program: &str, told: &str) -> String {
        let mut arguments = self.usual_arguments(program);
        let configuration = CONFIGURATIONS.iter().find(|(of, ..)| *of == program);
        match configuration.filter(|_| !told.starts_with("--")) {
            Some((_, option, text)) => {
                let file = self.path("configuration.yaml");
                fs::write(&file, format!("{text}{told}\n")).unwrap();
                arguments.extend(option.split(' ').map(str::to_owned));
                arguments.push(file.display().to_string());
            }
            None => arguments.extend(told.split(' ').map(str::to_owned)),
        }
        let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"];
        let mut command = Command::new("timeout");
        command.args(["20", "unshare", "--mount", "--net", "setpriv"]).args(nobody).arg(self.path(program)).args(arguments);
        let said = command.current_dir(self.root.path()).output().unwrap();
        format!("{}{}", String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr))
    }

    /// What it can't be without.
    fn usual_arguments(&self, program: &str) -> Vec<String> {
        let path = |name: &str| self.path(name).display().to_string();
        let (key, kubeconfig) = (path("key"), path("kubeconfig"));
        match program {
            "etcd" => vec![format!("--data-dir={}", path("data"))],
            "kubelet" => vec![format!("--root-dir={}", path("root")), format!("--cert-dir={}", path("certificates"))],
            "kube-apiserver" => vec![
                "--etcd-servers=http://127.0.0.1:1".to_owned(),
                "--service-account-issuer=https://a.example".to_owned(),
                format!("--service-account-signing-key-file={key}"),
                format!("--service-account-key-file={key}"),
                format!("--cert-dir={}", path("certificates")),
                "--advertise-address=10.0.0.1".to_owned(),
                "--service-cluster-ip-range=10.1.0.0/16".to_owned(),
            ],
            // Without the look at the API that comes before what is tested.
            "kube-controller-manager" | "kube-scheduler" => vec![
                "--authentication-skip-lookup".to_owned(),
                format!("--kubeconfig={kubeconfig}"),
                format!("--authentication-kubeconfig={kubeconfig}"),
                format!("--authorization-kubeconfig={kubeconfig}"),
                format!("--cert-dir={}", path("certificates")),
            ],
            _ => Vec::new(),
        }
    }
}

fn folder() -> PathBuf {
    env::var_os("KOKCTL_BUNDLE").map_or_else(|| default_output(&default_cache().unwrap()), PathBuf::from)
}

fn bundle() -> Bundle {
    Bundle::parse(&fs::read_to_string(folder().join("bundle.json")).unwrap()).unwrap()
}

fn architecture() -> &'static str {
    match env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
