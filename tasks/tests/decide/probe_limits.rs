//! How much a probe lets a host say.

use std::fs;

use kok_tasks::digest::sha256;
use kok_tasks::observe::{Look, Looks, Piece, parse, probe_script};

use crate::probe::probe;
use crate::support::nonce;
use crate::support::shell::{Folder, SHELLS, run};

/// Whoever may write the file must not have the host say more than anybody reads.
#[test]
fn what_is_said_of_a_line_has_an_end() {
    let folder = Folder::new();
    let (path, line) = (folder.text("profile"), "export A=1".to_owned());
    fs::write(&path, format!("export A={}\nexport A=2\nexport A=1\n", "x".repeat(1 << 20))).unwrap();
    let piece = Piece::Line { path, line, starts_with: Some("export A=".to_owned()) };
    let looks: Looks = [Look::Piece(piece.clone())].into_iter().collect();
    let seen = probe(&looks);
    let said = &seen.pieces[&piece];
    assert!(said.starts_with("- export A=xxx") && said.ends_with("\n= 1\n") && said.len() < 66 << 10, "{}", said.len());
    assert!(said.len() < looks.answer_limit(1, false));
}

#[test]
fn a_file_is_shown_whole_or_not_at_all() {
    let folder = Folder::new();
    let limit = 64 * 1024;
    for (name, length) in [("shown", limit), ("long", limit + 1)] {
        fs::write(folder.path(name), vec![b'x'; length]).unwrap();
    }
    let seen =
        probe(&["shown", "long"].map(|name| Look::File { path: folder.text(name), expected: Some(sha256(b"")) }).into_iter().collect());
    assert_eq!(seen.contents.keys().collect::<Vec<_>>(), [&folder.text("shown")]);
    assert_eq!(seen.contents[&folder.text("shown")].len(), limit);
}

/// A plan shows how files differ; what nobody could read through is not worth the memory of all hosts that differ.
#[test]
fn what_is_shown_of_files_that_differ_has_a_limit_and_an_answer_keeps_its_own() {
    let folder = Folder::new();
    let files: Vec<String> = (0..40).map(|number| folder.text(&format!("file{number:02}"))).collect();
    files.iter().for_each(|path| fs::write(path, "x".repeat(60_000)).unwrap());
    let looks: Looks = files.iter().map(|path| Look::File { path: path.clone(), expected: Some(sha256(b"other")) }).collect();
    let answers = SHELLS.map(|shell| run(shell, &[], &probe_script(&nonce(), &looks, None)).stdout.len());
    assert!(answers.iter().all(|bytes| *bytes <= looks.answer_limit(3, false)), "{answers:?} {}", looks.answer_limit(3, false));
    let seen = probe(&looks);
    assert_eq!(seen.contents.keys().collect::<Vec<_>>(), files.iter().take(17).collect::<Vec<_>>(), "a megabyte");
    assert!(files.iter().all(|path| seen.paths[path].present().unwrap().sha256 == Some(sha256("x".repeat(60_000).as_bytes()))));
}

/// As each look needs, and as many hosts as there are: what a host could be asked at once in the largest clusters is far below what it
/// could make anybody keep.
#[test]
fn an_answer_may_be_as_long_as_what_was_asked_for() {
    let limit = |looks: &[Look], hosts| looks.iter().cloned().collect::<Looks>().answer_limit(hosts, false);
    let nothing = limit(&[], 1000);
    assert!(nothing < 100_000);
    for (look, least) in [
        (Look::Content("/etc/x".into()), 64 << 10),
        (Look::File { path: "/etc/x".into(), expected: None }, 64),
        (Look::Images, 10_000 * 500),
        (Look::Kubernetes, 1000 * 8192),
        (Look::NodeAnnotations, 1000 * 8192),
        (Look::Workload("worker1".into()), 250 * 8192),
        (Look::NetworkCheck(vec!["n1".to_owned(); 100]), 100 * 260 * 260),
        (Look::LastWords, 4 * 40 * 1001),
        (Look::Block("/etc/hosts".into()), 1000 * 100),
        (Look::Piece(Piece::Link("/etc/x".into())), 64 << 10),
        (Look::PodNetwork(Vec::new()), 1000 * 100),
        (Look::Etcd, 8192),
        (Look::Firewall, 8192),
        (Look::Unit("kubelet.service".into()), 512),
    ] {
        let more = limit(std::slice::from_ref(&look), 1000) - nothing;
        assert!((least..least * 10 + (2 << 20)).contains(&more), "{look:?}: {more}");
    }
    let all = Looks::default().answer_limit(1000, true) - nothing;
    assert!((1 << 20..4 << 20).contains(&all), "{all}");
    let world = crate::support::world::World::with_everything();
    for (host, looks) in kok_tasks::plan::looks(&crate::support::inputs(&world.cluster, &world.bundle)).unwrap() {
        let bytes = looks.answer_limit(world.hosts.len(), true);
        let most = if host.starts_with("worker") { 10 << 20 } else { 15 << 20 };
        assert!(bytes < most, "{host}: {bytes}");
    }
    assert_eq!(limit(&[Look::Kubernetes], usize::MAX), usize::MAX);
}

#[test]
fn what_nobody_asked_for_is_not_kept() {
    let looks: Looks = [Look::Content("/etc/asked".to_owned())].into_iter().collect();
    let mark = nonce().as_str().to_owned();
    let text = format!("\n{mark} clock\n1\n1.00 1\n\n{mark} content /etc/asked\na\n{mark} content /etc/other\nb\n{mark} end\n");
    let seen = parse(&nonce(), &looks, text.as_bytes()).unwrap();
    assert_eq!(seen.contents.keys().collect::<Vec<_>>(), ["/etc/asked"]);
}
