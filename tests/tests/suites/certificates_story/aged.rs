//! Certificates that are as they would be after most of their time: the hosts share one clock, which must not be moved.

use std::process::Stdio;

use kok_tests::lab::Host;

use crate::cluster_support::ok;

/// How much is left of their time, which began ten hours ago.
#[derive(Debug, Clone, Copy)]
pub enum Left {
    Minutes(u32),
    /// They ended a minute ago.
    Ended,
}

impl Left {
    fn date(self) -> String {
        match self {
            Self::Minutes(minutes) => format!("+{minutes} minutes"),
            Self::Ended => "-1 minute".to_owned(),
        }
    }
}

/// `age CERTIFICATE KEY AUTHORITY` prints the same certificate as the authority would have made it ten hours ago, with another end.
const AGE: &str = r#"set -e
age() {
  d=$(mktemp -d); : >"$d/index"; openssl rand -hex 8 >"$d/serial"
  printf '%s\n' '[ca]' 'default_ca = own' '[own]' "database = $d/index" "new_certs_dir = $d" "serial = $d/serial" 'default_md = sha256' \
    'policy = any' 'copy_extensions = copyall' '[any]' 'organizationName = optional' 'commonName = supplied' >"$d/configuration"
  openssl x509 -in "$1" -x509toreq -copy_extensions copyall -signkey "$2" -out "$d/request" 2>"$d/said" || { cat "$d/said" >&2; exit 1; }
  openssl ca -batch -notext -preserveDN -config "$d/configuration" -in "$d/request" -cert "$3.crt" -keyfile "$3.key" -out "$d/new" \
    -startdate "$(date -u -d '-10 hours' +%Y%m%d%H%M%SZ)" -enddate "$(date -u -d "$until" +%Y%m%d%H%M%SZ)" 2>"$d/said" || { cat "$d/said" >&2; exit 1; }
  cat "$d/new"; rm -r "$d"
}
cd /etc/kubernetes
"#;

const ALL: &str = r#"for leaf in apiserver apiserver-kubelet-client apiserver-etcd-client front-proxy-client etcd/server etcd/peer etcd/healthcheck-client; do
  case $leaf in etcd/*|apiserver-etcd-client) by=pki/etcd/ca;; front-proxy-client) by=pki/front-proxy-ca;; *) by=pki/ca;; esac
  age "pki/$leaf.crt" "pki/$leaf.key" "$by" >/run/aged.crt
  cat /run/aged.crt >"pki/$leaf.crt"
done
for user in admin controller-manager scheduler; do
  sed -n 's/^ *client-certificate-data: *//p' "$user.conf" | tr -d '"' | base64 -d >/run/own.crt
  (umask 077; sed -n 's/^ *client-key-data: *//p' "$user.conf" | tr -d '"' | base64 -d >/run/own.key)
  age /run/own.crt /run/own.key pki/ca >/run/aged.crt
  sed -i "s|\(client-certificate-data: \).*|\1$(base64 -w0 </run/aged.crt)|" "$user.conf"
done
shown=/var/lib/kubelet/pki/kubelet
age $shown.crt $shown.key pki/ca >/run/aged.crt
cat /run/aged.crt >$shown.crt
rm -f /run/aged.crt /run/own.crt /run/own.key
"#;

/// A line for each certificate that is made anew.
pub const SERIALS: &str = r#"cd /etc/kubernetes
for leaf in apiserver apiserver-kubelet-client apiserver-etcd-client front-proxy-client etcd/server etcd/peer etcd/healthcheck-client; do
  openssl x509 -in "pki/$leaf.crt" -noout -serial
done
for user in admin controller-manager scheduler; do
  sed -n 's/^ *client-certificate-data: *//p' "$user.conf" | tr -d '"' | base64 -d | openssl x509 -noout -serial
done
openssl x509 -in /var/lib/kubelet/pki/kubelet.crt -noout -serial"#;

/// Ages all leaves of a control plane, the certificates inside its kubeconfigs, and what its kubelet shows.
pub fn age(host: &Host, left: Left) {
    ok(host, &format!("until='{}'\n{AGE}{ALL}", left.date()));
}

const CURRENT: &str = "/var/lib/kubelet/pki/kubelet-client-current.pem";

/// Ages what the kubelet of a host asks the API with, which the authority of a control plane has signed.
pub fn age_kubelet(signer: &Host, host: &Host, left: Left) {
    // It has its key too, and arguments are for all to read.
    let mut own = host.ssh_command("root", format!("cat {CURRENT}")).unwrap().stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let sign =
        format!("until='{}'\n{AGE}(umask 077; cat >/run/own.pem)\nage /run/own.pem /run/own.pem pki/ca\nrm /run/own.pem", left.date());
    let signed = signer.ssh_command("root", sign).unwrap().stdin(own.stdout.take().unwrap()).output().unwrap();
    assert!(own.wait().unwrap().success() && signed.status.success(), "{signed:?}");
    let aged = String::from_utf8(signed.stdout).unwrap();
    let aged = aged.trim();
    assert!(aged.starts_with("-----BEGIN CERTIFICATE-----"), "{aged}");
    ok(
        host,
        &format!(
            "{{ cat <<'END'\n{aged}\nEND\nopenssl pkey -in {CURRENT}; }} >/run/aged.pem && cat /run/aged.pem >{CURRENT} && rm /run/aged.pem"
        ),
    );
}
