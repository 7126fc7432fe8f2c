//! Files of any length that users declare, and archives: what is sent makes them so, in a real folder.

use std::path::{Path, PathBuf};

use super::*;
use kok_crds::model::{Compression, Contents, Member, MemberKind};
use kok_tasks::resources::{Owner, Tree};

/// What comes of a file that is sent, with what is said.
pub(super) fn sent(resource: &Resource, file: &Path, shell: &[&str]) -> (bool, String) {
    let looks: Looks = resource.looks().into_iter().collect();
    let seen = parse(&nonce(), &looks, &run(shell, &[], &probe_script(&nonce(), &looks, None)).stdout).unwrap();
    let Verdict::Differs(change) = resource.diff(&seen) else { panic!("{resource:?} is as it should be") };
    let script = format!("( set -eu\n{}\n) <'{}'\n", script_of(&resource.act(&change)), file.display());
    let output = run(shell, &[], &script);
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

pub(super) fn verdict(resource: &Resource) -> Verdict {
    let looks: Looks = resource.looks().into_iter().collect();
    resource.diff(&parse(&nonce(), &looks, &run(SHELLS[0], &[], &probe_script(&nonce(), &looks, None)).stdout).unwrap())
}

fn because(resource: &Resource) -> String {
    let Verdict::Differs(change) = verdict(resource) else { panic!("{resource:?} is as it should be") };
    change.because
}

/// A file of the user's as it is sent.
pub(super) fn users_artifact(file: &Path) -> Artifact {
    let bytes = fs::read(file).unwrap();
    Artifact {
        title: "app.tar.gz".to_owned(),
        path: file.display().to_string(),
        size: bytes.len() as u64,
        sha256: sha256(&bytes),
        ..artifact("")
    }
}

#[test]
fn a_binary_of_the_users_has_its_mode_and_owner() {
    let folder = Folder::new();
    fs::write(folder.path("source"), "program").unwrap();
    let artifact = users_artifact(&folder.path("source"));
    let owner = Owner { user: "1".to_owned(), group: Some("2".to_owned()) };
    let binary = |mode| Resource::Binary(Binary { path: folder.text("it's"), artifact: artifact.clone(), mode, owner: owner.clone() });
    for shell in SHELLS {
        assert_eq!(sent(&binary(0o4750), &folder.path("source"), shell), (true, String::new()));
        assert_eq!(verdict(&binary(0o4750)), Verdict::Same, "{shell:?}");
        assert_eq!(fs::read_to_string(folder.path("it's")).unwrap(), "program");
        // What is there already is not sent for its rights alone.
        let Verdict::Differs(change) = verdict(&binary(0o755)) else { panic!("its mode is another one") };
        assert_eq!(change.summary(), "set mode 0755 and owner 1:2");
        assert!(matches!(binary(0o755).act(&change), Act::Script(_)));
        becomes_same(&binary(0o755));
        fs::write(folder.path("it's"), "another").unwrap();
        assert!(because(&binary(0o755)).ends_with("/it's is another file than app.tar.gz"));
        fs::remove_file(folder.path("it's")).unwrap();
    }
}

fn tree(folder: &Folder, source: &Path, creates: Option<String>) -> Resource {
    let file =
        |path: &str, mode, text: &str| Member { path: path.to_owned(), kind: MemberKind::File { mode, sha256: sha256(text.as_bytes()) } };
    let members = vec![
        Member { path: "bin".to_owned(), kind: MemberKind::Folder { mode: 0o750 } },
        file("bin/it's a tool", 0o755, "tool"),
        Member { path: "current".to_owned(), kind: MemberKind::Link { target: "bin/../bin".to_owned() } },
        file("-n", 0o640, "text"),
    ];
    let contents = Contents { compression: Compression::Gzip, roots: vec!["app-1".to_owned()], members: members.into() };
    let owner = Owner { user: "1".to_owned(), group: Some("2".to_owned()) };
    let unpacked = Unpacked::Tree(Tree { contents, owner, creates });
    Resource::Archive(Archive { artifact: users_artifact(source), folder: folder.text("into"), unpacked })
}

/// An archive with what a tree has, and more.
fn archive_in(folder: &Folder) -> PathBuf {
    let made = run(
        SHELLS[0],
        &["-e"],
        &format!(
            "cd '{}'\nmkdir -p app-1/bin\nprintf tool >\"app-1/bin/it's a tool\"\nprintf text >app-1/-n\nprintf above >above\n\
             ln -s bin/../bin app-1/current\nchmod 6755 \"app-1/bin/it's a tool\"\nchmod 750 app-1/bin\nchmod 640 app-1/-n\nchmod 777 app-1\n\
             tar -czf app.tar.gz ./app-1 above\n",
            folder.text("")
        ),
    );
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    folder.path("app.tar.gz")
}

#[test]
fn an_archive_is_unpacked_and_drifts_are_found() {
    for shell in SHELLS {
        let folder = Folder::new();
        let source = archive_in(&folder);
        let tree = tree(&folder, &source, None);
        let into = folder.path("into");
        assert!(because(&tree).ends_with("/into/bin and 3 more are not as app.tar.gz has them"), "{}", because(&tree));
        assert_eq!(sent(&tree, &source, shell), (true, String::new()));
        assert_eq!(verdict(&tree), Verdict::Same, "{shell:?}");
        let names = || {
            let mut names: Vec<_> = fs::read_dir(&into).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        assert_eq!(names(), ["-n", "bin", "current"], "nothing else came out of it, and nothing was left behind");
        assert_eq!(fs::metadata(&into).unwrap().permissions().mode() & 0o7777, 0o755, "the folder has its own mode");
        fs::write(into.join("others"), "stay").unwrap();
        for (drift, told) in [
            ("printf Tool >\"bin/it's a tool\"", "into/bin/it's a tool is not as app.tar.gz has it"),
            ("chmod 600 ./-n", "into/-n is not as"),
            ("chown 0:0 bin", "into/bin is not as"),
            ("ln -sfn /etc current", "into/current is not as"),
            ("rm current; mkdir current", "into/current is not as"),
            ("rm ./-n; ln -s bin ./-n", "into/-n is not as"),
        ] {
            assert!(run(SHELLS[0], &["-e"], &format!("cd '{}'\n{drift}\n", into.display())).status.success(), "{drift}");
            assert!(because(&tree).contains(told), "{drift}: {}", because(&tree));
            if drift.contains("mkdir") {
                let (done, said) = sent(&tree, &source, shell);
                assert!(!done && said.contains("current"), "a folder does not give way to a link: {said}");
                fs::remove_dir(into.join("current")).unwrap();
            }
            assert_eq!(sent(&tree, &source, shell), (true, String::new()), "{drift}");
            assert_eq!(verdict(&tree), Verdict::Same, "{shell:?}: {drift}");
        }
        assert_eq!(names(), ["-n", "bin", "current", "others"]);
    }
}

#[test]
fn an_archive_follows_no_link_and_is_whole_or_not_there() {
    let folder = Folder::new();
    let source = archive_in(&folder);
    let tree = tree(&folder, &source, None);
    // A folder of somebody who would like to have others written elsewhere.
    fs::create_dir_all(folder.path("into")).unwrap();
    fs::create_dir(folder.path("elsewhere")).unwrap();
    symlink(folder.path("elsewhere"), folder.path("into/bin")).unwrap();
    let (done, said) = sent(&tree, &source, SHELLS[0]);
    assert!(!done && said.contains("bin"), "{said}");
    assert_eq!(fs::read_dir(folder.path("elsewhere")).unwrap().count(), 0);
    fs::remove_dir_all(folder.path("into")).unwrap();
    symlink(folder.path("elsewhere"), folder.path("into")).unwrap();
    let (done, said) = sent(&tree, &source, SHELLS[0]);
    assert!(!done && said.contains("is a symbolic link"), "{said}");
    fs::remove_file(folder.path("into")).unwrap();
    let cut = folder.path("cut");
    fs::write(&cut, &fs::read(&source).unwrap()[..100]).unwrap();
    let (done, said) = sent(&tree, &cut, SHELLS[0]);
    assert!(!done && said.contains("another sha256"), "{said}");
    assert_eq!(fs::read_dir(folder.path("into")).unwrap().count(), 0);
}

#[test]
fn what_an_archive_creates_says_that_it_is_there() {
    let folder = Folder::new();
    let source = archive_in(&folder);
    let with = tree(&folder, &source, Some(folder.text("into/-n")));
    assert!(because(&with).ends_with("into/-n does not exist"));
    assert_eq!(sent(&with, &source, SHELLS[0]), (true, String::new()));
    fs::remove_file(folder.path("into/current")).unwrap();
    assert_eq!(verdict(&with), Verdict::Same, "nothing else is looked at");
}
