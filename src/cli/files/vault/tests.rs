//! What ansible-vault of ansible-core 2.19.14 encrypted, in `tests/berlin`, with the passwords beside it, is opened and shown nowhere.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use kok_crds::{Envelope, File, Input, Role, Secret, Vault, VaultPassword, read_input};

use super::super::{ClusterFiles, ExtraVars};
use super::VaultArguments;
use crate::cli::exposed;
use crate::failure::Failure;
use crate::inputs::Passwords;

/// What must stand nowhere.
const SECRETS: [&str; 5] = ["Sesame/Open", "proxyword", "no template", "hidden.example.org", "1.37.1"];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli/files/vault/tests").join(name)
}

fn files() -> ClusterFiles {
    ClusterFiles { files: vec![fixture("berlin")], ..Default::default() }
}

fn extra(files: &[PathBuf], ids: &[&str]) -> ExtraVars {
    let vault = VaultArguments { password_files: files.to_vec(), ids: ids.iter().map(|id| (*id).to_owned()).collect() };
    ExtraVars { vault, ..ExtraVars::default() }
}

/// Both passwords, by a label and without one.
fn both() -> ExtraVars {
    extra(&[fixture("default.password")], &[&format!("prod@{}", fixture("prod.password").display())])
}

fn debug_text(input: &Input) -> String {
    format!("{:?}{:?}{:?}{}", input.variables, input.notices, input.problems, input.inline_file().unwrap_or_default())
}

fn debug_failures(failures: &[Failure]) -> String {
    format!("{failures:?}")
}

#[test]
fn theirs_counts_and_is_shown_nowhere() {
    let input = files().input(&both()).unwrap();
    assert_eq!(input.problems, []);
    let cluster = input.cluster.as_ref().unwrap();
    let host = cluster.host("w1").unwrap();
    let text = |secret: &Option<Secret>| String::from_utf8(secret.as_ref().unwrap().expose().to_vec()).unwrap();
    assert_eq!(text(&host.ssh.password), "pröd {{ no template }}");
    assert_eq!(text(&host.ssh.sudo_password), "Sesame/Open");
    assert_eq!(cluster.kubernetes_version.to_string(), "1.37.1");
    let said = debug_text(&input);
    SECRETS.iter().for_each(|secret| assert!(!said.contains(secret), "{secret}: {said}"));
    // What convert says of them instead.
    for field in ["password", "sudoPassword", "http_proxy", "kubernetesVersion"] {
        assert!(said.contains(&format!("# {field}: left out, for it is a secret; it stands at ")), "{field}: {said}");
    }
    let hidden = cluster.concealed.hide("http://proxyword.example.org:3128 internal.hidden.example.org 1.37.1 Sesame/Open");
    assert_eq!(hidden, "http://(hidden).example.org:3128 internal.(hidden) 1.37.1 (hidden)");
}

/// A file in which passwords are encrypted may be read by others.
#[test]
fn encrypted_passwords_are_not_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["hosts.yaml", "group_vars/all/plain.yml", "group_vars/all/vault.yml", "host_vars/w1.yml"] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(fixture("berlin").join(name), &path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    }
    let files = ClusterFiles { files: vec![folder.path().to_owned()], ..Default::default() };
    assert_eq!(exposed::passwords(&files.read(&both()).unwrap()), []);
    fs::write(folder.path().join("host_vars/cp1.yml"), "ansible_password: x\n").unwrap();
    assert_eq!(exposed::passwords(&files.read(&both()).unwrap()).len(), 1);
}

#[test]
fn a_missing_or_wrong_password_is_told_with_file_line_and_label() {
    let input = files().input(&ExtraVars::default()).unwrap();
    assert!(input.is_locked() && input.cluster.is_none());
    let problems: Vec<String> = input.problems.iter().map(ToString::to_string).collect();
    let one = |file: &str, text: &str| {
        assert!(problems.iter().any(|said| said.contains(file) && said.contains(text)), "{file} {text}: {problems:#?}")
    };
    one("group_vars/all/plain.yml:6:3", "its label is `prod`");
    one("group_vars/all/vault.yml:1:1", "the file is encrypted");
    one("host_vars/w1.yml:1:1", "`ansible_password`");
    let input = files().input(&extra(&[fixture("prod.password")], &[])).unwrap();
    let said = debug_text(&input);
    assert!(!input.is_locked() && said.contains("the password that is given does not open it") && !said.contains("`prod`"), "{said}");
}

#[test]
fn sources_that_are_none_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str, mode: u32| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    for (path, expected) in [
        (folder.path().join("missing"), "No such file"),
        (folder.path().to_owned(), "it is a folder"),
        (write("empty", "\n", 0o600), "is empty"),
        (write("vault", "$ANSIBLE_VAULT;1.1;AES256\n61", 0o600), "it is encrypted itself"),
        (write("fails", "#!/bin/sh\nexit 3\n", 0o700), "exit status: 3"),
        (write("no-program", "password", 0o700), "run it yourself"),
        (write("long", "#!/bin/sh\nhead -c 100000 /dev/zero\n", 0o700), "more than 65536 bytes"),
    ] {
        let Err(failures) = files().input(&extra(&[fixture("prod.password"), path.clone()], &[])) else { panic!("{expected}") };
        let text = debug_failures(&failures);
        assert!(text.contains(expected) && text.contains(path.to_str().unwrap()), "{expected}: {text}");
    }
    let Err(failures) = files().input(&extra(&[], &["prod@prompt"])) else { panic!("nobody was there to ask") };
    assert!(debug_failures(&failures).contains("there is no terminal to ask at"), "{failures:?}");
}

/// A program prints a password; one that is a client is told the label.
#[test]
fn programs_print_passwords() {
    let folder = tempfile::tempdir().unwrap();
    let program = |name: &str, script: &str| {
        let path = folder.path().join(name);
        // By a process of its own: one that another test starts meanwhile can't hold it open, so that it could not be run.
        let text = format!("#!/bin/sh\n{script}\n");
        let writes = ["-c", "printf %s \"$2\" >\"$1\" && chmod 700 \"$1\"", "sh", path.to_str().unwrap(), &text];
        assert!(Command::new("sh").args(writes).status().unwrap().success());
        path
    };
    let plain = program("password.sh", "[ $# -eq 0 ] && echo 'correct horse'");
    let client = program("pass-client.sh", "[ \"$*\" = '--vault-id prod' ] && printf 'battery staple\\r\\n'");
    let input = files().input(&extra(&[plain], &[&format!("prod@{}", client.display())])).unwrap();
    assert_eq!((input.problems.as_slice(), input.cluster.is_some()), (&[][..], true));
}

/// Nobody is asked for a password that nothing needs, and no program is run for it.
#[test]
fn without_anything_encrypted_no_password_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let hosts = fs::read_to_string(fixture("berlin/hosts.yaml")).unwrap();
    fs::write(folder.path().join("hosts.yaml"), hosts + "  vars: {kube_network_plugin: flannel}\n").unwrap();
    let files = ClusterFiles { files: vec![folder.path().to_owned()], ..Default::default() };
    assert!(files.input(&extra(&[folder.path().join("missing")], &[])).unwrap().cluster.is_some());
}

/// A hundred values, each with a salt of its own, as twenty files have them.
#[test]
fn a_hundred_values_are_opened_together() {
    let text = fs::read_to_string(fixture("berlin/group_vars/all/vault.yml")).unwrap();
    let one = fixture_envelope(&text);
    let envelopes = vec![one; 100];
    let password = |text: &str| VaultPassword { label: None, password: Secret::new(text) };
    let passwords = Passwords::new(vec![password("correct horse")]);
    let opened = Vault::open(&passwords, &envelopes);
    assert!(opened.len() == 100 && opened.iter().all(Result::is_ok));
    let closed = Vault::open(&Passwords::new(vec![password("wrong"), password("also")]), &envelopes[..3]);
    assert!(closed.iter().all(|result| matches!(result, Err(kok_crds::Closed::WrongPassword(2)))));
}

/// What the reader of files takes a text for.
fn fixture_envelope(text: &str) -> Envelope {
    struct Taking(std::cell::RefCell<Vec<Envelope>>);
    impl Vault for Taking {
        fn open(&self, envelopes: &[Envelope]) -> Vec<Result<Secret, kok_crds::Closed>> {
            self.0.borrow_mut().extend_from_slice(envelopes);
            vec![Err(kok_crds::Closed::NoPassword); envelopes.len()]
        }
    }
    let file = File { name: "hosts.yaml".to_owned(), text: text.to_owned(), role: Role::Main { cluster: None } };
    let taking = Taking(Default::default());
    assert!(kok_crds::read_input_with(std::slice::from_ref(&file), &taking).is_locked() && read_input(&[file]).is_locked());
    taking.0.into_inner().remove(0)
}
