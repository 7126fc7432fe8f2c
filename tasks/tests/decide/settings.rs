//! A setting that is called honoured is of use to somebody: with it the plan is another one, or is refused.

use kok_crds::{Effect, variables};

use crate::support::cluster_of;
use crate::support::world::World;

const CLUSTER: &str = include_str!("../fixtures/cluster.yaml");

const HIGHLY_AVAILABLE: &str = include_str!("../fixtures/highly-available.yaml");

/// The setting that says something only where there are several control planes.
const OF_SEVERAL: &str = "loadbalancer_apiserver_localhost";

/// Each honoured variable with a value that is not its default, one a line.
const VALUES: &str = include_str!("../../../crds/tests/variables/values.yaml");

/// Settings that say something only beside others.
const BESIDE: [(&str, &str); 2] =
    [("no_proxy", "http_proxy: \"http://other:3128\""), ("additional_no_proxy", "http_proxy: \"http://other:3128\"")];

/// Everything that is decided about hosts that lack a program: all steps with all that they write, or why not.
fn decided(cluster: &str, vars: &str) -> Result<String, String> {
    let mut world = World::bare_of(cluster_of(&format!("{cluster}\n  vars: {{{vars}}}\n")));
    for host in world.hosts.values_mut() {
        host.lacks = ["tar"].map(str::to_owned).into();
        for folder in ["/etc/cloud/cloud.cfg.d", "/sys/fs/selinux", "/etc/selinux", "/var/lib/dpkg/updates"] {
            host.folder(folder, 0o755);
        }
    }
    let plan = world.try_plan().map_err(|refusals| format!("{refusals:?}"))?;
    Ok(plan.steps().map(|step| format!("{step:?}\n")).collect())
}

#[test]
fn every_setting_changes_what_is_done() {
    let settings = variables().filter(|row| row.effect() == Effect::Honoured && row.details().starts_with("a setting"));
    let mut tried = 0;
    for name in settings.map(|row| row.name) {
        let value = VALUES.lines().find_map(|line| line.split_once(": ").filter(|(known, _)| *known == name)).unwrap().1;
        let cluster = if name == OF_SEVERAL { HIGHLY_AVAILABLE } else { CLUSTER };
        let beside = BESIDE.iter().find(|(other, _)| *other == name).map_or("", |(_, beside)| beside);
        let changed = decided(cluster, &[beside, &format!("{name}: {value}")].join(if beside.is_empty() { "" } else { ", " }));
        // What is refused whatever is set would show nothing.
        let usual = decided(cluster, beside).unwrap_or_else(|refusals| panic!("{refusals}"));
        assert!(changed != Ok(usual), "{name} changes nothing that is done");
        tried += 1;
    }
    assert!(tried >= 21, "{tried}");
}
