//! Resources that prepare a host: what its owner has is left alone.

use super::*;
use kok_tasks::facts::HostFacts;
use kok_tasks::firewall::Opening;

#[test]
fn a_block_leaves_the_lines_of_others_alone() {
    let folder = Folder::new();
    let (path, block) = (folder.path("hosts"), Block::new(folder.text("hosts"), "10.0.0.1 a\n10.0.0.2 it's\n"));
    let ours = "# BEGIN kokctl\n10.0.0.1 a\n10.0.0.2 it's\n# END kokctl\n";
    let stale = "# BEGIN kokctl\nold\n# END kokctl\n";
    for (before, after) in [
        (String::new(), ours.to_owned()),
        ("127.0.0.1 localhost".to_owned(), format!("127.0.0.1 localhost\n{ours}")),
        (format!("a\n{stale}b\n"), format!("a\nb\n{ours}")),
        (format!("{stale}a\n{stale}{ours}b"), format!("a\nb\n{ours}")),
        // Whatever stands behind a mark that has lost its other half may be the owner's.
        ("a\n# BEGIN kokctl\nb\n".to_owned(), format!("a\nb\n{ours}")),
        ("a\n# END kokctl\nb\n".to_owned(), format!("a\nb\n{ours}")),
        (format!("a # BEGIN kokctl\n{ours}"), format!("a # BEGIN kokctl\n{ours}")),
    ] {
        fs::write(&path, &before).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        becomes_same(&Resource::Block(block.clone()));
        assert_eq!(fs::read_to_string(&path).unwrap(), after, "{before:?}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o640);
        assert_eq!(folder.names(), ["hosts"], "something was left behind");
    }
    fs::remove_file(&path).unwrap();
    becomes_same(&Resource::Block(block));
    assert_eq!((fs::read_to_string(&path).unwrap(), fs::metadata(&path).unwrap().permissions().mode() & 0o7777), (ours.to_owned(), 0o644));
}

#[test]
fn only_files_of_ours_are_removed() {
    let folder = Folder::new();
    let fill = || {
        for name in ["docker.io", "quay.io", "it's theirs", "gone.example"] {
            fs::create_dir_all(folder.path(name)).unwrap();
            fs::write(folder.path(name).join("hosts.toml"), "").unwrap();
            if name != "it's theirs" {
                fs::write(folder.path(name).join("kokctl"), "").unwrap();
            }
        }
    };
    let absent = |except: &[&str], with_folder| {
        let except = except.iter().map(|name| format!("{}/kokctl", folder.text(name))).collect();
        Resource::Absent(Absent { pattern: folder.text("*/kokctl"), except, with_folder })
    };
    fill();
    becomes_same(&absent(&["docker.io", "quay.io"], true));
    assert_eq!(folder.names(), ["docker.io", "it's theirs", "quay.io"]);
    becomes_same(&absent(&[], true));
    assert_eq!(folder.names(), ["it's theirs"]);
    fill();
    becomes_same(&absent(&["docker.io"], false));
    assert_eq!(folder.names(), ["docker.io", "gone.example", "it's theirs", "quay.io"]);
    assert!(!folder.path("quay.io").join("kokctl").exists() && folder.path("docker.io").join("kokctl").exists());
    let seen = Observations { matching: [(folder.text("*/kokctl"), ["/x/kokctl".to_owned()].into())].into(), ..Observations::default() };
    assert_eq!(diff_text(&absent(&[], false), &seen), "remove because /x/kokctl is no longer asked for");
}

#[test]
fn host_settings() {
    let name = Resource::Hostname(Hostname { name: "w1".to_owned() });
    let with = |now: &str, file: Option<&str>| Observations {
        sysctls: [("kernel.hostname".to_owned(), Some(now.to_owned()))].into(),
        contents: file.map(|text| ("/etc/hostname".to_owned(), text.as_bytes().to_vec())).into_iter().collect(),
        ..Observations::default()
    };
    assert_eq!(diff_text(&name, &Observations::default()), "unseen");
    assert_eq!(diff_text(&name, &with("w1", Some("w1\n"))), "same");
    assert_eq!(diff_text(&name, &with("localhost", Some("w1\n"))), "set to w1 because it is localhost");
    assert_eq!(diff_text(&name, &with("w1", None)), "set to w1 because /etc/hostname says ``, so it would be that after the next start");

    let swap = Resource::NoSwap(NoSwap);
    let with = |state: SwapState| Observations { swap: Some(state), ..Observations::default() };
    assert_eq!(diff_text(&swap, &Observations::default()), "unseen");
    assert_eq!(diff_text(&swap, &with(SwapState::default())), "same");
    let active = SwapState { active: ["/dev/zram0".to_owned()].into(), ..SwapState::default() };
    assert_eq!(diff_text(&swap, &with(active)), "switch off because /dev/zram0 is in use as swap");
    let line = SwapState { fstab: vec!["/swap none swap sw 0 0".to_owned()], ..SwapState::default() };
    assert_eq!(diff_text(&swap, &with(line)), "switch off because /etc/fstab would switch it on at the next start: /swap none swap sw 0 0");
    let unit = SwapState { units: ["dev-sda2.swap".to_owned()].into(), ..SwapState::default() };
    assert_eq!(diff_text(&swap, &with(unit)), "switch off because dev-sda2.swap would switch it on at the next start");

    let selinux = Resource::Selinux(Selinux { state: SelinuxState::Permissive });
    let with = |now: Option<&str>, configured: Option<&str>| {
        let mut seen = at("/etc/selinux/config", None);
        seen.contents.extend(now.map(|text| ("/sys/fs/selinux/enforce".to_owned(), text.as_bytes().to_vec())));
        seen.contents.extend(configured.map(|text| ("/etc/selinux/config".to_owned(), text.as_bytes().to_vec())));
        seen
    };
    assert_eq!(diff_text(&selinux, &Observations::default()), "unseen");
    assert_eq!(diff_text(&selinux, &with(None, None)), "same");
    assert_eq!(diff_text(&selinux, &with(Some("1"), Some("SELINUX=enforcing\n"))), "set to permissive because it enforces its policy");
    assert_eq!(
        diff_text(&selinux, &with(Some("0"), Some("# x\nSELINUX=enforcing\nSELINUXTYPE=targeted\n"))),
        "set to permissive because /etc/selinux/config says enforcing, so it would be that after the next start"
    );
    assert_eq!(diff_text(&selinux, &with(Some("0"), Some("SELINUX=permissive\n"))), "same");
    assert_eq!(diff_text(&selinux, &with(None, Some("SELINUX=disabled\n"))), "same");
}

#[test]
fn what_must_not_run_is_stopped() {
    let unit = Resource::Unit(Unit { name: "u.service".to_owned(), goal: UnitGoal::Stopped, reads: Vec::new() });
    let with = |load: &str, active: &str, file: &str| {
        let state = UnitState { load: load.into(), active: active.into(), file: file.into(), ..UnitState::default() };
        Observations { units: [("u.service".to_owned(), state)].into(), ..Observations::default() }
    };
    assert_eq!(diff_text(&unit, &with("loaded", "active", "enabled")), "stop because it is active");
    assert_eq!(diff_text(&unit, &with("loaded", "inactive", "enabled")), "stop because it is enabled");
    assert_eq!(diff_text(&unit, &with("loaded", "inactive", "disabled")), "same");
    assert_eq!(diff_text(&unit, &with("masked", "inactive", "masked")), "same");
    assert_eq!(diff_text(&unit, &with("not-found", "inactive", "")), "same");
}

#[test]
fn packages_are_installed_without_questions() {
    let packages = |manager| {
        let commands =
            [("tar", "tar"), ("iptables", "iptables-nft"), ("nft", "nftables")].map(|(a, b)| (a.to_owned(), b.to_owned())).to_vec();
        let environment = vec![("http_proxy".to_owned(), "http://proxy:3128".to_owned())];
        Resource::Packages(Packages { manager, commands, environment, source: None })
    };
    let with = |there: &[&str]| {
        let commands = ["tar", "iptables", "nft"].map(|name| (name.to_owned(), there.contains(&name))).into();
        Observations { commands, ..Observations::default() }
    };
    let apt = packages(Manager::Apt);
    assert_eq!(diff_text(&apt, &Observations::default()), "unseen");
    assert_eq!(diff_text(&apt, &with(&["tar", "iptables", "nft"])), "same");
    assert_eq!(diff_text(&apt, &with(&["tar", "iptables"])), "install because the command nft is missing");
    assert_eq!(diff_text(&apt, &with(&["tar"])), "install because the commands iptables, nft are missing");
    for (manager, wanted) in [
        (
            Manager::Apt,
            &["noninteractive", "NEEDRESTART_MODE=l", "DPkg::Lock::Timeout=300", "--force-confold", "--no-install-recommends"][..],
        ),
        (Manager::Dnf, &["dnf -q -y install"]),
    ] {
        let Act::Script(fragment) = packages(manager).act(&kok_tasks::change::Change::new(kok_tasks::change::ChangeKind::Install, ""))
        else {
            panic!("no script")
        };
        let script = decoded(&kok_tasks::script::Fragment::clone(&fragment));
        for words in
            wanted.iter().chain(&["'iptables-nft' 'nftables' 'tar'", "export http_proxy='http://proxy:3128'", "cloud-init status --wait"])
        {
            assert!(script.contains(words), "{words} is not in {script}");
        }
        assert!(SHELLS.iter().all(|shell| run(shell, &["-n"], &script).status.success()));
    }
}

#[test]
fn firewalls_are_opened_by_their_own_programs() {
    let opening = Opening::for_host(&crate::support::cluster(), &crate::support::cluster().hosts[0], &HostFacts::default());
    let open = Resource::OpenFirewall(OpenFirewall { opening: opening.clone(), zones: ["public".to_owned()].into() });
    let with = |firewall| Observations { firewall: Some(firewall), ..Observations::default() };
    assert_eq!(diff_text(&open, &with(Firewall::None)), "same");
    let ports = &["2379-2380/tcp", "6443/tcp", "10250/tcp", "30000-32767/tcp", "30000-32767/udp", "8472/udp"];
    let firewalld = Firewall::Firewalld(crate::support::firewalld(ports, &["10.233.64.0/18"]));
    assert_eq!(diff_text(&open, &with(firewalld)), "same");
    let mut zones = crate::support::firewalld(ports, &["10.233.64.0/18"]);
    zones.zones.insert("dmz".to_owned(), kok_tasks::observe::Zone { interfaces: ["eth0".to_owned()].into(), ..Default::default() });
    let elsewhere = Opening { interfaces: ["eth0".to_owned(), "eth1".to_owned()].into(), ..opening };
    assert_eq!(kok_tasks::firewall::zones(&zones, &elsewhere), ["dmz", "public"].map(str::to_owned).into());
    let script = script_of(&open.act(&kok_tasks::change::Change::new(kok_tasks::change::ChangeKind::Open, "")));
    // The programs of the host, replaced by ones that say what they are given; ufw's rules are those that its own program would write.
    let spies = "systemctl() { true; }\nfirewall-cmd() { echo \"$*\"; }\n";
    let output = run(
        SHELLS[1],
        &[],
        &script
            .replace("set -eu\n", &format!("set -eu\n{}", spies.replace("firewall-cmd()", "firewall_cmd()")))
            .replace("firewall-cmd", "firewall_cmd"),
    );
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    for line in [
        "-q --zone=public --add-port=2379-2380/tcp",
        "-q --permanent --zone=public --add-port=8472/udp",
        "-q --permanent --zone=trusted --add-source=10.233.64.0/18",
    ] {
        assert!(said.lines().any(|found| found == line), "{line} is not in {said}");
    }
}
