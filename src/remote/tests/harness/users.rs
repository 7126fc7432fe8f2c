//! The users of the test's sshd.
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// Login shells that a host may have.
pub(crate) const SHELLS: [(&str, &str); 6] = [
    ("dash", "/bin/dash"),
    ("bash", "/bin/bash"),
    ("zsh", "/usr/bin/zsh"),
    ("fish", "/usr/bin/fish"),
    ("tcsh", "/usr/bin/tcsh"),
    ("nologin", "/usr/sbin/nologin"),
];

/// Users whom sudo asks for their password, each with a login shell.
pub(crate) const ASKED: [(&str, &str); 5] = [
    ("asked", "/bin/sh"),
    ("askedbash", "/bin/bash"),
    ("askedzsh", "/usr/bin/zsh"),
    ("askedfish", "/usr/bin/fish"),
    ("askedtcsh", "/usr/bin/tcsh"),
];

/// The password of the users that have one.
pub(crate) const PASSWORD: &str = "it's a $ecret \"word\" !x";

pub(super) fn write_users(dir: &Path) {
    let mut passwd = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n".to_owned();
    passwd.push_str("sshd:x:150:65534::/run/sshd:/usr/sbin/nologin\n");
    let mut shadow = "root:*:20000:0:99999:7:::\nnobody:*:20000:0:99999:7:::\n".to_owned();
    let mut sudoers = String::new();
    let others = [("ops", "/bin/sh"), ("plain", "/bin/sh"), ("free", "/bin/sh")];
    let others = others.into_iter().chain(ASKED);
    let hash = Command::new("openssl").args(["passwd", "-6", PASSWORD]).output().unwrap();
    let hash = String::from_utf8(hash.stdout).unwrap();
    let users = SHELLS.into_iter().chain(others);
    for (uid, (name, shell)) in (2000_u32..).zip(users) {
        let home = dir.join("home").join(name);
        fs::create_dir_all(home.join(".config/fish")).unwrap();
        // No newline at the end: the next thing written follows on the same line.
        for file in [".bashrc", ".zshenv", ".cshrc", ".config/fish/config.fish"] {
            fs::write(home.join(file), "echo welcome; echo careful 1>&2; printf tail").unwrap();
        }
        if name.ends_with("tcsh") {
            fs::write(home.join(".cshrc"), "echo welcome; printf tail\n").unwrap();
        }
        let _ = writeln!(passwd, "{name}:x:{uid}:{uid}::{}:{shell}", home.display());
        let hash = if name.starts_with("asked") || name == "free" { hash.trim() } else { "*" };
        let _ = writeln!(shadow, "{name}:{hash}:20000:0:99999:7:::");
        let rule = if name.starts_with("asked") || name == "plain" { "ALL" } else { "NOPASSWD: ALL" };
        let _ = writeln!(sudoers, "{name} ALL=(ALL) {rule}");
        let owned = Command::new("chown").arg("-R").arg(format!("{uid}:{uid}")).arg(&home).status();
        assert!(owned.unwrap().success());
    }
    for (name, text, mode) in [("passwd", passwd, 0o644), ("shadow", shadow, 0o600), ("sudoers", sudoers, 0o440)] {
        fs::write(dir.join(name), text).unwrap();
        fs::set_permissions(dir.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
}
