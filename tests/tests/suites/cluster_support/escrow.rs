//! Keys that are kept on the user's side: no crash makes a run invent a second authority, and `reset` leaves them.

use std::fs;
use std::io::BufReader;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Stdio;

use kok_tests::lab::Lab;

use super::kokctl::{Kokctl, wait_for_event};
use super::{hosts, ok};

const FIELD: &str = "    escrow: cluster.escrow\n";
const SUPER_ADMIN: &str = "    superAdminKubeconfig: true\n";

/// What only the hosts and the escrow have.
const KEYS: [&str; 4] = ["ca.key", "etcd/ca.key", "front-proxy-ca.key", "sa.key"];

fn path(kokctl: &Kokctl<'_>) -> PathBuf {
    kokctl.folder().join("cluster.escrow")
}

/// Asks for one, and for the kubeconfig of the super admin or not.
pub fn write_field(kokctl: &Kokctl<'_>, super_admin: bool) {
    let mut manifest = fs::read_to_string(kokctl.manifest()).unwrap().replace(SUPER_ADMIN, "");
    if !manifest.contains("\n  certificates:\n") {
        manifest = manifest.replacen("\nspec:\n", "\nspec:\n  certificates:\n", 1);
    }
    if !manifest.contains(FIELD) {
        manifest = manifest.replacen("  certificates:\n", &format!("  certificates:\n{FIELD}"), 1);
    }
    let asked = if super_admin { SUPER_ADMIN } else { "" };
    kokctl.write_manifest(&manifest.replacen(FIELD, &format!("{FIELD}{asked}"), 1));
}

/// A run that ends when its keys are made and no host has them: what it has made is there, and the next run has to take it.
pub fn outlives_a_crash(kokctl: &Kokctl<'_>) {
    let first = killed(kokctl);
    assert_eq!(fs::metadata(path(kokctl)).unwrap().permissions().mode() & 0o7777, 0o600);
    assert!(killed(kokctl) == first, "the second run has made other keys");
}

fn killed(kokctl: &Kokctl<'_>) -> String {
    let (manifest, bundle) = (kokctl.manifest(), kokctl.bundle());
    let arguments = ["apply", "--json", "-f", manifest.to_str().unwrap(), "--bundle", bundle.to_str().unwrap()];
    let mut apply = kokctl.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut events = BufReader::new(apply.stdout.take().unwrap());
    let mut said = String::new();
    wait_for_event(&mut events, "secrets-ready", &mut said);
    apply.kill().unwrap();
    assert_eq!(apply.wait().unwrap().code(), None, "apply had ended: {said}");
    kokctl.note(&said);
    fs::read_to_string(path(kokctl)).unwrap()
}

/// Hosts and file have the same keys. A file that was lost is written again, by a run that has nothing else to do.
pub fn is_of_the_cluster(lab: &Lab, kokctl: &Kokctl<'_>) {
    let kept = fs::read_to_string(path(kokctl)).unwrap();
    for key in KEYS {
        let lines = hosts(lab).into_iter().map(|host| ok(&host, &format!("cat /etc/kubernetes/pki/{key} 2>/dev/null || :")));
        let found: Vec<String> = lines.filter(|text| !text.is_empty()).collect();
        let is_kept = |text: &String| kept.contains(&text.replace('\n', "\\n"));
        assert!(!found.is_empty() && found.iter().all(is_kept), "{key} of the hosts is not the one that is kept");
    }
    fs::remove_file(path(kokctl)).unwrap();
    let said = kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap()]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "nothing to do\n"), "{said:?}");
    assert!(said.stderr.contains("cluster.escrow keeps the keys of "), "{said:?}");
    assert!(fs::read_to_string(path(kokctl)).unwrap() == kept, "another text was made of the same keys");
}

/// Whoever takes a cluster down may want its keys.
pub fn stays_after_reset(kokctl: &Kokctl<'_>) {
    let said = kokctl.verb("reset", &["--yes"]);
    assert!(said.code == 0 && said.stderr.contains("cluster.escrow stays"), "{said:?}");
    fs::remove_file(path(kokctl)).unwrap();
    is_not_made_unasked(kokctl);
}

/// What nobody asks for is neither kept nor half kept.
pub fn is_not_made_unasked(kokctl: &Kokctl<'_>) {
    let names = fs::read_dir(kokctl.folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.contains("escrow")).collect::<Vec<_>>(), [""; 0]);
}
