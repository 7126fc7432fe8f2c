//! INI and YAML say the same.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use proptest::prelude::*;

use crate::support::{everything, read};

/// A host or group with its variables.
type Vars = BTreeMap<String, i32>;

#[derive(Debug, Clone)]
struct Group {
    hosts: Vec<String>,
    /// Indexes of later groups, so that there are no circles.
    children: Vec<usize>,
    vars: Vars,
}

fn vars() -> impl Strategy<Value = Vars> {
    prop::collection::btree_map("[a-c]", any::<i32>(), 0..3)
}

fn groups() -> impl Strategy<Value = Vec<Group>> {
    (1_usize..6).prop_flat_map(|count| {
        let group = move |index: usize| {
            let hosts = prop::collection::vec("h[1-4]|h\\[[1-3]:5\\]|h\\[a:c\\]", 0..4);
            (hosts, prop::collection::vec(index + 1..count + 1, 0..3), vars()).prop_map(move |(hosts, children, vars)| Group {
                hosts,
                children: children.into_iter().filter(|child| *child < count).collect(),
                vars,
            })
        };
        (0..count).map(group).collect::<Vec<_>>()
    })
}

fn pairs(vars: &Vars, between: &str, equals: &str) -> String {
    let pairs: Vec<_> = vars.iter().map(|(name, value)| format!("{name}{equals}{value}")).collect();
    pairs.join(between)
}

fn ini(groups: &[Group], hosts: &BTreeMap<String, Vars>) -> String {
    let mut text = String::from("[all]\n");
    hosts.iter().for_each(|(host, vars)| writeln!(text, "{host} {}", pairs(vars, " ", "=")).unwrap());
    for (index, group) in groups.iter().enumerate() {
        writeln!(text, "[g{index}]\n{}", group.hosts.join("\n")).unwrap();
        writeln!(text, "[g{index}:vars]\n{}", pairs(&group.vars, "\n", " = ")).unwrap();
        writeln!(text, "[g{index}:children]").unwrap();
        group.children.iter().for_each(|child| writeln!(text, "g{child}").unwrap());
    }
    text
}

fn yaml(groups: &[Group], hosts: &BTreeMap<String, Vars>) -> String {
    let mut text = String::from("all:\n  hosts:\n");
    hosts.iter().for_each(|(host, vars)| writeln!(text, "    {host}: {{{}}}", pairs(vars, ", ", ": ")).unwrap());
    let unique = |names: &[String]| -> Vec<String> {
        let mut seen = Vec::new();
        names.iter().for_each(|name| {
            if !seen.contains(name) {
                seen.push(name.clone())
            }
        });
        seen
    };
    for (index, group) in groups.iter().enumerate() {
        let hosts: Vec<_> = unique(&group.hosts).iter().map(|host| format!("'{host}': ")).collect();
        let children: Vec<_> = group.children.iter().map(|child| format!("g{child}")).collect();
        let children: Vec<_> = unique(&children).iter().map(|child| format!("{child}: ")).collect();
        writeln!(
            text,
            "g{index}: {{vars: {{{}}}, hosts: {{{}}}, children: {{{}}}}}",
            pairs(&group.vars, ", ", ": "),
            hosts.join(", "),
            children.join(", ")
        )
        .unwrap();
    }
    text
}

proptest! {
    #[test]
    fn both_spellings_give_the_same(groups in groups(), hosts in prop::collection::btree_map("h[1-4]", vars(), 1..4)) {
        let (ini, yaml) = (ini(&groups, &hosts), yaml(&groups, &hosts));
        prop_assert_eq!(everything(&read(&ini)), everything(&read(&yaml)), "{}\n{}", ini, yaml);
    }

    /// A range stands for what it prints: the same names written out are the same inventory.
    #[test]
    fn a_range_is_its_names(first in 0_usize..120, count in 1_usize..30, step in 1_usize..4, width in 0_usize..4, letters in "[a-e]") {
        let last = first + (count - 1) * step;
        let padded = width.max(last.to_string().len());
        let pad = |number: usize| if width > 0 { format!("{number:0padded$}") } else { number.to_string() };
        let names: Vec<_> = (first..=last).step_by(step).flat_map(|n| {
            let number = pad(n);
            ('a'..=letters.chars().next().unwrap()).map(move |letter| format!("n{number}{letter}"))
        }).collect();
        let range = format!("n[{}:{}:{step}][a:{letters}]", pad(first), pad(last));
        for text in [range.clone(), names.join("\n"), format!("all: {{hosts: {{'{range}': }}}}")] {
            let inventory = read(&text);
            prop_assert_eq!(inventory.hosts(), names.clone(), "{}", text);
        }
    }
}
