//! When the manifests of static pods, which kubeadm writes, are what they should be.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kok_tasks::change::{Change, ChangeKind, Verdict};
use kok_tasks::digest::sha256;
use kok_tasks::observe::{API_SERVER, Observations, PathState, UnitState};
use kok_tasks::operations::{API_SERVER_MANIFEST, Component, EndApiServer, Operation, PlaneRests, StaticPods};
use kok_tasks::resources::Act;
use kok_tasks::script::{Fragment, Part};

use crate::operations::{diff_text, keep, put};
use crate::support::shell::{Folder, SHELLS, run};

const ETCD: &str = "/etc/kubernetes/manifests/etcd.yaml";
const RECORD: &str = "/var/lib/kokctl/made/etcd";

fn etcd() -> StaticPods {
    StaticPods { component: Component::Etcd, configuration: "/c".into(), of_member: None, source: "s1".into(), source_alone: None }
}

fn script(fragment: &Fragment) -> String {
    let Part::Text(encoded) = &fragment.parts()[1] else { panic!("no text") };
    String::from_utf8(STANDARD.decode(encoded.replace('\n', "")).unwrap()).unwrap()
}

#[test]
fn what_kubeadm_wrote_is_known_by_its_record() {
    let operation = Operation::StaticPods(etcd());
    let seen = |manifest: Option<&str>, record: Option<String>| {
        let mut seen = Observations::default();
        put(&mut seen, ETCD, manifest);
        put(&mut seen, RECORD, None);
        if let Some(record) = record {
            keep(&mut seen, RECORD, &record);
        }
        seen
    };
    let record = |source: &str| Some(format!("{source}  configuration\n{}  {ETCD}\n", sha256(b"m")));
    assert_eq!(diff_text(&operation, &Observations::default()), "unseen");
    assert_eq!(diff_text(&operation, &seen(Some("m"), record("s1"))), "same");
    assert_eq!(diff_text(&operation, &seen(None, record("s1"))), format!("{ETCD} does not exist"));
    assert_eq!(diff_text(&operation, &seen(Some("m"), None)), "it is not known who wrote it");
    assert_eq!(diff_text(&operation, &seen(Some("m"), record("s2"))), "it was made from another configuration");
    assert_eq!(diff_text(&operation, &seen(Some("changed"), record("s1"))), format!("{ETCD} was changed by hand"));
    assert_eq!(diff_text(&operation, &seen(Some("m"), Some("garbage".into()))), "it was made from another configuration");
}

#[test]
fn what_others_may_write_is_written_anew() {
    let operation = Operation::StaticPods(etcd());
    let seen = |mode: u32, user: u32| {
        let mut seen = Observations::default();
        put(&mut seen, ETCD, Some("m"));
        keep(&mut seen, RECORD, &format!("s1  configuration\n{}  {ETCD}\n", sha256(b"m")));
        let Some(PathState::Present(is)) = seen.paths.get_mut(ETCD) else { panic!("{seen:?}") };
        (is.mode, is.user) = (mode, user);
        seen
    };
    for mode in [0o600, 0o644, 0o444] {
        assert_eq!(diff_text(&operation, &seen(mode, 0)), "same", "{mode:o}");
    }
    for (mode, user, told) in [(0o666, 0, "0666 and owner 0"), (0o620, 0, "0620 and owner 0"), (0o600, 65534, "0600 and owner 65534")] {
        assert_eq!(diff_text(&operation, &seen(mode, user)), format!("{ETCD} may be written by others than root: it has mode {told}"));
    }
    let Act::Script(fragment) = operation.act(&Change::new(ChangeKind::Write, "")) else { panic!("no script") };
    let script = script(&fragment);
    assert!(
        script.contains("chown 0:0 -- \"$file\"; chmod go-w -- \"$file\"") && script.contains(&format!("for file in '{ETCD}'; do")),
        "{script}"
    );
}

/// A manifest that is made again must not found anything should the member lose its data.
#[test]
fn only_a_member_without_data_is_made_by_the_configuration_that_founds() {
    let operation = StaticPods { configuration: "/new".into(), of_member: Some("/existing".into()), ..etcd() };
    let Act::Script(fragment) = Operation::StaticPods(operation).act(&Change::new(ChangeKind::Create, "")) else { panic!("no script") };
    let script = script(&fragment);
    let choice = "configuration='/new'\nfounds=yes\nif [ -d /var/lib/etcd/member/wal ]; then configuration='/existing' founds=; fi\n";
    assert!(script.contains(choice) && script.contains("kubeadm init phase etcd local --config=\"$configuration\""), "{script}");
}

#[test]
fn what_somebody_changed_in_a_file_of_kubeadm_is_shown() {
    let operation = Operation::StaticPods(etcd());
    let mut seen = Observations::default();
    keep(&mut seen, ETCD, "a\nedited\n");
    keep(&mut seen, &format!("{RECORD}.files/etcd.yaml"), "a\nb\n");
    keep(&mut seen, RECORD, &format!("s1  configuration\n{}  {ETCD}\n", sha256(b"a\nb\n")));
    let Verdict::Differs(change) = operation.diff(&seen) else { panic!("it differs") };
    let diff = change.diff.unwrap();
    assert!(diff.starts_with(&format!("--- {ETCD} (host)\n+++ {ETCD} (desired)\n")), "{diff}");
    assert!(diff.ends_with(" a\n-edited\n+b\n"), "{diff}");
}

/// The part of the script that asks programs of a control plane whether they take their options, on a host whose programs are scripts.
fn trial(folder: &Folder) -> String {
    let operation = StaticPods { component: Component::ControlPlane, ..etcd() };
    let Act::Script(fragment) = Operation::StaticPods(operation).act(&Change::new(ChangeKind::Write, "")) else { panic!("no script") };
    let script = script(&fragment);
    let (from, to) = (script.find("trial() (").unwrap(), script.find("[ -z \"$old\" ] || kubeadm").unwrap());
    let moved = script[from..to].replace("/usr/local/bin/", &folder.text("")).replace("/etc/kubernetes/manifests/", &folder.text("has-"));
    format!("PATH={}:$PATH\nbefore=x\nconfiguration=/c\n{moved}echo written\n", folder.text(""))
}

/// An API server that does not take an option would be gone, on the only control plane for good.
#[test]
fn a_program_that_does_not_take_its_options_keeps_what_runs() {
    let manifest = |image: &str, options: &[&str]| {
        let lines: String = options.iter().map(|option| format!("    - {option}\n")).collect();
        format!(
            "spec:\n  containers:\n  - command:\n    - kube-apiserver\n{lines}    image: {image}\n    startupProbe:\n      httpGet: {{}}\n"
        )
    };
    let options = ["--secure-port=6443", "'--oidc-username-prefix=oidc:'", "--audit-log-format=a b", "\"--x=\\ty\""];
    // What was asked, and what the program says to that.
    let trials: [(&str, &str, &str, bool); 5] = [
        ("k:2", "echo Kubernetes v1.37.1", "", true),
        (
            "k:2",
            "echo 'Error: unknown flag: --secure-port'; exit 1",
            "kube-apiserver of k:2 does not take the options that it is to get: unknown flag: --secure-port",
            false,
        ),
        (
            "k:2",
            "echo 'E1127 22:07:58.9 20526 run.go:72] \"command failed\" err=\"unrecognized feature gate: Foo\"' >&2; exit 1",
            "kube-apiserver of k:2 does not take the options that it is to get: unrecognized feature gate: Foo",
            false,
        ),
        ("k:2", "echo 'ctr: no room'; exit 1", "", true),
        ("absent:3", "echo 'Error: unknown flag: --a'; exit 1", "", true),
    ];
    for (image, answer, said, goes_on) in trials {
        for shell in SHELLS {
            let folder = Folder::new();
            let new = manifest(image, &options);
            fs::write(folder.path("made"), &new).unwrap();
            fs::write(folder.path("has-kube-apiserver.yaml"), manifest("k:1", &options)).unwrap();
            fs::write(folder.path("has-kube-scheduler.yaml"), &new).unwrap();
            let both = "for name in kube-apiserver kube-scheduler; do cp FOLDER/made \"$KUBEADM_INIT_DRYRUN_DIR/$name.yaml\"; done";
            folder.program("kubeadm", &format!("#!/bin/sh\n{}", both.replace("FOLDER/", &folder.text(""))));
            let asked = format!(
                "#!/bin/sh\ncase \"$3\" in images) echo k:1; echo k:2 ;; *) echo \"$*\" >>{}; {answer} ;; esac\n",
                folder.text("asked")
            );
            folder.program("ctr", &asked);
            let output = run(shell, &[], &trial(&folder));
            let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert_eq!((out.as_ref(), err.trim()), (if goes_on { "written\n" } else { "" }, said), "{shell:?}");
            let asked = fs::read_to_string(folder.path("asked")).unwrap_or_default();
            assert_eq!(
                asked.lines().count(),
                usize::from(image == "k:2"),
                "what stays as it is, and what is not there, is not asked: {asked}"
            );
            let words = "kube-apiserver --secure-port=6443 --oidc-username-prefix=oidc: --version\n";
            assert!(asked.is_empty() || asked.ends_with(words), "{asked}");
        }
    }
}

/// One that still runs has not ended, whatever became of its manifest; and one with a manifest comes back.
#[test]
fn an_api_server_has_ended_when_nothing_of_it_runs() {
    let seen = |manifest: Option<&str>, programs: &[&str]| {
        let mut seen =
            Observations { programs: Some(programs.iter().map(|name| ((*name).to_owned(), 1)).collect()), ..Observations::default() };
        put(&mut seen, API_SERVER_MANIFEST, manifest);
        seen
    };
    let end = Operation::EndApiServer(EndApiServer);
    assert_eq!(diff_text(&end, &Observations::default()), "unseen");
    let others = ["kube-scheduler", "kube-controller-manager"];
    assert_eq!(diff_text(&end, &seen(None, &others)), "same");
    assert_eq!(diff_text(&end, &seen(None, &[API_SERVER])), "it ends what it was asked");
    assert_eq!(diff_text(&end, &seen(Some("m"), &others)), "whoever asks it would wait in vain once its member has left etcd");
    assert!(matches!(end.act(&Change::new(ChangeKind::Remove, "")), Act::Until { give_up: None, .. }));
}

/// etcd goes on until the kubelet is started; what would have its port yet by then has ended.
#[test]
fn a_control_plane_rests_when_its_kubelet_does_and_all_but_etcd_has_ended() {
    let seen = |kubelet: &str, programs: &[&str]| {
        let kubelet = UnitState { active: kubelet.to_owned(), ..UnitState::default() };
        let programs = programs.iter().map(|name| ((*name).to_owned(), 1)).collect();
        Observations { programs: Some(programs), units: [("kubelet.service".to_owned(), kubelet)].into(), ..Observations::default() }
    };
    let rests = Operation::PlaneRests(PlaneRests::default());
    assert_eq!(diff_text(&rests, &Observations::default()), "unseen");
    assert_eq!(diff_text(&rests, &seen("inactive", &["etcd"])), "same");
    for active in ["active", "activating"] {
        assert_eq!(diff_text(&rests, &seen(active, &["etcd"])), "it would start anew what is ended, and each manifest for itself");
    }
    for program in [API_SERVER, "kube-controller-manager", "kube-scheduler"] {
        let because = format!("{program} would have its port yet when the kubelet starts another one");
        assert_eq!(diff_text(&rests, &seen("inactive", &["etcd", program])), because);
    }
}
