//! The cluster's file.

use super::{Expected, INPUT, Refusals};

pub fn two_hosts_with_one_name(refusals: &Refusals<'_>) {
    let manifest = refusals.manifest_with("name: worker2,", "name: worker1,");
    let expected = Expected {
        what: "two hosts have the name `worker1`",
        at: &refusals.position(&manifest, "worker1, address: 10.20.0.13"),
        because: &format!("the first one stands at {}", refusals.position(&manifest, "worker1, address: 10.20.0.12")),
        hint: "give each host a name of its own",
    };
    refusals.refuses(&manifest, INPUT, &[expected]);
}

pub fn misspelled_field(refusals: &Refusals<'_>) {
    let manifest = refusals.manifest_with("kubernetesVersion:", "kubernetesVersoin:");
    let expected = Expected {
        what: "unknown field `kubernetesVersoin`",
        at: &refusals.position(&manifest, "kubernetesVersoin"),
        because: "",
        hint: "did you mean `kubernetesVersion`?",
    };
    refusals.refuses(&manifest, INPUT, &[expected]);
}

pub fn no_file(refusals: &Refusals<'_>) {
    std::fs::remove_file(refusals.kokctl.manifest()).unwrap();
    let expected = Expected {
        what: "the cluster's file can't be read",
        at: &refusals.kokctl.manifest().display().to_string(),
        because: "No such file or directory",
        hint: "with -f",
    };
    refusals.refuses_verb(&["--bundle", refusals.kokctl.bundle().to_str().unwrap()], INPUT, &[expected]);
}
