//! How an upgrade goes through the workers.

use std::time::Duration;

use super::resources::fields::{checked, entry_name};
use super::resources::{Places, hosts};
use crate::Problem;
use crate::decode::{Decoder, Field, Form};
use crate::model::{Pool, Serial};
use crate::syntax::duration::duration;
use crate::tree::Value;
use crate::variables::scalar;
use crate::words::quote;

pub(crate) const UPGRADE: Form = Form {
    what: "how the cluster is upgraded",
    fields: &["pools"],
    refused: &[
        ("serial", "write it under `vars`, or for each pool"),
        ("version", "write it as `kubernetesVersion`"),
        ("pool", "write a list as `pools`"),
    ],
};

pub(crate) const POOL: Form = Form {
    what: "a pool of workers",
    fields: &["name", "match", "serial", "order", "soak"],
    refused: &[
        ("on", "write the hosts that are meant as `match`"),
        ("hosts", "write the hosts that are meant as `match`"),
        ("nodes", "write the hosts that are meant as `match`"),
        ("maxUnavailable", "write it as `serial`"),
        ("pause", "write it as `soak`"),
    ],
};

/// Each is a stage, of which a run has 32 at most, and the way there has some besides.
pub(crate) const MOST: usize = 20;

/// Nobody sits by a run for longer; who wants to wait until tomorrow stops with `--limit`.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Reads the pools, in the order in which they are taken.
pub(crate) fn read(decoder: &mut Decoder, field: &Field<'_>, places: &Places) -> Vec<Pool> {
    let Some(fields) = decoder.fields(field, &UPGRADE) else { return Vec::new() };
    let Some(list) = fields.get("pools") else { return Vec::new() };
    let items = decoder.list(&list, "it is a list of pools, each with a `name` and the hosts that it has as `match`");
    let mut pools: Vec<Pool> = Vec::new();
    let items = items.unwrap_or_default();
    if items.len() > MOST {
        let problem = Problem::new(format!("there are {} pools", items.len())).at(list.position());
        let problem = problem.because(format!("each is a stage of an upgrade, and more than {MOST} are too many for one run"));
        decoder.report(problem.hint("put workers of several pools into one"));
        return Vec::new();
    }
    for item in items {
        let Some(pool) = pool(decoder, &item, places) else { continue };
        if let Some(problem) = pools.iter().find_map(|first| twice(&pool, first)) {
            decoder.report(problem);
        }
        pools.push(pool);
    }
    pools.sort_by_key(|pool| pool.order);
    pools
}

fn pool(decoder: &mut Decoder, item: &Field<'_>, places: &Places) -> Option<Pool> {
    let fields = decoder.fields(item, &POOL)?;
    let name = decoder.required(&fields, "name").and_then(|field| checked(decoder, &field, entry_name, "the name of a pool"));
    let hosts = decoder.required(&fields, "match").and_then(|field| workers(decoder, &field, places));
    let serial = fields.get("serial").map_or(Some(None), |field| serial(decoder, &field).map(Some));
    let order = fields.get("order").map_or(Some(0), |field| decoder.integer(&field, -1000..=1000));
    let soak = fields.get("soak").map_or(Some(Duration::ZERO), |field| soak(decoder, &field));
    Some(Pool {
        name: name?,
        hosts: hosts?.into_iter().collect(),
        serial: serial?,
        order: order?,
        soak: soak?,
        origin: item.position().clone(),
    })
}

/// Control planes have their kubelets changed one after the other, before all workers.
fn workers(decoder: &mut Decoder, field: &Field<'_>, places: &Places) -> Option<Vec<String>> {
    if matches!(&field.node.value, Value::List(words) if words.is_empty()) {
        let problem = Problem::new("`match` names no worker").at(field.position()).because("the pool would have nobody");
        decoder.report(problem.hint("name workers, or leave the pool out"));
        return None;
    }
    let meant = hosts(decoder, field, places)?;
    let is_worker = |name: &String| {
        let is_in = |group: &str| places.groups.get(group).is_some_and(|hosts| hosts.contains(name));
        is_in("worker") && !is_in("control-plane")
    };
    let (workers, others): (Vec<_>, Vec<_>) = meant.into_iter().partition(is_worker);
    let Some(other) = others.first() else { return Some(workers) };
    let problem = Problem::new(format!("`match` names {}, which is no worker alone", quote(other))).at(field.position());
    let problem = problem.because("the kubelets of control planes are changed one after the other, before those of all pools");
    decoder.report(problem.hint("name workers"));
    None
}

fn serial(decoder: &mut Decoder, field: &Field<'_>) -> Option<Serial> {
    let text = scalar(decoder, field)?;
    let problem = |rule| Problem::new(format!("`serial` cannot be {}", quote(&text))).at(field.position()).because(rule);
    text.parse::<Serial>().map_err(|rule| decoder.report(problem(rule).hint("write one of the two, or leave it out"))).ok()
}

fn soak(decoder: &mut Decoder, field: &Field<'_>) -> Option<Duration> {
    let text = scalar(decoder, field)?;
    let time = duration(&text).filter(|time| *time <= LONGEST);
    if time.is_none() {
        let problem = Problem::new(format!("`soak` cannot be {}", quote(&text))).at(field.position());
        let problem =
            problem.because("it is how long a node is looked at before another one is taken, as `90s` or `10m`, and a day at most");
        decoder.report(problem.hint("write such a time, or leave it out"));
    }
    time
}

fn twice(pool: &Pool, first: &Pool) -> Option<Problem> {
    let at = |problem: Problem| problem.at(&pool.origin).because(format!("the other one stands at {}", first.origin));
    if pool.name == first.name {
        return Some(at(Problem::new(format!("two pools have the name {}", quote(&pool.name)))).hint("give each pool a name of its own"));
    }
    let host = pool.hosts.intersection(&first.hosts).next()?;
    let problem = at(Problem::new(format!("{} is of two pools, {} and {}", quote(host), first.name, pool.name)));
    Some(problem.hint("leave it out of one of them"))
}

#[cfg(test)]
mod tests {
    use crate::model::{Cluster, Serial};
    use crate::{Problem, read_cluster};

    fn read(upgrade: &str) -> Result<Cluster, Vec<Problem>> {
        let text = format!(
            "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {{name: c}}\nspec:\n  kubernetesVersion: 1.37.1\n  hosts:\n  \
             - {{name: cp1, address: 10.0.0.11, roles: [control-plane]}}\n  - {{name: web-1, address: 10.0.0.12, roles: [worker]}}\n  \
             - {{name: web-2, address: 10.0.0.13, roles: [worker]}}\n  - {{name: db-1, address: 10.0.0.14, roles: [worker]}}\n  \
             upgrade: {upgrade}\n"
        );
        read_cluster("c.yaml", &text)
    }

    #[test]
    fn pools_come_in_their_order_and_hosts_by_name_pattern_or_role() {
        let pools = "{pools: [{name: late, match: [db-1], order: 2, serial: 50%, soak: 10m}, {name: web, match: ['web-*'], serial: 1}]}";
        let pools = read(pools).map(|cluster| cluster.pools).unwrap_or_default();
        let told: Vec<_> = pools.iter().map(|pool| (pool.name.as_str(), pool.hosts.len(), pool.serial, pool.soak.as_secs())).collect();
        assert_eq!(told, [("web", 2, Some(Serial::Count(1)), 0), ("late", 1, Some(Serial::Share(50)), 600)]);
        let all = read("{pools: [{name: all, match: [worker]}]}").map(|cluster| cluster.pools).unwrap_or_default();
        assert_eq!(all.first().map(|pool| pool.hosts.len()), Some(3));
        assert!(read("{pools: []}").is_ok_and(|cluster| cluster.pools.is_empty()));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (pools, says) in [
            ("{name: a, match: [cp1]}", "no worker alone"),
            ("{name: a, match: ['db-*', db-1]}, {name: a, match: [web-1]}", "two pools have the name"),
            ("{name: a, match: ['*-1']}, {name: b, match: [db-1]}", "is of two pools, a and b"),
            ("{name: a, match: ['x-*']}", "`match` cannot be `x-*`"),
            ("{name: a, match: [web-3]}", "did you mean"),
            ("{name: a, match: [web-1], serial: 0}", "`serial` cannot be `0`"),
            ("{name: a, match: [web-1], soak: 2d}", "`soak` cannot be `2d`"),
            ("{name: a, on: [web-1]}", "as `match`"),
            ("{match: [web-1]}", "name"),
            ("{name: a, match: []}", "`match` names no worker"),
            (&["{name: a, match: [web-1]}"; 21].join(", "), "there are 21 pools"),
        ] {
            let problems = read(&format!("{{pools: [{pools}]}}")).err().unwrap_or_default();
            assert!(format!("{problems:?}").contains(says), "{pools}: {problems:?}");
        }
    }
}
