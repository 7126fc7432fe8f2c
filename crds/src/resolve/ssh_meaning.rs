//! What becomes of options of ssh that say nothing of the way to a host.

use crate::Notice;
use crate::words::quote;

const KNOWN_HOSTS: &str = "`kokctl known-hosts scan` prints the keys of all hosts, for ~/.ssh/known_hosts; or convert the inventory and write \
     `hostKeyChecking: accept-new` under `ssh`";

/// Beginnings of options in small letters, why they do nothing, and what to do instead.
const MEANINGS: [(&[&str], &str, Option<&str>); 6] = [
    (
        &["-o stricthostkeychecking", "-o userknownhostsfile", "-o globalknownhostsfile", "-o checkhostip"],
        "kokctl always verifies the keys of hosts, by ~/.ssh/known_hosts",
        Some(KNOWN_HOSTS),
    ),
    (&["-o control", "-m", "-s"], "kokctl connects to each host once and keeps that connection anyway", None),
    (&["-o serveralive", "-o tcpkeepalive", "-o connecttimeout", "-o connectionattempts"], "kokctl notices silent hosts by itself", None),
    (&["-a", "-o forwardagent", "-x", "-y", "-o forwardx11"], "nothing that runs on a host logs in anywhere from there", None),
    (&["-q", "-v", "-o loglevel"], "it steers the messages of the program ssh, which is not called", None),
    (
        &["-o preferredauthentications", "-o pubkeyauthentication", "-o passwordauthentication", "-o identitiesonly", "-o identityagent"],
        "kokctl tries the key of the host, those of the agent, the usual ones and then the password",
        Some("name the key as `ansible_ssh_private_key_file`"),
    ),
];

/// What there is to say of an option in the value of a variable.
pub(super) fn notice(option: &str, name: &str) -> Notice {
    let small = option.to_lowercase();
    let is_it = |start: &&str| if start.len() > 2 { small.starts_with(*start) } else { small == **start };
    let meaning = MEANINGS.iter().find(|(starts, _, _)| starts.iter().any(is_it));
    let (because, hint) = meaning.map_or(
        ("kokctl speaks SSH itself and takes the way to a host, its user, port and key from these options", None),
        |(_, because, hint)| (*because, *hint),
    );
    let notice = Notice::new(format!("{} of `{name}` does nothing here", quote(option))).because(because);
    Notice { hint: hint.map(str::to_owned), ..notice }
}

#[cfg(test)]
mod tests {
    use super::notice;

    #[test]
    fn each_option_has_its_reason() {
        for (option, because, has_hint) in [
            ("-o StrictHostKeyChecking=no", "verifies", true),
            ("-o UserKnownHostsFile=/dev/null", "verifies", true),
            ("-o ControlMaster=auto", "connects to each host once", false),
            ("-C", "speaks SSH itself", false),
            ("-A", "logs in anywhere", false),
        ] {
            let notice = notice(option, "ansible_ssh_args");
            assert!(notice.because.as_deref().is_some_and(|text| text.contains(because)), "{option}: {notice}");
            assert_eq!(notice.hint.is_some(), has_hint, "{option}");
        }
    }
}
