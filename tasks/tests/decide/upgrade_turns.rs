//! The turn of each control plane in an upgrade: it rests, and all of it is started at once.

use kok_tasks::change::{Change, ChangeKind};
use kok_tasks::operations::{Operation, PlaneRests};
use kok_tasks::plan::Action;
use kok_tasks::resources::Act;
use kok_tasks::upgrade::{Pause, StageName, Wish};

use crate::support::shell::{Folder, SHELLS, inner_of, run};
use crate::support::step_id;
use crate::upgrades::{PLANES, changed, named, old, ordered, paused, plan_of, way, with_patch};

/// One member after the other, with its control plane at rest, and started with it; nothing of another kubelet, of workers, nor of what the cluster says of itself.
#[test]
fn etcd_gets_its_patch_while_the_api_server_beside_it_rests() {
    let world = old();
    let plan = plan_of(&world, &named(&way(&world, &paused()), StageName::Etcd));
    let changed = changed(&plan);
    for host in PLANES {
        let [etcd, plane] = ["etcd", "control-plane"].map(|task| move |name| (host, task, name));
        let turn = [plane("rests"), etcd("manifest"), plane("kubelet"), etcd("member")];
        for (_, task, step) in [plane("api-server"), plane("goes-on")].into_iter().chain(turn) {
            assert!(changed.contains(&format!("{host}/{task}/{step}")), "{step}: {changed:?}");
        }
        ordered(&plan, &[&[(host, "images", "etcd")], &turn[..]].concat());
        ordered(&plan, &[plane("kubelet"), plane("api-server")]);
        let Action::Operation(Operation::KubeletStart(start)) = &plan.step(&step_id(host, "control-plane", "kubelet")).unwrap().action
        else {
            panic!()
        };
        let act = Operation::KubeletStart(start.clone()).act(&Change::new(ChangeKind::DoAgain, ""));
        let text = match act {
            Act::Script(fragment) => format!("{fragment:?}"),
            other => panic!("{other:?}"),
        };
        assert!(start.ends_member && !text.contains("kubeadm"), "its files are as they were, and kubeadm is newer by then: {text}");
    }
    for works in ["api-server", "controllers", "goes-on"] {
        ordered(&plan, &[("cp1", "control-plane", works), ("cp2", "control-plane", "rests")]);
    }
    ordered(&plan, &[("cp1", "etcd", "member"), ("cp2", "control-plane", "rests")]);
    let is_left = |step: &String| {
        step.starts_with("worker")
            || ["kubelet/kubelet", "/manifests", "/uploaded", "/addons", "/cordoned", "kubeadm"].iter().any(|part| step.ends_with(part))
    };
    assert!(!changed.iter().any(is_left), "{changed:?}");
}

#[test]
fn control_planes_change_in_turn_and_nothing_else_does() {
    let world = with_patch();
    let all = way(&world, &paused());
    assert_eq!(all.first().unwrap().name, StageName::ControlPlanes, "etcd may go on from there");
    let plan = plan_of(&world, &all[0]);
    let changed = changed(&plan);
    for host in PLANES {
        for step in ["etcd/manifest", "etcd/member", "control-plane/manifests", "control-plane/api-server", "kubeadm-configuration/kubeadm"]
        {
            assert!(changed.contains(&format!("{host}/{step}")), "{step}: {changed:?}");
        }
        ordered(&plan, &[(host, "images", "kube-apiserver"), (host, "control-plane", "rests"), (host, "control-plane", "manifests")]);
        // An image that does not come to the last one is found before the first one rests.
        ordered(&plan, &[(host, "images", "kube-scheduler"), ("cp1", "control-plane", "rests")]);
    }
    ordered(
        &plan,
        &[
            ("cp1", "control-plane", "api-server"),
            ("cp2", "control-plane", "rests"),
            ("cp2", "control-plane", "api-server"),
            ("cp3", "control-plane", "rests"),
        ],
    );
    let certificate = |step: &String| step.contains("/certificates/");
    let kubelet = |step: &String| step.ends_with("/kubelet/kubelet") || step.starts_with("worker");
    let shared = |step: &String| step.ends_with("/uploaded") || step.ends_with("/addons");
    assert!(!changed.iter().any(|step| certificate(step) || kubelet(step) || shared(step)), "{changed:?}");
}

/// Whoever leads etcd gives the lead to one that has had its turn, while there is one.
#[test]
fn the_lead_goes_to_who_has_had_its_turn() {
    let world = with_patch();
    let plan = plan_of(&world, &named(&way(&world, &paused()), StageName::ControlPlanes));
    let of = |host: &str| match &plan.step(&step_id(host, "control-plane", "rests")).unwrap().action {
        Action::Operation(Operation::PlaneRests(rests)) => rests.leaders.clone(),
        other => panic!("{other:?}"),
    };
    let all = PLANES.map(|host| format!("https://{}:2380", world.cluster.host(host).unwrap().address));
    let others = |places: [usize; 2]| places.map(|place| all[place].clone()).to_vec();
    assert_eq!(PLANES.map(of), [others([1, 2]), others([0, 2]), others([1, 0])]);
}

/// With the first alone, the others keep what they have, their patch of etcd too.
#[test]
fn the_first_control_plane_may_have_a_stage_of_its_own() {
    let world = with_patch();
    let wish = Wish { pause: Some(Pause::First), ..Wish::default() };
    let changed = changed(&plan_of(&world, &named(&way(&world, &wish), StageName::First)));
    assert!(changed.contains("cp1/control-plane/manifests"), "{changed:?}");
    let is_older = |step: &&String| {
        !step.starts_with("cp1/") && ["/manifests", "/kubelet", "/kubeadm", "/rests"].iter().any(|end| step.ends_with(end))
    };
    assert_eq!(changed.iter().find(is_older), None, "{changed:?}");
}

/// Answers as etcd's gateway does on cp1, whose member is 11; `LEADER` leads, and `REFUSES` does not take the lead.
const GATEWAY: &str = r#"#!/bin/sh
for path; do case $path in /v3/*) break;; esac; done
said=$(cat)
echo "$path $said" >>LOG
case $path in
  */status) [ -n "LEADER" ] && echo '{"header":{"cluster_id":"1","member_id":"11","revision":"5"},"version":"3.6.14","leader":"LEADER"}';;
  */list) echo '{"header":{"cluster_id":"1","member_id":"11"},"members":[{"ID":"11","name":"cp1","peerURLs":["https://10.20.0.11:2380"]},
    {"ID":"12","name":"cp2","peerURLs":["https://10.20.0.12:2380"]},{"ID":"13","name":"cp3","peerURLs":["https://10.20.0.13:2380"]}]}';;
  */transfer-leadership) case $said in *'"REFUSES"'*) exit 1;; esac;;
esac
"#;

/// What a control plane does until it rests, one word for each command.
fn until_it_rests(shell: &[&str], leaders: &[&str], (leader, refuses): (&str, &str)) -> Vec<String> {
    let folder = Folder::new();
    folder.program("kubectl", &GATEWAY.replace("LOG", &folder.text("log")).replace("LEADER", leader).replace("REFUSES", refuses));
    folder.program("ctr", &format!("#!/bin/sh\necho ends >>{}\n", folder.text("log")));
    let leaders = leaders.iter().map(|host| format!("https://10.20.0.{host}:2380")).collect();
    let act = Operation::PlaneRests(PlaneRests { leaders }).act(&Change::new(ChangeKind::Stop, ""));
    let script = inner_of(act.script().unwrap().parts());
    let script = script.replace("/usr/local/bin/", &format!("{}/", folder.root().display()));
    let output = run(shell, &["-eu"], &format!("systemctl() {{ echo \"systemctl $1\" >>{}; }}\n{script}", folder.text("log")));
    assert!(output.status.success(), "{output:?}");
    let log = std::fs::read_to_string(folder.path("log")).unwrap();
    let word = |line: &str| match line.split_once("/transfer-leadership ") {
        Some((_, to)) => to.to_owned(),
        None => line.rsplit('/').next().unwrap().trim_end_matches(" {}").to_owned(),
    };
    let mut words: Vec<String> = log.lines().map(word).filter(|word| word != "list").collect();
    words.dedup();
    words
}

/// While its API server answers and its kubelet does nothing any more: to the first one that takes the lead, if its own member has it.
#[test]
fn the_lead_is_given_away_before_anything_ends() {
    let to = |id: u8| format!("{{\"targetID\":\"{id}\"}}");
    for shell in SHELLS {
        let rests = |leaders: &[&str], gateway: (&str, &str)| until_it_rests(shell, leaders, gateway);
        assert_eq!(rests(&["13", "12"], ("11", "")), ["systemctl stop", "status", &to(13), "ends"]);
        assert_eq!(rests(&["12", "13"], ("11", "12")), ["systemctl stop", "status", &to(12), &to(13), "ends"]);
        assert_eq!(rests(&["12", "13"], ("12", "")), ["systemctl stop", "status", "ends"], "another one leads");
        assert_eq!(rests(&["12", "13"], ("", "")), ["systemctl stop", "status", "ends"], "it does not say who leads");
        assert_eq!(rests(&[], ("11", "")), ["systemctl stop", "ends"], "its member goes on");
    }
}
