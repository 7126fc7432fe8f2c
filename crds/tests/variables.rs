//! The table of variables: what it has to hold, and the page that is made of it.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::{env, fs};

use kok_crds::{Effect, SUBJECTS, Variable, variable, variables};

/// Names that people of kube-on-kube, kubean and Kubespray set.
const NAMES: &str = include_str!("variables/names.txt");

#[test]
fn every_name_that_people_set_has_a_row_of_its_own() {
    for name in NAMES.lines() {
        let row = variable(name.trim_end_matches('*')).unwrap_or_else(|| panic!("{name} has no row"));
        assert_eq!(row.name, name);
    }
    assert!(NAMES.lines().count() > 250);
}

/// Names that Kubespray gives defaults to, in its roles and in its sample inventory (August 2026), and those that it has given up since 2.21.
const KUBESPRAY: &str = include_str!("variables/kubespray.txt");

#[test]
fn no_variable_of_kubespray_is_unknown() {
    let unknown: Vec<&str> = KUBESPRAY.lines().filter(|name| variable(name).is_none()).collect();
    assert!(unknown.is_empty(), "these have no row: {}", unknown.join(", "));
    assert!(KUBESPRAY.lines().count() > 1600);
}

const HEAD: &str = "# Variables

This page is made from the table in `crds/src/variables/table/`; `make docs` writes it. `kokctl vars NAME` prints a row, and `kokctl validate -f …`
says of each variable in your files what becomes of it. In a `Cluster` they stand under `spec.vars`, in an inventory where Ansible has them.

| effect | what it means |
|---|---|
| honoured | it does what it says: as a setting under `spec.vars`, or as a field of the `Cluster` |
| anyway | some values say what kokctl does anyway; others are errors |
| no-meaning | it means nothing here; `validate` says so, and nothing fails |
| not-yet | what it asks for is not done yet. A value that asks for nothing is fine. Others `kokctl validate` lists, and `apply` counts them, where the cluster works as well without; where it would be another cluster, they are an error |
| refused | nobody may set it |

A name that ends with `*` stands for all that begin so and have no row of their own. The default is what holds here when nobody sets the variable.
";

fn row(variable: &Variable) -> String {
    let escape = |text: &str| text.replace('|', "\\|").replace('*', "\\*");
    let effect = match variable.effect() {
        Effect::NotYet if !variable.details().starts_with("an error") => "not-yet".to_owned(),
        effect => format!("{}: {}", effect.as_str(), variable.details()),
    };
    let name = variable.name;
    format!("| `{name}` | {} | {} | {} | {} |\n", variable.kind, escape(variable.default), escape(variable.about), escape(&effect))
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    for subject in SUBJECTS {
        page.push_str(&format!(
            "\n## {}\n\n| variable | value | default | what it does | effect |\n|---|---|---|---|---|\n",
            subject.title
        ));
        page.extend(subject.rows.iter().map(row));
    }
    page
}

#[test]
fn the_page_about_variables_is_current() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/variables.md");
    if env::var_os("KOK_WRITE_DOCS").is_some() {
        fs::write(&file, page()).unwrap();
    }
    let found = fs::read_to_string(file).unwrap_or_default();
    assert!(found == page(), "docs/variables.md is not what the table says: run `make docs`");
}

#[test]
fn all_effects_occur() {
    for effect in Effect::ALL {
        assert!(variables().any(|row| row.effect() == effect), "{effect:?}");
    }
}
