//! A load balancer that is not kokctl's before the API servers, at another port than theirs.

use std::fs;
use std::fs::File;
use std::process::Command;

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Host, Lab};
use tempfile::TempDir;

use crate::cluster_support::cluster::control_planes;
use crate::cluster_support::kokctl::{Kokctl, image_of};
use crate::cluster_support::{hosts, ok};
use crate::lab_support::wait_for;

const PORT: u16 = 8443;

/// As docs/cluster.md asks for it: TCP is passed through, and `/readyz` asked by HTTPS.
const CONFIGURATION: &str = "defaults
  mode tcp
  timeout connect 5s
  timeout client 1h
  timeout server 1h
frontend api
  bind ADDRESS:8443
  default_backend control-planes
backend control-planes
  option httpchk GET /readyz
  default-server check check-ssl verify none inter 2s fall 2 on-marked-down shutdown-sessions
";

/// The host that has it.
fn balancer(lab: &Lab) -> Host {
    lab.host("worker1").unwrap()
}

pub fn endpoint(lab: &Lab) -> String {
    format!("https://{}:{PORT}", balancer(lab).address())
}

/// Before there is any cluster, haproxy runs; and the file names it.
pub fn by_haproxy(lab: &Lab, kokctl: &Kokctl<'_>) {
    let host = balancer(lab);
    let root = rootfs(kokctl);
    let unpack = "mkdir -p /srv/haproxy && tar xf - -C /srv/haproxy";
    assert!(host.ssh_command("root", unpack).unwrap().stdin(root).status().unwrap().success());
    let servers: String = control_planes(lab).iter().map(|plane| format!("  server {} {}:6443\n", plane.name(), plane.address())).collect();
    let configuration = format!("{}{servers}", CONFIGURATION.replace("ADDRESS", &host.address()));
    ok(&host, &format!("cat >/srv/haproxy/balancer.cfg <<'END'\n{configuration}END"));
    ok(
        &host,
        "systemd-run --quiet --unit=balancer -p RootDirectory=/srv/haproxy -p MountAPIVFS=yes /usr/sbin/haproxy -W -db -f /balancer.cfg",
    );
    wait_for("the load balancer listens", 10, || !ok(&host, &format!("ss -Hltn 'sport = :{PORT}'")).is_empty());
    let plain = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    let field = format!("  apiEndpoint: {{address: {}, port: {PORT}}}\n  network:\n", host.address());
    let text = plain.replacen("  network:\n", &field, 1).replacen("roles: [worker]}", "roles: [worker, etcd]}", 1);
    assert!(text.contains(&field) && text.contains("etcd]"), "{text}");
    kokctl.write_manifest(&text);
}

/// haproxy with the libraries that it needs: the one layer of its image.
fn rootfs(kokctl: &Kokctl<'_>) -> File {
    let (_, archive) = image_of(kokctl.bundle(), "haproxy");
    let folder = TempDir::new().unwrap();
    let unpacked = Command::new("tar").arg("xf").arg(archive).arg("-C").arg(folder.path()).status();
    assert!(unpacked.unwrap().success());
    let blobs = fs::read_dir(folder.path().join("blobs/sha256")).unwrap().map(|entry| entry.unwrap().path());
    File::open(blobs.max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap()).unwrap()
}

/// Neither a load balancer nor a name.
pub fn nothing_of_ours_stands_beside(lab: &Lab) {
    for host in hosts(lab) {
        assert_eq!(ok(&host, "ls /etc/kubernetes/manifests | grep haproxy || :"), "", "{}", host.name());
        assert_eq!(ok(&host, "grep lb-apiserver /etc/hosts || :"), "", "{}", host.name());
    }
}

/// Each in turn: whoever goes by the load balancer is answered by the other one.
pub fn answers_without_any_one(lab: &Lab) {
    let planes = control_planes(lab);
    for (lost, other) in planes.iter().zip(planes.iter().rev()) {
        println!("{} loses its power", lost.name());
        lost.power_off().unwrap();
        let ask = format!(
            "kubectl --kubeconfig /etc/kubernetes/admin.conf --server={} --request-timeout=10s get nodes -o name 2>&1 || :",
            endpoint(lab)
        );
        wait_for("kubectl is answered by the load balancer", 60, || ok(other, &ask).contains("node/worker1"));
        lost.power_on().unwrap();
        wait_for("its API server is back", 120, || ok(lost, "curl -sk --max-time 5 https://127.0.0.1:6443/readyz || :") == "ok");
    }
}
