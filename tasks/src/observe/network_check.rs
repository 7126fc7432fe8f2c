//! The pods of the network check, and what they say of each other.

use std::collections::BTreeMap;
use std::time::Duration;

use super::parse::Section;
use crate::operations::ASKED_BY;
use crate::shell::quote;

/// How long pods are asked, the last ones 5 s longer. A probe has a minute for all, of which what comes before may take a half where the API
/// server hardly answers.
pub(super) const TIME: Duration = Duration::from_secs(20);

/// How much of an answer is passed on. A pod names each address that it has asked, some 130 bytes of one that answers and twice that of one
/// that does not; it asks at 260 addresses at the most ([`crate::operations::NetworkCheck`]).
pub(super) const ANSWER_LIMIT: usize = 128 << 10;

/// How the report of a pod begins that nobody asked, because the ones before it took all the time.
pub const NOT_ASKED: &str = "not asked";

/// The number of the asker that a pod which only answers belongs to counts up with such pods, so each asker gets as many. Names and addresses
/// are in variables while they are expanded: `eval` sees numbers that this script has made itself.
const SCRIPT: &str = r#"mark network-check-pods
case ${objects-not asked} in
  'not asked'|*'"namespace":"kokctl-network-check"'*|*'"namespace": "kokctl-network-check"'*) checked=yes;;
  *) checked=;;
esac
if [ -n "$api_server" ] && [ -n "$checked" ]; then
  folder=$(mktemp -d)
  kube -n kokctl-network-check get pods -o jsonpath='{range .items[*]}{.spec.nodeName} {.metadata.name} {.status.podIPs[*].ip}{"\n"}{end}' 2>/dev/null | sort >"$folder/pods"
  query="timeout=3s&target=http://network-check.kokctl-network-check:8080/" others=0
  while read -r node pod addresses; do
    targets=
    for address in $addresses; do
      case $address in *:*) address="%5B$address%5D";; esac
      targets="$targets&target=http://$address:8080/"
    done
    case $askers in
      *" $node "*) query="$query$targets";;
      *)
        for step in $steps; do
          share=$(((others + step) % count))
          eval "share_$share=\${share_$share-}\$targets"
        done
        others=$((others + 1));;
    esac
  done <"$folder/pods"
  read -r now rest </proc/uptime
  until=$((${now%%.*} + seconds))
  ask_pod() {
    if [ -z "$quick" ]; then kube get --raw "$1" 2>&1 </dev/null; return; fi
    said=$(curl_api --max-time 5 "$own_api_server$1") || :
    case $said in
      '') echo 'it did not answer within 5 s';;
      '{"kind":"Status"'*'"message":"'*)
        said=${said#*'"message":"'}
        printf '%s\n' "${said%%'","'*}";;
      *) printf '%s\n' "$said";;
    esac
  }
  ask() {
    number=0
    while read -r node pod addresses; do
      case $askers in *" $node "*) ;; *) continue;; esac
      [ -n "$addresses" ] || continue
      number=$((number + 1))
      [ $((number % 12)) = "$1" ] || continue
      read -r now rest </proc/uptime
      if [ "${now%%.*}" -lt "$until" ]; then
        eval "share=\${share_$((number - 1))-}"
        ask_pod "/api/v1/namespaces/kokctl-network-check/pods/$pod:8080/proxy/check?$query$share" >"$folder/$number"
      else
        echo "$not_asked" >"$folder/$number"
      fi
    done <"$folder/pods"
  }
  for lane in 0 1 2 3 4 5 6 7 8 9 10 11; do ask "$lane" & done
  wait
  number=0
  while read -r node pod addresses; do
    case $askers in *" $node "*) ;; *) continue;; esac
    [ -n "$addresses" ] || continue
    number=$((number + 1))
    mark network-check "$node"
    head -c "$limit" "$folder/$number"
  done <"$folder/pods"
  rm -rf "$folder"
fi
"#;

/// Asks the pods of these nodes, through the API server's proxy, to ask each other and the service, and their share of the other pods. After
/// [`super::api_server::ready`], and after [`super::kubernetes::objects`] where these are asked for too: without their namespace there are none.
///
/// Twelve at a time, for each may be a kubectl of some 40 MB on a control plane, and each with a deadline of its own: a pod asks all others beside
/// each other within 3 s, so one that takes longer than 5 s is not reached, and holds up few others: where curl got no answer kubectl is not asked again. After `time` nobody is
/// asked any more, whatever the number of pods that don't answer.
#[must_use]
pub fn script(askers: &[String], time: Duration) -> String {
    let names = quote(&format!(" {} ", askers.join(" ")));
    let steps = (0..ASKED_BY).map(|step| step.to_string()).collect::<Vec<_>>().join(" ");
    let (count, seconds) = (askers.len().max(1), time.as_secs());
    format!(
        "askers={names} count={count} steps={} seconds={seconds} limit={ANSWER_LIMIT} not_asked={}\n{SCRIPT}",
        quote(&steps),
        quote(NOT_ASKED)
    )
}

/// Answers by node.
pub(super) fn read(sections: &[Section<'_>]) -> BTreeMap<String, String> {
    let reports = sections.iter().filter(|section| section.name == "network-check");
    reports.map(|section| (section.argument.to_owned(), String::from_utf8_lossy(section.body).into_owned())).collect()
}
