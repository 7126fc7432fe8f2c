//! What components are told: options, files, patches, and the key that etcd's content is encrypted with.

use kok_crds::model::Cluster;
use kok_tasks::documents::{encryption_configuration, encryption_keys};
use kok_tasks::encryption::Layout;
use kok_tasks::plan::{Choice, Plan, Refusal, Selection};
use serde_json::Value;

use crate::support::world::World;
use crate::support::{cluster_of, step_id};

const CLUSTER: &str = include_str!("../fixtures/cluster.yaml");
const HIGHLY_AVAILABLE: &str = include_str!("../fixtures/highly-available.yaml");
const KEY: &str = "/etc/kubernetes/apiserver/encryption.yaml";
const ENCRYPT: &str = "kube_encrypt_secret_data: true";

fn with(cluster: &str, vars: &str) -> Cluster {
    cluster_of(&format!("{cluster}\n  vars: {{{vars}}}\n"))
}

fn converged(cluster: &str, vars: &str) -> World {
    World::bare_of(with(cluster, vars)).converge()
}

/// The same hosts, of which the file now says this.
fn now(world: &World, cluster: &str, vars: &str) -> World {
    let mut world = world.clone();
    world.cluster = with(cluster, vars);
    world
}

fn changes(plan: &Plan) -> Vec<String> {
    plan.changes().map(|(step, _)| step.id.as_str().to_owned()).collect()
}

fn refused(world: &World) -> String {
    let refusals: Vec<Refusal> = world.try_plan().expect_err("nothing is refused");
    refusals.iter().map(|it| format!("{}; {}", it.what, it.hint.as_deref().unwrap_or_default())).collect()
}

fn documents(world: &World, path: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(world.hosts["cp1"].text(path)).unwrap()
}

fn of_kind(world: &World, kind: &str) -> Value {
    let all = documents(world, "/etc/kubernetes/kokctl/cluster.yaml");
    all.into_iter().find(|document| document["kind"] == kind).unwrap()
}

/// The value of an option in kubeadm's list of them.
fn option<'a>(component: &'a Value, name: &str) -> &'a str {
    let all = component["extraArgs"].as_array().unwrap();
    let found = all.iter().find(|argument| argument["name"] == name).unwrap_or_else(|| panic!("{name} is not in {component}"));
    found["value"].as_str().unwrap()
}

#[test]
fn options_and_gates_are_where_kubeadm_looks_for_them() {
    let vars = "kube_feature_gates: [AllBeta=true], kube_scheduler_feature_gates: [AllAlpha=false], kube_profiling: false, kube_reserved: true, \
                kube_cpu_reserved: 300m, kubelet_max_pods: 90, kubelet_config_extra_args: {registryBurst: 3}, \
                kube_kubeadm_apiserver_extra_args: {max-requests-inflight: 800}, etcd_extra_vars: {ETCD_MAX_WALS: 2}, \
                kube_proxy_sync_period: 20s, kube_proxy_conntrack_max_per_core: 0, kube_proxy_conntrack_min: 7, \
                kubelet_custom_flags: [\"--v=4\"], kubeadm_feature_gates: [RootlessControlPlane=true]";
    let world = converged(CLUSTER, vars);
    let cluster = of_kind(&world, "ClusterConfiguration");
    assert_eq!(option(&cluster["apiServer"], "max-requests-inflight"), "800");
    assert_eq!(option(&cluster["apiServer"], "feature-gates"), "AllBeta=true");
    assert_eq!(option(&cluster["controllerManager"], "profiling"), "false");
    assert_eq!(option(&cluster["scheduler"], "feature-gates"), "AllAlpha=false");
    assert_eq!(option(&cluster["etcd"]["local"], "max-wals"), "2");
    assert_eq!(cluster["featureGates"]["RootlessControlPlane"], true);
    let kubelet = of_kind(&world, "KubeletConfiguration");
    assert_eq!(
        (&kubelet["maxPods"], &kubelet["registryBurst"], &kubelet["featureGates"]["AllBeta"]),
        (&90.into(), &3.into(), &true.into())
    );
    assert_eq!(kubelet["kubeReserved"]["cpu"], "300m");
    assert_eq!(kubelet["kubeReserved"]["memory"], "256Mi");
    let proxy = of_kind(&world, "KubeProxyConfiguration");
    assert_eq!(proxy["nftables"]["syncPeriod"], "20s");
    assert_eq!(proxy["conntrack"], serde_json::json!({"maxPerCore": 0, "min": 7}));
    let init = of_kind(&world, "InitConfiguration");
    assert_eq!(init["nodeRegistration"]["kubeletExtraArgs"][1], serde_json::json!({"name": "v", "value": "4"}));
}

#[test]
fn who_says_nothing_has_what_kubeadm_has() {
    let cluster = of_kind(&World::converged(), "ClusterConfiguration");
    // But for how an API server ends, which kubeadm leaves to the kubelet's kill.
    let api_server = cluster["apiServer"].as_object().unwrap();
    let options = api_server["extraArgs"].as_array().unwrap();
    assert_eq!((api_server.len(), options.len()), (2, 3), "{cluster}");
    assert!(options.iter().all(|option| option["name"].as_str().unwrap().starts_with("shutdown-")), "{cluster}");
    assert!(cluster.get("scheduler").is_none() && cluster.get("featureGates").is_none(), "{cluster}");
}

#[test]
fn how_an_api_server_ends_may_be_said_otherwise() {
    let world = converged(CLUSTER, "kube_kubeadm_apiserver_extra_args: {shutdown-delay-duration: 70s}");
    let cluster = of_kind(&world, "ClusterConfiguration");
    assert_eq!(option(&cluster["apiServer"], "shutdown-delay-duration"), "70s");
    assert_eq!(option(&cluster["apiServer"], "shutdown-send-retry-after"), "true");
    let names = cluster["apiServer"]["extraArgs"].as_array().unwrap().iter().map(|option| option["name"].to_string());
    assert_eq!(names.filter(|name| name.contains("shutdown-delay")).count(), 1);
}

/// The API server reads its files once, so that it has to start again when one changes.
#[test]
fn another_policy_makes_the_static_pods_anew() {
    let world = converged(CLUSTER, "kubernetes_audit: true");
    let cluster = of_kind(&world, "ClusterConfiguration");
    assert_eq!(option(&cluster["apiServer"], "audit-policy-file"), "/etc/kubernetes/apiserver/audit-policy.yaml");
    let policy = &documents(&world, "/etc/kubernetes/apiserver/audit-policy.yaml")[0];
    let rules = policy["rules"].as_array().unwrap();
    // Whatever comes later: what stands in a secret is in no log.
    let of_secrets = rules.iter().position(|rule| rule["resources"].to_string().contains("secrets")).unwrap();
    assert!(rules[..=of_secrets].iter().all(|rule| rule["level"] == "None" || rule["level"] == "Metadata"), "{policy}");
    let changed = now(&world, CLUSTER, "kubernetes_audit: true, audit_policy_custom_rules: [{level: Metadata}]");
    let changed = changes(&changed.plan());
    for step in ["cp1/api-server/audit-policy", "cp1/control-plane/manifests", "cp1/control-plane/api-server"] {
        assert!(changed.iter().any(|id| id == step), "{step}: {changed:?}");
    }
}

#[test]
fn admission_is_configured_in_one_file() {
    let vars = "kube_pod_security_use_default: true, kube_pod_security_default_enforce: restricted, \
                kube_apiserver_admission_control_config_file: true, \
                kube_apiserver_enable_admission_plugins: [EventRateLimit], \
                kube_apiserver_admission_event_rate_limits: {all: {type: Server, qps: 5, burst: 9, cache_size: 2}}";
    let world = converged(CLUSTER, vars);
    let file = &documents(&world, "/etc/kubernetes/apiserver/admission.yaml")[0];
    let plugin = |name: &str| &file["plugins"].as_array().unwrap().iter().find(|plugin| plugin["name"] == name).unwrap()["configuration"];
    assert_eq!(plugin("EventRateLimit")["limits"][0]["cacheSize"], 2);
    assert_eq!(plugin("PodSecurity")["defaults"]["enforce"], "restricted");
    assert_eq!(plugin("PodSecurity")["exemptions"]["namespaces"], serde_json::json!(["kube-system", "kokctl-network-check"]));
}

/// A scheduler that has a file reads that of its file, and its option goes unread.
#[test]
fn a_scheduler_with_a_file_is_told_in_it_whether_to_profile() {
    let told = |vars: &str| documents(&converged(CLUSTER, vars), "/etc/kubernetes/scheduler/configuration.yaml")[0].clone();
    let file = told("kube_profiling: false, kube_scheduler_config_extra_opts: {parallelism: 8}");
    assert_eq!((&file["enableProfiling"], &file["parallelism"]), (&false.into(), &8.into()));
    let file = told("kube_kubeadm_scheduler_extra_args: {profiling: \"false\"}, kube_scheduler_config_extra_opts: {parallelism: 8}");
    assert_eq!(file["enableProfiling"], false);
    assert!(told("kube_scheduler_config_extra_opts: {parallelism: 8}").get("enableProfiling").is_none());
}

/// kubeadm takes every file of the folder.
#[test]
fn patches_are_in_a_folder_that_has_no_others() {
    let vars =
        |value: i32| format!("kubeadm_patches: [{{target: kubeletconfiguration, type: merge, patch: {{registryPullQPS: {value}}}}}]");
    let world = converged(CLUSTER, &vars(1));
    let folder = |world: &World| of_kind(world, "InitConfiguration")["patches"]["directory"].as_str().unwrap().to_owned();
    for host in ["cp1", "worker1"] {
        let text = world.hosts[host].text(&format!("{}/kubeletconfiguration000+merge.json", folder(&world)));
        assert_eq!(serde_json::from_str::<Value>(text).unwrap()["registryPullQPS"], 1);
    }
    let changed = now(&world, CLUSTER, &vars(2));
    let later = changed.plan();
    assert!(later.change(&step_id("worker1", "kubelet-join", "joined")).is_some(), "{:?}", changes(&later));
    assert_ne!(folder(&changed.converge()), folder(&world));
}

/// One control plane speaks for all, and what counts of its configuration names no folder of patches.
#[test]
fn a_patch_of_coredns_is_applied_and_taken_back_whatever_the_number_of_control_planes() {
    for cluster in [CLUSTER, HIGHLY_AVAILABLE] {
        let patch = |target: &str, value: i32| {
            format!("kubeadm_patches: [{{target: {target}, type: merge, patch: {{spec: {{replicas: {value}}}}}}}]")
        };
        let has_addons = |world: &World| changes(&world.plan()).iter().any(|id| id == "cp1/control-plane/addons");
        let world = converged(cluster, &patch("corednsdeployment", 1));
        assert!(!has_addons(&world));
        let changed = now(&world, cluster, &patch("corednsdeployment", 2));
        assert!(has_addons(&changed), "{:?}", changes(&changed.plan()));
        let removed = now(&changed.converge(), cluster, "kubelet_max_pods: 110");
        assert!(has_addons(&removed), "{:?}", changes(&removed.plan()));
        assert!(removed.converge().plan().is_empty());
    }
}

#[test]
fn the_key_is_made_once_and_is_the_same_everywhere() {
    let world = converged(HIGHLY_AVAILABLE, ENCRYPT);
    let key = |world: &World, host: &str| world.hosts[host].text(KEY).to_owned();
    assert_eq!(key(&world, "cp1"), key(&world, "cp2"));
    assert_eq!(world.hosts["cp3"].paths[KEY].mode, 0o600);
    assert!(world.plan().is_empty(), "{:?}", changes(&world.plan()));
    // One that lost it gets it from another.
    let mut lost = world;
    lost.host("cp1").paths.remove(KEY);
    let plan = lost.plan();
    let step = plan.steps().find(|step| step.id.as_str() == "cp1/api-server/encryption").unwrap();
    assert!(format!("{step:?}").contains("keeper: Some(\"cp2\")"), "{step:?}");
    assert!(plan.change(&step_id("cp2", "api-server", "encryption")).is_none());
}

/// Of a run for one control plane the others are asked before a key is made.
#[test]
fn no_second_key_is_made_beside_one_that_was_not_looked_for() {
    let mut world = converged(HIGHLY_AVAILABLE, ENCRYPT);
    world.host("cp1").paths.remove(KEY);
    let limit = ["cp1".to_owned()];
    let selection = Selection::new(Choice { only: &["api-server".to_owned()], skip: &[], limit: &limit }, &world.cluster).unwrap();
    let (plan, asked) = world.plan_of(&selection).unwrap();
    assert_eq!(asked, ["cp2", "cp3"]);
    let step = plan.steps().find(|step| step.id.as_str() == "cp1/api-server/encryption").unwrap();
    assert!(format!("{step:?}").contains("keeper: Some(\"cp2\")"), "{step:?}");
}

#[test]
fn what_is_encrypted_stays_readable() {
    let world = converged(CLUSTER, &format!("{ENCRYPT}, kube_encryption_resources: [secrets, configmaps]"));
    let says = |vars: &str| refused(&now(&world, CLUSTER, vars));
    assert!(says("kubelet_max_pods: 100").contains("the cluster encrypts what etcd holds, and the file does not ask for it"));
    let all = format!("{ENCRYPT}, kube_encryption_resources: [secrets, configmaps]");
    assert!(says(&format!("{all}, kube_encryption_algorithm: aescbc")).contains("encrypts with secretbox, the file asks for aescbc"));
    assert!(says(ENCRYPT).contains("the cluster encrypts configmaps, and the file does not ask for it"));
    let more = now(&world, CLUSTER, &format!("{ENCRYPT}, kube_encryption_resources: [secrets, configmaps, events]"));
    let told = refused(&more);
    assert!(told.contains("does not encrypt events") && told.contains("`kokctl secrets change-encryption` brings it there"), "{told}");
}

#[test]
fn a_key_that_is_lost_everywhere_is_not_made_anew() {
    for (cluster, planes) in [(CLUSTER, &["cp1"][..]), (HIGHLY_AVAILABLE, &["cp1", "cp2", "cp3"])] {
        let mut world = converged(cluster, ENCRYPT);
        for host in planes {
            world.host(host).paths.remove(KEY);
        }
        let told = refused(&world);
        assert!(told.contains("is on no control plane any more") && told.contains("from a backup"), "{told}");
        world.cluster = with(cluster, "kubelet_max_pods: 100");
        assert!(refused(&world).contains("is on no control plane any more"), "nor is it given up");
    }
}

/// One after the other, those that come later could not read what the first writes, and what is there would stay as it is.
#[test]
fn a_cluster_that_runs_is_not_encrypted_by_the_way() {
    let told = refused(&now(&converged(HIGHLY_AVAILABLE, "kubelet_max_pods: 100"), HIGHLY_AVAILABLE, ENCRYPT));
    assert!(told.contains("the file asks for encryption, and the cluster that runs does not encrypt"), "{told}");
    let more = format!("{ENCRYPT}, kube_encryption_resources: [secrets, configmaps]");
    let world = now(&converged(HIGHLY_AVAILABLE, ENCRYPT), HIGHLY_AVAILABLE, &more);
    assert!(refused(&world).contains("does not encrypt configmaps"));
}

#[test]
fn a_key_is_found_again_in_what_was_written() {
    let cluster = with(CLUSTER, ENCRYPT);
    let keys =
        [("kokctl-1795723865", "a2V5LW9mLTMyLWJ5dGVzLWZvci10aGlzLXRlc3QhISE="), ("kokctl", "b25lLW9mLTMyLWJ5dGVzLWZvci10aGlzLXRlc3QhISE=")];
    let layout = Layout::of_file(&cluster.settings.security.encryption, &keys.map(|(name, _)| name.to_owned()));
    let text = encryption_configuration(&layout, &keys).unwrap();
    assert_eq!(encryption_keys(&text), keys);
    // As an earlier version has written it.
    assert_eq!(encryption_keys("      - name: kokctl\n        secret: \"a2V5\"\n"), [("kokctl", "a2V5")]);
    let document: Value = serde_saphyr::from_str(&text).unwrap();
    let providers = document["resources"][0]["providers"].as_array().unwrap();
    assert!(providers[0].get("secretbox").is_some() && providers[1].get("identity").is_some(), "{text}");
    let named = providers[0]["secretbox"]["keys"].as_array().unwrap().iter().map(|key| key["name"].as_str().unwrap());
    assert_eq!(named.collect::<Vec<_>>(), ["kokctl-1795723865", "kokctl"]);
    assert!(encryption_keys("- name: kokctl\n  secret: \"\"\n").is_empty() && encryption_keys("secret: \"a2V5\"\n").is_empty());
}
