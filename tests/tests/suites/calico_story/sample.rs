//! Kubespray's sample inventory, its variables written out anew (`tests/corpus/good/kubespray-sample`), for a lab.

use std::fs;
use std::path::{Path, PathBuf};

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Host, Lab};
use kok_tests::release::paths::default_cache;

use crate::cluster_support::cluster::control_planes;
use crate::cluster_support::hosts;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::snapshot::{assert_same, fingerprint};

const SAMPLE: &str = "sample";

/// With what this machine needs, which the lab's own file says, and the login, as their users would give them: on the command line.
pub fn write(lab: &Lab) -> Kokctl<'_> {
    let kokctl = Kokctl::new(lab);
    let folder = kokctl.folder().join(SAMPLE);
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/good/kubespray-sample/group_vars");
    copy(&corpus, &folder.join("group_vars"));
    fs::write(folder.join("inventory.ini"), inventory(lab)).unwrap();
    let own = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    let (_, of_machine) = own.split_once("\n  vars:\n").unwrap();
    let of_machine: String = of_machine.lines().map(|line| format!("{}\n", line.trim_start())).collect();
    let file = kokctl.folder().join("machine.yml");
    let login = format!("ansible_user: root\nansible_ssh_private_key_file: {}\n", lab.private_key_path().display());
    fs::write(&file, format!("{of_machine}{login}")).unwrap();
    let more = vec!["-e".to_owned(), format!("@{}", file.display())];
    kokctl.with_inventory(SAMPLE, more, bundle())
}

/// A cluster's file of kokctl's own, with these lines under `vars`.
pub fn with_vars<'a>(lab: &'a Lab, vars: &str) -> Kokctl<'a> {
    let kokctl = Kokctl::new(lab);
    let manifest = fs::read_to_string(kokctl.manifest()).unwrap().replace("plugin: flannel\n", "plugin: calico\n");
    kokctl.write_manifest(&manifest.replacen("\n  vars:\n", &format!("\n  vars:\n{vars}"), 1));
    kokctl.with_inventory("cluster.yaml", Vec::new(), bundle())
}

/// `release build --with calico` makes it, as `make test-all PART=calico` does.
fn bundle() -> PathBuf {
    let path = default_cache().unwrap().join("bundle-calico");
    assert!(path.join("bundle.json").is_file(), "there is no bundle with Calico in {}: run `make test-all PART=calico`", path.display());
    path
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() { copy(&entry.path(), &target) } else { _ = fs::copy(entry.path(), target).unwrap() }
    }
}

fn inventory(lab: &Lab) -> String {
    let line = |host: &Host| format!("{} ansible_host={address} ip={address}\n", host.name(), address = host.address());
    let planes: String = control_planes(lab).iter().enumerate().map(|(index, host)| member(&line(host), index)).collect();
    let workers: String = hosts(lab).iter().filter(|host| host.name().starts_with("worker")).map(line).collect();
    format!("[kube_control_plane]\n{planes}\n[etcd:children]\nkube_control_plane\n\n[kube_node]\n{workers}")
}

fn member(line: &str, index: usize) -> String {
    format!("{} etcd_member_name=etcd{}\n", line.trim_end(), index + 1)
}

pub fn hosts_are_known(kokctl: &Kokctl<'_>) {
    let said = kokctl.run(&["known-hosts", "scan", "--write", "-f", kokctl.manifest().to_str().unwrap()]);
    assert_eq!(said.code, 0, "{said:?}");
}

/// The sample's mode of kube-proxy is IPVS. Which hosts can't have it is said before any is changed, with what goes with Calico.
pub fn is_refused_without_ipvs(lab: &Lab, kokctl: &Kokctl<'_>) {
    let before = fingerprint(lab);
    let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert_eq!((said.code, said.stdout.as_str()), (3, ""), "{said:?}");
    assert!(said.stderr.contains("error: its kernel has no modules ip_vs, ip_vs_rr, ip_vs_sh, ip_vs_wrr"), "{said:?}");
    assert!(said.stderr.contains("or write `kube_proxy_mode: iptables`, or `nftables` with Calico 3.30 or newer"), "{said:?}");
    assert_same(&before, &fingerprint(lab), "what is refused must not change anything");
}

pub fn by_iptables(kokctl: Kokctl<'_>) -> Kokctl<'_> {
    kokctl.with_options(&["-e", "kube_proxy_mode=iptables"])
}

/// Calico makes its pools once.
pub fn another_pool_is_refused(lab: &Lab, kokctl: &Kokctl<'_>) {
    let before = fingerprint(lab);
    let said = kokctl.verb("apply", &["-e", "calico_pool_blocksize=24", "--bundle", kokctl.bundle().to_str().unwrap()]);
    assert_eq!((said.code, said.stdout.as_str()), (3, ""), "{said:?}");
    assert!(said.stderr.contains("error: Calico's blockSize in the running cluster is 26, the file asks for 24"), "{said:?}");
    assert_same(&before, &fingerprint(lab), "what is refused must not change anything");
}
