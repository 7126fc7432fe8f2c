//! etcd on hosts of its own: what these hosts get and what they do without, and what is refused.

use kok_crds::model::{Cluster, FirewallPolicy};
use kok_tasks::change::Verdict;
use kok_tasks::firewall::Opening;
use kok_tasks::observe::{EtcdState, Observations};
use kok_tasks::operations::{EtcdAnswers, Operation, Reset};
use kok_tasks::plan::{Action, Choice, Plan, Refusal, Selection, StepId};
use kok_tasks::preconditions::etcd_keeper;

use crate::support::world::World;
use crate::support::{cluster_of, good_facts, own_etcd, step_id};

mod answers;
mod edited;
mod grown;
mod left;
mod mixes;
mod refused;

const TEXT: &str = include_str!("../fixtures/own-etcd.yaml");
const DATA: &str = "/var/lib/etcd/member/wal";
const MEMBERS: [&str; 3] = ["etcd1", "etcd2", "etcd3"];

fn bare() -> World {
    World::bare_of(own_etcd())
}

fn refusal_debug(refusals: &[Refusal]) -> String {
    refusals.iter().map(|it| format!("{it:?}\n")).collect()
}

fn refused(world: &World) -> String {
    refusal_debug(&world.try_plan().expect_err("nothing is refused"))
}

fn stop(world: &mut World, host: &str) {
    world.host(host).units.get_mut("etcd.service").unwrap().active = "inactive".into();
}

fn changes(plan: &Plan) -> Vec<&str> {
    plan.changes().map(|(step, _)| step.id.as_str()).collect()
}

#[test]
fn a_host_of_etcd_gets_what_etcd_needs_and_nothing_of_kubernetes() {
    let world = bare().converge();
    assert!(world.plan().is_empty());
    let nodes: Vec<&str> = world.api.nodes.keys().map(String::as_str).collect();
    assert_eq!(nodes, ["cp1", "cp2", "worker1"]);
    for name in MEMBERS {
        let host = &world.hosts[name];
        for path in ["/usr/local/bin/etcd", "/usr/local/bin/etcdctl", "/etc/systemd/system/etcd.service", DATA] {
            assert!(host.has(path), "{name}: {path}");
        }
        assert!(host.is_active("etcd.service") && host.users.contains("etcd") && host.images.is_empty() && host.modules.is_empty());
        let foreign = ["/usr/local/bin/kube", "/usr/local/bin/containerd", "/etc/containerd", "/opt/cni", "/etc/cni", "/var/lib/kubelet"];
        let found: Vec<&String> = host.paths.keys().filter(|path| foreign.iter().any(|start| path.starts_with(start))).collect();
        assert!(found.is_empty(), "{name}: {found:?}");
        assert!(!host.text("/etc/hosts").contains("lb-apiserver"), "it asks nothing of the API");
        assert!(!host.swap.active.is_empty(), "only the kubelet is at odds with swap");
    }
}

#[test]
fn the_key_of_etcds_authority_stays_with_etcd() {
    let world = bare().converge();
    let pki = |host: &str| -> Vec<String> {
        let files =
            world.hosts[host].paths.iter().filter(|(path, entry)| path.starts_with("/etc/kubernetes/pki/") && entry.mode & 0o111 == 0);
        files.map(|(path, _)| path["/etc/kubernetes/pki/".len()..].to_owned()).collect()
    };
    for name in MEMBERS {
        let leaves =
            ["healthcheck-client", "peer", "server"].into_iter().flat_map(|leaf| ["crt", "key"].map(|end| format!("etcd/{leaf}.{end}")));
        let expected: Vec<String> = ["etcd/ca.crt", "etcd/ca.key"].map(str::to_owned).into_iter().chain(leaves).collect();
        assert_eq!(pki(name), expected, "{name}");
    }
    let of_plane: Vec<String> = pki("cp1").into_iter().filter(|path| path.contains("etcd")).collect();
    assert_eq!(of_plane, ["apiserver-etcd-client.crt", "apiserver-etcd-client.key", "etcd/ca.crt"]);
    let uploaded = world.hosts["cp1"].text("/etc/kubernetes/kokctl/cluster.yaml");
    let endpoints = "endpoints: [\"https://10.20.0.14:2379\",\"https://10.20.0.15:2379\",\"https://10.20.0.16:2379\"]";
    assert!(uploaded.contains("  external:\n") && uploaded.replace(", ", ",").contains(endpoints), "{uploaded}");
    assert!(!uploaded.contains("\n  local:") && !uploaded.contains("initial-cluster"), "{uploaded}");
}

#[test]
fn members_are_founded_together_by_one_list_whatever_its_order() {
    let world = bare().converge();
    let list = "initial-cluster: \"etcd1=https://10.20.0.14:2380,etcd2=https://10.20.0.15:2380,etcd3=https://10.20.0.16:2380\"";
    for name in MEMBERS {
        let text = world.hosts[name].text("/etc/etcd/etcd.yaml");
        assert!(text.contains(list) && text.contains("initial-cluster-state: new"), "{text}");
    }
    let mut world = world;
    let (first, third) =
        ("    - {name: etcd1, address: 10.20.0.14, roles: [etcd]}\n", "    - {name: etcd3, address: 10.20.0.16, roles: [etcd]}\n");
    world.cluster = cluster_of(&TEXT.replace(first, "").replace(third, &format!("{third}{first}")));
    let plan = world.plan();
    let of_etcd: Vec<&str> = changes(&plan).into_iter().filter(|id| id.starts_with("etcd")).collect();
    assert!(of_etcd.iter().all(|id| id.contains("/names/")), "no member is started anew: {of_etcd:?}");
}

/// Carries out what the plan has, as far as it is wanted and nothing that is left is needed for it.
fn advance(world: &mut World, wanted: impl Fn(&str) -> bool) {
    let plan = world.plan();
    let mut left: Vec<_> = plan.changes().collect();
    let mut moved = true;
    while moved {
        let open: Vec<StepId> = left.iter().map(|(step, _)| step.id.clone()).collect();
        let found = left.iter().position(|(step, change)| {
            let free = plan.needs(&step.id).iter().all(|(need, _)| !open.contains(&need.id));
            wanted(step.id.as_str()) && free && !world.waits(step, change)
        });
        moved = found.is_some();
        if let Some((step, change)) = found.map(|index| left.remove(index)) {
            world.carry_out(step, change);
        }
    }
}

#[test]
fn control_planes_wait_for_more_than_half_of_the_members() {
    let mut world = bare();
    advance(&mut world, |id| id.starts_with("cp") || id.starts_with("etcd1/"));
    let begins = |world: &World| world.hosts["cp1"].has("/etc/kubernetes/manifests/kube-apiserver.yaml");
    assert!(world.hosts["cp1"].has("/var/lib/kokctl/made/preflight"), "kubeadm's checks wait for no member");
    assert!(!begins(&world), "one of three members is no etcd");
    advance(&mut world, |id| id.starts_with("cp") || id.starts_with("etcd1/") || id.starts_with("etcd2/"));
    assert!(
        begins(&world) && world.hosts["cp1"].is_active("kubelet.service") && !world.hosts["etcd3"].has("/etc/etcd"),
        "two of three are enough"
    );
    assert!(world.try_plan().is_ok(), "{}", refusal_debug(&world.try_plan().unwrap_err()));
}

#[test]
fn no_control_plane_has_the_certificate_before_a_host_keeps_its_key() {
    let mut world = bare();
    advance(&mut world, |id| !id.starts_with("etcd1/"));
    assert!(!world.hosts["cp1"].has("/etc/kubernetes/pki") && !world.hosts["etcd2"].has("/etc/kubernetes/pki"));
    advance(&mut world, |id| {
        id == "etcd1/certificates/set" || id.starts_with("etcd1/host/claim") || id.ends_with("kubeadm-configuration/folder")
    });
    assert!(world.hosts["etcd1"].has("/etc/kubernetes/pki/etcd/ca.key"));
    let plan = world.plan();
    let set = step_id("cp1", "certificates", "set");
    assert!(plan.change(&set).is_some() && plan.needs(&set).iter().all(|(need, _)| need.host == "cp1"), "the key is kept");
}

#[test]
fn the_authority_of_etcd_is_asked_for_where_it_may_be() {
    let mut world = bare().converge();
    world.host("etcd3").paths.retain(|path, _| !path.starts_with("/etc/kubernetes/pki"));
    let only = ["host", "kubeadm-configuration", "certificates"].map(str::to_owned);
    let selection = Selection::new(Choice { only: &only, skip: &[], limit: &["etcd3".to_owned()] }, &world.cluster).unwrap();
    let (plan, asked) = world.plan_of(&selection).unwrap_or_else(|refusals| panic!("{}", refusal_debug(&refusals)));
    assert!(plan.change(&step_id("etcd3", "certificates", "set")).is_some());
    assert_eq!(asked, ["etcd1"], "no control plane could sign for etcd");
}

#[test]
fn members_that_work_are_restarted_one_after_the_other() {
    let mut world = bare().converge();
    for name in MEMBERS {
        world.host(name).write("/etc/etcd/etcd.yaml", 0o644, "edited");
    }
    let plan = world.plan();
    let needs = |host: &str| -> Vec<String> {
        let needs = plan.needs(&step_id(host, "etcd", "service"));
        needs.iter().map(|(need, _)| need.id.to_string()).filter(|id| !id.starts_with(host)).collect()
    };
    assert_eq!(needs("etcd1"), Vec::<String>::new());
    assert_eq!(needs("etcd2"), ["etcd1/etcd/member"]);
    assert_eq!(needs("etcd3"), ["etcd2/etcd/member"]);
    assert!(plan.change(&step_id("etcd1", "etcd", "member")).is_some(), "that it works again is waited for");
    stop(&mut world, "etcd1");
    let plan = world.plan();
    let needs = |host: &str| -> Vec<String> {
        let needs = plan.needs(&step_id(host, "etcd", "service"));
        needs.iter().map(|(need, _)| need.id.to_string()).filter(|id| !id.starts_with(host)).collect()
    };
    assert_eq!(needs("etcd1"), Vec::<String>::new(), "what is down waits for none");
    assert_eq!(needs("etcd2"), ["etcd1/etcd/member"], "without two of three there is no etcd");
    assert_eq!(needs("etcd3"), ["etcd2/etcd/member", "etcd1/etcd/member"]);
    assert!(world.converge().plan().is_empty());
}

#[test]
fn an_api_server_needs_more_than_half_of_the_members() {
    let endpoints: Vec<String> = (1..=3).map(|number| format!("https://10.0.0.{number}:2379")).collect();
    let wait = EtcdAnswers { endpoints: endpoints.clone() };
    let seen = |healthy: usize| {
        let said = |(index, url): (usize, &String)| (url.clone(), if index < healthy { "healthy" } else { "refused - did you" }.to_owned());
        Observations { etcd_endpoints: endpoints.iter().enumerate().map(said).collect(), ..Observations::default() }
    };
    let verdict = |healthy: usize| Operation::EtcdAnswers(wait.clone()).diff(&seen(healthy));
    assert_eq!((verdict(2), verdict(3)), (Verdict::Same, Verdict::Same));
    let Verdict::Differs(change) = verdict(1) else { panic!("one of three is enough") };
    assert_eq!(change.because, "1 of 3 members of etcd answer, and more than half have to; https://10.0.0.3:2379: refused");
    assert_eq!(Operation::EtcdAnswers(wait.clone()).diff(&Observations::default()), Verdict::Unseen);
}

fn opening(cluster: &Cluster, host: &str) -> (Vec<String>, bool) {
    let opening = Opening::for_host(cluster, cluster.host(host).unwrap(), &good_facts(host, 1));
    (opening.ports.iter().map(kok_tasks::ports::Port::dashed).collect(), !opening.pods.is_empty())
}

#[test]
fn the_firewall_lets_in_what_listens() {
    let mut cluster = own_etcd();
    cluster.settings.host.firewall = FirewallPolicy::Open;
    assert_eq!(opening(&cluster, "etcd1"), (vec!["2379-2380/tcp".to_owned()], false));
    let (ports, pods) = opening(&cluster, "cp1");
    assert!(pods && ports.contains(&"6443/tcp".to_owned()) && !ports.contains(&"2379-2380/tcp".to_owned()), "{ports:?}");
}

#[test]
fn a_reset_takes_the_unit_away_where_it_is_kokctls() {
    let text = |etcd_unit: bool| {
        let step = Operation::Reset(Reset { etcd: true, etcd_unit });
        (format!("{:?}", step.looks()), step)
    };
    assert!(text(true).0.contains("etcd.service") && !text(false).0.contains("etcd.service"));
    let world = bare().converge();
    let mut seen = kok_tasks::plan::Seen::default();
    for (number, host) in (1..).zip(&world.cluster.hosts) {
        seen.add_facts(&host.name, kok_tasks::facts::HostFacts { cluster: Some("demo".into()), ..good_facts(&host.name, number) });
        seen.add_observations(&host.name, Observations::default());
    }
    let kok_tasks::plan::Making::LookFirst(looks) = kok_tasks::plan::reset(&world.cluster, &seen).unwrap() else {
        panic!("nothing is looked at")
    };
    let asks = |host: &str| format!("{:?}", looks[host]).contains("etcd.service");
    assert!(asks("etcd1") && !asks("cp1") && !asks("worker1"));
}

#[test]
fn etcd_beside_workers_and_control_planes_works_too() {
    let text = TEXT
        .replace("10.20.0.11, roles: [control-plane]", "10.20.0.11, roles: [control-plane, etcd]")
        .replace("10.20.0.13, roles: [worker]", "10.20.0.13, roles: [worker, etcd]")
        .lines()
        .filter(|line| !line.contains("name: etcd1") && !line.contains("name: etcd2"))
        .fold(String::new(), |text, line| text + line + "\n");
    let cluster = cluster_of(&text);
    let plan = World::bare_of(cluster).plan();
    let ids = changes(&plan);
    for id in ["cp1/etcd/service", "worker1/etcd/service", "etcd3/etcd/service", "cp1/control-plane/etcd", "cp2/control-plane/etcd"] {
        assert!(ids.contains(&id), "{id}");
    }
    assert!(!ids.iter().any(|id| id.ends_with("/etcd/manifest") || id.ends_with("/images/etcd")), "{ids:?}");
    let set = plan.step(&step_id("cp1", "certificates", "set")).unwrap();
    let Action::Operation(Operation::PkiTree(tree)) = &set.action else { panic!() };
    assert!(tree.files.iter().any(|(path, _)| path == "pki/etcd/ca.key"), "it signs for etcd");
    let joins_after = plan.needs(&step_id("worker1", "kubelet-join", "joined"));
    assert!(joins_after.iter().any(|(need, _)| need.id.as_str() == "worker1/certificates/set"), "kubeadm puts a file beside them");
}

#[test]
fn who_signs_for_etcd_is_a_host_of_etcd() {
    let world = bare().converge();
    let mut seen = kok_tasks::plan::Seen::default();
    for (number, host) in (1..).zip(&world.cluster.hosts) {
        seen.add_facts(&host.name, kok_tasks::facts::HostFacts { cluster: Some("demo".into()), ..good_facts(&host.name, number) });
        let looks = kok_tasks::preconditions::looks(&world.cluster, host);
        let there = world.look(&host.name, looks.into_iter());
        assert!(!matches!(there.etcd, Some(EtcdState::NotReady(_))));
        seen.add_observations(&host.name, there);
    }
    assert_eq!(etcd_keeper(&world.cluster, &seen).map(|host| host.name.as_str()), Some("etcd1"));
}

/// etcd reads no options beside its file, and what it does not know there it reads over.
#[test]
fn a_unit_is_told_what_a_pod_would_be_told() {
    let vars = "etcd_quota_backend_bytes: 4294967296, etcd_compaction_retention: 8, etcd_log_level: warn, \
                etcd_listen_metrics_urls: \"http://127.0.0.1:2382\", etcd_tls_cipher_suites: \"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256\", \
                etcd_extra_vars: {ETCD_GRPC_KEEPALIVE_TIMEOUT: 10s, pre-vote: false, log-outputs: \"stderr,stdout\", \
                peer-cert-allowed-cn: a, client-cert-allowed-hostname: b, socket-reuse-port: true}";
    let world = bare().converge();
    let file = |world: &World| -> serde_json::Value { serde_saphyr::from_str(world.hosts["etcd2"].text("/etc/etcd/etcd.yaml")).unwrap() };
    let usual = file(&world);
    assert_eq!(usual["listen-metrics-urls"], "http://127.0.0.1:2381");
    assert_eq!(
        (&usual["feature-gates"], &usual["watch-progress-notify-interval"]),
        (&"InitialCorruptCheck=true".into(), &5_000_000_000_u64.into())
    );
    let mut told = world.clone();
    told.cluster = cluster_of(&format!("{TEXT}\n  vars: {{{vars}}}\n"));
    let plan = told.plan();
    for name in MEMBERS {
        assert!(plan.change(&step_id(name, "etcd", "service")).is_some(), "{name} is started anew");
    }
    let second = plan.needs(&step_id("etcd2", "etcd", "service"));
    assert!(second.iter().any(|(need, _)| need.id.as_str() == "etcd1/etcd/member"), "one after the other");
    let told = told.converge();
    assert!(told.plan().is_empty());
    let file = file(&told);
    let expected = serde_json::json!({
        "quota-backend-bytes": 4_294_967_296_u64, "auto-compaction-retention": "8", "log-level": "warn",
        "listen-metrics-urls": "http://127.0.0.1:2382", "cipher-suites": ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"], "grpc-keepalive-timeout": 10_000_000_000_u64,
        "pre-vote": false, "log-outputs": ["stderr", "stdout"], "socket-options": {"reuse-port": true}
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&file[name], value, "{name}");
    }
    assert_eq!(file["peer-transport-security"]["allowed-cn"], serde_json::json!(["a"]));
    assert_eq!(file["client-transport-security"]["allowed-hostname"], serde_json::json!(["b"]));
    assert_eq!(file["client-transport-security"]["client-cert-auth"], true);
}
