//! A plan from any answer of a host: made, refused or asking for more, never a panic.
#![no_main]

use std::sync::LazyLock;

use kok_crds::model::Cluster;
use kok_tasks::bundle::Bundle;
use kok_tasks::facts::{self, Extent};
use kok_tasks::observe::{Looks, Nonce, parse};
use kok_tasks::plan::{Inputs, Seen, looks, make};
use libfuzzer_sys::fuzz_target;

static CLUSTER: LazyLock<Option<Cluster>> =
    LazyLock::new(|| kok_crds::read_cluster("cluster.yaml", include_str!("../../tests/fixtures/cluster.yaml")).ok());
static BUNDLE: LazyLock<Option<Bundle>> = LazyLock::new(|| Bundle::parse(include_str!("../../tests/fixtures/bundle.json")).ok());

fuzz_target!(|answer: &[u8]| {
    let (Some(cluster), Some(bundle)) = (&*CLUSTER, &*BUNDLE) else { return };
    let inputs = Inputs { cluster, bundle, token_id: "kokab2", new_cluster_id: "c1", now_seconds: 1_780_000_000, prune: false };
    let nonce = Nonce::new([0x5a; 16]);
    let asked = looks(&inputs).unwrap_or_default();
    let mut seen = Seen::default();
    for host in &cluster.hosts {
        let looks = asked.get(&host.name).cloned().unwrap_or_else(Looks::default);
        if let (Ok(facts), Ok(observations)) = (facts::parse(&nonce, Extent::Node, answer), parse(&nonce, &looks, answer)) {
            seen.add_facts(&host.name, facts);
            seen.add_clock_offset(&host.name, 0);
            seen.add_observations(&host.name, observations);
        }
    }
    let _ = make(&inputs, &seen);
});
