//! The pods of the network check, and what they say of each other.

use std::collections::BTreeMap;

use super::parse::Section;

/// Asks each pod of the network check, through the API server's proxy, to ask all pods and the service. After [`super::kubernetes::READY`].
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
  while read -r node pod addresses; do
    [ -n "$addresses" ] || continue
    mark network-check "$node"
    kube get --raw "/api/v1/namespaces/kokctl-network-check/pods/$pod:8080/proxy/check?$query" 2>&1 </dev/null
  done <<PODS
$pods
PODS
fi
"#;

/// Answers by node.
pub(super) fn read(sections: &[Section<'_>]) -> BTreeMap<String, String> {
    let reports = sections.iter().filter(|section| section.name == "network-check");
    reports.map(|section| (section.argument.to_owned(), String::from_utf8_lossy(section.body).into_owned())).collect()
}
