//! The names that a variable of a login goes by.
//!
//! Of several that are set, the first of these lists counts. In the lists of Ansible's plugins it is the last.

pub(crate) const ADDRESS: [&str; 2] = ["ansible_ssh_host", "ansible_host"];
pub(crate) const PORT: [&str; 2] = ["ansible_ssh_port", "ansible_port"];
pub(crate) const USER: [&str; 2] = ["ansible_ssh_user", "ansible_user"];
pub(crate) const PASSWORD: [&str; 3] = ["ansible_ssh_password", "ansible_ssh_pass", "ansible_password"];
pub(crate) const PRIVATE_KEY: [&str; 2] = ["ansible_ssh_private_key_file", "ansible_private_key_file"];
pub(crate) const SUDO_USER: [&str; 2] = ["ansible_sudo_user", "ansible_become_user"];
pub(crate) const SUDO_PASSWORD: [&str; 3] = ["ansible_sudo_pass", "ansible_become_pass", "ansible_become_password"];

/// The names that count more than this one where they are set.
pub(crate) fn before(name: &str) -> &'static [&'static str] {
    let lists: [&'static [&'static str]; 7] = [&ADDRESS, &PORT, &USER, &PASSWORD, &PRIVATE_KEY, &SUDO_USER, &SUDO_PASSWORD];
    let place = |list: &&'static [&'static str]| list.iter().position(|other| *other == name).and_then(|place| list.get(..place));
    lists.iter().find_map(place).unwrap_or_default()
}
