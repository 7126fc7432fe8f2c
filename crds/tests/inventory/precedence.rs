//! Which of several values counts.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use kok_crds::resolve::Resolved;
use proptest::prelude::*;

use crate::support::{host, read_with, shown, vars};

const TEXT: &str = "
all:
  vars: {all: all, parent: all, child: all, host: all, file_all: all, file: all, host_file: all, extra: all, later: all}
  hosts:
    a: {host: host, file_all: host, file: host, host_file: host, extra: host, later: host}
  children:
    parent:
      vars: {parent: parent, child: parent, host: parent, file_all2: parent, file2: parent}
      children:
        child:
          hosts: {a: }
          vars: {child: child, host: child, file_all2: child, file2: child}
";

#[test]
fn the_order_is_that_of_ansible() {
    let beside = [
        ("group_vars/all.yml", "{file_all: files of all, file_all2: files of all, file: files of all, file2: files of all}"),
        ("group_vars/parent.yml", "{file: files of parent, file2: files of parent, host_file: files of parent}"),
        ("host_vars/a.yml", "{host_file: files of a, extra: files of a, later: files of a}"),
    ];
    let extra = vec![vars("group_vars.yml", "{extra: extra, later: extra}"), vars("-e", "{later: later}")];
    let resolved = Resolved::new(read_with(TEXT, &beside), extra).with_defaults(vars("defaults", "{all: default, none: default}"));
    let of = |name| shown(&resolved.origin("a", name).unwrap().node).trim_matches('"').to_owned();
    for (name, expected) in [
        ("none", "default"),
        ("all", "all"),
        ("parent", "parent"),
        ("child", "child"),
        ("host", "host"),
        // Files of groups count more than groups in the inventory, even those of all.
        ("file_all2", "files of all"),
        ("file2", "files of parent"),
        // A host in the inventory counts more than files of groups.
        ("file_all", "host"),
        ("file", "host"),
        ("host_file", "files of a"),
        ("extra", "extra"),
        ("later", "later"),
    ] {
        assert_eq!(of(name), expected, "{name}");
    }
    assert_eq!(resolved.origin("a", "child").unwrap().key_position.to_string(), "hosts.yml:12:18");
    assert_eq!(resolved.origin("nobody", "child").map(|_| ()), None);
}

#[test]
fn groups_of_the_same_depth_count_by_priority_and_name() {
    let inventory =
        |priority: &str| read_with(&format!("b: {{hosts: {{h: }}, vars: {{x: b}}}}\na: {{hosts: {{h: }}, vars: {{x: a{priority}}}}}"), &[]);
    assert_eq!(host(&inventory(""), "h"), "x=\"b\"");
    assert_eq!(host(&inventory(", ansible_group_priority: 2"), "h"), "x=\"a\"");
}

/// The longest way from `all` counts.
#[test]
fn depth_is_the_longest_way() {
    let text = "z: {children: {y: {children: {x: }}, x: {hosts: {h: }, vars: {v: x}}}, vars: {v: z}}\ny: {vars: {v: y}}";
    assert_eq!(host(&read_with(text, &[]), "h"), "v=\"x\"");
}

/// Groups by index, each with its parents among the ones before it; variables by where they are written.
#[derive(Debug, Clone)]
struct Model {
    parents: Vec<Vec<usize>>,
    host_in: Vec<usize>,
    inline: Vec<Option<u8>>,
    files: Vec<Option<u8>>,
    host: Option<u8>,
    host_file: Option<u8>,
    extra: Option<u8>,
}

fn model() -> impl Strategy<Value = Model> {
    (1_usize..6).prop_flat_map(|count| {
        let parents: Vec<_> = (0..count).map(|index| prop::collection::vec(0..index.max(1), 0..3.min(index + 1))).collect();
        let value = || prop::option::of(any::<u8>());
        let values = || prop::collection::vec(prop::option::of(any::<u8>()), count + 1);
        (parents, prop::collection::vec(0..count, 1..3), values(), values(), value(), value(), value()).prop_map(
            |(mut parents, host_in, inline, files, host, host_file, extra)| {
                parents.iter_mut().enumerate().for_each(|(index, of)| of.retain(|parent| *parent < index));
                Model { parents, host_in, inline, files, host, host_file, extra }
            },
        )
    })
}

impl Model {
    fn depth(&self, group: usize) -> usize {
        1 + self.parents[group].iter().map(|parent| self.depth(*parent)).max().unwrap_or(0)
    }

    fn ancestors(&self, group: usize, found: &mut BTreeMap<(usize, String), usize>) {
        found.insert((self.depth(group), format!("g{group}")), group);
        self.parents[group].iter().for_each(|parent| self.ancestors(*parent, found));
    }

    /// The value that counts, looked up the slow way. Index 0 of the values is `all`.
    fn expected(&self) -> Option<u8> {
        let mut groups = BTreeMap::new();
        self.host_in.iter().for_each(|group| self.ancestors(*group, &mut groups));
        let order: Vec<usize> = std::iter::once(0).chain(groups.into_values().map(|group| group + 1)).collect();
        let inline = order.iter().map(|index| self.inline[*index]);
        let files = order.iter().map(|index| self.files[*index]);
        inline.chain(files).chain([self.host, self.host_file, self.extra]).flatten().last()
    }

    fn text(&self) -> String {
        let mut text = String::from("[all]\n");
        let variable = |value: Option<u8>| value.map(|value| format!("x={value}")).unwrap_or_default();
        writeln!(text, "h {}", variable(self.host)).unwrap();
        for group in 0..self.parents.len() {
            writeln!(text, "[g{group}]").unwrap();
            if self.host_in.contains(&group) {
                writeln!(text, "h").unwrap();
            }
            for parent in &self.parents[group] {
                writeln!(text, "[g{parent}:children]\ng{group}").unwrap();
            }
        }
        for (index, value) in self.inline.iter().enumerate() {
            let name = if index == 0 { "all".to_owned() } else { format!("g{}", index - 1) };
            writeln!(text, "[{name}:vars]\n{}", variable(*value)).unwrap();
        }
        text
    }
}

proptest! {
    #[test]
    fn a_naive_model_agrees(model in model()) {
        let named = |index: usize| if index == 0 { "group_vars/all.yml".to_owned() } else { format!("group_vars/g{}.yml", index - 1) };
        let mut files: Vec<(String, String)> = Vec::new();
        files.extend(model.files.iter().enumerate().filter_map(|(index, value)| Some((named(index), format!("x: {}", (*value)?)))));
        files.extend(model.host_file.map(|value| ("host_vars/h.yml".to_owned(), format!("x: {value}"))));
        let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let extra = model.extra.map(|value| vars("extra.yml", &format!("x: {value}"))).into_iter().collect();
        let resolved = Resolved::new(read_with(&model.text(), &files), extra);
        let found = resolved.origin("h", "x").map(|variable| shown(&variable.node));
        prop_assert_eq!(found, model.expected().map(|value| value.to_string()));
    }
}
