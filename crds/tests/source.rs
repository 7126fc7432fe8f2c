//! Texts and the trees that come out of them.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use kok_crds::tree::{Dialect, Node, Tag, Value};
use kok_crds::{Place, Position, Source};

fn tree(text: &str, dialect: Dialect) -> Node {
    Source::file("hosts.yml", text).parse(dialect).unwrap().remove(0)
}

fn shown(node: &Node) -> String {
    let value = match &node.value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Float => format!("float {}", node.spelling),
        Value::Text(text) => format!("{text:?}"),
        Value::List(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Value::Map(entries) => {
            let entries: Vec<_> = entries.iter().map(|entry| format!("{}: {}", entry.key, shown(&entry.node))).collect();
            format!("{{{}}}", entries.join(", "))
        }
    };
    match node.tag {
        Tag::None => value,
        tag => format!("{tag:?} {value}"),
    }
}

#[test]
fn ansible_has_the_words_of_yaml_1_1() {
    let cases = [
        ("yes", "true", "\"yes\""),
        ("On", "true", "\"On\""),
        ("NO", "false", "\"NO\""),
        ("'yes'", "\"yes\"", "\"yes\""),
        ("y", "\"y\"", "\"y\""),
        ("yEs", "\"yEs\"", "\"yEs\""),
        ("True", "true", "true"),
        ("0640", "416", "float 0640"),
        ("1.30", "float 1.30", "float 1.30"),
        ("!unsafe 'yes {{ x }}'", "Unsafe \"yes {{ x }}\"", "Unsafe \"yes {{ x }}\""),
        ("!vault |-\n  $ANSIBLE_VAULT;1.1", "Vault \"$ANSIBLE_VAULT;1.1\"", "Vault \"$ANSIBLE_VAULT;1.1\""),
        ("[on, {no: off}]", "[true, {no: false}]", "[\"on\", {no: \"off\"}]"),
    ];
    for (text, ansible, kubernetes) in cases {
        assert_eq!(shown(&tree(text, Dialect::Ansible)), ansible, "{text}");
        assert_eq!(shown(&tree(text, Dialect::Kubernetes)), kubernetes, "{text}");
    }
}

#[test]
fn keys_that_stand_twice_reach_the_reader() {
    let text = "a: 1\nb: 2\na: 3\n";
    assert_eq!(shown(&tree(text, Dialect::Ansible)), "{a: 1, b: 2, a: 3}");
    let problem = Source::file("hosts.yml", text).parse(Dialect::Kubernetes).unwrap_err();
    assert_eq!(problem.message, "the field `a` stands twice");
}

#[test]
fn a_key_beats_what_is_merged_in() {
    let text = "base: &base {a: 1, b: 2}\nmore:\n  <<: *base\n  a: 3\n";
    assert_eq!(shown(&tree(text, Dialect::Ansible)), "{base: {a: 1, b: 2}, more: {a: 3, b: 2}}");
}

#[test]
fn values_of_a_block_have_places_in_the_outer_file() {
    let place = Place::Block { file: "cluster.yaml".into(), first_line: 8, indent: 4 };
    let mut source = Source::placed("hosts.yml", "all:\n  hosts: [a]\n", place);
    let root = source.parse(Dialect::Ansible).unwrap().remove(0);
    let Value::Map(groups) = &root.value else { panic!("no map") };
    let Some(Value::Map(all)) = groups.first().map(|group| &group.node.value) else { panic!("no map") };
    let hosts = all.first().unwrap();
    assert_eq!(hosts.key_position.to_string(), "cluster.yaml:9:7");
    assert_eq!(hosts.node.position.to_string(), "cluster.yaml:9:14");
    source.text = "all: [\n".into();
    assert!(source.parse(Dialect::Ansible).unwrap_err().to_string().contains("at: cluster.yaml:"));
}

/// Samples of inventories have pages of comments, also between a key and its value, where a parser that keeps comments has to hold them.
#[test]
fn comments_may_stand_anywhere_in_any_number() {
    for lines in [1, 33, 5_000] {
        let comments = "  # one of many\n".repeat(lines);
        let text = format!("{comments}a:\n{comments}  b: 1\n{comments}c:\n{comments}d:\n{comments}  -\n{comments}    e: 2\n{comments}");
        for dialect in [Dialect::Ansible, Dialect::Kubernetes, Dialect::Manifest] {
            let root = tree(&text, dialect);
            assert_eq!(shown(&root), "{a: {b: 1}, c: null, d: [{e: 2}]}", "{lines} lines, {dialect:?}");
            let Value::Map(entries) = &root.value else { panic!("no map") };
            let Value::List(items) = &entries[2].node.value else { panic!("no list") };
            let Value::Map(last) = &items[0].value else { panic!("no map") };
            let at = |position: &Position| (usize::try_from(position.line).unwrap(), position.column);
            assert_eq!(at(&entries[0].key_position), (lines + 1, 1));
            assert_eq!(at(&entries[2].key_position), (4 * lines + 4, 1));
            assert_eq!(at(&last[0].node.position), (6 * lines + 6, 8));
        }
    }
}

#[test]
fn inventories_may_be_larger_than_clusters_but_not_without_end() {
    let text = |bytes| format!("#{}\na: 1\n", "x".repeat(bytes));
    let source = Source::file("hosts.yml", text(2 << 20));
    assert!(source.parse(Dialect::Kubernetes).is_err());
    assert_eq!(shown(&source.parse(Dialect::Ansible).unwrap().remove(0)), "{a: 1}");
    let problem = Source::file("hosts.yml", text(50 << 20)).parse(Dialect::Ansible).unwrap_err();
    assert_eq!(problem.message, "the file is 52428807 bytes long");
    let nodes = Source::file("hosts.yml", "- a\n".repeat(1_000_001)).parse(Dialect::Ansible).unwrap_err();
    assert_eq!(nodes.message, "the file is too complex");
}

#[test]
fn nothing_shows_a_value_by_accident() {
    let node = tree("{password: secret, list: [secret]}", Dialect::Ansible);
    assert!(!format!("{node:?}").contains("secret"));
}
