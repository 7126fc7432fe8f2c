//! What a user has encrypted is in no plan and no refusal.

use kok_crds::model::Concealed;
use kok_crds::{File, Role, read_input_with};
use kok_tasks::plan::{DocumentInputs, PlanDocument};

use crate::support::world::World;

#[path = "../../../crds/tests/sealing/mod.rs"]
mod sealing;

use sealing::{keys, sealed};

/// The cluster of an inventory whose proxy nobody shall know.
fn cluster(password: &str) -> kok_crds::model::Cluster {
    let vault = sealed("", "key", password, 6);
    let text = format!(
        "all:\n  hosts: {{cp1: {{ip: 10.20.0.11}}, worker1: {{ip: 10.20.0.12}}}}\n  vars:\n    kube_version: 1.37.1\n    kube_network_plugin: flannel\n    \
         phrase: !vault |\n      {vault}\n    http_proxy: 'http://{{{{ phrase }}}}:3128'\n  children:\n    kube_control_plane: {{hosts: {{cp1: }}}}\n    \
         kube_node: {{hosts: {{worker1: }}}}\n"
    );
    let file = File { name: "hosts.yaml".to_owned(), text, role: Role::Main { cluster: Some("demo".to_owned()) } };
    let input = read_input_with(&[file], &keys(&[("", "key")]));
    input.cluster.unwrap_or_else(|| panic!("{:?}", input.problems))
}

#[test]
fn differences_do_not_show_it() {
    let mut world = World::bare_of(cluster("marmalade1.example.org")).converge();
    world.cluster = cluster("marmalade2.example.org");
    let plan = world.plan();
    let changes: Vec<_> = plan.changes().map(|(_, change)| change).collect();
    let said = format!("{changes:?}");
    assert!(said.contains("the difference is not shown"), "{said}");
    // Nor what was encrypted before.
    assert!(!said.contains("marmalade"), "{said}");
}

/// Nor could it be tried by what they say of acts: these are the same whatever was encrypted.
#[test]
fn documents_neither_show_it_nor_depend_on_it() {
    let nothing = Concealed::default();
    let document = |password: &str, hides: bool| {
        let mut world = World::bare_of(cluster("marmalade1.example.org")).converge();
        world.cluster = cluster(password);
        let inputs = DocumentInputs {
            cluster: world.cluster.name.clone(),
            program: "1.0.0".to_owned(),
            token_id: world.token_id.clone(),
            new_cluster_id: "c1".to_owned(),
            tasks: None,
            hosts: None,
            prune: false,
        };
        PlanDocument::new(&world.plan(), inputs, if hides { &world.cluster.concealed } else { &nothing })
    };
    let (one, two) = (document("marmalade2.example.org", true), document("marmalade3.example.net", true));
    assert!(!one.is_empty());
    assert!(!serde_json::to_string(&one).unwrap().contains("marmalade"));
    let differences: Vec<String> = one.compare(&two).iter().map(ToString::to_string).collect();
    assert_eq!((one.digest() == two.digest(), differences), (true, Vec::new()));
    // Whoever hid nothing would have given a way to try it.
    let (one, two) = (document("marmalade2.example.org", false), document("marmalade3.example.net", false));
    assert_ne!(one.digest(), two.digest());
}
