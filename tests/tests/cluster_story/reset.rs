//! Taking the cluster down, and making it once more.

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab};

use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::snapshot::{assert_same, fingerprint};
use crate::cluster_support::{hosts, ok};

/// Swap in every way in which it is configured, on a host that has none: what is switched off has to come back.
pub fn configure_swap(lab: &Lab) {
    ok(
        &lab.host("worker1").unwrap(),
        "printf '[Unit]\\nDescription=test\\n[Swap]\\nWhat=/dev/mapper/none\\n[Install]\\nWantedBy=swap.target\\n' >/etc/systemd/system/dev-mapper-none.swap
         systemctl daemon-reload && systemctl enable --quiet dev-mapper-none.swap
         printf '/dev/mapper/other none swap sw 0 0\\n' >>/etc/fstab
         printf '[zram0]\\nzram-size = ram / 2\\n' >/etc/systemd/zram-generator.conf",
    );
}

pub fn needs_consent(lab: &Lab, kokctl: &Kokctl<'_>) {
    let before = fingerprint(lab);
    let said = kokctl.verb("reset", &[]);
    assert_eq!(said.code, 5, "{said:?}");
    assert_eq!(said.stdout, "");
    assert_eq!(
        said.stderr,
        "error: nobody confirmed the reset\n\
         because: standard input is no terminal\n   \
         hint: add --yes if everything of Kubernetes on these hosts may go\n"
    );
    assert_same(&before, &fingerprint(lab), "a reset that was declined must not change anything");
}

/// Also with a user's pods on it.
pub fn removes_everything(kokctl: &Kokctl<'_>) {
    let said = kokctl.verb("reset", &["--yes"]);
    assert_eq!(said.code, 0, "{}\n{}", said.stdout, said.stderr);
    assert!(said.stdout.starts_with("3 hosts are no longer part of the cluster "), "{said:?}");
    let said = kokctl.verb("reset", &["--yes"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "nothing to do\n"), "{said:?}");
}

/// The workers by a user who has to become root first.
pub fn apply_works_again_with_sudo(lab: &Lab, kokctl: &Kokctl<'_>) {
    let manifest = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    let with_sudo = manifest.replace("roles: [worker]}", "roles: [worker], ssh: {user: ops}}");
    assert_eq!(with_sudo.matches("user: ops").count(), 2, "{with_sudo}");
    kokctl.write_manifest(&with_sudo);
    // What the log says in all detail is searched for secrets later.
    kokctl.log_everything();
    let said = kokctl.converge("apply");
    assert!(said.starts_with(&format!("cluster {} is ready: {} hosts, ", lab.name(), hosts(lab).len())), "{said}");
    kokctl.has_nothing_to_do();
}
