//! What the cluster is asked. All of it after [`super::super::api_server::ready`], on a host whose API server is ready.

use super::super::look::Looks;
use crate::network_plugins::{self, Object};

const NODES: &str = "/api/v1/nodes";
const TOKENS: &str = "/api/v1/namespaces/kube-system/secrets?fieldSelector=type%3Dbootstrap.kubernetes.io%2Ftoken";
const LOAD_BALANCERS: &str = "/api/v1/namespaces/kube-system/pods?labelSelector=app.kubernetes.io%2Fname%3Dkokctl-load-balancer";

/// The lists that are asked for with the question whether the API server is ready: the variable of each, and where the API has it.
pub(in super::super) fn lists(looks: &Looks) -> Vec<(&'static str, &'static str)> {
    let of_cluster = [("tokens", TOKENS), ("nodes", NODES)].into_iter().filter(|_| looks.kubernetes);
    of_cluster.chain(looks.load_balancers.then_some(("balancers", LOAD_BALANCERS))).collect()
}

/// The nodes, and the load balancers of hosts. What both are shortened by is started once.
pub(in super::super) fn nodes_and_load_balancers(looks: &Looks) -> String {
    let mut lists = String::new();
    if looks.kubernetes {
        lists.push_str(&format!("  if [ -n \"$api_server\" ]; then mark kube-nodes; list \"$nodes\" '{NODES}'; fi\n"));
    }
    if looks.load_balancers {
        lists.push_str(&format!("  mark kube-load-balancers\n  [ -z \"$api_server\" ] || list \"$balancers\" '{LOAD_BALANCERS}'\n"));
    }
    if lists.is_empty() {
        return lists;
    }
    format!("list() {{ if [ -n \"$1\" ]; then printf '%s\\n' \"$1\"; else raw \"$2\"; fi; }}\n{{\n{lists}}} | shorter\n")
}

/// Objects that tasks look at, besides those of network plugins.
static OBJECTS: [Object; 15] = [
    object("v1", "ConfigMap", "kube-system", "kubeadm-config"),
    object("v1", "ConfigMap", "kube-system", "kubelet-config"),
    object("v1", "ConfigMap", "kube-system", "kokctl"),
    object("v1", "ConfigMap", "kube-system", "kokctl-addons"),
    object("v1", "ConfigMap", "kube-system", "kokctl-cluster"),
    object("v1", "ConfigMap", "kube-public", "cluster-info"),
    object("apps/v1", "DaemonSet", "kube-system", "kube-proxy"),
    object("apps/v1", "Deployment", "kube-system", "coredns"),
    object("apps/v1", "DaemonSet", "kube-system", "nodelocaldns"),
    object("apps/v1", "DaemonSet", "kokctl-network-check", "network-check"),
    object("v1", "Namespace", "", "kokctl-network-check"),
    object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", "kubeadm:cluster-admins"),
    object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", "kubeadm:node-autoapprove-bootstrap"),
    object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", "kubeadm:apiserver-kubelet-client"),
    object("rbac.authorization.k8s.io/v1", "RoleBinding", "kube-public", "kubeadm:bootstrap-signer-clusterinfo"),
];

const fn object(api_version: &'static str, kind: &'static str, namespace: &'static str, name: &'static str) -> Object {
    Object { api_version, kind, namespace, name }
}

/// These, and those by which network plugins are known.
fn asked() -> impl Iterator<Item = &'static Object> {
    OBJECTS.iter().chain(network_plugins::all().flat_map(|plugin| plugin.objects))
}

/// Where the API has the objects.
pub(in super::super) fn paths() -> Vec<String> {
    asked().map(path).collect()
}

/// The objects: what curl was answered, one after the other, a `Status` in place of what does not exist; or what `kubectl get -f` answers, which leaves that out.
/// An answer is a whole one if all of them came. It is in `$objects` afterwards.
pub(in super::super) fn objects() -> String {
    let list: Vec<String> = asked().map(item).collect();
    format!(
        r#"if [ -n "$api_server" ]; then
  mark kube-objects
  [ -n "$objects" ] || objects=$(kube get --ignore-not-found -o json -f - 2>&1 <<'KUBERNETES_OBJECTS'
{{"apiVersion":"v1","kind":"List","items":[
{}
]}}
KUBERNETES_OBJECTS
  )
  printf '%s\n' "$objects"
fi
"#,
        list.join(",\n")
    )
}

/// Where the API has an object. What we ask for is called in the plural as English has it.
fn path(object: &Object) -> String {
    let Object { api_version, kind, namespace, name } = object;
    let group = if api_version.contains('/') { format!("/apis/{api_version}") } else { format!("/api/{api_version}") };
    let namespace = if namespace.is_empty() { String::new() } else { format!("/namespaces/{namespace}") };
    format!("{group}{namespace}/{}s/{name}", kind.to_lowercase())
}

fn item(Object { api_version, kind, namespace, name }: &Object) -> String {
    let namespace = if namespace.is_empty() { String::new() } else { format!(r#","namespace":"{namespace}""#) };
    format!(r#"{{"apiVersion":"{api_version}","kind":"{kind}","metadata":{{"name":"{name}"{namespace}}}}}"#)
}

/// The bootstrap tokens, of which nothing secret leaves the host: a line for each, with its end. In most clusters there is none.
pub(in super::super) fn tokens() -> String {
    TOKEN_LINES.replace("@TOKENS@", TOKENS)
}

const TOKEN_LINES: &str = r#"if [ -n "$api_server" ]; then
  mark kube-tokens
  [ -n "$tokens" ] || tokens=$(raw '@TOKENS@')
  case $tokens in *bootstrap-token-*)
    printf '%s\n' "$tokens" | tr ',{}' '\n\n\n' | sed -n 's/^"name":"\(bootstrap-token-[a-z0-9]*\)"$/secret\/\1/p; s/^"expiration":"\([A-Za-z0-9+/=]*\)"$/end \1/p';;
  esac
  tokens=
fi
"#;

/// The last two warnings of the cluster.
pub(in super::super) const WARNINGS: &str = r#"mark kube-warnings
if [ -n "$api_server" ]; then
  kube get events -A --field-selector type=Warning --sort-by=.lastTimestamp \
    -o jsonpath='{range .items[-2:]}{.involvedObject.kind} {.involvedObject.name}: {.message}{"\n"}{end}' 2>/dev/null
fi
"#;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::super::super::api_server::ready;
    use super::super::nodes;
    use super::*;

    /// What an API server of 1.37 answers, shortened where it does not matter here.
    const LIST: &str = concat!(
        r#"{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"8"},"items":[{"metadata":{"name":"cp1","uid":"u1","labels":{"a":"b"},"#,
        r#""annotations":{"last":"{\"managedFields\":[1]},\"spec\":"},"managedFields":[{"manager":"kubelet","fieldsV1":{"f:spec":{}}},{"manager":"x"}]},"#,
        r#""spec":{"podCIDR":"10.0.0.0/24","podCIDRs":["10.0.0.0/24"]},"status":{"nodeInfo":{"machineID":"m1","kubeletVersion":"v1.37.1"},"#,
        r#""images":[{"names":["r/a@sha256:1","r/a:1"],"sizeBytes":5},{"names":["r/b:1"]}],"runtimeHandlers":[{"name":""}]}},"#,
        r#"{"metadata":{"name":"w1","uid":"u2","managedFields":[{"manager":"kubelet"}]},"spec":{},"status":{"images":[{"names":[],"sizeBytes":5}]}}]}"#,
        "\n"
    );

    fn shell(script: &str, input: &str) -> String {
        let script = format!("mark() {{ :; }}\n{}{script}", ready(&Looks::default()));
        let mut child = Command::new("sh").args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap().split_once("absent\n").unwrap().1.to_owned()
    }

    #[test]
    fn a_list_is_shorter_and_says_the_same() {
        let short = shell("shorter", LIST);
        assert!(!short.contains("r/a") && !short.contains("\"kubelet\"") && short.contains("runtimeHandlers"), "{short}");
        let nodes = nodes::parse(&short);
        assert!(nodes.as_ref().is_some_and(|nodes| nodes.len() == 2) && nodes == nodes::parse(LIST), "{short}");
    }

    /// kokctl writes values in quotes, kubeadm without.
    #[test]
    fn a_key_is_found_in_a_kubeconfig_with_and_without_quotes() {
        for data in ["client-key-data: \"U0VDUkVU\"", "client-key-data: U0VDUkVU"] {
            let kubeconfig = format!("users:\n- user:\n    client-certificate-data: \"QQ==\"\n    {data}\n");
            assert_eq!(shell("pem key", &kubeconfig), "SECRET", "{data}");
        }
    }

    #[test]
    fn of_a_token_nothing_secret_is_told() {
        let secret = r#"{"kind":"SecretList","items":[{"metadata":{"name":"bootstrap-token-abcdef","namespace":"kube-system","managedFields":[
            {"fieldsV1":{"f:data":{"f:expiration":{}}}}]},"data":{"expiration":"MjAyNg==","token-id":"YQ==","token-secret":"U0VDUkVU"},"type":"x"}]}"#;
        let compact: String = secret.split('\n').map(str::trim).collect();
        let script = format!("api_server=ready\nraw() {{ cat; }}\n{}", tokens());
        assert_eq!(shell(&script, &compact), "secret/bootstrap-token-abcdef\nend MjAyNg==\n");
    }

    #[test]
    fn objects_are_where_the_api_has_them() {
        let path_of = |kind| OBJECTS.iter().find(|object| object.kind == kind).map(path).unwrap();
        assert_eq!(path_of("ConfigMap"), "/api/v1/namespaces/kube-system/configmaps/kubeadm-config");
        assert_eq!(path_of("DaemonSet"), "/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy");
        assert_eq!(path_of("ClusterRoleBinding"), "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/kubeadm:cluster-admins");
        assert_eq!(path_of("Namespace"), "/api/v1/namespaces/kokctl-network-check");
    }
}
