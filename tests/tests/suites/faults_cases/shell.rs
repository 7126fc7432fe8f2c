//! Logins that talk, and login shells of all kinds.

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Lab};

use super::TASKS;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::ok;

/// What is planned when nothing is odd.
pub fn plain_plan(kokctl: &Kokctl<'_>) -> String {
    let plan = kokctl.converge_with("plan", &["--only", TASKS]);
    assert!(plan.contains("worker1:"), "{plan}");
    plan
}

/// What is odd about a host or its login is not seen in the plan.
pub fn assert_plans(kokctl: &Kokctl<'_>, plan: &str) {
    assert_eq!(kokctl.converge_with("plan", &["--only", TASKS]), plan);
}

/// The manifest with such a login for worker1.
pub fn manifest_for(manifest: &str, login: &str) -> String {
    let changed = manifest.replace("10.20.0.12, roles: [worker]}", &format!("10.20.0.12, roles: [worker], ssh: {{{login}}}}}"));
    assert_ne!(changed, manifest);
    changed
}

/// A banner before the login, a message of the day, sudo's lecture, and files of shells that print to both streams.
pub fn noise(lab: &Lab, kokctl: &Kokctl<'_>, plan: &str) {
    let host = lab.host("worker1").unwrap();
    ok(
        &host,
        "echo 'Authorised use only' | tee /etc/issue.net >/etc/motd
         printf 'Banner /etc/issue.net\\nPrintMotd yes\\n' >/etc/ssh/sshd_config.d/noise.conf
         printf 'echo from sshrc; echo from sshrc >&2\\n' >/etc/ssh/sshrc
         printf 'Defaults lecture=always\\n' >/etc/sudoers.d/lecture
         for home in /root /home/ops; do
             for file in .bashrc .profile .bash_profile; do
                 printf 'echo \"from %s\"; echo \"from %s\" >&2\\n' $file $file >$home/$file
             done
         done
         systemctl restart ssh",
    );
    let manifest = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    for user in ["root", "ops"] {
        kokctl.write_manifest(&manifest_for(&manifest, &format!("user: {user}")));
        assert_plans(kokctl, plan);
    }
    let quiet = "rm /etc/ssh/sshrc /etc/ssh/sshd_config.d/noise.conf /etc/sudoers.d/lecture /home/ops/.profile /home/ops/.bash*; systemctl restart ssh";
    host.ssh(&["sh", "-c", quiet]).unwrap();
}

/// Shells that do not read what sh reads.
pub fn login_shells(lab: &Lab, kokctl: &Kokctl<'_>, plan: &str) {
    let host = lab.host("worker1").unwrap();
    let manifest = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    kokctl.write_manifest(&manifest_for(&manifest, "user: ops"));
    for shell in ["/bin/dash", "/bin/tcsh", "/usr/bin/fish"] {
        ok(&host, &format!("usermod --shell {shell} ops"));
        assert_plans(kokctl, plan);
    }
    ok(&host, "usermod --shell /bin/bash ops");
}
