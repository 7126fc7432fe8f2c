//! Inventories that Ansible would let something else make.

use crate::{Problem, Source};

/// What a text is, if it says how to get an inventory and not which hosts there are.
pub(super) fn dynamic(source: &Source) -> Option<Problem> {
    let text = source.text.trim_start_matches('\u{feff}').trim_start();
    let is_plugin = |line: &str| {
        let name = line.strip_prefix("plugin:").map(str::trim).unwrap_or_default();
        !name.is_empty() && !name.starts_with(['{', '#'])
    };
    // What a shell would run; `#!!!` is a comment.
    let is_program = text.strip_prefix("#!").is_some_and(|rest| rest.trim_start_matches([' ', '\t']).starts_with('/'));
    let (what, line) = if is_program {
        ("the inventory is a program", Some(0))
    } else if text.starts_with('{') && text.contains("\"_meta\"") {
        ("the inventory is what a program prints for Ansible", Some(0))
    } else {
        ("the inventory is made by a plugin of Ansible", source.text.lines().position(is_plugin))
    };
    let line = u64::try_from(line?).unwrap_or_default().saturating_add(1);
    let problem = Problem::new(what).at(&source.position(line, 1)).because("kokctl runs no programs and plugins for Ansible");
    Some(problem.hint("`ansible-inventory -i … --list --yaml --output hosts.yaml` writes down what it says: give that file"))
}

#[cfg(test)]
mod tests {
    use super::dynamic;
    use crate::Source;

    #[test]
    fn what_makes_an_inventory_is_none() {
        let line = |text: &str| dynamic(&Source::file("hosts", text))?.position.map(|position| position.line);
        for (text, expected) in [
            ("#!/usr/bin/env python3\nprint()\n", Some(1)),
            ("---\nplugin: amazon.aws.aws_ec2\nregions: [eu-west-1]\n", Some(2)),
            ("{\"_meta\": {\"hostvars\": {}}, \"all\": {\"hosts\": [\"a\"]}}", Some(1)),
            ("plugin:\n  hosts: {a: }\n", None),
            ("plugin: {hosts: {a: }}\n", None),
            ("all:\n  hosts: {a: {plugin: b}}\n", None),
            ("[all]\na\n", None),
            ("#!!! managed by hand\n[all]\na\n", None),
            ("", None),
        ] {
            assert_eq!(line(text), expected, "{text}");
        }
    }
}
