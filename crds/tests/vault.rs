//! What ansible-vault has encrypted is opened, counts, and is shown nowhere.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod sealing;

use std::fmt::Write as _;

use kok_crds::{File, Input, Role, Vault, read_input, read_input_with};
use sealing::{keys, sealed};

const HOSTS: &str = "all:
  hosts: {cp1: {ip: 10.0.0.11, ansible_user: ops}, w1: {ip: 10.0.0.12, ansible_user: ops}}
  children: {kube_control_plane: {hosts: {cp1: }}, kube_node: {hosts: {w1: }}}
";

fn file(name: &str, text: &str) -> File {
    let role = match name {
        name if name.starts_with("@") => Role::ExtraFile,
        "-e" => Role::Extra,
        name if name.contains('/') => Role::Beside,
        _ => Role::Main { cluster: Some("berlin".to_owned()) },
    };
    File { name: name.to_owned(), text: text.to_owned(), role }
}

/// The inventory with a file of variables for all.
fn with(vars: &str) -> Vec<File> {
    vec![file("hosts.yaml", HOSTS), file("group_vars/all/a.yml", &format!("kube_version: 1.37.1\nkube_network_plugin: flannel\n{vars}"))]
}

/// Everything that is said of an input, by whomever.
fn all_text(input: &Input) -> String {
    let mut text = format!("{:?}\n{:?}\n{:?}\n{:?}\n", input.variables, input.notices, input.problems, input.operations);
    input.problems.iter().for_each(|problem| writeln!(text, "{problem}").unwrap());
    text + &input.inline_file().unwrap_or_default()
}

fn read(files: &[File], vault: &dyn Vault) -> Input {
    let input = read_input_with(files, vault);
    assert_eq!(input.problems, [], "{:?}", input.problems);
    input
}

fn password(input: &Input, host: &str) -> Option<String> {
    let cluster = input.cluster.as_ref().unwrap();
    let secret = cluster.host(host).unwrap().ssh.password.as_ref()?;
    Some(String::from_utf8(secret.expose().to_vec()).unwrap())
}

/// One line for each way in which people write one.
fn forms() -> Vec<(&'static str, Vec<File>)> {
    let block = format!("!vault |\n    {}\n", sealed("", "key", "Sesame{{ 1 }}", 4));
    let quoted = sealed("", "key", "Sesame{{ 1 }}", 0).replace('\n', "\\n");
    let beside = |text: &str| vec![file("hosts.yaml", HOSTS), file("group_vars/all/x.yml", text), with("").remove(1)];
    let whole = sealed("", "key", "ansible_password: !unsafe 'Sesame{{ 1 }}'\n", 0);
    let ini = "[kube_control_plane]\ncp1 ip=10.0.0.11 ansible_user=ops\n[kube_node]\nw1 ip=10.0.0.12 ansible_user=ops\n[all:vars]\n";
    vec![
        ("a value", with(&format!("ansible_password: {block}"))),
        ("of a variable", with(&format!("phrase: {block}ansible_password: '{{{{ phrase }}}}'\n"))),
        ("in a map", with(&format!("login:\n  phrase: {}ansible_password: '{{{{ login.phrase }}}}'\n", block.replace("    ", "      ")))),
        ("in a list", with(&format!("all_of_it:\n- {}ansible_password: '{{{{ all_of_it[0] }}}}'\n", block))),
        ("by another host", with(&format!("phrase: {block}ansible_password: \"{{{{ hostvars['cp1'].phrase }}}}\"\n"))),
        ("in quotes", with(&format!("ansible_password: \"{quoted}\"\n"))),
        ("in JSON", with(&format!("ansible_password: {{\"__ansible_vault\": \"{quoted}\"}}\n"))),
        ("a file", beside(&whole)),
        ("a file with line ends of others", beside(&format!("{}\r\n", whole.replace('\n', "\r\n")))),
        ("a value in a file", beside(&sealed("", "other", &format!("ansible_password: {block}"), 0))),
        ("-e @FILE", [with(""), vec![file("@x.yml", &whole)]].concat()),
        ("-e", [with(""), vec![file("-e", &format!("{{\"ansible_password\": {{\"__ansible_vault\": \"{quoted}\"}}}}"))]].concat()),
        (
            "an inventory",
            [
                vec![file(
                    "hosts.yaml",
                    &sealed("", "key", &format!("{HOSTS}  vars: {{ansible_password: !unsafe 'Sesame{{{{ 1 }}}}'}}\n"), 0),
                )],
                vec![with("").remove(1)],
            ]
            .concat(),
        ),
        (
            "an inventory in INI",
            [vec![file("inventory.ini", &format!("{ini}ansible_password=\"{quoted}\"\n"))], vec![with("").remove(1)]].concat(),
        ),
    ]
}

#[test]
fn every_form_is_opened_and_shown_nowhere() {
    for (form, files) in forms() {
        let input = read(&files, &keys(&[("", "wrong"), ("", "key"), ("", "other")]));
        assert_eq!(password(&input, "w1").as_deref(), Some("Sesame{{ 1 }}"), "{form}");
        let said = all_text(&input);
        assert!(!said.contains("Sesame") && said.contains("(hidden)"), "{form}: {said}");
        assert!(said.contains("ansible_password"), "{form}: {said}");
        let concealed = &input.cluster.as_ref().unwrap().concealed;
        assert_eq!(concealed.hide("it is Sesame{{ 1 }}!"), "it is (hidden)!", "{form}");
    }
}

/// Logins are known by many names.
#[test]
fn logins_take_it_by_any_of_their_names() {
    let block = |text: &str| format!("!vault |\n    {}\n", sealed("", "key", text, 4));
    let vars =
        format!("ansible_ssh_pass: {}vault_sudo: {}ansible_become_pass: '{{{{ vault_sudo }}}}'\n", block("Sesame"), block("Marmalade"));
    let input = read(&with(&vars), &keys(&[("", "key")]));
    let ssh = &input.cluster.as_ref().unwrap().host("cp1").unwrap().ssh;
    assert_eq!(ssh.password.as_ref().unwrap().expose(), b"Sesame");
    assert_eq!(ssh.sudo_password.as_ref().unwrap().expose(), b"Marmalade");
    let said = all_text(&input);
    assert!(!said.contains("Sesame") && !said.contains("Marmalade"), "{said}");
}

/// Where the password is missing or wrong, only what needs it is lost, and all of it is told at once.
#[test]
fn what_stays_closed_says_where_and_what_to_do() {
    for (form, files) in forms() {
        let input = read_input(&files);
        assert!(input.is_locked() && input.cluster.is_none(), "{form}");
        let problems: Vec<String> = input.problems.iter().map(ToString::to_string).collect();
        let is_told = |text: &str| problems.iter().any(|problem| problem.contains(text));
        assert!(
            is_told("is encrypted") && is_told("no password of a vault is given") && is_told("--vault-password-file FILE"),
            "{form}: {problems:#?}"
        );
        assert!(input.problems.iter().all(|problem| problem.is_locked() && problem.position.is_some()), "{form}: {problems:#?}");
        let wrong = read_input_with(&files, &keys(&[("", "wrong")]));
        assert!(!wrong.is_locked() && wrong.cluster.is_none(), "{form}");
        let text = format!("{:?}", wrong.problems);
        assert!(text.contains("with another password") && text.contains("the password that is given does not open it"), "{form}: {text}");
    }
}

#[test]
fn the_label_is_named() {
    let files = with(&format!("ansible_password: !vault |\n    {}\nkube_proxy_mode: nonsense\n", sealed("prod", "key", "Sesame", 4)));
    let problems: Vec<String> = read_input(&files).problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems.len(), 2, "{problems:#?}");
    assert!(problems[0].contains("group_vars/all/a.yml:3:1") && problems[0].contains("its label is `prod`"), "{}", problems[0]);
    assert!(problems[0].contains("`--vault-id prod@FILE`"), "{}", problems[0]);
    assert!(problems[1].contains("nonsense"), "{}", problems[1]);
    let wrong = read_input_with(&files, &keys(&[("dev", "a"), ("prod", "b")]));
    let text = wrong.problems[0].to_string();
    assert!(text.contains("none of the 2 passwords that are given opens it, and its label is `prod`"), "{text}");
}

#[test]
fn what_is_no_vault_says_what_it_is_not() {
    for (text, expected) in [
        ("!vault x", "does not begin"),
        ("!vault 12", "does not begin"),
        ("!vault", "does not begin"),
        ("!vault |\n  $ANSIBLE_VAULT;1.0;AES\n  00", "neither 1.1 nor 1.2"),
        ("!vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  6", "hexadecimal"),
        ("!vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  6162", "missing"),
        ("\"$ANSIBLE_VAULT;1.1;AES256\"", "missing"),
    ] {
        let input = read_input_with(&with(&format!("ansible_password: {text}\n")), &keys(&[("", "key")]));
        let problems = format!("{:?}", input.problems);
        assert!(
            input.problems.len() == 1 && problems.contains(expected) && problems.contains("the value of `ansible_password`"),
            "{text}: {problems}"
        );
    }
    let bytes = String::from_utf8(vec![0x24]).unwrap() + &sealed("", "key", "x", 4)[1..];
    let not_text = bytes.replace(&"78".chars().map(|c| format!("{:02x}", c as u32)).collect::<String>(), "6666");
    let input = read_input_with(&with(&format!("ansible_password: !vault |\n    {not_text}\n")), &keys(&[("", "key")]));
    assert!(format!("{:?}", input.problems).contains("not in UTF-8"), "{:?}", input.problems);
}

/// Ansible decrypts what it is asked for, so that a password is needed for nothing else.
#[test]
fn what_does_not_count_needs_no_password() {
    let vault = sealed("", "key", "Sesame", 4);
    let files = with(&format!("our_own: !vault |\n    {vault}\nansible_python_interpreter: !vault |\n    {vault}\n"));
    let input = read_input(&files);
    assert_eq!((input.problems.as_slice(), input.is_locked()), (&[][..], false));
}

/// What is wrong with a value that was encrypted is said without it.
#[test]
fn problems_do_not_repeat_it() {
    for vars in [
        format!("kube_proxy_mode: !vault |\n    {}\n", sealed("", "key", "Marmalade", 4)),
        format!("x: !vault |\n    {}\nkube_proxy_mode: '{{{{ x }}}}'\n", sealed("", "key", "Marmalade", 4)),
        format!("x: !vault |\n    {}\nkube_proxy_mode: '{{{{ x | nonsense }}}}'\n", sealed("", "key", "Marmalade", 4)),
        format!("kubelet_max_pods: !vault |\n    {}\n", sealed("", "key", "Marmalade", 4)),
        format!("kube_oidc_auth: true\nkube_oidc_url: !vault |\n    {}\n", sealed("", "key", "Marmalade", 4)),
    ] {
        let input = read_input_with(&with(&vars), &keys(&[("", "key")]));
        let said = all_text(&input);
        assert!(!input.problems.is_empty() && !said.contains("armalade"), "{vars}: {said}");
    }
    let whole = sealed("", "key", "kube_proxy_mode: Marmalade\nkube_service_addresses: 'Marmal{{ x | ade }}'\n", 0);
    let input = read_input_with(&[with(""), vec![file("@x.yml", &whole)]].concat(), &keys(&[("", "key")]));
    let said = all_text(&input);
    assert!(input.problems.len() >= 2 && !said.contains("armal"), "{said}");
    assert!(said.contains("@x.yml:1:18"), "{said}");
}

/// In a file with secrets stand things that are none: they are hidden where they stand, and are no word to be struck out everywhere else.
#[test]
fn what_is_harmless_in_an_encrypted_file_is_hidden_only_there() {
    let text = "kube_proxy_mode: nftables\nphrase: Sesame\nansible_password: '{{ phrase }}'\n";
    let input = read(&[with(""), vec![file("@x.yml", &sealed("", "key", text, 0))]].concat(), &keys(&[("", "key")]));
    let cluster = input.cluster.as_ref().unwrap();
    assert_eq!(cluster.settings.kube_proxy_mode.as_str(), "nftables");
    let concealed = &cluster.concealed;
    assert_eq!(concealed.hide("mode: nftables, Sesame"), "mode: nftables, (hidden)");
    let given = input.variables.iter().find(|given| given.name == "kube_proxy_mode").unwrap();
    assert_eq!(given.value, "(hidden)");
    let said = all_text(&input);
    assert!(!said.contains("nftables") && !said.contains("Sesame"), "{said}");
}

/// ConfigMaps of kube-on-kube hold the same text.
#[test]
fn values_in_a_config_map_are_opened() {
    let config = |vars: &str| {
        let hosts = HOSTS.lines().map(|line| format!("    {line}\n")).collect::<String>();
        let vars = vars.lines().map(|line| format!("    {line}\n")).collect::<String>();
        let text = format!(
            "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {{name: berlin}}\nspec:\n  hostsConfRef: {{namespace: a, name: hosts}}\n  \
             varsConfRef: {{namespace: a, name: vars}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{namespace: a, name: hosts}}\ndata:\n  \
             hosts.yml: |\n{hosts}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{namespace: a, name: vars}}\ndata:\n  group_vars.yml: |\n{vars}"
        );
        vec![file("cluster.yaml", &text)]
    };
    let plain = "kube_version: 1.37.1\nkube_network_plugin: flannel\n";
    let value = format!("{plain}ansible_password: !vault |\n    {}\n", sealed("", "key", "Sesame", 4));
    let whole = sealed("", "key", &format!("{plain}ansible_password: Sesame\n"), 0);
    for vars in [value, whole] {
        let input = read(&config(&vars), &keys(&[("", "key")]));
        assert_eq!(password(&input, "cp1").as_deref(), Some("Sesame"));
        assert!(!all_text(&input).contains("Sesame"));
        let closed = read_input(&config(&vars));
        assert!(
            closed.is_locked() && closed.problems[0].position.as_ref().unwrap().file.as_ref() == "cluster.yaml",
            "{:?}",
            closed.problems
        );
    }
}

/// A file of objects can be encrypted too; what it is, nobody knows before.
#[test]
fn a_whole_manifest_is_opened() {
    let text = "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {name: berlin}\nspec:\n  kubernetesVersion: 1.37.1\n  hosts:\n  - \
                {name: cp1, address: 10.0.0.11, roles: [control-plane], ssh: {password: Sesame}}\n";
    let files = [file("cluster.yaml", &sealed("", "key", text, 0))];
    assert_eq!(password(&read(&files, &keys(&[("", "key")])), "cp1").as_deref(), Some("Sesame"));
    assert!(read_input(&files).is_locked());
    let wrong = text.replace("1.37.1", "Marmalade");
    let input = read_input_with(&[file("cluster.yaml", &sealed("", "key", &wrong, 0))], &keys(&[("", "key")]));
    assert!(!input.problems.is_empty() && !all_text(&input).contains("Marmalade"), "{}", all_text(&input));
}

/// The form that kokctl's own objects have says the same.
#[test]
fn values_of_an_inline_cluster_are_opened() {
    let text = |version: &str| {
        format!(
            "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {{name: berlin}}\nspec:\n  kubernetesVersion: {version}\n  ssh:\n    password: \
             !vault |\n      {}\n  hosts:\n  - {{name: cp1, address: 10.0.0.11, roles: [control-plane]}}\n",
            sealed("", "key", "Sesame", 6)
        )
    };
    let input = read(&[file("cluster.yaml", &text("1.37.1"))], &keys(&[("", "key")]));
    assert_eq!(password(&input, "cp1").as_deref(), Some("Sesame"));
    assert_eq!(input.cluster.as_ref().unwrap().concealed.hide("Sesame"), "(hidden)");
    let closed = read_input(&[file("cluster.yaml", &text("1.37.1"))]);
    assert!(closed.is_locked() && closed.problems.len() == 1, "{:?}", closed.problems);
    let sealed_version = format!("!vault |\n    {}\n", sealed("", "key", "Marmalade", 4));
    let input = read_input_with(&[file("cluster.yaml", &text(sealed_version.trim_end()))], &keys(&[("", "key")]));
    assert!(!input.problems.is_empty() && !all_text(&input).contains("Marmalade"), "{}", all_text(&input));
}

/// What stays closed was said: nobody is told that it is missing.
#[test]
fn what_stays_closed_is_not_missed() {
    let block = format!("!vault |\n    {}\n", sealed("", "key", "x", 4));
    let vars = format!("kube_version: {block}kube_oidc_auth: true\nkube_oidc_client_id: a\nkube_oidc_url: {block}");
    let hosts = HOSTS.replace("{cp1: {ip: 10.0.0.11, ansible_user: ops}", "{cp1: {ansible_user: ops}");
    let of_host = file("host_vars/cp1.yml", &format!("ip: {block}"));
    let inventory = [file("hosts.yaml", &hosts), file("group_vars/all/a.yml", &format!("kube_network_plugin: flannel\n{vars}")), of_host];
    let deeper = format!("!vault |\n      {}\n", sealed("", "key", "x", 6));
    let cluster = format!(
        "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {{name: a}}\nspec:\n  kubernetesVersion: {block}  \
         network: {{plugin: flannel}}\n  hosts:\n  - roles: [control-plane]\n    name: cp1\n    address: {deeper}"
    );
    for (files, closed) in [(inventory.to_vec(), 3), (vec![file("cluster.yaml", &cluster)], 2)] {
        let input = read_input(&files);
        let messages: Vec<String> = input.problems.iter().map(|problem| problem.message.clone()).collect();
        assert!(input.problems.len() == closed && input.is_locked(), "{messages:?}");
        assert!(!input.notices.iter().any(|notice| notice.message.contains("no `kube_version`")), "{:?}", input.notices);
    }
    // What is missing beside it is told of.
    let lacking = cluster.replace("  network: {plugin: flannel}\n", "  network: {}\n").replace("    name: cp1\n", "");
    let input = read_input(&[file("cluster.yaml", &lacking)]);
    assert!(input.problems.iter().any(|problem| problem.message == "the field `name` is missing"), "{:?}", input.problems);
}
