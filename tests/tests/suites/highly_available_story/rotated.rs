//! Kubelets renew their client certificates by themselves, before these end.

use kok_tests::lab::{Host, Lab};

use super::any;
use crate::cluster_support::cluster::{control_planes, kubectl};
use crate::cluster_support::{hosts, ok};
use crate::lab_support::wait_for;

const CURRENT: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";

/// Of a control plane and of a worker, whose way to the API is another one.
pub fn kubelets_renew_their_certificates(lab: &Lab) {
    let workers: Vec<Host> = hosts(lab).into_iter().filter(|host| host.name().starts_with("worker")).collect();
    is_renewed(lab, &any(control_planes(lab)));
    if !workers.is_empty() {
        is_renewed(lab, &any(workers));
    }
}

/// A kubelet asks for the next certificate when 70 to 90 % of the time of its own have passed. So it gets one that began an hour ago and ends
/// soon, for the same key.
fn is_renewed(lab: &Lab, host: &Host) {
    let signer = control_planes(lab).remove(0);
    let request = ok(host, &format!("openssl x509 -in {CURRENT} -x509toreq -signkey {CURRENT} 2>/dev/null"));
    let aged = ok(&signer, &SIGN.replace("@", &request));
    assert!(aged.starts_with("-----BEGIN CERTIFICATE-----"), "{aged}");
    let serial = || ok(host, &format!("openssl x509 -in {CURRENT} -noout -serial -subject"));
    let own = serial();
    ok(
        host,
        &format!(
            "{{ openssl pkey -in {CURRENT}; cat <<'END'\n{aged}\nEND\n}} >/run/aged.pem && cat /run/aged.pem >{CURRENT} && rm /run/aged.pem"
        ),
    );
    let before = serial();
    assert_ne!(own, before);
    ok(host, "systemctl restart kubelet.service");
    wait_for("the kubelet has another certificate", 120, || serial() != before);
    let after = serial();
    let subject = |text: &str| text.split_once('\n').map(|(_, subject)| subject.to_owned());
    assert_eq!(subject(&after), subject(&own), "{after}");
    assert!(![own, before].contains(&after), "{after}");
    assert_eq!(
        ok(host, &format!("openssl x509 -in {CURRENT} -noout -checkend 31000000")),
        "Certificate will not expire",
        "{}",
        host.name()
    );
    // Whoever still asked with the old one would be refused when that ends: the kubelet's next word to the API is by the new one.
    let lease = || kubectl(lab, &format!("-n kube-node-lease get lease {} -o jsonpath='{{.spec.renewTime}}'", host.name()));
    let then = lease();
    wait_for("the kubelet renews its lease", 60, || lease() > then);
    assert!(kubectl(lab, &format!("wait --for=condition=Ready --timeout=60s node/{}", host.name())).contains("condition met"));
}

/// Signs a request as the controller manager would, but for the time: from an hour ago to in five minutes.
const SIGN: &str = "d=$(mktemp -d) && cd $d && : >index && echo 7777 >serial && cat >request <<'END'
@
END
cat >configuration <<'END'
[ca]
default_ca = own
[own]
database = index
new_certs_dir = .
serial = serial
default_md = sha256
policy = any
x509_extensions = client
[any]
organizationName = supplied
commonName = supplied
[client]
keyUsage = critical, digitalSignature
extendedKeyUsage = clientAuth
END
openssl ca -batch -notext -preserveDN -config configuration -in request -cert /etc/kubernetes/pki/ca.crt -keyfile /etc/kubernetes/pki/ca.key \\
    -startdate $(date -u -d '-1 hour' +%Y%m%d%H%M%SZ) -enddate $(date -u -d '+5 minutes' +%Y%m%d%H%M%SZ) 2>/dev/null
cd / && rm -r $d";
