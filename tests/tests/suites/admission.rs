//! deploy/admission.yaml on a real API server: who asks needs rights to what the operator is asked for.

use serde_json::{Value, json};

use crate::api_server_support::{ApiServer, KubectlOutput};
use crate::lab_support::wait_for;
use crate::operator_story::source;

/// An API server has read what was written into it.
const SOON: u64 = 30;
const GROUP: &str = "kubeonkube.clay.io";
/// Who may write Clusters and operations, and read one Secret.
const TENANT: &str = "tenant";
const OPERATOR: &str = "system:serviceaccount:kokctl:kokctl-operator";

#[test]
fn who_asks_needs_rights_to_what_is_asked_for() {
    let server = server();
    server.ok(&["create", "namespace", "team-a"], "");
    for role in ["kokctl-view", "kokctl-edit"] {
        bind(&server, role, TENANT);
        bind(&server, role, OPERATOR);
    }
    server.ok(&["create", "role", "own", "-n", "team-a", "--verb=get", "--resource=secrets", "--resource-name=key"], "");
    server.ok(&["create", "rolebinding", "own", "-n", "team-a", "--role=own", "--user=tenant"], "");
    // Whoever may do everything is refused nothing, so the policy is in force when this one is refused.
    let foreign = cluster("foreign", &json!({"namespace": "kokctl", "name": "key"}));
    let create = ["create", "--dry-run=server", "-f", "-"];
    wait_for("the policy", SOON, || kubectl_as(&server, TENANT, &create, &foreign).stderr.contains("the right to get it: kokctl/key"));
    let own = cluster("own", &json!({"namespace": "team-a", "name": "key"}));
    wait_for("the role", SOON, || kubectl_as(&server, TENANT, &["apply", "-f", "-"], &own).success);
    keys_are_of_who_may_read_them(&server);
    operations_are_of_who_operates(&server);
}

fn server() -> ApiServer {
    let server = ApiServer::start();
    for kind in ["clusters", "clusteroperations"] {
        server.ok(&["create", "-f", "-"], &source(&format!("deploy/crds/{kind}.{GROUP}.yaml")));
        server.ok(&["wait", "--for=condition=Established", "--timeout=20s", &format!("crd/{kind}.{GROUP}")], "");
    }
    server.ok(&["apply", "--validate=strict", "-f", "-"], &source("deploy/admission.yaml"));
    server
}

fn bind(server: &ApiServer, role: &str, user: &str) {
    let name = format!("{role}-{}", user.rsplit(':').next().unwrap_or_default());
    server.ok(&["create", "clusterrolebinding", &name, &format!("--clusterrole={role}"), &format!("--user={user}")], "");
}

/// One verb on the Cluster `own`, which it takes a moment to have.
fn grant(server: &ApiServer, verb: &str) {
    let resource = format!("--resource=clusters.{GROUP}");
    server.ok(&["create", "clusterrole", verb, &format!("--verb={verb}"), &resource, "--resource-name=own"], "");
    bind(server, verb, TENANT);
    let may = ["auth", "can-i", verb, &format!("clusters.{GROUP}/own")];
    wait_for("the verb", SOON, || kubectl_as(server, TENANT, &may, "").success);
}

fn kubectl_as(server: &ApiServer, user: &str, arguments: &[&str], input: &str) -> KubectlOutput {
    server.kubectl(&[&["--as", user], arguments].concat(), input)
}

fn is_refused(server: &ApiServer, user: &str, arguments: &[&str], input: &str, why: &str) {
    let said = kubectl_as(server, user, arguments, input);
    assert!(!said.success && said.stderr.contains("Forbidden") && said.stderr.contains(why), "{arguments:?}: {}", said.stderr);
}

fn is_taken(server: &ApiServer, user: &str, arguments: &[&str], input: &str) {
    let said = kubectl_as(server, user, arguments, input);
    assert!(said.success, "{arguments:?}: {}", said.stderr);
}

fn cluster(name: &str, login: &Value) -> String {
    let host = json!({"name": "cp1", "address": "10.0.0.11", "roles": ["control-plane"]});
    let spec = json!({"sshAuthRef": login, "kubernetesVersion": "1.37.1", "hosts": [host]});
    json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": "Cluster", "metadata": {"name": name}, "spec": spec}).to_string()
}

fn operation(name: &str, action: &str, before: &str) -> String {
    let hook = json!([{"actionType": "playbook", "action": before}]);
    let spec = json!({"cluster": "own", "actionType": "playbook", "action": action, "preHook": hook});
    json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": "ClusterOperation", "metadata": {"name": name}, "spec": spec}).to_string()
}

fn patch(fields: &str) -> [&str; 6] {
    ["patch", "kok", "own", "--type=merge", "-p", fields]
}

fn keys_are_of_who_may_read_them(server: &ApiServer) {
    let foreign = |fields: Value| json!({"spec": fields}).to_string();
    let files = foreign(json!({"operator": {"secretFilesRef": {"namespace": "kokctl", "name": "files"}}}));
    is_refused(server, TENANT, &["patch", "kok", "own", "--type=merge", "-p", &files], "", "team-a/key, kokctl/files");
    // Of the namespace of the login, where none is said.
    let files = foreign(json!({"operator": {"secretFilesRef": {"name": "files"}}}));
    is_refused(server, TENANT, &["patch", "kok", "own", "--type=merge", "-p", &files], "", "team-a/files");
    let nowhere = cluster("nowhere", &json!({"name": "key"}));
    let said = kubectl_as(server, TENANT, &["create", "-f", "-"], &nowhere);
    assert!(!said.success && said.stderr.contains("name the namespace of the Secret"), "{}", said.stderr);
    is_taken(server, TENANT, &["label", "kok", "own", "team=a"], "");
}

fn operations_are_of_who_operates(server: &ApiServer) {
    let [make, down, hooked] =
        [("make", "cluster.yml", "ping.yml"), ("down", "Reset.yml", "ping.yml"), ("hooked", "ping.yml", "reset.yml")]
            .map(|(name, action, before)| operation(name, action, before));
    let trust = ["annotate", "kok", "own", "kokctl.io/trusted-host-keys=sha256:00"];
    let operate = "needs the verb `operate` on the cluster own";
    is_refused(server, TENANT, &["create", "-f", "-"], &make, operate);
    is_refused(server, TENANT, &trust, "", operate);
    let set = |fields: Value| json!({"spec": {"operator": fields}}).to_string();
    let (declare, take_down) = (set(json!({"mode": "Declarative"})), set(json!({"deletionPolicy": "Reset"})));
    let ask = ["annotate", "--overwrite", "kok", "own", "kokctl.io/reconcile-at=now"];
    is_refused(server, TENANT, &patch(&declare), "", operate);
    grant(server, "operate");
    is_taken(server, TENANT, &["create", "-f", "-"], &make);
    is_taken(server, TENANT, &trust, "");
    is_taken(server, TENANT, &patch(&declare), "");
    is_taken(server, TENANT, &ask, "");
    is_refused(server, TENANT, &patch(&take_down), "", "needs the verb `reset` on the cluster own");
    server.ok(&patch(&take_down), "");
    let delete = ["delete", "kok", "own", "--dry-run=server"];
    is_refused(server, TENANT, &delete, "", "needs the verb `reset` on the cluster own");
    for operation in [&down, &hooked] {
        is_refused(server, TENANT, &["create", "-f", "-"], operation, "needs the verb `reset` on the cluster own");
    }
    grant(server, "reset");
    is_taken(server, TENANT, &["create", "-f", "-"], &hooked);
    is_taken(server, TENANT, &delete, "");
    is_taken(server, TENANT, &patch(&take_down), "");
    let approve = ["annotate", "--overwrite", "kokop", "make", "kokctl.io/approved-plan=sha256:00"];
    is_refused(server, TENANT, &approve, "", "needs the verb `approve` on the cluster own");
    is_taken(server, TENANT, &["annotate", "kokop", "make", "kokctl.io/cancel=true"], "");
    is_taken(server, OPERATOR, &approve, "");
    is_taken(server, TENANT, &["label", "kokop", "make", "team=a"], "");
    grant(server, "approve");
    is_taken(server, TENANT, &["annotate", "--overwrite", "kokop", "make", "kokctl.io/approved-plan=sha256:11"], "");
    is_refused(server, "somebody", &["annotate", "--overwrite", "kokop", "make", "kokctl.io/take-over=true"], "", "cannot get");
}
