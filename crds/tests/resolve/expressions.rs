//! What expressions become.

use crate::resolved;
use crate::support::shown;

const VARS: &str = r#"
number: 5
version: v1.31.2
word: Word
yes_word: "yes"
no: false
nothing: null
list: [b, a, b]
map: {key: value, inner: {list: [1, 2]}}
range: 10.233.0.0/18
address6: fd00::1
float: 1.50
nested: "{{ map }}"
chain: "{{ word | lower }}-{{ number }}"
deep: {list: ["{{ chain }}", plain], "{{ key }}": 1}
"#;

/// The value of an expression on a host, or the message of its problem.
fn on(host: &str, expression: &str) -> String {
    let vars = format!("{VARS}\nasked: {}\n", serde_json::Value::from(expression));
    match resolved(&vars).get(host, "asked") {
        Ok(node) => shown(&node.unwrap()),
        Err(problem) => format!("! {}", problem.message),
    }
}

#[test]
fn types_are_kept() {
    for (expression, expected) in [
        ("plain", "\"plain\""),
        ("{{ number }}", "5"),
        ("{{ number + 1 }}", "6"),
        ("{{ number }} ", "\"5 \""),
        ("{{ list }}", "[\"b\", \"a\", \"b\"]"),
        ("{{ map }}", "{key: \"value\", inner: {list: [1, 2]}}"),
        ("{{ nested.inner.list[1] }}", "2"),
        ("{{ nested['key'] }}", "\"value\""),
        ("{{ no }}", "false"),
        ("{{ not no }}", "true"),
        ("{{ yes_word }}", "\"yes\""),
        ("{{ nothing }}", "null"),
        ("{{ float }}", "1.5"),
        ("{{ [number, {'a': list}] }}", "[5, {a: [\"b\", \"a\", \"b\"]}]"),
        ("{{ deep }}", "{list: [\"word-5\", \"plain\"], {{ key }}: 1}"),
        ("{{ 'a' if no else 'b' }}", "\"b\""),
        ("{{ \"{{ x }}\" }}", "\"{{ x }}\""),
        ("{% raw %}{{ x }}{% endraw %}", "\"{{ x }}\""),
        ("{# comment #}x", "\"x\""),
        ("a\n{% if number > 4 %}\nb\n{% endif %}\nc\n", "\"a\\nb\\nc\\n\""),
        ("{{ true and True }}", "true"),
    ] {
        assert_eq!(on("cp1", expression), expected, "{expression}");
    }
}

#[test]
fn combine_and_extract_are_those_of_ansible() {
    for (expression, expected) in [
        ("{{ {'a': 1, 'b': 2} | combine({'b': 3, 'c': 4}) }}", "{a: 1, b: 3, c: 4}"),
        ("{{ {'a': 1} | combine({'a': 2}, {'a': 3}) }}", "{a: 3}"),
        ("{{ [{'a': 1}, {'b': 2}] | combine }}", "{a: 1, b: 2}"),
        ("{{ {} | combine({}) }}", "{}"),
        ("{{ map | combine({'inner': {'more': 1}}) }}", "{key: \"value\", inner: {more: 1}}"),
        ("{{ map | combine({'inner': {'more': 1}}, recursive=true) }}", "{key: \"value\", inner: {list: [1, 2], more: 1}}"),
        ("{{ map | ansible.builtin.combine({'inner': 5}, recursive=true) }}", "{key: \"value\", inner: 5}"),
        ("{{ {'l': [1, 2]} | combine({'l': [2, 3]}) }}", "{l: [2, 3]}"),
        ("{{ {'l': [1, 2]} | combine({'l': [2, 3]}, list_merge='keep') }}", "{l: [1, 2]}"),
        ("{{ {'l': [1, 2]} | combine({'l': [2, 3]}, list_merge='append') }}", "{l: [1, 2, 2, 3]}"),
        ("{{ {'l': [1, 2]} | combine({'l': [2, 3]}, list_merge='prepend') }}", "{l: [2, 3, 1, 2]}"),
        ("{{ {'l': [1, 2]} | combine({'l': [2, 3]}, list_merge='append_rp') }}", "{l: [1, 2, 3]}"),
        ("{{ {'l': [1, 2]} | combine({'l': [2, 3]}, list_merge='prepend_rp') }}", "{l: [2, 3, 1]}"),
        ("{{ {'a': 1} | combine([1]) }}", "! `asked` cannot be worked out: `combine` works on maps, not on number"),
        ("{{ {'a': 1} | combine({}, recursively=true) }}", "! `asked` cannot be worked out: unknown keyword argument 'recursively'"),
        ("{{ {'a': 1} | combine(missing) }}", "! `asked` cannot be worked out: `missing` is not defined"),
        ("{{ groups['kube_node'] | map('extract', hostvars, 'ip') | join(',') }}", "\"10.0.0.2,10.0.0.3\""),
        ("{{ ['etcd', 'kube_node'] | map('extract', groups) | map('first') | list }}", "[\"cp1\", \"node1\"]"),
        ("{{ ['inner'] | map('extract', map, ['list', 1]) | list }}", "[2]"),
        ("{{ 'key' | ansible.builtin.extract(map) }}", "\"value\""),
        ("{{ 1 | extract(list) }}", "\"a\""),
        ("{{ 'nothing' | extract(map) | default(7) }}", "7"),
        (
            "{{ ['cp1', 'node1'] | map('extract', hostvars, 'ip6') | list }}",
            "! `asked` cannot be worked out: a part of a value that it names is not there",
        ),
    ] {
        assert_eq!(on("cp1", expression), expected, "{expression}");
    }
}

#[test]
fn the_docs_name_only_what_there_is() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/migrating.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    let (_, part) = docs.split_once("* **filters**").unwrap();
    let (filters, part) = part.split_once("* **tests**").unwrap();
    let (tests, _) = part.split_once("* **statements**").unwrap();
    let is_name = |word: &&str| word.starts_with(char::is_alphabetic) && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let names = |text: &'static str| text.split('`').skip(1).step_by(2).filter(is_name).collect::<Vec<_>>();
    let (filters, tests): (&'static str, &'static str) = (filters.to_owned().leak(), tests.to_owned().leak());
    assert!(names(filters).len() > 35 && names(tests).len() > 15);
    for expression in
        names(filters).iter().map(|name| format!("'x' | {name}")).chain(names(tests).iter().map(|name| format!("'x' is {name}")))
    {
        let found = on("cp1", &format!("{{{{ {expression} }}}}"));
        assert!(!found.contains("does not know"), "{expression}: {found}");
    }
}

#[test]
fn filters_and_tests() {
    for (expression, expected) in [
        ("{{ missing | default('x') }}", "\"x\""),
        ("{{ missing | d([]) }}", "[]"),
        ("{{ '' | default('x', true) }}", "\"x\""),
        ("{{ map.missing | default(3) }}", "3"),
        ("{{ missing.part | default('x') }}", "\"x\""),
        ("{{ missing['part'].other | default('x') }}-{{ map.inner.list[7].x | d('y') }}", "\"x-y\""),
        ("{{ nothing.part | default('x') }}", "\"x\""),
        ("{{ map.inner.list[1] | default('x') }}", "2"),
        ("{{ hostvars['nobody'].ip | default('x') }}", "\"x\""),
        ("{{ missing.part.other is defined }}", "false"),
        ("{{ (missing.part | default({})).other | default('x') }}", "\"x\""),
        ("{{ missing.part | default('x') }}{{ missing.other }}", "! `asked` cannot be worked out: `missing` is not defined"),
        ("{{ missing.part }}", "! `asked` cannot be worked out: `missing` is not defined"),
        ("{% for x in missing.part %}{{ x }}{% endfor %}", "! `asked` cannot be worked out: `missing` is not defined"),
        ("{{ nothing }},10.0.0.0/8", "\",10.0.0.0/8\""),
        ("{{ nothing ~ 'x' }}{% for x in [nothing] %}{{ x }}{% endfor %}", "\"Nonex\""),
        ("{{ missing is defined }}", "false"),
        ("{{ word is defined }}", "true"),
        ("{{ no | ternary('a', 'b') }}", "\"b\""),
        ("{{ nothing | ternary('a', 'b', 'c') }}", "\"c\""),
        ("{{ yes_word | bool }}", "true"),
        ("{{ 'off' | bool | ternary(1, 2) }}", "2"),
        ("{{ '12' | int + 1 }}", "13"),
        ("{{ 'x' | int }}", "0"),
        ("{{ 'x' | int(7) }}", "7"),
        ("{{ 'x' | int(default=7) }}", "7"),
        ("{{ 'x' | int(base=16) }}", "! `asked` cannot be worked out: unknown keyword argument 'base'"),
        ("{{ 3.9 | int }}", "3"),
        ("{{ word | lower }}{{ word | upper }}", "\"wordWORD\""),
        ("{{ list | unique | sort | join(',') }}", "\"a,b\""),
        ("{{ [1, 'a', true] | join('-') }}", "\"1-a-True\""),
        ("{{ list | length }}", "3"),
        ("{{ list | first }}{{ list[1] }}{{ list | last }}", "\"bab\""),
        ("{{ version | regex_replace('^v', '') }}", "\"1.31.2\""),
        ("{{ version | regex_replace('^v(\\\\d+)\\\\.(\\\\d+).*', '\\\\2.\\\\1') }}", "\"31.1\""),
        ("{{ 'a$b' | regex_replace('(?P<x>b)', '$\\\\g<x>') }}", "\"a$$b\""),
        ("{{ 'AbA' | ansible.builtin.regex_replace('a', '', ignorecase=true) }}", "\"b\""),
        ("{{ word | replace('W', 'S') }}", "\"Sord\""),
        ("{{ version is version('1.30', '>=') }}", "true"),
        ("{{ version is version('v1.31.10', 'lt') }}", "true"),
        ("{{ '1.9' is version('1.10', '>') }}", "false"),
        ("{{ '1.2.3' is ansible.builtin.version('1.2.3') }}", "true"),
        ("{{ '1.2' is version('1.2.0', '<', strict=true) }}", "true"),
        ("{{ word in ['Word'] and 'x' not in list }}", "true"),
        ("{{ list | map('upper') | list }}", "[\"B\", \"A\", \"B\"]"),
        ("{{ list | select('eq', 'b') | list | length }}", "2"),
        ("{{ map | to_json }}", "\"{\\\"key\\\": \\\"value\\\", \\\"inner\\\": {\\\"list\\\": [1, 2]}}\""),
    ] {
        assert_eq!(on("cp1", expression), expected, "{expression}");
    }
}

#[test]
fn addresses() {
    for (expression, expected) in [
        ("{{ range | ansible.utils.ipaddr('net') | ansible.utils.ipaddr(1) | ansible.utils.ipaddr('address') }}", "\"10.233.0.1\""),
        ("{{ range | ipaddr(10) }}", "\"10.233.0.10/18\""),
        ("{{ range | ipaddr(-1) }}", "\"10.233.63.255/18\""),
        ("{{ range | ipaddr(99999) }}", "false"),
        ("{{ range | ipaddr('prefix') }}", "18"),
        ("{{ range | ipaddr('network') }}", "\"10.233.0.0\""),
        ("{{ range | ipaddr('netmask') }}", "\"255.255.192.0\""),
        ("{{ '10.233.1.1/18' | ipaddr('network/prefix') }}", "\"10.233.0.0/18\""),
        ("{{ '10.233.1.1/18' | ipaddr('net') }}", "false"),
        ("{{ 'host.lan' | ipaddr }}", "false"),
        ("{{ ['10.0.0.1', 'x', 'fd00::1'] | ansible.utils.ipaddr }}", "[\"10.0.0.1\", \"fd00::1\"]"),
        ("{{ ['10.0.0.1', 'fd00::1'] | ansible.utils.ipv4 }}", "[\"10.0.0.1\"]"),
        ("{{ address6 | ansible.utils.ipwrap }}:6443", "\"[fd00::1]:6443\""),
        ("{{ ip | ansible.utils.ipwrap }}", "\"10.0.0.1\""),
        ("{{ '::/0' | ipaddr(-1) }}", "\"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/0\""),
    ] {
        assert_eq!(on("cp1", expression), expected, "{expression}");
    }
}

#[test]
fn hosts_and_groups() {
    for (host, expression, expected) in [
        ("node1", "{{ inventory_hostname }}", "\"node1\""),
        ("node2.lan", "{{ inventory_hostname_short }}", "\"node2\""),
        ("node1", "{{ groups['kube_node'] }}", "[\"node1\", \"node2.lan\"]"),
        ("node1", "{{ groups['kube-master'][0] }}", "\"cp1\""),
        ("node1", "{{ groups.all | length }}", "3"),
        ("node1", "{{ 'calico_rr' in groups }}", "false"),
        ("node1", "{{ groups['calico_rr'] | default([]) }}", "[]"),
        ("cp1", "{{ group_names }}", "[\"etcd\", \"k8s_cluster\", \"kube-master\", \"kube_control_plane\"]"),
        ("cp1", "{{ 'kube_node' in group_names }}", "false"),
        ("node1", "{{ hostvars['cp1'].ip }}", "\"10.0.0.1\""),
        ("node1", "{{ hostvars['cp1']['chain'] }}", "\"word-5\""),
        ("node1", "{{ hostvars[groups['etcd'][0]].access_ip | default(hostvars[groups['etcd'][0]].ip) }}", "\"10.0.0.1\""),
        (
            "cp1",
            "{% for host in groups['kube_node'] %}https://{{ hostvars[host].ip }}:2379{% if not loop.last %},{% endif %}{% endfor %}",
            "\"https://10.0.0.2:2379,https://10.0.0.3:2379\"",
        ),
        ("node1", "{{ ip }}", "\"10.0.0.2\""),
    ] {
        assert_eq!(on(host, expression), expected, "{host}: {expression}");
    }
}

#[test]
fn unsafe_text_is_text() {
    let node = resolved("asked: !unsafe '{{ missing }}'\nother: '{{ asked }}'").get("cp1", "other").unwrap().unwrap();
    assert_eq!(shown(&node), "\"{{ missing }}\"");
}

#[test]
fn a_value_stands_where_it_was_written() {
    let node = resolved("a: 1\nb: {c: ['{{ a }}']}").get("cp1", "b").unwrap().unwrap();
    let kok_crds::tree::Value::Map(entries) = node.value else { panic!("no map") };
    let kok_crds::tree::Value::List(items) = &entries[0].node.value else { panic!("no list") };
    assert_eq!(items[0].position.to_string(), "group_vars.yml:2:9");
    assert_eq!(shown(&items[0]), "1");
}

#[test]
fn what_nobody_asks_for_does_no_harm() {
    let resolved = resolved("bad: '{{ missing }}'\ngood: 1");
    assert_eq!(shown(&resolved.get("cp1", "good").unwrap().unwrap()), "1");
    assert!(resolved.get("cp1", "bad").is_err());
    assert!(resolved.get("cp1", "nothing").unwrap().is_none());
    assert!(resolved.get("nobody", "good").unwrap().is_none());
}
