//! Probe scripts in the shells that hosts have, against real files.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use kok_tasks::digest::sha256;
use kok_tasks::facts::{self, Extent, HostFacts, Unwritable};
use kok_tasks::holder::look_script;
use kok_tasks::observe::{Kind, Look, Looks, ModuleState, Observations, PathState, Piece, parse, probe_script, section_marker};
use kok_tasks::script::PRELUDE;
use proptest::prelude::*;

use crate::support::nonce;
use crate::support::shell::{Folder, SHELLS, run};

/// Probes with every shell; all have to see the same.
pub(crate) fn probe(looks: &Looks) -> Observations {
    let script = probe_script(&nonce(), looks, None);
    let mut seen = SHELLS.map(|shell| {
        let output = run(shell, &[], &script);
        let mut seen = parse(&nonce(), looks, &output.stdout)
            .unwrap_or_else(|error| panic!("{shell:?}: {error}\n{}", String::from_utf8_lossy(&output.stdout)));
        (seen.clock_nanoseconds, seen.monotonic_microseconds) = (0, 0);
        seen
    });
    assert_eq!(seen[0], seen[1], "dash and bash see different things");
    std::mem::take(&mut seen[0])
}

#[test]
fn files_and_folders_are_seen_as_they_are() {
    let folder = Folder::new();
    let (same, other, missing, link) =
        (folder.text("same"), folder.text("it's $(other) `file`"), folder.text("missing"), folder.text("link"));
    fs::write(&same, "as expected\n").unwrap();
    let binary: Vec<u8> = (0..=255).chain([b'\n', b'\n']).collect();
    fs::write(&other, &binary).unwrap();
    fs::set_permissions(&other, fs::Permissions::from_mode(0o4751)).unwrap();
    symlink(&same, &link).unwrap();
    let file = |path: &str, content: &[u8]| Look::File { path: path.to_owned(), expected: Some(sha256(content)) };
    let looks =
        [file(&same, b"as expected\n"), file(&other, b"?"), file(&missing, b"?"), Look::Path(link.clone()), Look::Path(folder.text(""))];
    let seen = probe(&looks.into_iter().collect());

    assert_eq!(seen.paths[&missing], PathState::Missing);
    let at = |path: &str| seen.paths[path].present().unwrap();
    assert_eq!(at(&same).sha256, Some(sha256(b"as expected\n")));
    assert_eq!((at(&other).mode, at(&other).kind, at(&other).size), (0o4751, Kind::File, 258));
    assert_eq!(at(&link).kind, Kind::Symlink);
    assert_eq!(at(&folder.text("")).kind, Kind::Directory);
    assert_eq!(seen.contents.keys().collect::<Vec<_>>(), [&other], "only the content of what differs comes along");
    assert_eq!(seen.contents[&other], binary);
}

/// A look finds what an earlier run has left at work, and names its jobs, but nothing that is not one.
#[test]
fn what_an_earlier_run_left_at_work_is_named() {
    const SETUP: &str = "set -e; mount -t tmpfs tmpfs /run; mkdir -p /run/kokctl/jobs; cd /run/kokctl/jobs; : >reset.sh; : >'; rm -rf.sh'; \
                         mkfifo /run/begun; ( flock -s 9; echo >/run/begun; exec sleep 60 ) 9>/run/kokctl/lock >/dev/null & \
                         read -r begun </run/begun || :; cd /; sh; kill $!";
    let script = section_marker(&nonce()) + &look_script("c1", 1) + &probe_script(&nonce(), &Looks::default(), Some(Extent::Node));
    let output = run(&["unshare", "--map-root-user", "--mount", "sh", "-c", SETUP], &[], &script);
    let facts = facts::parse(&nonce(), Extent::Node, &output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    assert!(facts.busy && facts.jobs == ["kokctl-job-reset.service"], "{:?}", facts.jobs);
}

/// Of a host without Kubernetes nobody needs to know what costs it most, and what is asked of it is what others are asked too.
#[test]
fn of_a_machine_less_is_gathered_and_nothing_else() {
    let gathered = |extent| {
        let script = probe_script(&nonce(), &Looks::default(), Some(extent));
        let asked = script.matches("/proc/net/tcp ").count() + script.matches("df -k ").count();
        let output = run(&["unshare", "--map-root-user", "--mount", "sh", "-c", "mount -t tmpfs tmpfs /run; exec sh"], &[], &script);
        (asked, facts::parse(&nonce(), extent, &output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}")))
    };
    let ((of_machine, machine), (of_node, node)) = (gathered(Extent::Machine), gathered(Extent::Node));
    assert_eq!((of_machine, of_node), (0, 2));
    assert!(machine.storage.is_empty() && !node.storage.is_empty());
    let same = HostFacts {
        available_bytes: node.available_bytes,
        swaps: node.swaps.clone(),
        listening_ports: node.listening_ports.clone(),
        ports_at_all_addresses: node.ports_at_all_addresses.clone(),
        cgroup_v2: node.cgroup_v2,
        storage: node.storage.clone(),
        unwritable: node.unwritable.clone(),
        without_package_lists: node.without_package_lists,
        dpkg_interrupted: node.dpkg_interrupted,
        ..machine
    };
    assert_eq!(same, node);
}

/// In a namespace of mounts, in which `/run` too is none of this machine's.
#[test]
fn a_folder_on_a_read_only_mount_is_named_with_that() {
    const SETUP: &str = "set -e; mount -t tmpfs tmpfs /run; mount -t tmpfs tmpfs /usr/local; mkdir /usr/local/bin; \
                         mount -t tmpfs -o ro tmpfs /usr/local/bin; exec sh";
    let script = probe_script(&nonce(), &Looks::default(), Some(Extent::Node));
    let output = run(&["unshare", "--map-root-user", "--mount", "sh", "-c", SETUP], &[], &script);
    let facts = facts::parse(&nonce(), Extent::Node, &output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let bin = "/usr/local/bin".to_owned();
    assert_eq!(facts.unwritable, [Unwritable { folder: bin.clone(), mount: bin, read_only: true }]);
    assert_eq!(facts.boot_id.as_deref(), Some(std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap().trim()));
}

#[test]
fn a_file_and_its_copy_come_where_they_differ() {
    let folder = Folder::new();
    let names = ["same", "edited", "it's new", "gone"];
    let looks: Looks = names
        .iter()
        .flat_map(|name| {
            let (path, copy) = (folder.text(name), folder.text(&format!("{name} copy")));
            let file = |path: &String| Look::File { path: path.clone(), expected: None };
            [file(&path), file(&copy), Look::Edited { path, copy }]
        })
        .collect();
    for (name, content) in
        [("same", "x\n"), ("same copy", "x\n"), ("edited", "is\n"), ("edited copy", "was\n"), ("it's new", ""), ("gone copy", "")]
    {
        fs::write(folder.path(name), content).unwrap();
    }
    let expected = [(folder.text("edited"), b"is\n".to_vec()), (folder.text("edited copy"), b"was\n".to_vec())];
    assert_eq!(probe(&looks).contents, expected.into());
}

#[test]
fn contents_come_whole_with_any_end() {
    let folder = Folder::new();
    for (name, content) in [("none", &b""[..]), ("line", b"a\n"), ("open", b"a"), ("blank", b"\n\n\n")] {
        fs::write(folder.path(name), content).unwrap();
        let looks = [Look::Content(folder.text(name)), Look::Content(folder.text("missing"))];
        assert_eq!(probe(&looks.into_iter().collect()).contents, [(folder.text(name), content.to_vec())].into());
    }
}

#[test]
fn large_files_are_summed_and_what_is_no_file_is_left_out() {
    let folder = Folder::new();
    fs::write(folder.path("large"), vec![7; 300_000]).unwrap();
    fs::create_dir(folder.path("folder")).unwrap();
    let seen = probe(&["large", "folder", "missing"].map(|name| Look::LargeFile(folder.text(name))).into_iter().collect());
    let sum = |name: &str| seen.paths[&folder.text(name)].present().and_then(|file| file.sha256.clone());
    assert_eq!(sum("large"), Some(sha256(&vec![7; 300_000])));
    assert_eq!(sum("folder"), None);
    assert_eq!(seen.paths[&folder.text("missing")], PathState::Missing);
}

/// The record of an earlier look counts as long as the file has the size, times and inode that it says; the last of its lines if there are several.
#[test]
fn large_files_are_summed_once() {
    let folder = Folder::new();
    let (record, file) = (folder.path("hashes"), "* a b [x]");
    fs::write(folder.path(file), "large").unwrap();
    let look: Looks = [Look::LargeFile(folder.text(file))].into_iter().collect();
    let script = probe_script(&nonce(), &look, None).replace("/var/lib/kokctl", &folder.text("."));
    let sums = || {
        SHELLS.map(|shell| {
            let seen = parse(&nonce(), &look, &run(shell, &[], &script).stdout).unwrap();
            seen.paths[&folder.text(file)].present().and_then(|file| file.sha256.clone()).unwrap()
        })
    };
    assert_eq!(sums(), [sha256(b"large"), sha256(b"large")]);
    let text = fs::read_to_string(&record).unwrap();
    assert_eq!(text.lines().count(), 1, "the second look takes it from there: {text}");
    let other = |with: &[u8]| text.replace(&sha256(b"large"), &sha256(with));
    fs::write(&record, format!("{}{}", other(b"first"), other(b"last"))).unwrap();
    assert_eq!(sums(), [sha256(b"last"), sha256(b"last")]);
    // A long record is not read by the shell itself.
    let others: String = (0..200).map(|number| other(b"first").replace("/* a b", &format!("/{number}* a b"))).collect();
    fs::write(&record, format!("{others}{}", other(b"last"))).unwrap();
    assert_eq!(sums(), [sha256(b"last"), sha256(b"last")]);
    fs::write(folder.path(file), "longer now").unwrap();
    assert_eq!(sums(), [sha256(b"longer now"), sha256(b"longer now")]);
}

/// What was compared when it came is not read again by the look behind it, but after the next change of it.
#[test]
fn what_has_arrived_is_not_read_again() {
    for shell in SHELLS {
        let folder = Folder::new();
        fs::write(folder.path("file"), "large").unwrap();
        let look: Looks = [Look::LargeFile(folder.text("file"))].into_iter().collect();
        let within = |script: &str| script.replace("/var/lib/kokctl", &folder.text("."));
        let sum = || {
            let seen = parse(&nonce(), &look, &run(shell, &[], &within(&probe_script(&nonce(), &look, None))).stdout).unwrap();
            seen.paths[&folder.text("file")].present().and_then(|file| file.sha256.clone()).unwrap()
        };
        let noted = "5".repeat(64);
        let remembered = run(shell, &[], &within(&format!("{PRELUDE}set -eu\nremember {noted} {}\n", folder.text("file"))));
        assert!(remembered.status.success(), "{shell:?}");
        assert_eq!(sum(), noted, "{shell:?}");
        fs::write(folder.path("file"), "longer now").unwrap();
        assert_eq!(sum(), sha256(b"longer now"), "{shell:?}");
    }
}

#[test]
fn kernel_settings_are_read() {
    let looks = [Look::Sysctl("kernel.ostype".into()), Look::Sysctl("no.such.thing".into()), Look::KernelModule("no_such_module".into())];
    let seen = probe(&looks.into_iter().collect());
    assert_eq!(seen.sysctls["kernel.ostype"].as_deref(), Some("Linux"));
    assert_eq!(seen.sysctls["no.such.thing"], None);
    assert_ne!(seen.modules["no_such_module"], ModuleState::Loaded);
}

/// A module that is not loaded is one that modprobe finds, or none; without modprobe nobody knows.
#[test]
fn modprobe_says_whether_a_module_could_be_loaded() {
    let folder = Folder::new();
    folder.program("modprobe", "#!/bin/sh\n[ \"$*\" = '-n -q -- kok_found' ]\n");
    let looks: Looks = ["kok_found", "kok_lost"].map(|name| Look::KernelModule(name.to_owned())).into_iter().collect();
    let states = |path: &str| {
        let output = run(SHELLS[0], &[], &format!("PATH={path}\n{}", probe_script(&nonce(), &looks, None)));
        let seen = parse(&nonce(), &looks, &output.stdout).unwrap();
        ["kok_found", "kok_lost"].map(|name| seen.modules[name])
    };
    assert_eq!(states(&format!("{}:/usr/bin:/bin", folder.text(""))), [ModuleState::Loadable, ModuleState::Missing]);
    let without = Folder::new();
    for program in ["cat", "date", "uname"] {
        symlink(format!("/usr/bin/{program}"), without.path(program)).unwrap();
    }
    assert_eq!(states(&without.text("")), [ModuleState::Loadable; 2]);
}

fn odd_name() -> impl Strategy<Value = String> {
    r#"/[a-zé'"$`\\*?;&|<>(){}\[\] ~#!%-]{1,12}"#
}

fn any_look() -> impl Strategy<Value = Look> {
    prop_oneof![
        odd_name().prop_map(Look::Path),
        (odd_name(), prop::option::of("[0-9a-f]{64}")).prop_map(|(path, expected)| Look::File { path, expected }),
        odd_name().prop_map(Look::LargeFile),
        odd_name().prop_map(Look::Content),
        odd_name().prop_map(Look::Unit),
        odd_name().prop_map(Look::Sysctl),
        odd_name().prop_map(Look::KernelModule),
        Just(Look::Images),
        Just(Look::Kubernetes),
        prop::collection::vec(odd_name(), 0..3).prop_map(Look::NetworkCheck),
        odd_name().prop_map(Look::Block),
        odd_name().prop_map(Look::Command),
        odd_name().prop_map(|name| Look::Piece(Piece::Link(name))),
        odd_name().prop_map(|name| Look::Piece(Piece::User(name))),
        odd_name().prop_map(|name| Look::Piece(Piece::Package(name))),
        (odd_name(), odd_name()).prop_map(|(path, mark)| Look::Piece(Piece::Block { path, mark })),
        (odd_name(), odd_name()).prop_map(|(user, key)| Look::Piece(Piece::Key { user, key })),
        (odd_name(), odd_name(), prop::option::of(odd_name())).prop_map(|(path, line, starts_with)| Look::Piece(Piece::Line {
            path,
            line,
            starts_with
        })),
        (odd_name(), odd_name()).prop_map(|(bundle, body)| Look::Piece(Piece::Trusted { bundle, body })),
        odd_name().prop_map(Look::Matching),
        Just(Look::Swap),
        Just(Look::Firewall),
        Just(Look::TimeTracking),
        any::<std::net::Ipv4Addr>().prop_map(Look::Neighbour),
    ]
}

/// How a store breaks lines, and what else stands in it, is none of the certificate's.
#[test]
fn a_certificate_is_found_among_others_whole_and_alone() {
    let folder = Folder::new();
    let block =
        |lines: &[&str]| format!("# a name\r\n-----BEGIN CERTIFICATE-----\r\n{}\r\n-----END CERTIFICATE-----\r\n", lines.join("\r\n"));
    let text = block(&["MIIB", "1234"]) + &block(&["MIIB1", "235", "=="]) + "MIIB9\n";
    fs::write(folder.path("bundle"), &text).unwrap();
    let trusted = |bundle: &str, body: &str| {
        let piece = Piece::Trusted { bundle: folder.text(bundle), body: body.to_owned() };
        probe(&[Look::Piece(piece.clone())].into_iter().collect()).pieces[&piece].trim() == "yes"
    };
    assert!(trusted("bundle", "MIIB1234") && trusted("bundle", "MIIB1235=="));
    assert!(!["MIIB", "1234", "MIIB9", "MIIB1234MIIB1235==", ""].iter().any(|body| trusted("bundle", body)));
    assert!(!trusted("missing", "MIIB1234"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_probe_is_valid_shell(looks in prop::collection::vec(any_look(), 0..12), facts in prop::sample::select(vec![None, Some(Extent::Machine), Some(Extent::Node)])) {
        let script = probe_script(&nonce(), &looks.into_iter().collect(), facts);
        for shell in SHELLS {
            let output = run(shell, &["-n"], &script);
            prop_assert!(output.status.success(), "{:?}: {}\n{}", shell, String::from_utf8_lossy(&output.stderr), script);
        }
    }

    /// A name with a backslash or a newline is escaped by sha256sum, and no path of ours has one.
    #[test]
    fn oddly_named_files_are_found(name in r#"[a-zé'"$`*?;&|<>(){}\[\] ~#!%-]{1,12}"#.prop_filter("a name", |name| ![".", ".."].contains(&name.as_str()))) {
        let folder = Folder::new();
        let path = folder.text(&name);
        fs::write(&path, &name).unwrap();
        let looks = [Look::File { path: path.clone(), expected: Some(sha256(b"something longer than a name")) }];
        let seen = probe(&looks.into_iter().collect());
        prop_assert_eq!(&seen.paths[&path].present().unwrap().sha256, &Some(sha256(name.as_bytes())));
        prop_assert_eq!(seen.contents.get(&path).map(Vec::as_slice), Some(name.as_bytes()));
    }
}
