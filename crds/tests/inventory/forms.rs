//! All forms that inventories have.

use crate::support::{groups, host, read, read_with, try_read};

#[test]
fn yaml_groups() {
    let cases = [
        ("all: {hosts: {a: , b: {x: 1}}}", "a b", ""),
        ("all: {hosts: {a: null}, children: {g: {hosts: {b: {x: 1}, a: }}}}", "a b", "g: b a"),
        // The order inside of the group counts, not that of all.
        ("all: {hosts: {n1: , n2: , n3: }, children: {g: {hosts: {n3: , n1: }}}}", "n1 n2 n3", "g: n3 n1"),
        // First its own hosts, then those of the children, each once.
        (
            "all: {children: {p: {children: {c1: {hosts: {x: , y: }}, c2: {hosts: {z: , x: }}}, hosts: {y: }}}}",
            "y x z",
            "c1: x y; c2: z x; p: y x z",
        ),
        // Defined elsewhere, and at the root.
        ("all: {children: {p: {children: {c: }}}}\nc: {hosts: {a: }}", "a", "c: a; p: a"),
        ("g: {hosts: {a: }}\nh: {hosts: {b: }}", "a b", "g: a; h: b"),
        ("g: {hosts: {b: }}\nungrouped: {hosts: {a: }}", "a b", "g: b"),
        ("all: {hosts: {'n[01:03]': , 'm[a:b]': {x: 1}}}", "n01 n02 n03 ma mb", ""),
        ("g: {hosts: {a: }, vars: , children: }\ne: {hosts: {}}\nf:", "a", "g: a"),
        ("g: {hosts: a}\np: {children: g}", "a", "g: a; p: a"),
        ("{\"all\": {\"hosts\": {\"a\": {}}}}", "a", ""),
        ("\u{feff}all:\r\n  hosts:\r\n    a:\r\n", "a", ""),
        ("x: &v {hosts: {a: {y: 1}}}\ny: *v", "a", "x: a; y: a"),
    ];
    for (text, hosts, expected) in cases {
        let inventory = read(text);
        assert_eq!(inventory.hosts().join(" "), hosts, "{text}");
        assert_eq!(groups(&inventory), expected, "{text}");
    }
}

#[test]
fn ini_groups() {
    let cases = [
        ("a\nb x=1\n[g]\nb\nc\n", "a b c", "g: b c"),
        ("[all]\nn[1:3]\n[g]\nn3\nn1\n", "n1 n2 n3", "g: n3 n1"),
        ("[p:children]\nc2\nc1\n[c1]\na\n[c2] # comment\nb\n", "b a", "c1: a; c2: b; p: b a"),
        ("; comment\n# comment\n[g] \n  a   x=1 # comment\n\n[e]\n", "a", "g: a"),
        ("\u{feff}[g]\r\na x=1\r\n", "a", "g: a"),
        ("a:2222\n[fe80::1]:22\n", "a fe80::1", ""),
        ("[g]\na\n[h:children]\ng # comment\n[g]\nb\n", "a b", "g: a b; h: a b"),
    ];
    for (text, hosts, expected) in cases {
        let inventory = read(text);
        assert_eq!(inventory.hosts().join(" "), hosts, "{text}");
        assert_eq!(groups(&inventory), expected, "{text}");
    }
}

/// On a line of a host a shell's quotes go first, in a section of variables they are Python's.
#[test]
fn ini_values() {
    let cases = [
        ("True", "true", "true"),
        ("true", "\"true\"", "\"true\""),
        ("yes", "\"yes\"", "\"yes\""),
        ("1", "1", "1"),
        ("-1", "-1", "-1"),
        ("1_000", "1000", "1000"),
        ("0x1F", "31", "31"),
        ("0o17", "15", "15"),
        ("010", "\"010\"", "\"010\""),
        ("00", "0", "0"),
        ("1.30", "1.30", "1.30"),
        ("1e3", "1e3", "1e3"),
        ("1.30.1", "\"1.30.1\"", "\"1.30.1\""),
        ("10.0.0.1", "\"10.0.0.1\"", "\"10.0.0.1\""),
        ("10.0.0.1:22", "\"10.0.0.1:22\"", "\"10.0.0.1:22\""),
        ("None", "null", "null"),
        ("", "\"\"", "\"\""),
        ("[1,2]", "[1, 2]", "[1, 2]"),
        ("[1,'a']", "\"[1,a]\"", "[1, \"a\"]"),
        ("\"['a']\"", "[\"a\"]", "\"['a']\""),
        ("(1,)", "[1]", "[1]"),
        ("(1)", "1", "1"),
        ("{'a':1,}", "\"{a:1,}\"", "{a: 1}"),
        ("\"{'a':{'b':[True]}}\"", "{a: {b: [true]}}", "\"{'a':{'b':[True]}}\""),
        ("{1:2}", "{1: 2}", "{1: 2}"),
        ("{1,2}", "\"{1,2}\"", "\"{1,2}\""),
        ("'a'", "\"a\"", "\"a\""),
        ("'1'", "1", "\"1\""),
        ("\"a b\"", "\"a b\"", "\"a b\""),
        (r"'a\nb'", "\"a\\\\nb\"", "\"a\\nb\""),
        (r"r'a\nb'", "\"ra\\\\nb\"", "\"a\\\\nb\""),
        ("'a''b'", "\"ab\"", "\"ab\""),
        ("a=b", "\"a=b\"", "\"a=b\""),
        ("abc'", "!", "\"abc'\""),
        ("[1", "\"[1\"", "\"[1\""),
        ("{{x}}", "\"{{x}}\"", "\"{{x}}\""),
        ("9223372036854775807", "9223372036854775807", "9223372036854775807"),
        ("9223372036854775808", "9223372036854775808", "9223372036854775808"),
        ("1j", "\"1j\"", "\"1j\""),
        ("1__0", "\"1__0\"", "\"1__0\""),
        ("--1", "\"--1\"", "\"--1\""),
        ("nan", "\"nan\"", "\"nan\""),
    ];
    for (value, on_line, in_section) in cases {
        let line = try_read(&format!("a v={value}\n"), &[]).map_or("!".to_owned(), |inventory| host(&inventory, "a"));
        assert_eq!(line.trim_start_matches("v="), on_line, "on a line: {value}");
        let section = read(&format!("a\n[all:vars]\nv = {value}\n"));
        assert_eq!(host(&section, "a").trim_start_matches("v="), in_section, "in a section: {value}");
    }
}

#[test]
fn ini_lines_have_comments_and_several_variables() {
    let inventory = read("a x=1 y='b # c' z=d#e # f\n[all:vars]\nw = 1 # one\nv = g # h\n");
    assert_eq!(host(&inventory, "a"), "v=\"g # h\" w=1 x=1 y=\"b # c\" z=\"d\"");
    assert_eq!(inventory.notices().len(), 1);
    assert_eq!(inventory.notices()[0].position.as_ref().unwrap().to_string(), "hosts.yml:1:17");
}

#[test]
fn a_port_behind_a_name_is_a_variable() {
    for text in ["all: {hosts: {'a:2222': , 'b': }}", "a:2222\nb\n"] {
        let inventory = read(text);
        assert_eq!(host(&inventory, "a"), "ansible_port=2222", "{text}");
        assert_eq!(host(&inventory, "b"), "");
    }
}

#[test]
fn old_names_of_groups_are_read_as_the_new_ones() {
    let text = "all: {children: {kube-master: {hosts: {a: }, vars: {x: 1}}, kube-node: {hosts: {b: }}, k8s-cluster: {children: {kube-master: , kube-node: }}}}";
    let inventory = read_with(text, &[("group_vars/kube-node.yml", "y: 2"), ("group_vars/k8s_cluster/k8s.yml", "z: 3")]);
    assert_eq!(groups(&inventory), "etcd: a; kube_control_plane: a; kube_node: b");
    assert_eq!(inventory.members("k8s-cluster").unwrap(), ["a", "b"]);
    assert_eq!(inventory.members("kube-master").unwrap(), ["a"]);
    assert_eq!((host(&inventory, "a"), host(&inventory, "b")), ("x=1 z=3".into(), "y=2 z=3".into()));
    let messages: Vec<_> = inventory.notices().iter().map(|notice| notice.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "the group `kube-master` is read as `kube_control_plane`",
            "the group `kube-node` is read as `kube_node`",
            "the group `k8s-cluster` is read as `k8s_cluster`",
            "etcd runs on the hosts of the group `kube_control_plane`",
        ]
    );
    assert_eq!(inventory.notices()[0].position.as_ref().unwrap().to_string(), "hosts.yml:1:18");
}

#[test]
fn groups_that_follow_from_others_are_there() {
    let text = "[kube_control_plane]\na\n[kube_node]\nb\na\n[calico_rr]\nc\n";
    let inventory = read_with(text, &[("group_vars/k8s_cluster.yml", "x: 1")]);
    assert_eq!(inventory.members("k8s_cluster").unwrap(), ["b", "a", "c"]);
    assert_eq!(inventory.members("etcd").unwrap(), ["a"]);
    assert_eq!(host(&inventory, "c"), "x=1");
    assert_eq!(inventory.groups_of("a"), ["etcd", "k8s_cluster", "kube_control_plane", "kube_node"]);
    let written = read("[kube_control_plane]\na\n[etcd:children]\nkube_control_plane\n[k8s_cluster:children]\nkube_control_plane\n");
    assert_eq!(groups(&written), "etcd: a; kube_control_plane: a");
    assert!(written.notices().is_empty());
    assert_eq!(read("a\n").members("etcd"), None);
}

#[test]
fn what_counts_twice_is_said() {
    let inventory = read("all: {hosts: {a: {x: 1}}, children: {g: {hosts: {a: {x: 2}}}}}");
    assert_eq!(host(&inventory, "a"), "x=2");
    let notice = &inventory.notices()[0];
    assert_eq!(notice.message, "`a` has `x` twice; this one counts");
    assert_eq!(notice.position.as_ref().unwrap().to_string(), "hosts.yml:1:54");
}

#[test]
fn the_same_twice_is_no_other_value() {
    let inventory = read("all:\n  hosts: &all\n    a: {x: [1, {y: z}]}\n  children:\n    g: {hosts: *all}\n    h: {hosts: *all}\n");
    assert_eq!(groups(&inventory), "g: a; h: a");
    assert!(inventory.notices().is_empty(), "{:?}", inventory.notices());
    let text = "all: {hosts: {a: {x: '{{ y }}'}}, children: {g: {hosts: {a: {x: !unsafe '{{ y }}'}}}}}";
    assert_eq!(read(text).notices().len(), 1, "one is worked out, and one is text");
    let text = "all: {hosts: {a: {x: {y: '{{ z }}'}}}, children: {g: {hosts: {a: {x: {y: !unsafe '{{ z }}'}}}}}}";
    assert_eq!(read(text).notices().len(), 1, "also within");
}

#[test]
fn files_beside_the_inventory() {
    let beside = [
        ("inventory/group_vars/g/b.yml", "x: b\ny: b"),
        ("inventory/group_vars/g/a.yaml", "x: a\nw: a"),
        ("inventory/group_vars/g/deep/c", "v: c"),
        ("inventory/group_vars/g/.hidden.yml", "x: hidden"),
        ("inventory/group_vars/g/README.md", "no: vars"),
        ("inventory/group_vars/g.yml", "x: file"),
        ("inventory/host_vars/a.lan.yml", "z: host"),
        ("inventory/host_vars/b.lan", "z: host"),
        ("inventory/group_vars/nobody.yml", "x: 1"),
        ("inventory/group_vars/all.yml", "---\n"),
    ];
    let inventory = read_with("g: {hosts: {a.lan: , b.lan: }}", &beside);
    assert_eq!(host(&inventory, "a.lan"), "v=\"c\" w=\"a\" x=\"b\" y=\"b\" z=\"host\"");
    assert_eq!(host(&inventory, "b.lan"), host(&inventory, "a.lan"));
    let mut messages: Vec<_> = inventory.notices().iter().map(|notice| notice.message.as_str()).collect();
    messages.sort_unstable();
    assert_eq!(
        messages,
        [
            "`inventory/group_vars/g.yml` is not read",
            "`inventory/group_vars/g/.hidden.yml` is not read",
            "`inventory/group_vars/g/README.md` is not read",
            "the variables of the group `nobody` count for nobody",
        ]
    );
}

#[test]
fn a_host_may_have_the_old_name_of_a_group() {
    let text = "all: {hosts: {kube-master: , kube-node: }, children: {kube_control_plane: {hosts: {kube-master: }}, kube_node: {hosts: {kube-node: }}}}";
    let inventory = read(text);
    assert_eq!(groups(&inventory), "etcd: kube-master; kube_control_plane: kube-master; kube_node: kube-node");
    let at = kok_crds::Source::file("the command line", "").position(1, 1);
    assert_eq!(inventory.select("kube-node", &at).unwrap(), ["kube-node"]);
    let text = "all: {hosts: {kube-master: }, children: {kube-master: {hosts: {kube-master: }}}}";
    let problems = kok_crds::inventory::Inventory::read(&kok_crds::Source::file("hosts.yml", text), &[]).unwrap_err();
    assert_eq!(problems[0].message, "`kube-master` is a host and a group");
}

/// Ansible warns of it and goes on, and Kubespray documents its bastion so.
#[test]
fn a_host_may_be_called_as_its_group() {
    let inventory = read("all: {hosts: {cp1: }, children: {bastion: {hosts: {bastion: }}, kube_control_plane: {hosts: {cp1: }}}}");
    let said = |inventory: &kok_crds::inventory::Inventory| -> Vec<String> {
        let of_names = inventory.notices().iter().filter(|notice| notice.message.ends_with("is a host and a group"));
        of_names.map(|notice| notice.message.clone()).collect()
    };
    assert_eq!(said(&inventory), Vec::<String>::new());
    let at = kok_crds::Source::file("the command line", "").position(1, 1);
    assert_eq!(inventory.select("bastion", &at).unwrap(), ["bastion"]);
    let inventory = read("all: {hosts: {web: }, children: {web: {hosts: {cp1: }}}}");
    assert_eq!(said(&inventory), ["`web` is a host and a group"]);
    assert_eq!(inventory.select("web", &at).unwrap(), ["cp1"]);
}
