//! Whether API servers are ready, asked on a control plane.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::kubernetes;
use super::look::Looks;
use super::parse::{ParseError, Section, body_of, text_of};
use crate::shell::quote;

/// Whether this host's API server is ready, asked as the administrator. It asks etcd several times for that, for which it gives each two
/// seconds: where etcd was away, the whole may take longer than other questions. Whatever the name of the API leads to, it is this host's that is
/// asked.
///
/// Afterwards there is `curl_api OPTION|URL…`, if `$quick` says so: curl asks in a fifth of the processor time that kubectl takes. Its key comes from
/// a file in memory that has no name any more when curl is started. `raw PATH` prints what the API server answers, asked by kubectl where curl
/// got no good answer, so what is said then is the same on every host. To a curl that does not say who it is the API server answers with blanks in
/// its JSON. `pem certificate|key` takes it out of a kubeconfig; both are had from one base64, where that takes several texts. `shorter` leaves out of lists who has set which field, and of nodes their
/// images: most of an answer, and nobody reads it. It needs what the API server prints: strings have no bare quotes in them, so what it looks for is
/// never inside one.
///
/// To start curl, and to have it and the API server show each other who they are, takes longer than most answers. So the same curl asks for what is to be known
/// of an API server that is ready, in a variable for each list and in `$objects`, which is empty where it had no good answer. With one that is not good it ends,
/// so that nothing more is asked of an API server that is not ready: the last answer counts if curl ended well. Behind each answer and its code stands what no
/// JSON has in it.
const READY: &str = concat!(
    "mark kube-ready\napi_server=\n",
    own_api_server!(),
    r#"version= quick= @NAMES@
curl_api() { curl -q -s -A kokctl --max-time 3 --noproxy '*' --cacert /etc/kubernetes/pki/ca.crt --cert /dev/fd/3 --key /dev/fd/3 "$@" 2>/dev/null; }
raw() {
  if [ -n "$quick" ] && said=$(curl_api -f --max-time 5 "$own_api_server$1"); then printf '%s\n' "$said"; else kube get --raw "$1" 2>&1 </dev/null; fi
}
pem() { sed -nE "s#^ *client-($1)-data: *\"?([A-Za-z0-9+/=]*)\"?\$#\2#p" | base64 -d; }
shorter() {
  sed -e 's/{"metadata":{"name":/\n&/g' -e 's/,"managedFields":\[[^\n]*\]},"spec":/},"spec":/g' -e 's/,"images":\[\({[^}]*}[],]\)\{1,\}//g'
}
answered() {
  status=$2 least=2
  [ "$status" = 0 ] || least=3
  set -f
  IFS='@APART@'
  set -- $1
  unset IFS
  set +f
  [ $# -ge $((least + 2)) ] && [ "$1 $2 $4" = 'ok 200 200' ] || return 1
  version=$3
  shift 4
@ANSWERS@}
if [ -s /etc/kubernetes/admin.conf ] && [ -x /usr/local/bin/kubectl ]; then
  kube() { HOME=/run/kokctl /usr/local/bin/kubectl --kubeconfig=/etc/kubernetes/admin.conf --server="$own_api_server" --request-timeout=5s "$@"; }
  own=/etc/kubernetes/admin.conf asks="/run/kokctl/.asks.$$"
  pems() { pem 'certificate|key' <"$own" >"$asks" || { pem certificate <"$own" && pem key <"$own"; } >"$asks"; }
  if command -v curl >/dev/null 2>&1 && { [ -d /run/kokctl ] || mkdir -p -m 700 /run/kokctl; } && pems 2>/dev/null; then
    exec 3<"$asks"
    quick=yes
  fi
  rm -f "$asks"
  if [ -n "$quick" ]; then
    answers=$(curl_api --fail-early -K - <<API_REQUESTS
@REQUESTS@API_REQUESTS
    )
    if answered "$answers" $?; then api_server=ready; else quick=; fi
    answers=
  fi
  if [ -n "$quick" ]; then echo ok; elif kube get --raw /readyz --request-timeout=10s 2>&1; then api_server=ready; fi
else
  echo absent
fi
"#
);

/// Stands behind what curl prints of an answer (RS of ASCII).
const APART: &str = "\u{1e}";

/// What curl is told for each question but its address, where options of the command line do not count any more.
const OPTIONS: &str = "next\nsilent\nuser-agent = \"kokctl\"\nmax-time = 3\nnoproxy = \"*\"\ncacert = \"/etc/kubernetes/pki/ca.crt\"\ncert = \"/dev/fd/3\"\n\
                       key = \"/dev/fd/3\"\n";

/// The question whether it is ready, with what else is asked. Objects that are not there are no reason to end.
pub(super) fn ready(looks: &Looks) -> String {
    let (lists, objects) = (kubernetes::lists(looks), if looks.kubernetes { kubernetes::paths() } else { Vec::new() });
    let said = format!("write-out = \"{APART}%{{http_code}}{APART}\"\n");
    let url = |path: &str| format!("url = \"$own_api_server{path}\"\n");
    let mut requests = format!("fail\n{said}{}{}", url("/readyz"), url("/version"));
    let (mut names, mut answers) = (String::new(), String::new());
    for (name, path) in lists {
        requests.push_str(&url(path));
        // Writing to a String can't fail.
        let _ = write!(names, "{name}= ");
        let _ = writeln!(answers, "  [ $# -ge $least ] || return 0\n  [ \"$2\" != 200 ] || {name}=$1\n  shift 2");
    }
    if !objects.is_empty() {
        names.push_str("objects=");
        requests.push_str(&format!("{OPTIONS}{said}"));
        requests.extend(objects.iter().map(|path| url(path)));
        let _ = writeln!(
            answers,
            "  [ $status = 0 ] && [ $# = {} ] || return 0\n  while [ $# != 0 ]; do objects=$objects$1; shift 2; done",
            2 * objects.len()
        );
    }
    READY.replace("@NAMES@", &names).replace("@ANSWERS@", &answers).replace("@REQUESTS@", &requests).replace("@APART@", APART)
}

/// Whether an API server answers at a URL. After [`ready`].
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use std::process::Command;

    use super::super::look::Look;
    use super::*;

    /// What is taken out of answers with their codes, where curl ended so: whether it is ready, what each list says, and how much of objects.
    fn taken(answers: &[(&str, &str)], ended: u8) -> String {
        let looks: Looks = [Look::Kubernetes, Look::LoadBalancers].into_iter().collect();
        let told = r#"answered "$1" "$2" && printf '%s,' "$version" "$tokens" "$nodes" "$balancers" "${#objects}""#;
        let script = format!("mark() {{ :; }}\n{}{told}", ready(&looks));
        let answers: String = answers.iter().map(|(body, code)| format!("{body}{APART}{code}{APART}")).collect();
        let output = Command::new("sh").args(["-c", &script, "sh", &answers, &ended.to_string()]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().strip_prefix("absent\n").unwrap().to_owned()
    }

    #[test]
    fn an_answer_counts_that_is_whole_and_good() {
        let lists = [("ok", "200"), ("{}\n", "200"), ("t *\n", "200"), ("n\n\n", "200"), ("b\n", "200")];
        let all = || [lists.to_vec(), kubernetes::paths().iter().map(|_| ("o", "404")).collect()].concat();
        let of = |answers: &[(&str, &str)], ended| taken(answers, ended);
        assert_eq!(of(&all(), 0), format!("{{}}\n,t *\n,n\n\n,b\n,{},", kubernetes::paths().len()));
        assert_eq!(of(&all(), 28), "{}\n,t *\n,n\n\n,b\n,0,", "the last object is not whole");
        assert_eq!(of(all().get(..7).unwrap(), 28), "{}\n,t *\n,n\n\n,b\n,0,");
        assert_eq!(of(lists.get(..4).unwrap(), 28), "{}\n,t *\n,,,0,", "nor is a list, whatever its code");
        assert_eq!(of(&[lists.get(..2).unwrap(), &[("no", "403")]].concat(), 22), "{}\n,,,,0,");
        assert_eq!(of(lists.get(..2).unwrap(), 28), "");
        assert_eq!(of(&[("", "500")], 22), "");
        assert_eq!(of(&[], 7), "");
    }

    /// Options of the command line end where options of other questions begin.
    #[test]
    fn every_question_shows_who_asks() {
        let script = ready(&[Look::Kubernetes].into_iter().collect());
        assert_eq!(script.matches("next\n").count(), 1);
        let behind = script.split_once("next\n").unwrap().1;
        for option in ["cert = \"/dev/fd/3\"", "key = \"/dev/fd/3\"", "cacert = ", "max-time = 3", "noproxy = \"*\""] {
            assert!(behind.contains(option), "{option}");
        }
        assert!(!behind.contains("fail\n"), "an object that is not there is an answer");
    }
}
