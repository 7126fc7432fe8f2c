//! No text makes the reader fail otherwise than with problems.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use kok_crds::Source;
use kok_crds::inventory::Inventory;
use kok_crds::resolve::Resolved;
use proptest::prelude::*;

use crate::support::{everything, rendered, try_read};

const YAML: &str = "all:
  vars: {x: 1}
  hosts:
    node[1:3]: {ansible_host: 10.0.0.1}
    cp1: # comment
  children:
    kube_control_plane: {hosts: {cp1: }}
    kube_node:
      hosts:
        node[1:3]:
      vars:
        y: '{{ x }}'
";

const INI: &str = "cp1 ansible_host=10.0.0.1 x='a b'
[kube_control_plane]
cp1
[kube_node]
node[1:3] y=True
[k8s_cluster:children]
kube_control_plane
kube_node
[all:vars]
z = {'a': [1, 2]}
";

fn check(text: &str) -> Result<(), TestCaseError> {
    match try_read(text, &[("group_vars/all.yml", text)]).or_else(|_| try_read(text, &[])) {
        Ok(inventory) => {
            prop_assert!(!inventory.hosts().is_empty());
            prop_assert!(!everything(&inventory).is_empty());
            let resolved = Resolved::new(inventory, Vec::new());
            prop_assert!(resolved.inventory().notices().iter().all(|notice| notice.position.is_some()));
        }
        Err(problems) => {
            prop_assert!(!problems.is_empty());
            for problem in problems {
                prop_assert!(problem.position.is_some(), "{problem}");
                prop_assert!(!problem.to_string().chars().any(|c| c.is_control() && c != '\n'), "{problem}");
                prop_assert!(problem.to_string().lines().count() <= 4, "{problem}");
            }
        }
    }
    Ok(())
}

#[test]
fn deep_and_large_texts_end_in_problems_or_hosts() {
    for piece in [
        "[",
        "{a: ",
        "- ",
        "&a [*a, ",
        "a: {b: c}\n",
        "x=[",
        "n[1:9]",
        "[a:children]\nb\n[b:children]\na\n",
        "'",
        "\\",
        "h x=(\n",
        "[g]\n",
        "a\n",
    ] {
        for count in [100, 20_000] {
            check(&piece.repeat(count)).unwrap();
            check(&format!("{INI}{}", piece.repeat(count))).unwrap();
            check(&format!("{YAML}{}", piece.repeat(count))).unwrap();
        }
    }
}

#[test]
fn a_long_chain_of_groups_is_no_danger() {
    let mut text = String::from("h\n");
    (0..900).for_each(|index| write!(text, "[g{index}:children]\ng{}\n", index + 1).unwrap());
    text.push_str("[g900]\nh\n");
    let inventory = try_read(&text, &[]).unwrap();
    assert_eq!(inventory.groups_of("h").len(), 901);
    let ring = text.replace("[g900]", "[g900:children]\ng0\n[g900]");
    assert!(rendered(&try_read(&ring, &[]).unwrap_err()).contains("groups hold each other"));
}

#[test]
fn what_would_make_too_many_hosts_is_refused() {
    let many: String = (0..1_000).map(|index| format!("n{index}-[1:9999]\n")).collect();
    assert!(rendered(&try_read(&many, &[]).unwrap_err()).contains("more than 10000 hosts"));
    let again = "n[1:9999]\n".repeat(100_000);
    assert!(rendered(&try_read(&again, &[]).unwrap_err()).contains("more than 10000 hosts"));
    let groups: String = (0..2_000).map(|index| format!("[g{index}]\na\n")).collect();
    assert!(rendered(&try_read(&groups, &[]).unwrap_err()).contains("more than 1000 groups"));
}

/// Each of these takes minutes where it is looked through from its beginning again and again.
#[test]
fn long_lists_end_soon() {
    let entries: String = (0..50_000).map(|index| format!("{index}: 1, ")).collect();
    let text = format!("a x=\"{{{entries}}}\"\n");
    let begin = Instant::now();
    assert!(Inventory::read(&Source::file("hosts", text), &[]).is_ok());
    let sections = "[g0]\n".repeat(50_000) + &"[g:children]\ng0\n".repeat(50_000);
    assert!(Inventory::read(&Source::file("hosts", format!("[all]\na\n{sections}")), &[]).is_ok());
    let missing = "[g:children]\n".to_owned() + &"h\n".repeat(50_000);
    let problems = Inventory::read(&Source::file("hosts", format!("[all]\na\n{missing}")), &[]).unwrap_err();
    assert_eq!(problems.len(), 1, "one name is missing, however often");
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text(text in any::<String>()) {
        check(&text)?;
    }

    #[test]
    fn any_inventory_like_text(text in "[a-c0-9{}\\[\\]:=,&*!|>'\"#%@; \n-]{0,200}") {
        check(&text)?;
        check(&format!("[g]\n{text}"))?;
    }

    #[test]
    fn a_mutation(ini in any::<bool>(), place in 0..300_usize, length in 0_usize..12, piece in "[a-z0-9=./:{}\\[\\],&*!~'\" \n-]{0,12}") {
        let mut text = if ini { INI } else { YAML }.as_bytes().to_vec();
        let place = place.min(text.len());
        let end = (place + length).min(text.len());
        text.splice(place..end, piece.bytes());
        check(&String::from_utf8(text).unwrap())?;
    }
}
