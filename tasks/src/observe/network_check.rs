//! The pods of the network check, and what they say of each other.

use std::collections::BTreeMap;

use super::parse::Section;

/// How much of an answer is passed on: the pods that did not answer it, some hundred.
pub(super) const ANSWER_LIMIT: usize = 4096;

/// Asks each pod of the network check, through the API server's proxy, to ask all pods and the service. After [`super::kubernetes::READY`].
///
/// Twelve at a time, for each is a kubectl of some 40 MB on a control plane, and each with a deadline of its own: a pod asks all others beside
/// each other within 3 s, so one that takes longer than the 5 s of `kube` is not reached, and holds up few others.
pub(super) const SCRIPT: &str = r#"mark network-check-pods
if [ -n "$api_server" ]; then
  pods=$(kube -n kokctl-network-check get pods -o jsonpath='{range .items[*]}{.spec.nodeName} {.metadata.name} {.status.podIPs[*].ip}{"\n"}{end}' 2>/dev/null)
  query="timeout=3s&target=http://network-check.kokctl-network-check:8080/"
  while read -r node pod addresses; do
    for address in $addresses; do
      case $address in *:*) address="%5B$address%5D";; esac
      query="$query&target=http://$address:8080/"
    done
  done <<PODS
$pods
PODS
  answers=$(mktemp -d)
  count=0
  while read -r node pod addresses; do
    [ -n "$addresses" ] || continue
    count=$((count + 1))
    kube get --raw "/api/v1/namespaces/kokctl-network-check/pods/$pod:8080/proxy/check?$query" >"$answers/$count" 2>&1 </dev/null &
    [ $((count % 12)) != 0 ] || wait
  done <<PODS
$pods
PODS
  wait
  count=0
  while read -r node pod addresses; do
    [ -n "$addresses" ] || continue
    count=$((count + 1))
    mark network-check "$node"
    head -c 4096 "$answers/$count"
  done <<PODS
$pods
PODS
  rm -rf "$answers"
fi
"#;

/// Answers by node.
pub(super) fn read(sections: &[Section<'_>]) -> BTreeMap<String, String> {
    let reports = sections.iter().filter(|section| section.name == "network-check");
    reports.map(|section| (section.argument.to_owned(), String::from_utf8_lossy(section.body).into_owned())).collect()
}
