//! Variables of the way to hosts.

use crate::variables::row::{Variable, flag, number, text, value, word};

const PYTHON: &str = "hosts need no Python here";
const ANSIBLE: &str = "it steers Ansible, which kokctl is not";
const SHELL: &str = "kokctl needs nothing but `sh`, and no folder for modules";

pub(super) static ROWS: &[Variable] = &[
    word("ansible_host", "address or DNS name", "the host's name", "Where SSH reaches the host.").field_of("spec.hosts[].ssh.address"),
    word("ansible_ssh_host", "address or DNS name", "the host's name", "An old name of ansible_host.").field_of("spec.hosts[].ssh.address"),
    number("ansible_port", "22", "The port of the SSH server.").field_of("spec.hosts[].ssh.port"),
    number("ansible_ssh_port", "22", "An old name of ansible_port.").field_of("spec.hosts[].ssh.port"),
    text("ansible_user", "that of ssh_config, or root", "The login.").field_of("spec.hosts[].ssh.user"),
    text("ansible_ssh_user", "that of ssh_config, or root", "An old name of ansible_user.").field_of("spec.hosts[].ssh.user"),
    text("ansible_password", "none", "The password of the login.").field_of("spec.hosts[].ssh.password").hidden(),
    text("ansible_ssh_pass", "none", "An old name of ansible_password.").field_of("spec.hosts[].ssh.password").hidden(),
    text("ansible_ssh_password", "none", "An old name of ansible_password.").field_of("spec.hosts[].ssh.password").hidden(),
    word("ansible_ssh_private_key_file", "path", "the agent's keys, then the usual files", "The private key to log in with.")
        .field_of("spec.hosts[].ssh.privateKeyFile"),
    word("ansible_private_key_file", "path", "the agent's keys, then the usual files", "Another name of ansible_ssh_private_key_file.")
        .field_of("spec.hosts[].ssh.privateKeyFile"),
    word(
        "ansible_ssh_common_args",
        "options of ssh",
        "none",
        "Options of ssh, of which ProxyJump and ProxyCommand with -W are understood.",
    )
    .field_of("spec.hosts[].ssh.bastion"),
    word(
        "ansible_ssh_extra_args",
        "options of ssh",
        "none",
        "Further options of ssh, of which ProxyJump and ProxyCommand with -W are understood.",
    )
    .field_of("spec.hosts[].ssh.bastion"),
    word("ansible_ssh_args", "options of ssh", "none", "Options of ssh, of which ProxyJump and ProxyCommand with -W are understood.")
        .field_of("spec.hosts[].ssh.bastion"),
    word("ansible_connection", "ssh", "ssh", "How the host is reached.")
        .follows("kokctl reaches every host over SSH; another way is an error"),
    flag("ansible_become", "true", "Whether what is done needs root.").moot("kokctl becomes root by sudo, unless the login is root"),
    word("ansible_become_method", "sudo", "sudo", "How the login becomes root.")
        .follows("kokctl becomes root by sudo; another way is an error"),
    word("ansible_become_user", "root", "root", "Who the login becomes.").follows("what is done needs root; somebody else is an error"),
    word("ansible_sudo_user", "root", "root", "An old name of ansible_become_user.")
        .follows("what is done needs root; somebody else is an error"),
    text("ansible_become_password", "none", "What sudo asks the login for.").field_of("spec.hosts[].ssh.sudoPassword").hidden(),
    text("ansible_become_pass", "none", "Another name of ansible_become_password.").field_of("spec.hosts[].ssh.sudoPassword").hidden(),
    text("ansible_sudo_pass", "none", "An old name of ansible_become_password.").field_of("spec.hosts[].ssh.sudoPassword").hidden(),
    text("ansible_become_flags", "none", "Options of sudo.").moot("kokctl calls sudo with the options that it needs"),
    text("ansible_become_exe", "sudo", "Which program sudo is.").moot("kokctl finds sudo by the PATH of the host"),
    flag("ansible_ssh_pipelining", "true", "Whether Ansible saves files.").moot(ANSIBLE),
    number("ansible_ssh_retries", "none", "How often Ansible tries to connect.").moot(ANSIBLE),
    text("ansible_ssh_executable", "none", "Which program ssh is.").moot("kokctl speaks SSH itself"),
    flag("ansible_host_key_checking", "true", "Whether Ansible verifies host keys.")
        .moot("kokctl always does; `hostKeyChecking: accept-new` under `ssh` learns new ones"),
    flag("ansible_ssh_host_key_checking", "true", "Whether Ansible verifies host keys.")
        .moot("kokctl always does; `hostKeyChecking: accept-new` under `ssh` learns new ones"),
    text("ansible_python_interpreter", "none", "Which Python Ansible uses on the host.").moot(PYTHON),
    text("ansible_interpreter_python_fallback", "none", "Which Python Ansible tries.").moot(PYTHON),
    text("ansible_shell_type", "sh", "Which shell the host has.").moot(SHELL),
    text("ansible_shell_executable", "sh", "Which shell the host has.").moot(SHELL),
    text("ansible_remote_tmp", "none", "Where Ansible puts its modules.").moot(SHELL),
    text("ansible_group_priority", "1", "Which of two groups wins.")
        .moot("it orders groups of the inventory, and has been taken account of there"),
    text("ssh_bastion_config_name", "none", "Where Kubespray writes the way by the bastion.").moot(ANSIBLE),
    number("ansible_timeout", "30", "How long Ansible waits for a connection.").moot(ANSIBLE),
    text("ansible_facts_*", "none", "What Ansible finds out.").moot(ANSIBLE),
    text("fact_caching*", "none", "Where Ansible keeps what it found out.")
        .moot("kokctl looks at the hosts in each run, and keeps nothing"),
    flag("unsafe_show_logs", "false", "Shows what Ansible hides in logs.").moot("kokctl never shows secrets, and always what failed"),
    value("any_errors_fatal", "boolean", "false", "Whether one host's failure ends the run.")
        .moot("that is `--max-fail` of `kokctl apply`"),
    number("retry_stagger", "5", "Seconds that Ansible spreads its attempts over.").moot("kokctl bounds what happens at once instead"),
    number("forks", "all hosts", "How many hosts are at work at once.").moot("kokctl works on all hosts at once, within bounds of its own"),
];
