//! Another certificate authority: in which order hosts get it, and that everybody is known to everybody at every moment, whoever is killed.

mod story;

use kok_pki::AuthorityKind;
use kok_tasks::observe::{ApiServerState, EtcdState, Observations, OlderPods};
use kok_tasks::operations::Operation;
use kok_tasks::pem_set::PemSet;
use kok_tasks::plan::{
    Action, AuthorityRotation, AuthorityStage, AuthorityStanding, Making, Refusal, authority_standing, may_begin_authority,
    may_end_authority, rotate_authority,
};
use kok_tasks::preconditions::reminders;

use crate::bootstrap::refusal_text;
use crate::support::host::kubeconfig_authorities;
use crate::support::secrets::{self, JOINING};
use crate::support::world::World;
use crate::support::{NOW, cluster_of, own_etcd_of_three, step_id};
use story::{Story, changes, file};

const ONE: &str = include_str!("../fixtures/cluster.yaml");
const THREE: &str = include_str!("../fixtures/highly-available.yaml");

fn is_killed_anywhere(text: &str, kind: AuthorityKind, every: usize) {
    let story = Story::from_text(text, kind);
    let mut whole = story.clone();
    let steps = usize::MAX - whole.driven(false, usize::MAX);
    for killed in (0..=steps).step_by(every) {
        let mut story = story.clone();
        story.driven(false, killed);
        // A leaf whose key was written a moment ago is made by whoever comes first, and programs read their new kubeconfigs; nothing else is touched.
        let apply = story.world.plan();
        let is_left =
            |change: &String| [".crt is missing", "does not exist", "changed after", " changes"].iter().any(|words| change.contains(words));
        assert!(changes(&apply).iter().all(is_left), "`apply` leaves it as it is, after {killed}: {:?}", changes(&apply));
        story.world.carry_out_all(&apply);
        story.all_are_known(&format!("`apply` after {killed}"), false);
        assert!(story.world.plan().is_empty(), "after {killed}");
        story.driven(false, usize::MAX);
        let AuthorityStanding::Replaced { certificate, ends: false, .. } = story.standing() else { panic!("after {killed}") };
        assert_ne!(certificate, story.old, "after {killed}");
        assert!(story.world.plan().is_empty(), "after {killed}: {:?}", changes(&story.world.plan()));
        let said = reminders(&story.world.cluster, &story.world.seen());
        assert!(said.iter().any(|it| it.what.contains("is being replaced")), "after {killed}: {said:?}");
        story.driven(true, killed);
        story.driven(true, usize::MAX);
        assert!(matches!(story.standing(), AuthorityStanding::One { certificate: is, .. } if is == certificate), "after {killed}");
        for host in story.world.cluster.hosts.clone() {
            for path in story.world.hosts[&host.name].paths.keys().filter(|path| path.ends_with(".crt") || path.ends_with(".conf")) {
                let text = story.text(&host.name, path).unwrap();
                let text = kubeconfig_authorities(text).unwrap_or_else(|| text.to_owned());
                assert!(!PemSet::parse(&text).has(&story.old), "{path} of {} has the old one after {killed}", host.name);
            }
        }
        assert!(story.world.plan().is_empty() && reminders(&story.world.cluster, &story.world.seen()).is_empty(), "after {killed}");
        assert_eq!(story.driven(true, usize::MAX), usize::MAX, "nothing is left after {killed}");
    }
}

#[test]
fn that_of_kubernetes_is_replaced_wherever_a_run_is_killed() {
    is_killed_anywhere(ONE, AuthorityKind::Kubernetes, 3);
    is_killed_anywhere(THREE, AuthorityKind::Kubernetes, 23);
}

#[test]
fn that_of_etcd_is_replaced_wherever_a_run_is_killed() {
    is_killed_anywhere(ONE, AuthorityKind::Etcd, 2);
    is_killed_anywhere(THREE, AuthorityKind::Etcd, 11);
    is_killed_anywhere(&own_etcd_of_three(), AuthorityKind::Etcd, 13);
}

#[test]
fn that_of_the_front_proxy_is_replaced_wherever_a_run_is_killed() {
    is_killed_anywhere(ONE, AuthorityKind::FrontProxy, 1);
    is_killed_anywhere(THREE, AuthorityKind::FrontProxy, 5);
}

/// Control planes that join while one takes the place of the other.
#[test]
fn who_joins_meanwhile_gets_both_and_goes_along() {
    const THIRD: &str = "    - {name: cp3, address: 10.20.0.13, roles: [control-plane]}\n";
    let five = cluster_of(&THREE.replace(THIRD, &format!("{THIRD}{JOINING}")));
    for kind in AuthorityKind::ALL {
        let mut bare = World::bare_of(five.clone());
        bare.cluster = cluster_of(THREE);
        bare.api.members.truncate(3);
        let mut story = Story::of_world(bare.converge(), kind);
        story.driven(false, usize::MAX);
        let AuthorityStanding::Replaced { certificate, .. } = story.standing() else { panic!("{kind:?}") };
        story.world.cluster = five.clone();
        // What its API server shows would be signed by the new one.
        if kind == AuthorityKind::Kubernetes {
            let said = refusal_text(&story.world.try_plan().unwrap_err());
            assert!(said.contains("cp4 can't become a control plane") && said.contains("--finish"), "{said}");
            continue;
        }
        let trusted = story.world.hosts["cp1"].text(&file(kind)).to_owned();
        let key = &story.keys[certificate.trim()];
        story.world.files = secrets::with(story.world.files, &five, kind, (&trusted, key));
        while !story.world.plan().is_empty() {
            let plan = story.world.plan();
            story.world.carry_out_all(&plan);
        }
        story.started(&["cp4", "cp5"]);
        story.all_are_known("they have joined", false);
        for host in ["cp4", "cp5"] {
            assert_eq!(story.world.hosts[host].text(&file(kind)), trusted, "{host}");
        }
        story.driven(true, usize::MAX);
        assert!(matches!(story.standing(), AuthorityStanding::One { certificate: is, .. } if is == certificate));
        assert!(story.world.plan().is_empty() && story.world.hosts["cp5"].text(&file(kind)).matches("BEGIN").count() == 1);
    }
}

#[test]
fn what_keeps_an_authority_from_being_replaced_is_said_with_its_host() {
    let story = Story::from_text(THREE, AuthorityKind::Etcd);
    let refused = |story: &Story, host: &str, change: &dyn Fn(&mut Observations)| {
        let mut seen = story.seen();
        let mut observed = seen.observations(host).clone();
        change(&mut observed);
        seen.add_observations(host, observed);
        let refusals: Vec<Refusal> = authority_standing(&story.world.cluster, story.kind, &seen)
            .and_then(|_| may_begin_authority(&story.world.cluster, story.kind, &seen))
            .expect_err("nothing is refused");
        refusal_text(&refusals)
    };
    let said = refused(&story, "cp2", &|seen| seen.api_server = Some(ApiServerState::NotReady("etcd failed".to_owned())));
    assert!(said.contains("cp2") && said.contains("etcd failed") && !said.contains("cp1"), "{said}");
    let said = refused(&story, "cp2", &|seen| seen.etcd = Some(EtcdState::Absent));
    assert!(said.contains("its member of etcd does not work") && said.contains("cp2"), "{said}");
    let said = refused(&story, "cp2", &|seen| drop(seen.contents.insert(file(AuthorityKind::Etcd), Vec::new())));
    assert!(said.contains("has no certificate in it") && said.contains("cp2"), "{said}");
    let stranger = Story::from_text(THREE, AuthorityKind::Etcd).makes();
    let said = refused(&story, "cp2", &|seen| drop(seen.contents.insert(file(AuthorityKind::Etcd), stranger.clone().into_bytes())));
    assert!(said.contains("hosts have authorities that others don't know"), "{said}");
}

/// Whoever has a worker has no more than that: what stands in its file is trusted by nobody else, and is put right.
#[test]
fn what_a_worker_trusts_is_not_spread() {
    let mut story = Story::from_text(THREE, AuthorityKind::Kubernetes);
    let stranger = Story::from_text(THREE, AuthorityKind::Kubernetes).makes();
    let authority = file(story.kind);
    let own = story.world.hosts["worker1"].text(&authority).to_owned();
    story.world.host("worker1").write(&authority, 0o644, &PemSet::parse(&own).with_next(&stranger).text());
    assert!(matches!(story.standing(), AuthorityStanding::One { begun: false, .. }), "it says nothing of the others");
    story.driven(false, usize::MAX);
    for host in ["cp1", "cp2", "cp3", "worker1", "worker2"] {
        assert!(!PemSet::parse(story.world.hosts[host].text(&authority)).has(&stranger), "{host} trusts it");
    }
    let trust = story.world.trust();
    assert!(!PemSet::parse(&trust.clients.unwrap()).has(&stranger) && !PemSet::parse(&trust.joining.unwrap()).has(&stranger));
}

/// A run was killed that had ended a member: what it is to be is known by the others, and of the only one by nobody.
#[test]
fn a_member_that_is_away_is_to_be_what_the_others_are() {
    let mut story = Story::from_text(THREE, AuthorityKind::Etcd);
    let certificate = story.makes();
    let rotation = AuthorityRotation { kind: story.kind, certificate: &certificate, stage: AuthorityStage::Known };
    let planned = |away: &[&str]| {
        let mut seen = story.seen();
        for host in away {
            let gone = Some(EtcdState::NotReady("refused".to_owned()));
            seen.add_observations(host, Observations { etcd: gone, ..seen.observations(host).clone() });
        }
        rotate_authority(&story.world.cluster, &rotation, NOW, &seen).map_err(|refusals| refusal_text(&refusals))
    };
    let Ok(Making::Made(plan)) = planned(&["cp2"]) else { panic!("there is no plan") };
    let ready = |host: &str| match &plan.step(&step_id(host, "authorities", "member")).unwrap().action {
        Action::Operation(Operation::EtcdMemberReady(ready)) => ready.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(ready("cp2"), ready("cp1"));
    assert!(!ready("cp2").version.is_empty() && ready("cp2").members.len() == 3);
    assert!(planned(&["cp1", "cp2", "cp3"]).unwrap_err().contains("nor does any other"));
}

/// The key of the next one may lie on a host from the second stage on, before any file says that it signs.
#[test]
fn what_has_begun_is_neither_ended_nor_begun_by_another() {
    let mut story = Story::from_text(THREE, AuthorityKind::Etcd);
    assert!(matches!(story.standing(), AuthorityStanding::One { begun: false, .. }));
    story.driven(false, 1);
    assert!(matches!(story.standing(), AuthorityStanding::One { begun: true, .. }), "{:?}", story.standing());
    assert_eq!(story.driven(true, usize::MAX), usize::MAX, "nothing is ended");
    story.driven(false, usize::MAX);
    story.driven(true, usize::MAX);
    assert!(matches!(story.standing(), AuthorityStanding::One { begun: false, .. }));
}

#[test]
fn pods_that_know_no_other_keep_it_from_ending() {
    let story = Story::from_text(THREE, AuthorityKind::Kubernetes);
    let ended_by = |pods: Result<OlderPods, String>, ahead: i64| {
        let mut seen = story.seen();
        seen.add_clock_offset("worker1", ahead);
        for host in story.world.cluster.control_planes() {
            let observed = Observations { older_pods: Some(pods.clone()), ..seen.observations(&host.name).clone() };
            seen.add_observations(&host.name, observed);
        }
        may_end_authority(&story.world.cluster, story.kind, &seen).map_err(|refusals| refusal_text(&refusals))
    };
    let ended = |pods| ended_by(pods, 0);
    let of = |start: i64| Ok(OlderPods { changed: 100, pods: (1..=10).map(|number| (format!("web/pod-{number}"), start)).collect() });
    assert_eq!((ended(Ok(OlderPods::default())), ended(of(100))), (Ok(()), Ok(())));
    // A kubelet whose clock is ahead dates what it has started too late.
    assert!(ended_by(of(100), 5).unwrap_err().contains("web/pod-1"));
    assert_eq!(ended_by(of(105), 5), Ok(()));
    let said = ended(of(99)).unwrap_err();
    assert!(said.contains("web/pod-8 and 2 more") && said.contains("rollout restart"), "{said}");
    assert!(ended(Err("no".to_owned())).unwrap_err().contains("it is not known which pods"));
}
