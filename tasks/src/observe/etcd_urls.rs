//! Members of etcd as others reach them, by their URLs for clients.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::parse::{ParseError, Section, body_of};
use crate::shell::quote;

/// `/health` of a member reads through its leader. What is asked here matters before the API server is there, and not any more afterwards.
const ASK_ENDPOINT: &str = r#"ask_endpoint() {
  mark etcd-endpoint "$1"
  if [ -e /etc/kubernetes/manifests/kube-apiserver.yaml ]; then echo healthy; return; fi
  [ -s /etc/kubernetes/pki/apiserver-etcd-client.key ] && [ -x /usr/local/bin/kubectl ] || { echo 'nothing can ask it yet'; return; }
  said=$(HOME=/run/kokctl KUBECONFIG=/dev/null /usr/local/bin/kubectl --server="$1" --request-timeout=3s \
    --certificate-authority=/etc/kubernetes/pki/etcd/ca.crt --client-certificate=/etc/kubernetes/pki/apiserver-etcd-client.crt \
    --client-key=/etc/kubernetes/pki/apiserver-etcd-client.key get --raw /health 2>&1)
  case $said in *'"health":"true"'*) echo healthy;; *) printf '%s\n' "$said";; esac
}
"#;

/// What another host says of a member's URL for clients: whether it answers there and works with the others. Asked with what this host asks its own
/// member with. It takes no longer than 3 s, whatever keeps the answer: who asks the gate gives up a host that says nothing for a second more than the others.
/// One that refuses is told by curl at once, and by etcdctl at the end of its time.
const ASK_PEER: &str = r#"ask_peer() {
  mark etcd-peer "$1"
  [ -s /etc/kubernetes/pki/etcd/healthcheck-client.key ] || { echo 'nothing can ask it'; return; }
  if [ -s /etc/etcd/etcd.yaml ] && command -v curl >/dev/null 2>&1; then
    said=$(curl -q -sS --max-time 3 --noproxy '*' --cacert /etc/kubernetes/pki/etcd/ca.crt --cert /etc/kubernetes/pki/etcd/healthcheck-client.crt \
      --key /etc/kubernetes/pki/etcd/healthcheck-client.key "$1/health" 2>&1)
  elif [ -s /etc/etcd/etcd.yaml ] && [ -x /usr/local/bin/etcdctl ]; then
    said=$(/usr/local/bin/etcdctl --endpoints="$1" --dial-timeout=3s --command-timeout=3s --write-out=json endpoint health \
      --cacert=/etc/kubernetes/pki/etcd/ca.crt --cert=/etc/kubernetes/pki/etcd/healthcheck-client.crt \
      --key=/etc/kubernetes/pki/etcd/healthcheck-client.key 2>&1)
  elif [ -x /usr/local/bin/kubectl ]; then
    said=$(HOME=/run/kokctl KUBECONFIG=/dev/null /usr/local/bin/kubectl --server="$1" --request-timeout=3s \
      --certificate-authority=/etc/kubernetes/pki/etcd/ca.crt --client-certificate=/etc/kubernetes/pki/etcd/healthcheck-client.crt \
      --client-key=/etc/kubernetes/pki/etcd/healthcheck-client.key get --raw /health 2>&1)
  else
    said='nothing can ask it'
  fi
  case $said in *'"health":true'*|*'"health":"true"'*) echo healthy;; *) printf '%s\n' "$said" | tail -c 1000;; esac
}
"#;

/// A question for each URL, to be asked side by side.
pub(super) fn peers(urls: &BTreeSet<String>) -> impl Iterator<Item = String> {
    urls.iter().map(|url| format!("{ASK_PEER}ask_peer {}\n", quote(url)))
}

pub(super) fn read_peers(sections: &[Section<'_>], urls: &BTreeSet<String>) -> Result<BTreeMap<String, String>, ParseError> {
    read_each(sections, "etcd-peer", urls)
}

pub(super) fn push_endpoints(script: &mut String, urls: &BTreeSet<String>) {
    if !urls.is_empty() {
        script.push_str(ASK_ENDPOINT);
    }
    for url in urls {
        let _ = writeln!(script, "ask_endpoint {}", quote(url));
    }
}

pub(super) fn read_endpoints(sections: &[Section<'_>], urls: &BTreeSet<String>) -> Result<BTreeMap<String, String>, ParseError> {
    read_each(sections, "etcd-endpoint", urls)
}

fn read_each(sections: &[Section<'_>], name: &str, urls: &BTreeSet<String>) -> Result<BTreeMap<String, String>, ParseError> {
    let answer = |url: &String| Ok((url.clone(), String::from_utf8_lossy(body_of(sections, name, url)?).trim().to_owned()));
    urls.iter().map(answer).collect()
}
