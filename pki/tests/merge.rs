//! Taking a cluster into a kubeconfig that has others.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod support;

use base64::Engine as _;
use kok_pki::{
    KubeconfigFacts, MergeChange, MergeError, MergeSummary, NewCluster, Policy, SecretText, inspect_kubeconfig, merge_kubeconfig,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::{content, make};

const SERVER: &str = "https://10.0.0.11:6443";

fn admin(seed: u64) -> (KubeconfigFacts, String) {
    let (_, files) = make(seed, &Policy::default());
    let facts = inspect_kubeconfig(&SecretText::new(content(&files, "admin.conf").to_owned())).ok().unwrap();
    (facts, base64::engine::general_purpose::STANDARD.encode(content(&files, "pki/ca.crt")))
}

fn merged(own: &str, admin: &KubeconfigFacts) -> Result<(String, MergeSummary), MergeError> {
    let servers = [SERVER.to_owned(), "https://10.0.0.12:6443".to_owned()];
    let new = NewCluster { name: "demo", user: None, server: SERVER, tls_server_name: None, servers: &servers, admin };
    merge_kubeconfig(&SecretText::new(own.to_owned()), &new).map(|(text, summary)| (text.expose().to_owned(), summary))
}

fn parse(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

/// Another's file: fields that nobody knows, spellings that readers of YAML understand differently, each in its own order.
const OTHERS: &str = "\
kind: Config
apiVersion: v1
x-mine: {odd: 0600, version: 1.10, word: yes, text: \"0600\", none: ~, list: [1, [2, {a: b}], []], empty: {}}
users:
  - name: cloud
    user:
      exec: # how to log in
        apiVersion: client.authentication.k8s.io/v1
        command: cloud
        args: [token, '--cluster=prod', \"multi\\nline\"]
        env:
        - {name: NO, value: \"no\"}
        interactiveMode: IfAvailable
        installHint: |
          get it from
            your platform team
clusters:
- name: prod
  cluster: {server: 'https://prod.example', insecure-skip-tls-verify: yes, proxy-url: socks5://127.0.0.1:1080}
contexts:
- name: prod
  context:
    cluster: prod
    user: cloud
    extensions:
    - name: \"größe \\U0001F600\"
      extension: {last-update: 2024-01-02, big: 123456789012345678901234567890}
current-context: prod
preferences: {colors: true}
";

/// Whoever comments out a cluster leaves more lines than a parser would keep that keeps comments.
#[test]
fn a_file_may_have_pages_of_comments() {
    let (admin, _) = admin(1);
    let own = OTHERS.replace("users:\n", &format!("users:\n{}", "# - name: gone\n".repeat(200)));
    assert_ne!(own, OTHERS);
    assert_eq!(parse(&merged(&own, &admin).ok().unwrap().0), parse(&merged(OTHERS, &admin).ok().unwrap().0));
}

#[test]
fn an_empty_file_becomes_one_with_the_cluster() {
    let (admin, ca) = admin(1);
    for own in ["", "\n# mine\n", "---\n", "{}", "null\n"] {
        let (text, summary) = merged(own, &admin).unwrap();
        assert_eq!(summary, MergeSummary { change: MergeChange::Added, context_before: None });
        let found = inspect_kubeconfig(&SecretText::new(text.clone())).ok().unwrap();
        assert_eq!((found.server.as_str(), found.user.as_str()), (SERVER, "demo-admin"));
        assert!(found.key_pem.unwrap().expose() == admin.key_pem.as_ref().unwrap().expose());
        assert_eq!((found.ca_pem, found.certificate_pem), (admin.ca_pem.clone(), admin.certificate_pem.clone()));
        let begin =
            format!("apiVersion: v1\nkind: Config\nclusters:\n- cluster:\n    certificate-authority-data: {ca}\n    server: {SERVER}\n");
        assert!(text.starts_with(&begin), "{text}");
    }
}

#[test]
fn what_is_there_already_is_left_to_the_byte() {
    let (admin, _) = admin(1);
    let (text, _) = merged(OTHERS, &admin).unwrap();
    // Another way to write the same is the same.
    let text = text.replace("name: demo\n", "name:   'demo' # mine\n");
    let (again, summary) = merged(&text, &admin).unwrap();
    assert_eq!((again, summary), (text, MergeSummary { change: MergeChange::Nothing, context_before: None }));
}

#[test]
fn everything_of_others_stays_as_it_is_spelled_and_in_its_order() {
    let (admin, _) = admin(1);
    let (text, summary) = merged(OTHERS, &admin).unwrap();
    assert_eq!(summary, MergeSummary { change: MergeChange::Added, context_before: Some("prod".into()) });
    let order = ["kind:", "apiVersion:", "x-mine:", "users:", "clusters:", "contexts:", "current-context: demo", "preferences:"];
    let places: Vec<_> = order.iter().map(|key| text.find(&format!("\n{key}")).map_or(0, |place| place + 1)).collect();
    assert!(places.is_sorted() && places.iter().filter(|place| **place == 0).count() == 1, "{places:?}\n{text}");
    for spelled in [
        "odd: 0600\n",
        "version: 1.10\n",
        "word: yes\n",
        "text: \"0600\"\n",
        "none: ~\n",
        "empty: {}\n",
        "value: \"no\"\n",
        "insecure-skip-tls-verify: yes\n",
        "last-update: 2024-01-02\n",
        "big: 123456789012345678901234567890\n",
        "- '--cluster=prod'\n",
        "installHint: \"get it from\\n  your platform team\\n\"\n",
    ] {
        assert!(text.contains(spelled), "{spelled}\n{text}");
    }
    assert_eq!(without_ours(&text), {
        let mut others = parse(OTHERS);
        others.as_object_mut().unwrap().remove("current-context");
        others
    });
}

/// The file without what was added.
fn without_ours(text: &str) -> Value {
    let mut config = parse(text);
    let fields = config.as_object_mut().unwrap();
    assert_eq!(fields.remove("current-context"), Some(json!("demo")));
    for (list, name) in [("clusters", "demo"), ("contexts", "demo"), ("users", "demo-admin")] {
        let items = fields[list].as_array_mut().unwrap();
        let position = items.iter().position(|item| item["name"] == name).unwrap();
        assert_eq!(position, items.len() - 1, "it goes to the end");
        items.remove(position);
    }
    config
}

#[test]
fn only_the_context_is_chosen_where_that_is_all() {
    let (admin, _) = admin(1);
    let (text, _) = merged("", &admin).unwrap();
    let (again, summary) = merged(&text.replace("current-context: demo", "current-context: other"), &admin).unwrap();
    assert_eq!((again, summary), (text, MergeSummary { change: MergeChange::Chosen, context_before: Some("other".into()) }));
}

#[test]
fn entries_of_the_cluster_are_renewed_and_keep_what_was_set_beside() {
    let (now, ca) = admin(1);
    let (before, _) = admin(2);
    let (old, _) = merged("", &before).unwrap();
    // The same address with another authority: the cluster was made anew. What was set by hand stays, but for what contradicts.
    let old = old
        .replace(&format!("server: {SERVER}\n"), "server: https://10.0.0.12:6443/\n    proxy-url: http://proxy\n    tls-server-name: old\n")
        .replace("    user: demo-admin\n", "    user: demo-admin\n    namespace: mine\n")
        .replace("    client-key-data:", "    token: old\n    client-key-data:");
    let (text, summary) = merged(&old, &now).unwrap();
    assert_eq!(summary.change, MergeChange::Renewed);
    let config = parse(&text);
    let cluster = json!({"certificate-authority-data": ca, "server": SERVER, "proxy-url": "http://proxy"});
    assert_eq!(config["clusters"], json!([{"name": "demo", "cluster": cluster}]));
    assert_eq!(config["contexts"][0]["context"], json!({"cluster": "demo", "user": "demo-admin", "namespace": "mine"}));
    let fields: Vec<_> = config["users"][0]["user"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(fields, ["client-certificate-data", "client-key-data"]);
    // The same authority at another address, as behind a load balancer.
    let elsewhere = text.replace(SERVER, "https://elsewhere:443");
    assert_eq!(merged(&elsewhere, &now).unwrap().1.change, MergeChange::Renewed);
}

#[test]
fn entries_of_others_are_not_replaced() {
    let (admin, ca) = admin(1);
    let cluster = |server: &str, more: &str| format!("clusters:\n- {{name: demo, cluster: {{server: '{server}'{more}}}}}\n");
    let context = |cluster: &str, user: &str| format!("contexts:\n- {{name: demo, context: {{cluster: {cluster}, user: {user}}}}}\n");
    let user = "users:\n- {name: demo-admin, user: {token: abc}}\n";
    let other = "https://192.0.2.1:6443";
    let own_ca = format!(", certificate-authority-data: {ca}");
    let cases: [(String, &[(&str, u64)]); 9] = [
        (cluster(other, ""), &[("cluster", 2)]),
        (cluster(other, ", certificate-authority-data: LS0tLS0K"), &[("cluster", 2)]),
        (cluster(other, &own_ca), &[]),
        (cluster(SERVER, ""), &[]),
        // A context of another cluster, and a user of whom nothing is known.
        (context("theirs", "they"), &[("context", 2)]),
        (user.to_owned(), &[("user", 2)]),
        (cluster(other, "") + &context("demo", "demo-admin") + user, &[("cluster", 2), ("context", 4), ("user", 6)]),
        // What is left where only the cluster's entry was deleted.
        (context("demo", "demo-admin") + user, &[]),
        // A user that serves another cluster too.
        (
            cluster(SERVER, "")
                + "contexts:\n- {name: a, context: {cluster: demo, user: demo-admin}}\n\
             - {name: b, context: {cluster: b, user: demo-admin}}\n"
                + user,
            &[("user", 7)],
        ),
    ];
    for (own, expected) in cases {
        let taken = match merged(&own, &admin) {
            Ok(_) => Vec::new(),
            Err(MergeError::Taken(taken)) => taken,
            Err(other) => panic!("{other}\n{own}"),
        };
        let found: Vec<_> = taken.iter().map(|taken| (taken.kind, taken.line)).collect();
        assert_eq!(found, expected, "{own}");
    }
}

#[test]
fn what_is_no_kubeconfig_is_refused_with_its_place() {
    let (admin, _) = admin(1);
    for (own, line, column) in [
        ("just text", 1, 1),
        ("- a list\n", 1, 1),
        ("a: b\n  c: d\n", 2, 4),
        ("clusters: [\n", 1, 11),
        ("a: 1\na: 2\n", 2, 1),
        ("apiVersion: v1\nkind: Cluster\n", 2, 7),
        ("apiVersion: v2\n", 1, 13),
        ("clusters: {a: b}\n", 1, 11),
        ("users:\n- user: {}\n", 2, 3),
        ("users:\n- name: 12\n", 2, 3),
        ("contexts:\n- name: a\n  context: b\n", 3, 12),
        ("contexts:\n- name: a\n- name: a\n", 3, 3),
        ("current-context: 12\n", 1, 18),
        ("kind: Config\n---\nkind: Config\n", 3, 1),
        ("x: !mine 1\n", 1, 10),
        ("x: \"\u{1}\"\n", 1, 5),
    ] {
        match merged(own, &admin) {
            Err(MergeError::Misfit(misfit)) => assert_eq!((misfit.line, misfit.column), (line, column), "{own}: {misfit}"),
            other => panic!("{own}: {:?}", other.map(|(_, summary)| summary)),
        }
    }
}

#[test]
fn nothing_that_stands_in_the_file_is_said() {
    let (admin, _) = admin(1);
    for own in [
        "users:\n- name: a\n  user: {token: s3cret\n",
        "s3cret",
        "s3cret: 1\ns3cret: 2\n",
        "kind: s3cret\n",
        "users: s3cret\n",
        "a: *s3cret\n",
    ] {
        let error = merged(own, &admin).unwrap_err();
        let MergeError::Misfit(misfit) = &error else { panic!("{error}") };
        assert!(!format!("{error:?} {error} {misfit}").contains("s3cret"), "{error:?}");
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "(yes|no|0[0-7]{1,3}|~|null|1e[0-9]|- a|a: b|a #b|[|]|>|&a|\\*a|!t|%|@|`| a|a |\t)".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z<0-9 :#-]{0,6}", inner, 0..4).prop_map(|map| Value::from(serde_json::Map::from_iter(map))),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_else_it_holds_stays(extras in prop::collection::vec(any_value(), 4), as_json in any::<bool>()) {
        let (admin, _) = admin(1);
        let [top, cluster, context, user] = extras.as_slice() else { unreachable!() };
        let own = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "x-top": top,
            "clusters": [{"name": "a", "cluster": {"server": "https://a", "x": cluster}}, {"name": "b", "y": cluster}],
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a", "x": context}}],
            "users": [{"name": "a", "user": {"x": user}, "z": top}],
        });
        let own = if as_json { own.to_string() } else { serde_saphyr::to_string(&own).unwrap() };
        // What the reader refuses is refused.
        let Ok(before) = serde_saphyr::from_str::<Value>(&own) else { return Ok(()) };
        match merged(&own, &admin) {
            Ok((text, _)) => {
                prop_assert_eq!(without_ours(&text), before, "{}", text);
                let (again, summary) = merged(&text, &admin).unwrap();
                prop_assert_eq!(summary.change, MergeChange::Nothing);
                prop_assert_eq!(again, text);
            }
            Err(error) => prop_assert!(false, "{error}\n{own}"),
        }
    }

    #[test]
    fn no_text_makes_it_stumble(cut in 0..OTHERS.len(), inserted in "[ -~\n\t]{0,6}") {
        let (admin, _) = admin(1);
        let cut = (cut..=OTHERS.len()).find(|place| OTHERS.is_char_boundary(*place)).unwrap();
        let own = format!("{}{inserted}{}", &OTHERS[..cut], &OTHERS[cut..]);
        if let Ok((text, _)) = merged(&own, &admin) {
            prop_assert_eq!(merged(&text, &admin).unwrap().1.change, MergeChange::Nothing);
        }
    }
}
