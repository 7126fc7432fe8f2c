//! What is asked of programs: containerd, etcd, the API server. Each question costs some tens of milliseconds, most of them for starting who asks,
//! so they are asked side by side.

use std::fmt::Write as _;

use super::look::Looks;

/// What programs are asked that take their time to start or to answer, a part of the script each. They need nothing of each other.
fn questions(looks: &Looks) -> Vec<String> {
    let fixed = [
        (looks.images, super::images::SCRIPT),
        (looks.programs, super::programs::SCRIPT),
        (looks.etcd, super::etcd::SCRIPT),
        (looks.etcd_data, super::etcd_data::SCRIPT),
        (looks.encryption_keys, super::encryption::KEYS),
        (looks.last_words, super::last_words::SCRIPT),
    ];
    let mut questions = asked(&fixed);
    questions.extend(super::etcd_urls::peers(&looks.etcd_peers));
    questions.extend(made(|script| super::etcd_urls::push_endpoints(script, &looks.etcd_endpoints)));
    questions.extend(made(|script| super::neighbour::push(script, looks.neighbours.iter().copied())));
    questions
}

/// What curl has been answered already, if there is one, in the order in which it is said: to say it takes no time. The check of the network looks at objects.
fn answered(looks: &Looks) -> Vec<String> {
    let fixed = [(looks.versions, super::versions::OWN)];
    let mut questions = asked(&fixed);
    questions.extend(Some(super::kubernetes::nodes_and_load_balancers(looks)).filter(|script| !script.is_empty()));
    questions.extend(looks.kubernetes.then(super::kubernetes::tokens));
    questions.extend(made(|script| {
        script.push_str(&if looks.kubernetes { super::kubernetes::objects() } else { String::new() });
        let check = looks.network_check.as_ref().map(|askers| super::network_check::script(askers, super::network_check::TIME));
        script.push_str(&check.unwrap_or_default());
    }));
    questions
}

/// What an API server is asked besides, after [`super::api_server::ready`].
fn of_api(looks: &Looks) -> Vec<String> {
    let fixed = [
        (looks.node_annotations, super::annotations::SCRIPT),
        (looks.deprecated, super::deprecated::SCRIPT),
        (looks.webhooks, super::webhooks::SCRIPT),
        (looks.encryption_read, super::encryption::READ),
        (looks.encrypted_values, super::encryption::VALUES),
        (looks.token_secrets, super::token_secrets::SCRIPT),
        (looks.cluster_trust, super::cluster_trust::SCRIPT),
        (looks.warnings, super::kubernetes::WARNINGS),
    ];
    let mut questions = asked(&fixed);
    questions.extend(made(|script| super::api_server::push_endpoints(script, &looks.api_endpoints)));
    questions.extend(made(|script| super::older_pods::push(script, &looks.older_pods)));
    questions.extend(made(|script| super::workload::push(script, &looks.workload)));
    questions.extend(made(|script| super::addons::push(script, &looks.addon_objects)));
    questions
}

fn asked(fixed: &[(bool, &str)]) -> Vec<String> {
    fixed.iter().filter(|(asked, _)| *asked).map(|(_, script)| (*script).to_owned()).collect()
}

fn made(push: impl FnOnce(&mut String)) -> Option<String> {
    let mut script = String::new();
    push(&mut script);
    Some(script).filter(|script| !script.is_empty())
}

/// `side_by_side NAME…` runs functions beside each other and prints what they print one after the other: the first one's as it comes, while the others' are kept.
/// There is no file that a script which is killed could leave, and no program is started for it. Where one of them does not come to its end, as on a host without
/// memory, the script ends without its last section: what is missing then must not pass for what is not there.
const SIDE_BY_SIDE: &str = r#"side_by_side() {
  if [ "$#" = 1 ]; then "$1"; return; fi
  "$1" &
  shift
  others=$(side_by_side "$@") || exit
  wait "$!" || exit
  printf '%s\n' "$others"
}
"#;

/// Asks all of them that are asked for, beside what the host is asked otherwise.
pub(super) fn push(script: &mut String, of_host: String, looks: &Looks) {
    let mut questions = questions(looks);
    questions.extend(looks.asks_api_server().then(|| of_api_server(looks)));
    if questions.is_empty() {
        script.push_str(&of_host);
        return;
    }
    questions.insert(0, of_host);
    script.push_str(SIDE_BY_SIDE);
    push_side_by_side(script, &questions);
}

/// All that the API server is asked. What curl has been answered already is said by one of those that are asked side by side; where kubectl has to ask, it does so
/// for each of them.
fn of_api_server(looks: &Looks) -> String {
    let mut script = super::api_server::ready(looks);
    let answered = push_functions(&mut script, "answered", &answered(looks));
    let of_api = push_functions(&mut script, "api", &of_api(looks));
    if answered.len() > 1 {
        // Writing to a String can't fail.
        let _ = writeln!(
            script,
            "all_answered() {{\n{}\n:\n}}\nif [ -n \"$quick\" ]; then\n  {}else\n  {}fi",
            answered.join("\n"),
            call(&[vec!["all_answered".to_owned()], of_api.clone()].concat()),
            call(&[answered, of_api].concat())
        );
    } else {
        script.push_str(&call(&[answered, of_api].concat()));
    }
    script
}

fn push_side_by_side(script: &mut String, questions: &[String]) {
    let names = push_functions(script, "question", questions);
    script.push_str(&call(&names));
}

/// Makes a function of each question, which is true at its end. Returns their names.
fn push_functions(script: &mut String, name: &str, questions: &[String]) -> Vec<String> {
    for (number, question) in questions.iter().enumerate() {
        let _ = write!(script, "{name}_{number}() {{\n{question}:\n}}\n");
    }
    (0..questions.len()).map(|number| format!("{name}_{number}")).collect()
}

fn call(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!("side_by_side {}\n", names.join(" ")) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use std::process::Command;

    use super::super::parse::sections;
    use super::super::script::{Nonce, section_marker};
    use super::*;

    #[test]
    fn one_that_does_not_come_to_its_end_ends_all_of_them() {
        let said = |questions: [&str; 3]| {
            let mut script = SIDE_BY_SIDE.to_owned();
            push_side_by_side(&mut script, &questions.map(|question| format!("echo {question}\n")));
            script.push_str("echo end\n");
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            (output.status.success(), String::from_utf8(output.stdout).unwrap())
        };
        assert_eq!(said(["a; false", "b; false", "c; false"]), (true, "a\nb\nc\nend\n".to_owned()), "what they found is theirs to say");
        for place in 0..3 {
            for cut_off in ["x; exit 3", "x; sh -c 'kill -9 \"$PPID\"'"] {
                let mut questions = ["a", "b", "c"];
                questions[place] = cut_off;
                let (ended, text) = said(questions);
                assert!(!ended && !text.contains("end"), "{questions:?}: {text}");
            }
        }
    }

    /// Each of them waits until another one has begun, and says more than a pipe holds.
    #[test]
    fn questions_are_asked_side_by_side_and_answered_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let question = |own: usize, other: usize| {
            let wait = format!("while [ ! -e {other} ]; do read -r _ </dev/null || :; done");
            format!("mark {own}\n: >{own}\n{wait}\nhead -c 200000 /dev/zero | tr '\\0' {own}\necho\n")
        };
        let mut script = section_marker(&Nonce::new([7; 16]));
        script.push_str(SIDE_BY_SIDE);
        push_side_by_side(&mut script, &[question(1, 3), question(2, 1), question(3, 2)]);
        let output = Command::new("timeout").args(["20", "sh", "-c", &script]).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let said = sections(&Nonce::new([7; 16]), &output.stdout);
        let bodies: Vec<(&str, usize, u8)> = said.iter().map(|it| (it.name, it.body.trim_ascii_end().len(), it.body[0])).collect();
        assert_eq!(bodies, [("1", 200_000, b'1'), ("2", 200_000, b'2'), ("3", 200_000, b'3')]);
    }
}
