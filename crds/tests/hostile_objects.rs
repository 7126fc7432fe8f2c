//! No text makes the reader of objects fail otherwise than with problems, and arguments come out as they went in.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use kok_crds::objects::{ClusterForm, Objects};
use kok_crds::{Problem, read_objects};
use proptest::prelude::*;

const GOOD: [&str; 3] =
    [include_str!("objects/good/kube_on_kube.yaml"), include_str!("objects/good/exported.yaml"), include_str!("objects/good/inline.yaml")];

fn check(text: &str) -> Result<(), TestCaseError> {
    match read_objects(&[("f", text)]) {
        Ok(objects) => {
            prop_assert!(!objects.clusters.is_empty() || !objects.operations.is_empty() || text.contains("apiVersion"));
            for cluster in &objects.clusters {
                if let ClusterForm::Referenced(inputs) = &cluster.form {
                    prop_assert!(inputs.hosts.is_some());
                }
            }
            for notice in &objects.notices {
                prop_assert!(!notice.to_string().chars().any(|c| c.is_control() && c != '\n'));
            }
        }
        Err(problems) => check_problems(&problems)?,
    }
    Ok(())
}

fn check_problems(problems: &[Problem]) -> Result<(), TestCaseError> {
    prop_assert!(!problems.is_empty());
    for problem in problems {
        let text = problem.to_string();
        prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text}");
        prop_assert!(text.lines().count() <= 4, "{text}");
    }
    Ok(())
}

/// An operation with these arguments, as JSON, which is YAML.
fn operation(arguments: &str) -> Result<Objects, Vec<Problem>> {
    let object = serde_json::json!({
        "apiVersion": "kubeonkube.clay.io/v1alpha1", "kind": "ClusterOperation", "metadata": {"name": "a"},
        "spec": {"cluster": "c", "actionType": "playbook", "action": "cluster.yml", "extraArgs": arguments},
    });
    read_objects(&[("f", &object.to_string())])
}

fn quoted(word: &str) -> String {
    shlex::try_quote(word).unwrap().into_owned()
}

#[test]
fn the_files_of_these_tests_are_good() {
    for text in GOOD {
        assert!(read_objects(&[("f", text)]).is_ok());
    }
}

#[test]
fn long_arguments_end_in_time() {
    for piece in ["-e a=b ", "-e \"", "'", "{{", "\\", "-vvv", "-e '{a: [", "--limit x ", "a ", "$a "] {
        let problems = operation(&piece.repeat((128 << 10) / piece.len())).err().unwrap_or_default();
        assert!(problems.iter().all(|problem| problem.message.len() < 200));
        assert!(operation(&piece.repeat(200 << 10)).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_yaml_like_text(text in "(apiVersion: v1|kind: |ConfigMap|metadata: |data: |[a-z0-9{}\\[\\]:,&*!|>'\"#%@` \n-]){0,60}") {
        check(&text)?;
    }

    /// One piece of a good file replaced by something else.
    #[test]
    fn a_mutation(which in 0..GOOD.len(), place in any::<prop::sample::Index>(), length in 0_usize..12, piece in "[a-z0-9./:{}\\[\\],&*!~\"'$ \n-]{0,12}") {
        let mut text = GOOD[which].as_bytes().to_vec();
        let place = place.index(text.len());
        let end = (place + length).min(text.len());
        text.splice(place..end, piece.bytes());
        check(&String::from_utf8(text).unwrap())?;
    }

    /// One line of a good file in the place of another one.
    #[test]
    fn a_swapped_line(which in 0..GOOD.len(), from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>()) {
        let mut lines: Vec<_> = GOOD[which].lines().collect();
        let (from, to) = (from.index(lines.len()), to.index(lines.len()));
        lines[to] = lines[from];
        check(&lines.join("\n"))?;
    }

    #[test]
    fn any_arguments(text in "(-e |--limit=|-v|--|[a-z'\"={}%\\[\\]\\\\$`;|&<>#@/., \n-]){0,40}") {
        if let Err(problems) = operation(&text) {
            check_problems(&problems)?;
        }
    }

    /// Variables, pattern and number come out as they went in, however the shell had to quote them.
    #[test]
    fn arguments_come_back(name in "[a-z_][a-z0-9_]{0,8}", value in "[ -~äé€\n]{0,20}", limit in "[a-z*:!&,]{1,12}", forks in 1_u32..=10_000) {
        // Ansible takes every quote behind a backslash for an escaped one, also behind two of them.
        prop_assume!(!value.ends_with('\\'));
        let json = serde_json::json!({"typed": value, "number": forks}).to_string();
        // Ansible's own quotes and escapes around the value, within the shell's.
        let pair = format!("{name}=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""));
        let line = format!("-e {} -e {} --limit {} -f{forks}", quoted(&pair), quoted(&json), quoted(&limit));
        let objects = operation(&line).map_err(|problems| TestCaseError::fail(format!("{problems:?}")))?;
        let arguments = &objects.operations[0].main.arguments;
        prop_assert_eq!(arguments.limit.as_ref().map(|limit| limit.text.as_str()), Some(limit.as_str()));
        prop_assert_eq!(arguments.forks, Some(forks));
        prop_assert_eq!(arguments.variable("typed").and_then(|variable| variable.text()), Some(value.as_str()));
        prop_assert_eq!(arguments.variable(&name).and_then(|variable| variable.text()), Some(value.as_str()));
    }
}
