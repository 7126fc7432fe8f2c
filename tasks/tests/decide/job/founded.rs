//! The record that a cluster was founded once.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kok_tasks::change::{Change, ChangeKind};
use kok_tasks::operations::{FOUNDED, Operation, UploadConfiguration};

use super::{Host, hosts};
use crate::support::shell::script_of;

/// What the job of the upload is fed.
fn upload(control_planes: &[&str]) -> String {
    let control_planes = control_planes.iter().map(|name| (*name).to_owned()).collect();
    let operation = UploadConfiguration { configuration: "/c.yaml".to_owned(), source: "s".to_owned(), control_planes, recorded: false };
    let script = script_of(&Operation::UploadConfiguration(operation).act(&Change::new(ChangeKind::Upload, "")));
    let (_, fed) = script.split_once("base64 -d <<'--END--' |").unwrap();
    let (consumer, fed) = fed.split_once('\n').unwrap();
    assert!(consumer.ends_with(" job upload-config"), "{consumer}");
    let lines: String = fed.lines().take_while(|line| *line != "--END--").collect();
    String::from_utf8(STANDARD.decode(lines).unwrap()).unwrap()
}

fn uploads(host: &Host, attempt: u32, control_planes: &[&str]) -> bool {
    let root = host.folder.root().to_str().unwrap();
    let input = upload(control_planes).replace("/usr/local/bin/kubectl", &format!("{root}/bin/kubectl"));
    let input = input.replace("/etc/kubernetes/manifests/", &format!("{root}/"));
    let begin = format!("kokctl_run=r1 kokctl_step=a/b/c kokctl_attempt={attempt}");
    host.sh(&format!("{begin}\njob upload-config <<'--INPUT--'\n{input}--INPUT--\n")).status.success()
}

/// Half of it would name other control planes, or none, and a host would be taken for what it never was.
#[test]
fn the_record_of_a_founding_is_whole_or_as_it_was() {
    for host in hosts() {
        std::fs::write(host.folder.path("kube-apiserver.yaml"), "    - --secure-port=6443\n").unwrap();
        host.program("kubeadm", "#!/bin/sh\n");
        host.program("kubectl", "#!/bin/sh\n");
        let read = || std::fs::read_to_string(host.folder.path(FOUNDED.trim_start_matches('/'))).ok();
        // A disk that is full: what did not get there is not given the name.
        host.program("sync", "#!/bin/sh\nexit 1\n");
        assert!(!uploads(&host, 1, &["cp1"]));
        assert_eq!(read(), None, "{:?}", host.shell);
        host.program("sync", "#!/bin/sh\nexit 0\n");
        assert!(uploads(&host, 2, &["cp1", "cp2"]));
        let record = read().unwrap();
        let (seconds, names) = record.split_once('\n').unwrap();
        assert!(seconds.parse::<u64>().unwrap() > 1_700_000_000 && names == "cp1,cp2\n", "{:?}: {record:?}", host.shell);
        // The job dies between the two lines.
        let dies = "#!/bin/sh\ntr '\\0' ' ' </proc/$PPID/cmdline | grep -q upload-config.sh && { touch ROOT/died; kill -9 $PPID; }\n\
                    exec /bin/date \"$@\"\n";
        host.program("date", dies);
        assert!(!uploads(&host, 3, &["cp3"]));
        assert!(host.folder.path("died").exists(), "{:?}: nobody has died", host.shell);
        assert_eq!(read(), Some(record), "{:?}", host.shell);
    }
}
