//! What is worked out once for many hosts is the value of each of them.

use kok_crds::resolve::Resolved;

use crate::support::{read, shown, vars};

const INVENTORY: &str = "
all:
  hosts:
    a: {ip: 10.0.0.1}
    b: {ip: 10.0.0.2, suffix: own}
    c: {ip: 10.0.0.3}
    d: {ip: 10.0.0.4, extra: d}
  children:
    zone: {hosts: {c: }, vars: {base: zone}}
";

/// What an expression is on each host, in an order in which the first does not speak for the others.
fn on_all(expression: &str) -> [String; 4] {
    let group = format!(
        "{INVENTORY}  vars: {{base: all, suffix: x, name: '{{{{ base }}}}-{{{{ suffix }}}}', asked: {}}}\n",
        serde_json::Value::from(expression)
    );
    let resolved = Resolved::new(read(&group), vec![vars("none.yml", "")]);
    ["a", "b", "c", "d"].map(|host| match resolved.get(host, "asked") {
        Ok(node) => shown(&node.unwrap()),
        Err(_) => "!".to_owned(),
    })
}

#[test]
fn hosts_share_only_what_is_made_of_the_same() {
    for (expression, expected) in [
        ("{{ base }}", ["all", "all", "zone", "all"]),
        ("{{ name }}", ["all-x", "all-own", "zone-x", "all-x"]),
        ("{{ ip }}", ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"]),
        ("{{ inventory_hostname }}", ["a", "b", "c", "d"]),
        ("{{ hostvars[inventory_hostname].ip }}", ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"]),
        ("{{ hostvars['c'].name }}", ["zone-x"; 4]),
        ("{{ group_names | first }}", ["ungrouped", "ungrouped", "zone", "ungrouped"]),
        ("{{ extra | default('none') }}", ["none", "none", "none", "d"]),
        ("{{ 'set' if extra is defined else 'unset' }}", ["unset", "unset", "unset", "set"]),
        ("{% for h in groups['all'] %}{{ hostvars[h].suffix }}{% endfor %}", ["xownxx"; 4]),
        ("{{ suffix }}{% for h in groups['all'] %}{{ h }}{% endfor %}", ["xabcd", "ownabcd", "xabcd", "xabcd"]),
    ] {
        assert_eq!(on_all(expression), expected.map(|text| format!("{text:?}")), "{expression}");
    }
    assert_eq!(on_all("{{ extra }}"), ["!", "!", "!", "\"d\""]);
    assert_eq!(on_all("{{ name ~ extra }}"), ["!", "!", "!", "\"all-xd\""]);
}
