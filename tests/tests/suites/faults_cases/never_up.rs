//! A control plane that can't come up, for what its file says. It says so itself, and the file put right is enough.

use std::fs;

use kok_tests::lab::DEFAULT_KUBERNETES_VERSION;

use crate::cluster_support::cluster;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::up;

/// An option of the API server that names files which are not there. kokctl can't know that.
pub fn missing_file() {
    let lab = up(1);
    let kokctl = Kokctl::new(&lab);
    let right = fs::read_to_string(kokctl.manifest()).unwrap().replace("roles: [control-plane]}", "roles: [control-plane, worker]}");
    kokctl.write_manifest(&format!(
        "{}\n    kube_kubeadm_apiserver_extra_args: {{tls-sni-cert-key: \"/no/such.crt,/no/such.key\"}}\n",
        right.trim_end()
    ));
    let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert_eq!(said.code, 4, "{said:?}");
    let why = ["/no/such.crt: no such file or directory", "(likely: a file that an option names is not there"];
    for part in ["kube-apiserver said last: ", "hint: "].into_iter().chain(why) {
        assert!(said.stderr.contains(part), "{part} in {}", said.stderr);
    }
    kokctl.write_manifest(&right);
    kokctl.converge("apply");
    cluster::assert_complete(&lab, DEFAULT_KUBERNETES_VERSION);
    kokctl.has_nothing_to_do();
}
