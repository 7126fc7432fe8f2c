//! Histories that are kept by their seed, as files beside the stories of the lab, which live through the same ones on real hosts.
//!
//! `KOK_WRITE_HISTORIES=1` writes them anew.

use std::fs;
use std::path::Path;

use serde::Serialize;
use serde_json::json;

use super::beginnings::TypedOrder;
use super::*;

/// A control plane leaves while the host of a member that is a unit is lost; one leaves in a run that is killed; one leaves over a link that breaks, and
/// joins while members are away; and one leaves while the host of another is lost, and with it the majority of etcd.
const KEPT: [u64; 4] = [1256, 1798, 2867, 2891];

/// What was typed, on what, and what happened meanwhile.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Lived {
    order: TypedOrder,
    /// Files to which somebody has written a line before, by host.
    edited: Vec<(String, String)>,
    removed: Vec<(String, String)>,
    /// Behind how many orders the link to a host breaks.
    cut_after: Vec<usize>,
    killed_after: Option<usize>,
    /// What happens after so many milliseconds.
    happenings: Vec<(u64, Happening)>,
    /// What a lab can't do: faults that no link has, and runs of others.
    #[serde(skip)]
    is_of_the_model_alone: bool,
}

impl Lived {
    pub(super) fn new(order: TypedOrder, by: Taker, edits: Edits, life: &SimulatedLife) -> Self {
        let is_of_link = |fault: &Fault| matches!(fault, Fault::LostBefore | Fault::LostBetween | Fault::LostAfter | Fault::StillAtWork);
        let Edits { edited, removed } = edits;
        Self {
            order,
            edited,
            removed,
            cut_after: life.faults.iter().map(|(after, _)| *after).collect(),
            killed_after: life.dies_at,
            happenings: life.happenings.clone(),
            is_of_the_model_alone: by.controller != "ours" || !life.faults.iter().all(|(_, fault)| is_of_link(fault)),
        }
    }
}

/// What there is in the end.
#[derive(Debug, Serialize)]
pub(super) struct FinalState {
    members: Vec<String>,
    nodes: Vec<String>,
}

impl FinalState {
    pub(super) fn from_world(world: &World) -> Self {
        let mut members = world.api.members.clone();
        members.sort();
        Self { members, nodes: world.api.nodes.keys().cloned().collect() }
    }
}

/// The document of a seed, as a story of the lab reads it.
fn document(seed: u64) -> String {
    let History { broken, lived, end, .. } = history(History::go_on, seed);
    assert!(broken.is_empty(), "{broken:?}");
    assert!(!lived.iter().any(|life| life.is_of_the_model_alone), "a lab can't live through {seed}: {lived:?}");
    let end = end.unwrap();
    let etcd = if end.members.iter().any(|member| end.nodes.contains(member)) { "beside API servers" } else { "units" };
    serde_json::to_string_pretty(&json!({"seed": seed, "etcd": etcd, "lives": lived, "end": end})).unwrap() + "\n"
}

#[test]
fn what_is_kept_is_what_its_seed_gives() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories");
    for seed in KEPT {
        let path = folder.join(format!("{seed}.json"));
        if std::env::var_os("KOK_WRITE_HISTORIES").is_some() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, document(seed)).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), document(seed), "{seed}");
    }
}
