//! How Ansible would log in.

use kok_crds::resolve::{Connection, Resolved};

use crate::support::{read, rendered, vars};

fn connection_with(variables: &str) -> Connection {
    let inventory = read(&format!("all: {{hosts: {{node1: {{{variables}}}}}}}"));
    Connection::for_host(&Resolved::new(inventory, Vec::new()), "node1").unwrap_or_else(|problems| panic!("{}", rendered(&problems))).0
}

#[test]
fn every_variable_and_its_old_names() {
    let nothing = connection_with("");
    assert_eq!((nothing.address.as_str(), nothing.port, nothing.user, nothing.jumps.len()), ("node1", None, None, 0));
    assert_eq!(connection_with("ansible_host: x, ansible_ssh_host: 10.0.0.1").address, "10.0.0.1");
    assert_eq!(connection_with("ansible_port: 22, ansible_ssh_port: 2222").port, Some(2222));
    assert_eq!(connection_with("ansible_user: x, ansible_ssh_user: me").user.as_deref(), Some("me"));
    assert_eq!(connection_with("ansible_user: me, ansible_ssh_user: null").user.as_deref(), Some("me"));
    assert_eq!(connection_with("ansible_password: x, ansible_ssh_pass: y, ansible_ssh_password: z").password.unwrap().expose(), b"z");
    assert_eq!(connection_with("ansible_become_password: x, ansible_become_pass: y").become_password.unwrap().expose(), b"y");
    assert_eq!(connection_with("ansible_private_key_file: x, ansible_ssh_private_key_file: y").private_key_file.as_deref(), Some("y"));
    assert_eq!(connection_with("ansible_ssh_host: 10.0.0.1").address, "10.0.0.1");
    assert_eq!(connection_with("ansible_host: '{{ ip }}', ip: 10.0.0.1").address, "10.0.0.1");
    for (text, port) in [("ansible_port: 2222", 2222), ("ansible_ssh_port: '2222'", 2222), ("ansible_ssh_args: -p 23", 23)] {
        assert_eq!(connection_with(text).port, Some(port), "{text}");
    }
    assert_eq!(connection_with("ansible_port: 22, ansible_ssh_args: -p 23").port, Some(22));
    for text in ["ansible_user: me", "ansible_ssh_user: me", "ansible_ssh_common_args: -l me"] {
        assert_eq!(connection_with(text).user.as_deref(), Some("me"), "{text}");
    }
    for name in ["ansible_password", "ansible_ssh_pass", "ansible_ssh_password"] {
        assert_eq!(connection_with(&format!("{name}: 012")).password.unwrap().expose(), b"012", "{name}");
    }
    for name in ["ansible_become_password", "ansible_become_pass", "ansible_sudo_pass"] {
        assert_eq!(connection_with(&format!("{name}: a b")).become_password.unwrap().expose(), b"a b", "{name}");
    }
    for text in ["ansible_ssh_private_key_file: ~/k", "ansible_private_key_file: ~/k", "ansible_ssh_extra_args: -i ~/k"] {
        assert_eq!(connection_with(text).private_key_file.as_deref(), Some("~/k"), "{text}");
    }
    for (text, expected) in [("yes", true), ("'true'", true), ("off", false), ("1", true)] {
        assert_eq!(connection_with(&format!("ansible_become: {text}")).become_other, Some(expected), "{text}");
    }
    assert_eq!(connection_with("ansible_become_user: root").become_user.as_deref(), Some("root"));
    assert_eq!(connection_with("ansible_connection: paramiko, ansible_become_method: sudo").address, "node1");
}

#[test]
fn other_options_of_ssh_are_named() {
    let inventory = read("node1 ansible_ssh_common_args='-o ProxyJump=admin@b -o ServerAliveInterval=30 -C'");
    let (connection, notices) = Connection::for_host(&Resolved::new(inventory, Vec::new()), "node1").unwrap();
    assert_eq!(connection.jumps.iter().map(|jump| jump.address.as_str()).collect::<Vec<_>>(), ["b"]);
    let messages: Vec<_> = notices.iter().map(|notice| notice.message.as_str()).collect();
    let expected = [
        "`-o ServerAliveInterval=30` of `ansible_ssh_common_args` does nothing here",
        "`-C` of `ansible_ssh_common_args` does nothing here",
    ];
    assert_eq!(messages, expected);
}

#[test]
fn nothing_shows_a_password() {
    let connection = connection_with("ansible_password: hunter2, ansible_become_password: hunter2");
    assert!(!format!("{connection:?}").contains("hunter2"));
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let text = "
all:
  hosts:
    node1:
      ansible_host: [10.0.0.1]
      ansible_port: 0
      ansible_user: -oProxyCommand=x
      ansible_password: [secret]
      ansible_become_password: \"secret\\n\"
      ansible_become: maybe
      ansible_become_method: su
      ansible_connection: local
      ansible_become_user: '{{ missing }}'
      ansible_ssh_common_args: -o ProxyCommand='nc %h %p'
      ansible_ssh_extra_args: -J 'a
";
    let resolved = Resolved::new(read(text), vec![vars("group_vars.yml", "ansible_ssh_args: 1")]);
    let problems = Connection::for_host(&resolved, "node1").unwrap_err();
    let text = rendered(&problems);
    assert!(!text.contains("secret"), "a secret is shown");
    insta::with_settings!({snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!("connection", text);
    });
}
