//! Short-lived tokens, by which hosts join.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kok_tasks::change::{Change, ChangeKind};
use kok_tasks::observe::KubernetesState;
use kok_tasks::operations::{BootstrapToken, Operation, RemoveTokens};
use kok_tasks::resources::Act;
use kok_tasks::script::Part;
use serde_json::json;

use crate::operations::{diff_text, ready, with};
use crate::support::shell::{Folder, SHELLS, run};

/// Parallel joins go on with the token that they have, and no rule of a cluster that has them is written again.
#[test]
fn a_token_is_made_to_last_made_alone_or_made_with_the_rules() {
    let operation = BootstrapToken { host: "cp1".into(), id: "kokab2".into(), needed: true, kubelet_client: false, server: None };
    let Act::Script(fragment) = Operation::BootstrapToken(operation).act(&Change::new(ChangeKind::Create, "")) else { panic!("no script") };
    let Part::Text(encoded) = &fragment.parts()[fragment.parts().len() - 2] else { panic!("no text") };
    let script = String::from_utf8(STANDARD.decode(encoded.replace('\n', "")).unwrap()).unwrap();
    let script = script.replace("/etc/kubernetes/manifests/kube-apiserver.yaml", "/dev/null");
    let (rule, info, token) = ("clusterrolebinding", "configmap", "secret");
    let token_alone = "kubeadm token create --config=/run/kokctl/bootstrap-token.yaml\n";
    let all = "kubeadm init phase bootstrap-token --skip-token-print --config=/run/kokctl/bootstrap-token.yaml\n";
    for shell in SHELLS {
        let folder = Folder::new();
        let done_with = |there: &[&str]| {
            let _ = std::fs::remove_file(folder.path("done"));
            let spies = format!(
                "kube() {{\n  case \" $* \" in\n    *' get '*) for is in {}; do case \" $* \" in *\" $is \"*) echo \"$is/x\";; esac; done;;\n    \
                 *) echo \"kube $*\" >>{done};;\n  esac\n}}\nkubeadm() {{ echo \"kubeadm $*\" >>{done}; echo kokab2.of-the-run; }}\nrm() {{ :; }}\nsecret=",
                there.join(" "),
                done = folder.text("done"),
            );
            let output = run(shell, &[], &format!("set -eu\n{}", script.replacen("secret=", &spies, 1)));
            assert!(output.status.success() && output.stderr.is_empty(), "{shell:?}: {output:?}");
            (std::fs::read_to_string(folder.path("done")).unwrap(), String::from_utf8(output.stdout).unwrap())
        };
        assert_eq!(done_with(&[]).0, all, "{shell:?}");
        assert_eq!(done_with(&[rule, token]).0, all, "{shell:?}");
        assert_eq!(done_with(&[rule, info]), (token_alone.to_owned(), String::new()), "{shell:?}: a token was printed");
        let before = time::OffsetDateTime::now_utc().unix_timestamp();
        let (patched, said) = done_with(&[rule, info, token]);
        let end =
            patched.strip_prefix("kube -n kube-system patch secret bootstrap-token-kokab2 -p {\"stringData\":{\"expiration\":\"").unwrap();
        let end = time::OffsetDateTime::parse(end.strip_suffix("\"}}\n").unwrap(), &time::format_description::well_known::Rfc3339).unwrap();
        assert!((1800..1860).contains(&(end.unix_timestamp() - before)) && said.is_empty(), "{shell:?}: {patched}");
        // Who gets no answer does not know that nothing is there, and shows nothing to strangers again.
        let silent = script.replacen("secret=", "kube() { return 1; }\nkubeadm() { echo made; }\nrm() { :; }\nsecret=", 1);
        let output = run(shell, &[], &format!("set -eu\n{silent}"));
        assert!(!output.status.success() && output.stdout.is_empty(), "{shell:?}: {output:?}");
    }
}

#[test]
fn tokens_come_and_go() {
    let rules = [("ClusterRoleBinding//kubeadm:node-autoapprove-bootstrap", json!({})), ("ConfigMap/kube-public/cluster-info", json!({}))];
    let token = |needed| {
        Operation::BootstrapToken(BootstrapToken { host: "cp1".into(), id: "kokab2".into(), needed, kubelet_client: false, server: None })
    };
    assert_eq!(diff_text(&token(true), &ready(&rules, &["bootstrap-token-kokab2"])), "same");
    assert_eq!(diff_text(&token(true), &ready(&rules, &["bootstrap-token-kokold"])), "hosts are to join");
    assert_eq!(diff_text(&token(false), &ready(&rules, &[])), "same");
    assert_eq!(diff_text(&token(false), &ready(&rules[..1], &[])), "the cluster has no rules for joining hosts");
    let with_client = BootstrapToken { host: "cp1".into(), id: "kokab2".into(), needed: false, kubelet_client: true, server: None };
    let with_client = Operation::BootstrapToken(with_client);
    assert_eq!(diff_text(&with_client, &ready(&rules, &[])), "the cluster has no rule by which API servers reach kubelets");
    let binding = ("ClusterRoleBinding//kubeadm:apiserver-kubelet-client", json!({}));
    assert_eq!(diff_text(&with_client, &ready(&[&rules[..], &[binding]].concat(), &[])), "same");
    // By the clock of the host whose API server was asked: that is where it is made.
    let left = |seconds: i64| {
        let mut seen = ready(&rules, &["bootstrap-token-kokab2"]);
        seen.clock_nanoseconds = 1_780_000_000_000_000_000;
        let Some(KubernetesState::Ready { bootstrap_tokens, .. }) = &mut seen.kubernetes else { panic!("{seen:?}") };
        bootstrap_tokens[0].ends_seconds = Some(seconds.saturating_add(1_780_000_000));
        diff_text(&token(true), &seen)
    };
    assert_eq!([left(1800), left(600)], ["same", "same"]);
    for seconds in [599, 0, -1, i64::MIN] {
        assert_eq!(left(seconds), "the token ends before hosts that are to join may have joined", "{seconds}");
    }
    let removal = Operation::RemoveTokens(RemoveTokens);
    assert_eq!(diff_text(&removal, &ready(&[], &["bootstrap-token-kokold"])), "a bootstrap token of kokctl is left");
    assert_eq!(diff_text(&removal, &ready(&[], &["bootstrap-token-abcdef"])), "same", "tokens of others stay");
    assert_eq!(diff_text(&removal, &with(KubernetesState::Absent)), "same");
    assert_ne!(diff_text(&removal, &with(KubernetesState::NotReady(String::new()))), "same");
}
