//! The schema of how a cluster is upgraded.

use serde_json::{Value, json};

use super::property::{Property, fields, integer, map, property, text, texts};
use crate::read::pools::{MOST, POOL, UPGRADE};

/// The field.
pub(super) fn upgrade() -> Property {
    let pools = json!({"type": "array", "items": pool(), "maxItems": MOST});
    let properties = vec![property("pools", "Workers that are taken together, pool after pool; those of none come last.", pools)];
    property("upgrade", "How `kokctl upgrade` goes through the workers.", map(&fields(&UPGRADE), &[], properties))
}

fn pool() -> Value {
    let serial = json!({"x-kubernetes-int-or-string": true});
    let properties = vec![
        text("name", "Name of the pool, which no other has.").with("maxLength", 63),
        texts("match", "The workers that it has: their names, of which `*` stands for any part, or the role `worker`."),
        property(
            "serial",
            "How many of them are away at a time: a number, or a share as `20%`; without it what `serial` of the cluster says.",
            serial,
        ),
        integer("order", "Pools with a lower one come first; of the same, those that stand first.", -1000, 1000),
        text("soak", "How long a node has to be Ready with its new kubelet before another one is taken, as `10m`."),
    ];
    map(&fields(&POOL), &["name", "match"], properties)
}
