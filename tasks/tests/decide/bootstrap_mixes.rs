//! The table of `docs/bootstrap.md`, walked at random: every mixture of hosts that are so far is gone on with to the same end, or refused with
//! the host that is at odds.

use proptest::prelude::*;

use crate::bootstrap::{DATA, advance, refusal_text, start};
use crate::convergence::{left, state};
use crate::support::world::World;
use crate::support::{cluster_of, highly_available};

const CONTROL_PLANES: [&str; 3] = ["cp1", "cp2", "cp3"];

/// How far a control plane is, by the rows of the table; each goes as far as it can without those that are not so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    Nothing,
    Files,
    Started,
    Finalized,
}

/// What happened to one of them besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mishap {
    None,
    OldData,
    LostData,
    LostAuthority,
    EditedList,
}

fn rows() -> impl Strategy<Value = [Row; 3]> {
    let row = || prop::sample::select(vec![Row::Nothing, Row::Files, Row::Started, Row::Finalized]);
    [row(), row(), row()]
}

fn mishap() -> impl Strategy<Value = (Mishap, usize)> {
    let all = vec![Mishap::None, Mishap::OldData, Mishap::LostData, Mishap::LostAuthority, Mishap::EditedList];
    (prop::sample::select(all), 0_usize..3)
}

fn at(rows: [Row; 3]) -> World {
    let mut world = World::bare_of(highly_available());
    let of = |least: Row| CONTROL_PLANES.into_iter().zip(rows).filter(move |(_, row)| *row >= least).map(|(host, _)| host);
    for host in of(Row::Files) {
        advance(&mut world, |id| id.starts_with(&format!("{host}/")) && !id.contains("/images/") && !id.contains("/control-plane/kubelet"));
    }
    start(&mut world, &of(Row::Started).collect::<Vec<_>>());
    for host in of(Row::Finalized) {
        advance(&mut world, |id| id.starts_with(&format!("{host}/")) && !id.contains("/network-check/"));
    }
    world
}

/// What has to be told of it, if anything; what could not happen to such a host changes nothing.
fn happens(world: &mut World, mishap: Mishap, host: &str) -> Option<&'static str> {
    let has = |world: &World, path: &str| world.hosts[host].has(path);
    let is_known = has(world, "/var/lib/kokctl/cluster");
    match mishap {
        Mishap::OldData if !is_known => {
            world.host(host).folder(DATA, 0o700);
            Some("data of an etcd that kokctl did not start")
        }
        Mishap::LostData if has(world, DATA) => {
            let others = || CONTROL_PLANES.iter().filter(|other| **other != host).map(|other| &world.hosts[*other]);
            // Another member that was started counts it; and what was set up once had all of them.
            let counted = others().any(|other| other.has(DATA))
                || CONTROL_PLANES.iter().any(|host| world.hosts[*host].has("/var/lib/kokctl/made/founded"));
            world.host(host).units.get_mut("kubelet.service").unwrap().active = "inactive".into();
            world.host(host).paths.retain(|path, _| !path.starts_with(DATA));
            // A member that never found the others, or whose cluster was never set up, has lost nothing that counts.
            counted.then_some("member of etcd")
        }
        Mishap::LostAuthority if has(world, "/etc/kubernetes/pki/ca.crt") => {
            world.host(host).paths.remove("/etc/kubernetes/pki/ca.crt");
            Some("/etc/kubernetes/pki/ca.crt")
        }
        Mishap::EditedList if CONTROL_PLANES.iter().any(|other| world.hosts[*other].has(DATA)) => {
            let text = include_str!("../fixtures/highly-available.yaml").replace("10.20.0.13", "10.20.0.19");
            world.cluster = cluster_of(&text);
            Some("10.20.0.19")
        }
        _ => None,
    }
}

/// Runs go on from there to where they end from bare hosts, or what is `wrong` is told.
pub(crate) fn is_gone_on_with_or_refused(world: World, wrong: Option<&str>) -> Result<(), TestCaseError> {
    match (world.try_plan(), wrong) {
        (Err(refusals), Some(wrong)) => prop_assert!(refusal_text(&refusals).contains(wrong), "{wrong:?} in {}", refusal_text(&refusals)),
        (Err(refusals), None) => prop_assert!(false, "it can go on: {}", refusal_text(&refusals)),
        (Ok(_), Some(wrong)) => prop_assert!(false, "{wrong} was not refused"),
        (Ok(_), None) => {
            let expected = state(&World::bare_of(world.cluster.clone()).converge());
            let world = world.converge();
            prop_assert_eq!(left(&world), Vec::<String>::new());
            prop_assert_eq!(state(&world), expected);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 30, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_mixture_is_gone_on_with_or_refused(rows in rows(), (mishap, host) in mishap()) {
        let mut world = at(rows);
        let wrong = happens(&mut world, mishap, CONTROL_PLANES[host]);
        is_gone_on_with_or_refused(world, wrong)?;
    }
}
