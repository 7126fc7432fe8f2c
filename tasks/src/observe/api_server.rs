//! Whether API servers are ready, asked on a control plane.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::parse::{ParseError, Section, body_of, text_of};
use crate::shell::quote;

/// Whether this host's API server is ready, asked as the administrator. It asks etcd several times for that, for which it gives each two
/// seconds: where etcd was away, the whole may take longer than other questions. Whatever the name of the API leads to, it is this host's that is
/// asked.
///
/// curl asks that, and for the version (`$version`), in a third of the time that kubectl takes, where it is there; its key comes from a file in memory
/// that has no name any more when curl is started. kubectl asks where curl got no good answer, so what is said then is the same on every host.
pub(super) const READY: &str = concat!(
    "mark kube-ready\napi_server=\n",
    own_api_server!(),
    r#"version=
if [ -s /etc/kubernetes/admin.conf ] && [ -x /usr/local/bin/kubectl ]; then
  kube() { HOME=/run/kokctl /usr/local/bin/kubectl --kubeconfig=/etc/kubernetes/admin.conf --server="$own_api_server" --request-timeout=5s "$@"; }
  ask_quickly() {
    command -v curl >/dev/null 2>&1 && mkdir -p -m 700 /run/kokctl || return
    ( pem() { sed -n "s/^ *client-$1-data: *//p" /etc/kubernetes/admin.conf | base64 -d; }
      { pem certificate && pem key; } >"/run/kokctl/.asks.$$" && exec 3<"/run/kokctl/.asks.$$"
      rm -f "/run/kokctl/.asks.$$"
      curl -q -sf --max-time 3 --noproxy '*' --cacert /etc/kubernetes/pki/ca.crt --cert /dev/fd/3 --key /dev/fd/3 "$@" ) 2>/dev/null
  }
  version=$(ask_quickly "$own_api_server/readyz" "$own_api_server/version")
  case $version in
    'ok{'*) api_server=ready version=${version#ok}; echo ok;;
    *)
      version=
      if kube get --raw /readyz --request-timeout=10s 2>&1; then api_server=ready; fi;;
  esac
else
  echo absent
fi
"#
);

/// Whether an API server answers at a URL. After [`READY`].
const ASK_ENDPOINT: &str = r#"ask_api() {
  mark kube-endpoint "$1"
  if [ -n "$api_server" ]; then kube --server="$1" get --raw /readyz 2>&1; else echo 'the API server of this host is not ready'; fi
}
"#;

pub(super) fn push_endpoints(script: &mut String, urls: &BTreeSet<String>) {
    if !urls.is_empty() {
        script.push_str(ASK_ENDPOINT);
    }
    for url in urls {
        let _ = writeln!(script, "ask_api {}", quote(url));
    }
}

pub(super) fn read_endpoints(sections: &[Section<'_>], urls: &BTreeSet<String>) -> Result<BTreeMap<String, ApiServerState>, ParseError> {
    let state = |url: &String| Ok((url.clone(), readyz(&String::from_utf8_lossy(body_of(sections, "kube-endpoint", url)?))));
    urls.iter().map(state).collect()
}

/// The API server of a control plane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApiServerState {
    /// No administrator's kubeconfig or no kubectl on the host: nothing was set up yet.
    Absent,
    /// It doesn't answer or isn't ready; what it or kubectl said.
    NotReady(String),
    /// It is ready.
    Ready,
}

/// The API server of the host.
pub(super) fn read(sections: &[Section<'_>]) -> Result<ApiServerState, ParseError> {
    Ok(match text_of(sections, "kube-ready")?.trim() {
        "absent" => ApiServerState::Absent,
        said => readyz(said),
    })
}

/// `/readyz` says `ok`, before which kubectl may warn of something; anything else is why it doesn't.
fn readyz(said: &str) -> ApiServerState {
    let said = said.trim();
    match said.lines().next_back() {
        Some("ok") => ApiServerState::Ready,
        _ => ApiServerState::NotReady(said.chars().take(4000).collect()),
    }
}
