//! Members that are units, each as far as it may be when a run dies, with what may happen to one of them besides: gone on with to the same end,
//! or refused with what is at odds. As `bootstrap_mixes.rs` walks control planes with a member each.

use proptest::prelude::*;

use super::{DATA, MEMBERS, TEXT, advance, bare, stop};
use crate::bootstrap_mixes::is_gone_on_with_or_refused;
use crate::support::cluster_of;
use crate::support::world::World;

const STARTED: &str = "/var/lib/kokctl/made/etcd-started";
const CERTIFICATE: &str = "/etc/kubernetes/pki/etcd/ca.crt";
const KEY: &str = "/etc/kubernetes/pki/etcd/ca.key";

/// How far a host of etcd is; each goes as far as it can without those that are not so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    Nothing,
    Files,
    Started,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mishap {
    None,
    OldData,
    LostData,
    LostKeys,
    OtherAuthority,
    EditedList,
}

/// Some of its members, and then perhaps everything else as well.
fn at(rows: [Row; 3], is_founded: bool) -> World {
    let mut world = bare();
    for least in [Row::Files, Row::Started] {
        let hosts: Vec<String> = MEMBERS.iter().zip(rows).filter(|(_, row)| *row >= least).map(|(host, _)| format!("{host}/")).collect();
        advance(&mut world, |id| {
            let is_start = ["/etcd/service", "/etcd/member"].iter().any(|step| id.ends_with(step));
            hosts.iter().any(|host| id.starts_with(host.as_str())) && (least == Row::Started || !is_start)
        });
    }
    if is_founded { world.converge() } else { world }
}

/// What has to be told of it, if anything; what could not happen to such a host changes nothing.
fn happens(world: &mut World, mishap: Mishap, host: &str) -> Option<&'static str> {
    let has = |world: &World, host: &str, path: &str| world.hosts[host].has(path);
    let all_have = |world: &World, path: &str| MEMBERS.iter().filter(|member| has(world, member, path)).count();
    match mishap {
        Mishap::OldData if !has(world, host, "/var/lib/kokctl/cluster") => {
            world.host(host).folder(DATA, 0o700);
            Some("data of an etcd that kokctl did not start")
        }
        Mishap::LostData if has(world, host, DATA) => {
            // While too few were started to be a cluster, nothing was in it that could be lost; else somebody counts this one.
            let counts = has(world, host, STARTED) || all_have(world, DATA) > MEMBERS.len() / 2;
            stop(world, host);
            world.host(host).paths.retain(|path, _| !path.starts_with(DATA));
            counts.then_some("its member of etcd has lost its data")
        }
        Mishap::LostKeys if all_have(world, CERTIFICATE) > 0 => {
            MEMBERS.iter().for_each(|member| drop(world.host(member).paths.remove(KEY)));
            Some("the cluster has lost the certificate authority of etcd")
        }
        Mishap::OtherAuthority if has(world, host, CERTIFICATE) && all_have(world, CERTIFICATE) > 1 => {
            world.host(host).write(CERTIFICATE, 0o644, "another one");
            Some("2 certificate authorities of etcd")
        }
        Mishap::EditedList if all_have(world, DATA) > 0 => {
            world.cluster = cluster_of(&TEXT.replace("10.20.0.16", "10.20.0.19"));
            Some("etcd3=https://10.20.0.1")
        }
        _ => None,
    }
}

fn rows() -> impl Strategy<Value = [Row; 3]> {
    let row = || prop::sample::select(vec![Row::Nothing, Row::Files, Row::Started]);
    [row(), row(), row()]
}

fn mishap() -> impl Strategy<Value = (Mishap, usize)> {
    let all = vec![Mishap::None, Mishap::OldData, Mishap::LostData, Mishap::LostKeys, Mishap::OtherAuthority, Mishap::EditedList];
    (prop::sample::select(all), 0_usize..3)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 30, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_mixture_is_gone_on_with_or_refused(rows in rows(), is_founded in prop::bool::weighted(0.2), (mishap, host) in mishap()) {
        let mut world = at(rows, is_founded);
        let wrong = happens(&mut world, mishap, MEMBERS[host]);
        is_gone_on_with_or_refused(world, wrong)?;
    }
}

/// What the rows are made of is what they say. The first host keeps the authority's key before others have what is signed with it.
#[test]
fn hosts_are_as_far_as_their_rows_say() {
    let having = |world: &World, path: &str| MEMBERS.into_iter().filter(|host| world.hosts[*host].has(path)).collect::<Vec<_>>();
    let world = at([Row::Started, Row::Files, Row::Nothing], false);
    assert_eq!(having(&world, "/var/lib/kokctl/cluster"), ["etcd1", "etcd2"]);
    assert_eq!(having(&world, CERTIFICATE), ["etcd1", "etcd2"]);
    assert_eq!((having(&world, DATA), having(&world, STARTED)), (vec!["etcd1"], vec![]));
    let world = at([Row::Nothing, Row::Files, Row::Started], false);
    assert_eq!((having(&world, CERTIFICATE), having(&world, DATA)), (vec![], vec![]));
    let world = at([Row::Started; 3], false);
    assert_eq!(having(&world, STARTED), MEMBERS, "all of them together are a cluster");
    assert!(!world.hosts["cp1"].has("/etc/kubernetes/pki/ca.crt"));
}
