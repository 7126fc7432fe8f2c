//! Addons: applied, repaired, and removed when they leave the list or their manifest.

mod unpruned;

use kok_crds::model::{Cluster, NETWORK_ADDON, NetworkPlugin, ObjectName, Prune};
use kok_tasks::addons::AddonRecord;
use kok_tasks::change::{Change, ChangeKind};
use kok_tasks::observe::{LiveObject, Look, Looks, Observations, ParseError, parse, probe_script};
use kok_tasks::operations::{ApplyAddon, Operation};
use kok_tasks::plan::Action;
use kok_tasks::resources::{Act, Resource};
use kok_tasks::script::Part;

use crate::support::world::World;
use crate::support::{cluster, highly_available, nonce, with_addons};

const HELLO: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: text}}
---
{apiVersion: v1, kind: Secret, metadata: {name: key, namespace: hello}, stringData: {password: hunter2}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: hello, labels: {a: b}}}
";

const TEXT: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: text}}\n";
const OTHER: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}\n";

fn hello() -> World {
    World::bare_of(with_addons(cluster(), &[("hello", HELLO)])).converge()
}

fn with(world: World, addons: &[(&str, &str)]) -> World {
    let mut world = world;
    world.cluster = with_addons(cluster(), addons);
    world
}

fn left(world: &World) -> Vec<String> {
    world.plan().changes().map(|(step, change)| format!("{}: {} because {}", step.id, change.summary(), change.because)).collect()
}

fn there(world: &World) -> Vec<String> {
    world.api.addons.iter().map(|(name, live)| format!("{name} of {}", live.addon)).collect()
}

fn object<'a>(world: &'a mut World, name: &str) -> &'a mut LiveObject {
    world.api.addons.iter_mut().find(|(it, _)| it.to_string() == name).unwrap().1
}

#[test]
fn a_cluster_with_addons_has_an_empty_plan() {
    for cluster in [cluster(), highly_available()] {
        let world = World::bare_of(with_addons(cluster, &[("hello", HELLO), ("other", OTHER)])).converge();
        assert_eq!(left(&world), Vec::<String>::new());
        assert_eq!(
            there(&world),
            ["ConfigMap other of other", "ConfigMap text of hello", "Namespace hello of hello", "Secret hello/key of hello"]
        );
    }
}

#[test]
fn what_others_did_to_an_object_is_repaired() {
    let mut world = hello();
    world.api.addons.retain(|name, _| name.name != "key");
    assert_eq!(left(&world), ["cp1/addons/hello: apply because Secret hello/key does not exist"]);
    object(&mut world, "ConfigMap text").sum = "another".into();
    let told = "cp1/addons/hello: apply because ConfigMap text was changed by somebody else, and 1 more of it are not as applied";
    assert_eq!(left(&world), [told]);
    let mut world = world.converge();
    assert_eq!(left(&world), Vec::<String>::new());
    object(&mut world, "Namespace hello").is_going = true;
    assert_eq!(left(&world), ["cp1/addons/hello: apply because Namespace hello is being removed"]);
}

/// A namespace or a definition may hold what others have put there: it goes when somebody says so, now or later.
#[test]
fn an_object_that_leaves_its_manifest_goes_unless_it_holds_others() {
    let world = with(hello(), &[("hello", TEXT)]);
    let told = "cp1/addons/hello: apply because its manifest has changed, and has Secret hello/key no longer; \
                Namespace hello stays, with what it holds of others, unless `--prune` is given";
    assert_eq!(left(&world), [told]);
    let mut world = world.converge();
    assert_eq!(there(&world), ["ConfigMap text of hello", "Namespace hello of hello"]);
    assert_eq!(left(&world), Vec::<String>::new());
    world.prune = true;
    assert_eq!(left(&world), ["cp1/addons/hello: apply because its manifest has Namespace hello no longer"]);
    let world = world.converge();
    assert_eq!(there(&world), ["ConfigMap text of hello"]);
    assert_eq!(left(&world), Vec::<String>::new());
}

#[test]
fn an_addon_may_say_that_everything_goes() {
    let mut world = with(hello(), &[("hello", TEXT)]);
    world.cluster.addons[0].prune = Prune::All;
    let told = "cp1/addons/hello: apply because its manifest has changed, and has Namespace hello and 1 more no longer";
    assert_eq!(left(&world), [told]);
    let world = world.converge();
    assert_eq!(there(&world), ["ConfigMap text of hello"]);
    assert_eq!(left(&world), Vec::<String>::new());
}

#[test]
fn an_addon_that_leaves_the_list_goes_but_for_what_holds_others() {
    let both = || World::bare_of(with_addons(cluster(), &[("hello", HELLO), ("other", OTHER)])).converge();
    let world = with(both(), &[("other", OTHER)]);
    let because = "cp1/addons/Removed: remove because the list has no longer hello, with";
    let stays = "Namespace hello stays, with what it holds of others, unless `--prune` is given";
    assert_eq!(left(&world), [format!("{because} 2 objects: ConfigMap default/text, Secret hello/key; {stays}")]);
    let world = world.converge();
    assert_eq!(there(&world), ["ConfigMap other of other", "Namespace hello of hello"]);
    assert_eq!(left(&world), Vec::<String>::new());

    // Later, or at once; and an addon that comes back has what has stayed of it.
    let mut later = world.clone();
    later.prune = true;
    let goes = "1 object: Namespace hello; with a Namespace goes everything that is in it";
    assert_eq!(left(&later), [format!("{because} {goes}")]);
    let mut at_once = with(both(), &[("other", OTHER)]);
    at_once.prune = true;
    for mut world in [later, at_once] {
        world = world.converge();
        assert_eq!(there(&world), ["ConfigMap other of other"]);
        assert_eq!(left(&world), Vec::<String>::new());
    }
    let back = with(world, &[("hello", HELLO), ("other", OTHER)]).converge();
    assert_eq!(there(&back).len(), 4);
    assert_eq!(left(&back), Vec::<String>::new());
}

/// Whichever of the two is applied first.
#[test]
fn an_object_that_moves_to_another_addon_stays() {
    let world = World::bare_of(with_addons(cluster(), &[("a", TEXT), ("b", OTHER)])).converge();
    let world = with(world, &[("a", OTHER), ("b", TEXT)]).converge();
    assert_eq!(there(&world), ["ConfigMap other of a", "ConfigMap text of b"]);
    assert_eq!(left(&world), Vec::<String>::new());
    let world = with(world, &[("c", TEXT)]).converge();
    assert_eq!(there(&world), ["ConfigMap text of c"]);
    assert_eq!(left(&world), Vec::<String>::new());
}

/// A run that dies has recorded what it was going to apply.
#[test]
fn what_was_not_applied_to_its_end_is_applied_again_or_removed() {
    let mut world = hello();
    world.api.record("hello", Some("v1 ConfigMap default/text\nv1 Secret hello/key\nv1 Namespace /hello\n".into()));
    assert_eq!(left(&world), ["cp1/addons/hello: apply because it was not applied to its end"]);
    assert_eq!(left(&world.clone().converge()), Vec::<String>::new());
    assert_eq!(there(&with(world, &[]).converge()), ["Namespace hello of hello"]);
}

/// So it is when the cluster did not answer while that was planned.
#[test]
fn what_is_left_in_the_record_goes_with_the_next_run() {
    let mut world = hello();
    let map = &world.api.objects["ConfigMap/kube-system/kokctl-addons"];
    let text = format!("{}v1 ConfigMap default/old hello  0\n", map["data"]["hello"].as_str().unwrap());
    world.api.record("hello", Some(text));
    assert_eq!(left(&world), ["cp1/addons/hello: apply because its manifest has ConfigMap default/old no longer"]);
    assert_eq!(left(&world.converge()), Vec::<String>::new());
}

#[test]
fn what_somebody_wrote_into_the_record_is_passed_over() {
    let record = AddonRecord::parse("nonsense\nsource abc\nv1 Pod a\"b/c x y\nv1 Pod n/p\nv1 Pod /q addon  sum\n\u{1}\n");
    assert_eq!(record.source.as_deref(), Some("abc"));
    let names: Vec<String> = record.objects.iter().map(|(name, sum)| format!("{name} {sum:?}")).collect();
    assert_eq!(names, ["Pod n/p None", "Pod q Some(\"sum\")"]);
}

fn by_manifest(cluster: Cluster) -> Cluster {
    let mut cluster = with_addons(cluster, &[(NETWORK_ADDON, HELLO), ("other", OTHER)]);
    cluster.network.plugin = NetworkPlugin::Manifest;
    cluster
}

#[test]
fn a_network_by_manifest_is_waited_for_and_checked() {
    for cluster in [cluster(), highly_available()] {
        let world = World::bare_of(by_manifest(cluster));
        let plan = world.plan();
        let steps: Vec<String> = plan.steps().map(|step| step.id.to_string()).collect();
        assert!(!steps.iter().any(|id| id.contains("flannel")), "{steps:?}");
        assert!(steps.iter().any(|id| id == "cp1/network-check/answers"), "{steps:?}");
        let world = world.converge();
        assert_eq!(left(&world), Vec::<String>::new());
        assert!(!world.hosts.values().any(|host| host.paths.contains_key("/etc/cni/net.d/10-flannel.conflist")));
    }
}

/// Neither its image nor its pods are wanted where the network carries Services.
#[test]
fn without_kube_proxy_nothing_of_it_is_there() {
    for cluster in [cluster(), highly_available()] {
        let mut cluster = by_manifest(cluster);
        cluster.settings.kube_proxy_remove = true;
        let world = World::bare_of(cluster.clone());
        let plan = world.plan();
        let steps: Vec<String> = plan.steps().map(|step| step.id.to_string()).filter(|id| id.contains("kube-proxy")).collect();
        assert!(steps.is_empty(), "{steps:?}");
        let text = plan.steps().find_map(|step| match &step.action {
            Action::Resource(Resource::File(file)) if file.path == "/etc/kubernetes/kokctl/cluster.yaml" => Some(format!("{file:?}")),
            _ => None,
        });
        let text = text.unwrap();
        assert!(text.contains(r"proxy:\n  disabled: true\n") && !text.contains("KubeProxyConfiguration"), "{text}");
        let world = world.converge();
        assert_eq!(left(&world), Vec::<String>::new());
        assert!(!world.api.has("DaemonSet/kube-system/kube-proxy"));
        cluster.network.plugin = NetworkPlugin::None;
        cluster.addons.remove(0);
        assert_eq!(left(&World::bare_of(cluster).converge()), Vec::<String>::new());
    }
}

/// Its rules would stay in the kernels.
#[test]
fn a_running_cluster_keeps_its_kube_proxy() {
    let mut world = World::bare_of(by_manifest(cluster())).converge();
    world.cluster.settings.kube_proxy_remove = true;
    let refusals = world.try_plan().unwrap_err();
    assert!(refusals.iter().any(|refusal| refusal.to_string().contains("the running cluster has kube-proxy")), "{refusals:?}");
    world.api.objects.remove("DaemonSet/kube-system/kube-proxy");
    assert_eq!(left(&world.converge()), Vec::<String>::new());
}

/// Taking it away would leave pods without one.
#[test]
fn a_running_cluster_keeps_the_network_of_its_manifest() {
    let world = World::bare_of(by_manifest(cluster())).converge();
    for (plugin, asked) in [(NetworkPlugin::Flannel, "flannel"), (NetworkPlugin::None, "none")] {
        let mut world = with(world.clone(), &[("other", OTHER)]);
        world.cluster.network.plugin = plugin;
        let refusals = world.try_plan().unwrap_err();
        let expected = format!("the network plugin of the running cluster is that of a manifest, the file asks for {asked}");
        assert!(refusals.iter().any(|refusal| refusal.to_string().contains(&expected)), "{refusals:?}");
    }
}

/// Namespaces and definitions come first, and are waited for; what may be there is recorded before it is.
#[test]
fn the_script_has_its_order() {
    let definition = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.org}
spec: {group: example.org, names: {plural: widgets, kind: Widget}, versions: [{name: v1, served: true}, {name: v0, served: false}]}
";
    let cluster = with_addons(cluster(), &[("hello", &format!("{HELLO}---\n{definition}"))]);
    let gone = ObjectName { api_version: "v1".into(), kind: "Pod".into(), namespace: None, name: "old".into() };
    let addon = ApplyAddon::new(&cluster.addons[0], vec![gone], Vec::new());
    let change = Change { assumed: true, ..Change::new(ChangeKind::Apply, "") };
    let Act::Script(fragment) = Operation::ApplyAddon(addon).act(&change) else { panic!("no script") };
    let parts = fragment.parts().iter().map(|part| match part {
        Part::Text(text) => text.clone(),
        Part::Secret(_) | Part::Digest(_) => panic!("a secret"),
    });
    let text: String = parts.collect();
    let body = text.rsplit_once("\n}\n").unwrap().1;
    let commands: Vec<&str> = body
        .lines()
        .filter(|line| line.contains("addon") || line.contains("record") || line.contains("served ") || line.contains("wait"))
        .collect();
    let fed = |line: &&str| {
        line.strip_prefix("base64 -d <<'--END--' | whole ").and_then(|fed| fed.split_once(' ')).map(|(_, command)| command.to_owned())
    };
    let commands: Vec<String> = commands.iter().map(|line| fed(line).unwrap_or_else(|| (*line).to_owned())).collect();
    insta::assert_snapshot!(commands.join("\n"));
}

/// As kubectl 1.37 has printed it, but for the second word of the nonce.
#[test]
fn objects_are_read_as_the_api_has_them() {
    let name = |kind: &str, namespace: Option<&str>, name: &str| ObjectName {
        api_version: "v1".into(),
        kind: kind.into(),
        namespace: namespace.map(str::to_owned),
        name: name.into(),
    };
    let asked = [name("Namespace", Some("odd"), "hello"), name("ConfigMap", None, "text"), name("Secret", Some("hello"), "key")];
    let looks: Looks = asked.iter().cloned().map(Look::AddonObject).collect();
    assert!(
        probe_script(&nonce(), &looks, None)
            .contains(r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"key","namespace":"hello"}}"#)
    );
    let read = |lines: &str| -> Result<Observations, ParseError> {
        let mark = nonce().as_str().to_owned();
        let answer = format!("\n{mark} clock\n1\n1.00 1\n\n{mark} kube-ready\nok\n\n{mark} kube-addons\n{lines}\n{mark} end\n");
        parse(&nonce(), &looks, answer.as_bytes())
    };
    let seen =
        read("v1 Namespace /hello hello 2026-11-22T04:55:57Z aa\nv1 ConfigMap default/text hello  bb\nv1 Secret elsewhere/key   cc\n");
    let seen = seen.unwrap().addon_objects;
    let live = |is_going, sum: &str| Some(LiveObject { addon: "hello".into(), is_going, sum: sum.into() });
    let [namespace, text, key] = &asked;
    assert_eq!((&seen[namespace], &seen[text], &seen[key]), (&live(true, "aa"), &live(false, "bb"), &None));
    assert!(read("Error from server (Forbidden)\n").is_err());
}
