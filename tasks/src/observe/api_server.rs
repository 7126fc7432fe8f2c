//! Whether API servers are ready, asked on a control plane.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::parse::{ParseError, Section, body_of, text_of};
use crate::shell::quote;

/// Whether this host's API server is ready, asked as the administrator. It asks etcd several times for that, for which it gives each two
/// seconds: where etcd was away, the whole may take longer than other questions. Whatever the name of the API leads to, it is this host's that is
/// asked.
///
/// Afterwards there is `curl_api OPTION|URL…`, if `$quick` says so: curl asks in a fifth of the processor time that kubectl takes. Its key comes from
/// a file in memory that has no name any more when curl is started. `raw PATH` prints what the API server answers, asked by kubectl where curl
/// got no good answer, so what is said then is the same on every host. To a curl that does not say who it is the API server answers with blanks in
/// its JSON. `pem certificate|key` takes it out of a kubeconfig. `shorter` leaves out of lists who has set which field, and of nodes their
/// images: most of an answer, and nobody reads it. It needs what the API server prints: strings have no bare quotes in them, so what it looks for is
/// never inside one.
pub(super) const READY: &str = concat!(
    "mark kube-ready\napi_server=\n",
    own_api_server!(),
    r#"version= quick=
curl_api() { curl -q -s -A kokctl --max-time 3 --noproxy '*' --cacert /etc/kubernetes/pki/ca.crt --cert /dev/fd/3 --key /dev/fd/3 "$@" 2>/dev/null; }
raw() {
  if [ -n "$quick" ] && said=$(curl_api -f --max-time 5 "$own_api_server$1"); then printf '%s\n' "$said"; else kube get --raw "$1" 2>&1 </dev/null; fi
}
pem() { sed -n "s|^ *client-$1-data: *\"\{0,1\}\([A-Za-z0-9+/=]*\)\"\{0,1\}\$|\1|p" | base64 -d; }
shorter() {
  sed -e 's/{"metadata":{"name":/\n&/g' -e 's/,"managedFields":\[[^\n]*\]},"spec":/},"spec":/g' -e 's/,"images":\[\({[^}]*}[],]\)\{1,\}//g'
}
if [ -s /etc/kubernetes/admin.conf ] && [ -x /usr/local/bin/kubectl ]; then
  kube() { HOME=/run/kokctl /usr/local/bin/kubectl --kubeconfig=/etc/kubernetes/admin.conf --server="$own_api_server" --request-timeout=5s "$@"; }
  pems() { pem certificate </etc/kubernetes/admin.conf && pem key </etc/kubernetes/admin.conf; }
  if command -v curl >/dev/null 2>&1 && mkdir -p -m 700 /run/kokctl && pems >"/run/kokctl/.asks.$$" 2>/dev/null; then
    exec 3<"/run/kokctl/.asks.$$"
    quick=yes version=$(curl_api -f "$own_api_server/readyz" "$own_api_server/version")
  fi
  rm -f "/run/kokctl/.asks.$$"
  case $version in
    'ok{'*) api_server=ready version=${version#ok}; echo ok;;
    *)
      quick= version=
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
  if [ -z "$api_server" ]; then
    echo 'the API server of this host is not ready'
  elif [ -z "$quick" ] || ! curl_api -f "$1/readyz"; then
    kube --server="$1" get --raw /readyz 2>&1
  fi
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
        answer => readyz(answer),
    })
}

/// `/readyz` says `ok`, before which kubectl may warn of something; anything else is why it doesn't.
fn readyz(answer: &str) -> ApiServerState {
    let answer = answer.trim();
    match answer.lines().next_back() {
        Some("ok") => ApiServerState::Ready,
        _ => ApiServerState::NotReady(answer.chars().take(4000).collect()),
    }
}
