//! What is asked of programs: containerd, etcd, the API server. Each question costs some tens of milliseconds, most of them for starting who asks,
//! so they are asked side by side.

use std::fmt::Write as _;

use super::look::Looks;

/// `ctr` prints reference, type, digest, size, platforms and labels, separated by blanks; only the first word, the word that begins with
/// `sha256:` and the label of pinned images matter.
const IMAGES: &str = "mark images\nif [ -S /run/containerd/containerd.sock ]; then /usr/local/bin/ctr -n k8s.io images ls 2>/dev/null || echo unavailable; else echo unavailable; fi\n";

/// What programs are asked that take their time to start or to answer, a part of the script each. They need nothing of each other, but for
/// [`super::api_server::READY`], which comes before.
fn questions(looks: &Looks) -> Vec<String> {
    let fixed = [
        (looks.images, IMAGES),
        (looks.programs, super::programs::SCRIPT),
        (looks.etcd, super::etcd::SCRIPT),
        (looks.etcd_data, super::etcd_data::SCRIPT),
        (looks.asks_api_server() && looks.versions, super::versions::OWN),
        (looks.kubernetes, super::kubernetes::NODES),
        (looks.kubernetes, super::kubernetes::TOKENS),
        (looks.node_annotations, super::annotations::SCRIPT),
        (looks.deprecated, super::deprecated::SCRIPT),
        (looks.webhooks, super::webhooks::SCRIPT),
        (looks.encryption_keys, super::encryption::KEYS),
        (looks.encryption_read, super::encryption::READ),
        (looks.encrypted_values, super::encryption::VALUES),
        (looks.token_secrets, super::token_secrets::SCRIPT),
        (looks.cluster_trust, super::cluster_trust::SCRIPT),
        (looks.load_balancers, super::kubernetes::LOAD_BALANCERS),
        (looks.warnings, super::kubernetes::WARNINGS),
        (looks.last_words, super::last_words::SCRIPT),
    ];
    let mut questions: Vec<String> = fixed.into_iter().filter(|(asked, _)| *asked).map(|(_, script)| script.to_owned()).collect();
    questions.extend(super::etcd_urls::peers(&looks.etcd_peers));
    let mut made = |push: &dyn Fn(&mut String)| {
        let mut script = String::new();
        push(&mut script);
        questions.extend(Some(script).filter(|script| !script.is_empty()));
    };
    made(&|script| super::etcd_urls::push_endpoints(script, &looks.etcd_endpoints));
    made(&|script| super::api_server::push_endpoints(script, &looks.api_endpoints));
    made(&|script| super::neighbour::push(script, looks.neighbours.iter().copied()));
    made(&|script| super::older_pods::push(script, &looks.older_pods));
    made(&|script| super::workload::push(script, &looks.workload));
    made(&|script| super::addons::push(script, &looks.addon_objects));
    made(&|script| {
        script.push_str(&if looks.kubernetes { super::kubernetes::objects() } else { String::new() });
        let check = looks.network_check.as_ref().map(|askers| super::network_check::script(askers, super::network_check::TIME));
        script.push_str(&check.unwrap_or_default());
    });
    questions
}

/// `side_by_side NAME…` runs functions beside each other and prints what they print one after the other: the first one's by way of a pipe, while
/// the others' are kept. There is no file that a script which is killed could leave.
const SIDE_BY_SIDE: &str = r#"side_by_side() {
  if [ "$#" = 1 ]; then "$1"; return; fi
  first=$1
  shift
  "$first" | { others=$(side_by_side "$@"); cat; printf '%s\n' "$others"; }
}
"#;

/// Asks all of them that are asked for.
pub(super) fn push(script: &mut String, looks: &Looks) {
    push_side_by_side(script, &questions(looks));
}

fn push_side_by_side(script: &mut String, questions: &[String]) {
    for (number, question) in questions.iter().enumerate() {
        let _ = write!(script, "question_{number}() {{\n{question}}}\n");
    }
    let names: Vec<String> = (0..questions.len()).map(|number| format!("question_{number}")).collect();
    if !names.is_empty() {
        let _ = writeln!(script, "{SIDE_BY_SIDE}side_by_side {}", names.join(" "));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use std::process::Command;

    use super::super::parse::sections;
    use super::super::script::{Nonce, section_marker};
    use super::*;

    /// Each of them waits until another one has begun, and says more than a pipe holds.
    #[test]
    fn questions_are_asked_side_by_side_and_answered_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let question = |own: usize, other: usize| {
            let wait = format!("while [ ! -e {other} ]; do read -r _ </dev/null || :; done");
            format!("mark {own}\n: >{own}\n{wait}\nhead -c 200000 /dev/zero | tr '\\0' {own}\necho\n")
        };
        let mut script = section_marker(&Nonce::new([7; 16]));
        push_side_by_side(&mut script, &[question(1, 3), question(2, 1), question(3, 2)]);
        let output = Command::new("timeout").args(["20", "sh", "-c", &script]).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let said = sections(&Nonce::new([7; 16]), &output.stdout);
        let bodies: Vec<(&str, usize, u8)> = said.iter().map(|it| (it.name, it.body.trim_ascii_end().len(), it.body[0])).collect();
        assert_eq!(bodies, [("1", 200_000, b'1'), ("2", 200_000, b'2'), ("3", 200_000, b'3')]);
    }
}
