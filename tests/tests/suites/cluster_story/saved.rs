//! A plan that is saved, looked at, and carried out as it was: `plan --save`, `apply --plan`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use kok_tests::lab::Lab;

use crate::cluster_support::kokctl::{Kokctl, KokctlOutput};
use crate::cluster_support::ok;
use crate::cluster_support::snapshot::{assert_same, fingerprint};

/// Files that nothing is started anew for.
const MODULES: &str = "/etc/modules-load.d/kokctl.conf";
const SYSCTLS: &str = "/etc/sysctl.d/99-zz-kokctl.conf";

/// Saves the plan of now.
pub fn plan(kokctl: &Kokctl<'_>, name: &str) -> PathBuf {
    let file = kokctl.folder().join(name);
    let said = kokctl.verb("plan", &["--bundle", kokctl.bundle().to_str().unwrap(), "--save", file.to_str().unwrap()]);
    assert!(said.code == 0 && said.stderr.contains("saved in "), "{said:?}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    file
}

fn apply(kokctl: &Kokctl<'_>, file: &Path) -> KokctlOutput {
    kokctl.verb("apply", &["--bundle", kokctl.bundle().to_str().unwrap(), "--plan", file.to_str().unwrap()])
}

/// It is carried out as long as the plan that is made anew is the same, and otherwise nothing is.
pub fn is_carried_out_or_refused(lab: &Lab, kokctl: &Kokctl<'_>) {
    let (worker, plane) = (lab.host("worker1").unwrap(), lab.host("cp1").unwrap());
    ok(&worker, &format!("echo '# edited' >>{MODULES}"));
    let saved = plan(kokctl, "worker1.plan");
    let desired = ok(&plane, &format!("cat {SYSCTLS}"));
    ok(&plane, &format!("echo '# edited too' >>{SYSCTLS}"));
    let edited = fingerprint(lab);
    let said = apply(kokctl, &saved);
    assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{said:?}");
    assert!(said.stderr.contains("the plan is not the saved one any more, and nothing was changed"), "{said:?}");
    assert!(said.stderr.contains("cp1/") && !said.stderr.contains("worker1/"), "only what differs is named: {said:?}");
    assert_same(&edited, &fingerprint(lab), "what was not looked at is not carried out");
    ok(&plane, &format!("sed -i '$d' {SYSCTLS}"));
    assert_eq!(ok(&plane, &format!("cat {SYSCTLS}")), desired);
    let said = apply(kokctl, &saved);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(!ok(&worker, &format!("cat {MODULES}")).contains("edited"));
    let said = apply(kokctl, &saved);
    assert_eq!((said.code, said.stdout.as_str()), (0, "nothing to do\n"), "it has been carried out: {said:?}");
}
