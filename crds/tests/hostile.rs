//! No text makes the reader fail otherwise than with problems, and a cluster that it returns keeps its promises.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeSet;

use kok_crds::read_cluster;
use proptest::prelude::*;

const GOOD: &str = include_str!("good.yaml");

fn check(text: &str) -> Result<(), TestCaseError> {
    match read_cluster("f", text) {
        Ok(cluster) => {
            prop_assert_eq!(cluster.control_planes().count(), 1);
            let names: BTreeSet<_> = cluster.hosts.iter().map(|host| &host.name).collect();
            let addresses: BTreeSet<_> = cluster.hosts.iter().map(|host| host.address).collect();
            prop_assert_eq!(names.len(), cluster.hosts.len());
            prop_assert_eq!(addresses.len(), cluster.hosts.len());
            prop_assert!(u64::try_from(cluster.hosts.len()).unwrap() <= cluster.network.max_nodes());
            let network = &cluster.network;
            prop_assert!(!network.pod_cidr.contains(&network.service_cidr));
            prop_assert!(!network.service_cidr.contains(&network.pod_cidr));
            prop_assert!(network.service_cidr.contains(&network.cluster_dns()));
            prop_assert!(cluster.time.servers.is_empty() || cluster.time.sources.is_empty());
        }
        Err(problems) => {
            prop_assert!(!problems.is_empty());
            for problem in problems {
                let position = problem.position.clone().unwrap();
                prop_assert!(position.line >= 1 && position.column >= 1);
                prop_assert!(!problem.to_string().chars().any(|c| c.is_control() && c != '\n'));
                prop_assert!(problem.to_string().lines().count() <= 4);
                prop_assert!(problem.hint.is_some(), "nothing to do: {}", problem);
            }
        }
    }
    Ok(())
}

#[test]
fn the_file_of_these_tests_is_good() {
    assert!(read_cluster("f", GOOD).is_ok());
}

#[test]
fn deep_and_large_files_end_in_problems() {
    let limit = 1 << 20;
    for piece in [
        "[",
        "{a: ",
        "- ",
        "&a [*a, ",
        "? ",
        "a: {b: c}\n",
        "- x\n",
        "'",
        "\"\\u0041",
        "!t ",
        "%YAML 1.2\n---\n",
        "  \n",
        "#",
        "#\n",
        "a:\n#\n",
        "-\n#\n",
        "|\n ",
    ] {
        for text in [piece.repeat(100), piece.repeat(limit / piece.len())] {
            check(&text).unwrap();
            check(&format!("{GOOD}  x: {text}")).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text(text in any::<String>()) {
        check(&text)?;
    }

    #[test]
    fn any_yaml_like_text(text in "[a-z0-9{}\\[\\]:,&*!|>'\"#%@` \n-]{0,200}") {
        check(&text)?;
    }

    /// One piece of a good file replaced by something else.
    #[test]
    fn a_mutation(place in 0..GOOD.len(), length in 0_usize..12, piece in "[a-z0-9./:{}\\[\\],&*!~\" \n-]{0,12}") {
        let mut text = GOOD.as_bytes().to_vec();
        let end = (place + length).min(text.len());
        text.splice(place..end, piece.bytes());
        check(&String::from_utf8(text).unwrap())?;
    }

    /// One value of a good file replaced by another one of the same or another field.
    #[test]
    fn a_swapped_line(from in 0_usize..40, to in 0_usize..40) {
        let mut lines: Vec<_> = GOOD.lines().collect();
        let (from, to) = (from % lines.len(), to % lines.len());
        lines[to] = lines[from];
        check(&lines.join("\n"))?;
    }
}
