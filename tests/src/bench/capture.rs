//! The probe script as kokctl sends it, taken from a host that it was sent to.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use super::Bench;

/// sshd starts this instead of what is asked for; the script goes by it to where it was to go.
const SETUP: &str = r#"set -e
printf '%s\n' '#!/bin/sh' 'tee /root/captured.$$ | sh -c "$SSH_ORIGINAL_COMMAND"' >/root/capture
chmod 755 /root/capture
printf 'ForceCommand /root/capture\n' >/etc/ssh/sshd_config.d/capture.conf
systemctl restart ssh"#;

/// Runs a converged `apply` of one host and returns the file with what it sent: nonces, frame and all.
pub(super) fn probe_script(bench: &Bench<'_>) -> Result<PathBuf, Box<dyn Error>> {
    let host = bench.first_hosts(1).next().ok_or("no host")?;
    let setup = host.ssh(&["sh", "-c", SETUP])?;
    if !setup.success() {
        return Err(format!("{}: {}", host.name(), setup.stderr).into());
    }
    bench.apply(1, false)?;
    let restored = host.ssh(&["sh", "-c", "rm /etc/ssh/sshd_config.d/capture.conf && systemctl restart ssh"])?;
    let captured = host.ssh(&["sh", "-c", "cat $(grep -l kokctl_script /root/captured.* | head -n 1)"])?.stdout;
    if !restored.success() || !captured.contains("kokctl_script") {
        return Err(format!("no script was captured: {restored:?}").into());
    }
    let path = bench.path("probe.sh");
    fs::write(&path, captured)?;
    Ok(path)
}
