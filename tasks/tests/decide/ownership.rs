//! Whose host it is: the record of a cluster's name and id.

use kok_tasks::change::{Change, ChangeKind, Verdict};
use kok_tasks::operations::{Claim, Operation};
use kok_tasks::plan::{Action, Plan};
use kok_tasks::preconditions::{check, check_reset};

use crate::support::shell::{Folder, SHELLS, run, script_of};
use crate::support::world::World;
use crate::support::{cluster, seen_with};

fn ids(plan: &Plan) -> Vec<Option<String>> {
    let claims = plan.steps().filter_map(|step| match &step.action {
        Action::Operation(Operation::Claim(claim)) => Some(claim.id.clone()),
        _ => None,
    });
    claims.collect()
}

#[test]
fn a_new_cluster_gets_one_id_and_keeps_it() {
    let new = Some("c1".to_owned());
    assert_eq!(ids(&World::bare().plan()), [new.clone(), new.clone(), new]);
    let mut world = World::converged();
    for host in ["cp1", "worker1", "worker2"] {
        world.host(host).write("/var/lib/kokctl/cluster", 0o600, "demo\nolder\n");
    }
    assert_eq!(ids(&world.plan()), vec![Some("older".to_owned()); 3]);
    assert!(world.plan().is_empty());
}

#[test]
fn a_record_without_an_id_gets_it() {
    let mut world = World::converged();
    world.host("worker2").write("/var/lib/kokctl/cluster", 0o600, "demo\n");
    let plan = world.plan();
    let changes: Vec<_> = plan.changes().map(|(step, change)| format!("{}: {}", step.id, change.because)).collect();
    assert_eq!(changes, ["worker2/host/claim: the record does not have the cluster's id"]);
}

#[test]
fn two_clusters_of_one_name_are_told_apart() {
    let cluster = cluster();
    let seen = seen_with(|host, facts| {
        facts.cluster = Some("demo".to_owned());
        facts.cluster_id = Some(if host == "worker2" { "bbb" } else { "aaa" }.to_owned());
    });
    for refusals in [check(&cluster, &seen), check_reset(&cluster, &seen)] {
        let refusal = refusals.iter().find(|refusal| refusal.what.contains("2 clusters of the name demo")).unwrap();
        assert_eq!(refusal.because.as_deref(), Some("cp1, worker1 has the id aaa; worker2 has the id bbb"));
    }
    let same = seen_with(|_, facts| (facts.cluster, facts.cluster_id) = (Some("demo".to_owned()), Some("aaa".to_owned())));
    assert!(!check(&cluster, &same).iter().any(|refusal| refusal.what.contains("clusters of the name")));
}

/// Between the probe and the script somebody else may have claimed the host.
#[test]
fn a_host_of_another_cluster_is_not_claimed() {
    let claim = Operation::Claim(Claim { cluster: "demo".to_owned(), id: Some("aaa".to_owned()) });
    let script = script_of(&claim.act(&Change::new(ChangeKind::Record, "it is missing")));
    for shell in SHELLS {
        for (there, may) in
            [(None, true), (Some("demo\n"), true), (Some("demo\naaa\n"), true), (Some("demo\nbbb\n"), false), (Some("other\naaa\n"), false)]
        {
            let folder = Folder::new();
            let state = folder.text("state");
            if let Some(there) = there {
                std::fs::create_dir(&state).unwrap();
                std::fs::write(folder.path("state/cluster"), there).unwrap();
            }
            let output = run(shell, &[], &script.replace("/var/lib/kokctl", &state));
            assert_eq!(output.status.success(), may, "{shell:?} {there:?}: {}", String::from_utf8_lossy(&output.stderr));
            let expected = if may { "demo\naaa\n" } else { there.unwrap() };
            assert_eq!(std::fs::read_to_string(folder.path("state/cluster")).unwrap(), expected, "{shell:?} {there:?}");
        }
    }
    let seen = kok_tasks::observe::Observations::default();
    assert_eq!(claim.diff(&seen), Verdict::Unseen);
}
