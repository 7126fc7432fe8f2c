#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
use super::split::split;
use super::{Jump, Overruled, SshConfig, SshConfigFault, SshSettings};
use crate::remote::identity::Variables;
use crate::remote::target::{AddressFamily, AgentChoice, HostKeyChecking};
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

struct Files(tempfile::TempDir);

impl Files {
    fn new(config: &str) -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(files.0.path().join("home/.ssh")).unwrap();
        fs::create_dir(files.0.path().join("system")).unwrap();
        files.write("home/.ssh/config", config);
        files
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }

    fn load(&self) -> Result<SshConfig, SshConfigFault> {
        SshConfig::load(Some(&self.0.path().join("home")), Some(&self.0.path().join("system/ssh_config")), "me")
            .map(|config| config.with_variables(Variables::new(|name| std::env::var_os(name))))
    }

    fn ask(&self, name: &str) -> Result<SshSettings, SshConfigFault> {
        self.load()?.lookup(name, None, Overruled::default())
    }
}

fn ask(config: &str, name: &str) -> Result<SshSettings, SshConfigFault> {
    Files::new(config).ask(name)
}

fn fault(config: &str) -> SshConfigFault {
    ask(config, "192.0.2.1").unwrap_err()
}

#[test]
fn lines_are_split_as_openssh_does() {
    let words = |line: &str| split(line).map(|split| split.map(|(keyword, words)| (keyword, words.join("|"))));
    let some = |keyword: &str, words: &str| Ok(Some((keyword.to_owned(), words.to_owned())));
    assert_eq!(words("  HostName  a.b  # why"), some("hostname", "a.b"));
    assert_eq!(words("Port=22"), some("port", "22"));
    assert_eq!(words("Port = 22"), some("port", "22"));
    assert_eq!(words("IdentityFile \"a b\" 'c d' e\\ f g#h"), some("identityfile", "a b|c d|e f|g#h"));
    assert_eq!(words(r#"X "a\"b\\c" 'd"e'"#), some("x", r#"a"b\c|d"e"#));
    assert_eq!(words("# Port 22"), Ok(None));
    assert_eq!(words("\t\r"), Ok(None));
    assert!(words("Host \"a").is_err());
}

#[test]
fn the_first_value_wins_across_blocks_and_files() {
    let files = Files::new("Port 1\nHost a b\n Port 2\n User one\nHost *\n User two\n HostName %h.example\n");
    files.write("system/ssh_config", "User three\nConnectTimeout 1m30s\n");
    let settings = files.ask("a").unwrap();
    assert_eq!((settings.port, settings.user.as_deref(), settings.host_name.as_deref()), (Some(1), Some("one"), Some("a.example")));
    assert_eq!(settings.configured.connect_timeout, Some(Duration::from_secs(90)));
    assert_eq!(files.ask("c").unwrap().user.as_deref(), Some("two"));
}

#[test]
fn negated_patterns_take_hosts_out() {
    let config = "Host 192.0.2.* !192.0.2.9\n User in\nHost !x\n User never\n";
    assert_eq!(ask(config, "192.0.2.1").unwrap().user.as_deref(), Some("in"));
    assert_eq!(ask(config, "192.0.2.9").unwrap().user, None);
}

#[test]
fn includes_are_read_where_they_stand() {
    let files = Files::new("Host a\n Include more/*.conf\nInclude last\nUser own\n");
    files.write("home/.ssh/more/2.conf", "User second\nPort 2\n");
    files.write("home/.ssh/more/1.conf", "Host *\n User first\n");
    files.write("home/.ssh/more/.hidden.conf", "User hidden\n");
    files.write("home/.ssh/last", "Host b\n User last\n");
    let of = |name: &str| files.ask(name).map(|settings| (settings.user.unwrap_or_default(), settings.port)).unwrap();
    assert_eq!(of("a"), ("first".to_owned(), Some(2)));
    assert_eq!(of("b"), (String::new(), None), "an Include inside of a block is for that block");
    files.write("home/.ssh/config", "Include last\nInclude missing/*\nUser own\n");
    assert_eq!(of("b").0, "last");
    assert_eq!(of("c").0, "own", "the blocks of an included file end with it");
    files.write("home/.ssh/config", "Include config\n");
    assert!(matches!(files.load().unwrap_err(), SshConfigFault::Wrong { .. }));
}

#[test]
fn match_is_understood_or_refused() {
    let config = "Match host 192.0.2.*,!192.0.2.9 user root\n Port 1\nMatch final all\n Port 2\n User late\nMatch !all\n Port 3\n";
    let found = Files::new(config).load().unwrap().lookup("192.0.2.1", Some("root"), Overruled::default()).unwrap();
    assert_eq!((found.port, found.user.as_deref()), (Some(1), Some("late")));
    assert_eq!(ask(config, "192.0.2.9").unwrap().port, Some(2));
    let exec = "Host b\n Port 3\nMatch originalhost a exec \"test -e /x\"\n Port 1\n";
    assert!(matches!(ask(exec, "a").unwrap_err(), SshConfigFault::Refused { .. }));
    assert_eq!(ask(exec, "b").unwrap().port, Some(3), "another criterion has already said no");
}

#[test]
fn files_and_ways_are_read() {
    let config = "IdentityFile ~/%r-%h\nIdentityFile /keys/a\nIdentitiesOnly yes\nIdentityAgent none\nAddressFamily inet6\n\
                  UserKnownHostsFile ~/one /two\nHostKeyAlias box\nUser ops\nProxyJump a,ssh://u@[2001:db8::1]:7/\n";
    let files = Files::new(config);
    let home = files.0.path().join("home");
    let SshSettings { configured, jumps, .. } = files.ask("192.0.2.1").unwrap();
    assert_eq!(configured.identity_files, [home.join("ops-192.0.2.1"), Path::new("/keys/a").to_owned()]);
    assert_eq!(configured.user_known_hosts_files, Some(vec![home.join("one"), Path::new("/two").to_owned()]));
    assert!(configured.identities_only && configured.agent == AgentChoice::None && configured.address_family == AddressFamily::V6);
    let jump = |host: &str, user: Option<&str>, port| Jump { host: host.into(), user: user.map(Into::into), port };
    assert_eq!(jumps, Some(vec![jump("a", None, None), jump("2001:db8::1", Some("u"), Some(7))]));
    assert_eq!(ask("ProxyJump none\nProxyCommand x\n", "a").unwrap().jumps, Some(Vec::new()));
}

#[test]
fn what_would_change_the_way_is_refused_with_its_line() {
    for line in [
        "ProxyCommand nc %h %p",
        "CertificateFile ~/cert",
        "BindAddress 192.0.2.9",
        "RevokedHostKeys /keys",
        "KnownHostsCommand /bin/keys",
        "CanonicalizeHostname yes",
        "StrictHostKeyChecking no",
        "StrictHostKeyChecking off",
        "PreferredAuthentications gssapi-with-mic,hostbased",
        "PubkeyAuthentication no",
        "PKCS11Provider /lib/x",
        "RefuseConnection no",
    ] {
        let fault = fault(&format!("# first\n{line}\n"));
        assert!(matches!(fault, SshConfigFault::Refused { .. }), "{line}: {fault:?}");
        assert!(fault.at().ends_with("config:2") && !fault.hint().is_empty(), "{line}");
    }
    let harmless = "ProxyCommand none\nCertificateFile none\nCanonicalizeHostname no\nPreferredAuthentications publickey,gssapi-with-mic\n\
                    StrictHostKeyChecking ask\nSendEnv LANG LC_*\nGSSAPIAuthentication yes\nCiphers aes128-ctr\nControlMaster auto\n";
    assert_eq!(ask(harmless, "a").unwrap().checking, Some(HostKeyChecking::Strict));
}

#[test]
fn what_can_not_be_understood_names_its_line() {
    for line in ["Port x", "Port 0", "Port", "ConnectTimeout soon", "IdentityFile %z", "IdentityFile ~other/key", "ProxyJump @", "Host \"a"]
    {
        let fault = fault(&format!("\n{line}\n"));
        assert!(matches!(fault, SshConfigFault::Wrong { .. }) && fault.at().ends_with("config:2"), "{line}: {fault:?}");
    }
    let files = Files::new("");
    fs::set_permissions(files.0.path().join("home/.ssh/config"), fs::Permissions::from_mode(0o622)).unwrap();
    assert!(matches!(files.load().unwrap_err(), SshConfigFault::TooOpen { .. }));
}

#[test]
fn an_option_that_ssh_does_not_know_is_refused_wherever_it_stands() {
    let files = Files::new("Port 2222\nHost other\n  Hostnmae 192.0.2.7\n  FooBarBaz 1\nHost *\n  User ops\n");
    files.write("system/ssh_config", "Include more\n");
    files.write("system/more", "IdentitiFile ~/x\n");
    let unknown = files.load().unwrap().unknown("192.0.2.1", None);
    let told: Vec<_> = unknown.iter().map(|fault| (fault.at(), fault.to_string(), fault.hint())).collect();
    let [hostname, foo, identity] = told.as_slice() else { panic!("{told:?}") };
    assert!(hostname.0.ends_with("config:3") && hostname.1 == "ssh has no option `hostnmae`" && hostname.2 == "did you mean `Hostname`?");
    assert!(foo.0.ends_with("config:4") && foo.2.contains("IgnoreUnknown foobarbaz"), "{foo:?}");
    assert!(identity.0.ends_with("system/more:1") && identity.2 == "did you mean `IdentityFile`?", "{identity:?}");
    assert!(matches!(files.ask("192.0.2.1").unwrap_err(), SshConfigFault::Unknown { .. }), "nothing is asked of such a file");
}

#[test]
fn what_is_for_another_program_is_ignored_as_openssh_does() {
    assert!(ask("IgnoreUnknown foo*,Bar\nFooBaz 1\nbar 2\nUser ops\n", "a").is_ok());
    // Not what stands above it, nor for a host that it is not for, and the first one counts.
    for config in
        ["FooBaz 1\nIgnoreUnknown Foo*\n", "Host b\n IgnoreUnknown *\nHost *\n FooBaz 1\n", "IgnoreUnknown x\nIgnoreUnknown *\nFooBaz 1\n"]
    {
        assert!(matches!(ask(config, "a"), Err(SshConfigFault::Unknown { .. })), "{config}");
    }
}

#[test]
fn openssh_knows_the_same_options() {
    /// Of versions after the oldest that these tests meet (9.2), and of other systems.
    const NEWER: [&str; 8] = [
        "channeltimeout",
        "obscurekeystroketiming",
        "tag",
        "refuseconnection",
        "versionaddendum",
        "warnweakcrypto",
        "usekeychain",
        "rsaminsize",
    ];
    for keyword in super::keywords::all().chain(["Hostnmae"]) {
        let files = Files::new(&format!("Host none.example\n{keyword} yes\n"));
        let output = Command::new("ssh").arg("-G").arg("-F").arg(files.0.path().join("home/.ssh/config")).arg("a").output().unwrap();
        let refused = String::from_utf8_lossy(&output.stderr).contains("Bad configuration option");
        let plain = keyword.to_ascii_lowercase();
        assert!(refused == (keyword == "Hostnmae") || NEWER.contains(&plain.as_str()), "{keyword}: {output:?}");
    }
}

#[test]
fn the_lines_that_decide_where_a_server_is_are_known() {
    let origin = ask("Host a\n HostName 192.0.2.9\n Port 23\n", "a").unwrap().configured.origin.description().unwrap();
    assert!(
        origin.starts_with("the address is that of HostName at /") && origin.contains("config:2, the port is that of Port at"),
        "{origin}"
    );
    assert_eq!(ask("Host b\n HostName 192.0.2.9\n", "a").unwrap().configured.origin.description(), None);
}

#[test]
fn what_distributions_ship_stands_in_nobodys_way() {
    let files = Files::new("");
    files.write("system/ssh_config", "Include ssh_config.d/*.conf\nHost *\n    SendEnv LANG LC_*\n    HashKnownHosts yes\n");
    files.write("system/ssh_config.d/20-proxy.conf", "Host unix/* vsock/*\n  ProxyCommand /usr/lib/proxy %h %p\n  ProxyUseFdpass yes\n");
    let crypto = "Ciphers aes256-gcm@openssh.com\nMACs hmac-sha2-256\nGSSAPIKexAlgorithms x\nKexAlgorithms y\nRequiredRSASize 2048\n";
    files.write("system/policy.config", crypto);
    let red_hat = "Match final all\n\tInclude policy.config\n\tGSSAPIAuthentication yes\n\tForwardX11Trusted yes\n";
    files.write("system/ssh_config.d/50-redhat.conf", red_hat);
    assert_eq!(files.ask("192.0.2.1").unwrap(), SshSettings::default());
}

/// What OpenSSH itself makes of a configuration.
fn openssh(files: &Files, name: &str) -> (Option<String>, Option<String>) {
    let output = Command::new("ssh").arg("-G").arg("-F").arg(files.0.path().join("home/.ssh/config")).arg(name).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let of = |keyword: &str| text.lines().find_map(|line| line.strip_prefix(keyword)).map(str::to_owned);
    (of("port "), of("hostkeyalias "))
}

proptest! {
    // Each case starts ssh.
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn openssh_finds_the_same_values(
        blocks in prop::collection::vec((
            prop_oneof![
                "Host !?[a-c*?]{1,3}( !?[a-c*?]{1,3}){0,2}",
                "Match (host|originalhost) !?[a-c*?]{1,3}(,!?[a-c*?]{1,3}){0,2}",
                "Match (final )?all",
            ],
            prop::option::of(1_u16..9000),
            prop::option::of("[a-c]{1,3}"),
        ), 0..8),
        name in "[a-c]{1,3}",
    ) {
        let mut text = String::new();
        for (block, port, alias) in blocks {
            text.push_str(&format!("{block}\n"));
            text.extend(port.map(|port| format!("  Port {port}\n")));
            text.extend(alias.map(|alias| format!("  HostKeyAlias=\"{alias}\"\n")));
        }
        let files = Files::new(&text);
        let ours = files.ask(&name).unwrap();
        let port = Some(ours.port.unwrap_or(22).to_string());
        prop_assert_eq!((port, ours.configured.host_key_alias), openssh(&files, &name), "{}", text);
    }

    #[test]
    fn no_text_makes_it_panic(text in any::<String>(), name in any::<String>()) {
        let _ = ask(&text, &name);
    }
}

/// A test that waited would wait for ever.
#[test]
fn what_is_no_file_is_not_read() {
    let files = Files::new("");
    let config = files.0.path().join("home/.ssh/config");
    fs::remove_file(&config).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &config, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert!(matches!(files.load().unwrap_err(), SshConfigFault::Unreadable { .. }));
    files.write("system/ssh_config", "Include /dev/zero\n");
    fs::remove_file(&config).unwrap();
    assert!(matches!(files.load().unwrap_err(), SshConfigFault::Unreadable { .. }));
    files.write("system/ssh_config", "");
    files.write("home/.ssh/config", &format!("# {}\n", "x".repeat(1 << 20)));
    assert!(matches!(files.load().unwrap_err(), SshConfigFault::Unreadable { .. }));
    files.write("system/ssh_config", "Include /dev/null\nUser ops\n");
    fs::remove_file(&config).unwrap();
    assert_eq!(files.ask("a").unwrap().user.as_deref(), Some("ops"));
}
