//! Resources that users declare: what is done makes them so, in a real folder.

use super::*;
use kok_crds::model::Account;
use kok_tasks::observe::Piece;
use kok_tasks::resources::{AuthorizedKey, Gone, Group, Line, NamedPackages, Owner, Symlink, User};

#[test]
fn links_lead_where_they_should() {
    let folder = Folder::new();
    let link = |target: &str| Resource::Symlink(Symlink { path: folder.text("it's a link"), target: target.to_owned() });
    becomes_same(&link("/nowhere/at $all"));
    assert_eq!(fs::read_link(folder.path("it's a link")).unwrap().to_str(), Some("/nowhere/at $all"));
    becomes_same(&link("-n"));
    fs::remove_file(folder.path("it's a link")).unwrap();
    fs::write(folder.path("it's a link"), "a file").unwrap();
    becomes_same(&link("/etc"));
    becomes_same(&link("/usr"));
    assert_eq!(folder.names(), ["it's a link"], "nothing else is left, and nothing is put into the folder that it led to");
    fs::remove_file(folder.path("it's a link")).unwrap();
    fs::create_dir(folder.path("it's a link")).unwrap();
    refuses(&link("/etc"), "is a folder");
}

/// The script fails, and says so.
fn refuses(resource: &Resource, why: &str) {
    let looks: Looks = resource.looks().into_iter().collect();
    for shell in SHELLS {
        let seen = parse(&nonce(), &looks, &run(shell, &[], &probe_script(&nonce(), &looks, None)).stdout).unwrap();
        let Verdict::Differs(change) = resource.diff(&seen) else { panic!("{resource:?} is as it should be") };
        let output = run(shell, &[], &script_of(&resource.act(&change)));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(why), "{shell:?}: {said}");
    }
}

#[test]
fn what_is_to_be_gone_goes_and_a_folder_only_if_that_is_said() {
    let folder = Folder::new();
    let gone = |name: &str, recursive| Resource::Gone(Gone { path: folder.text(name), recursive });
    fs::write(folder.path("a b"), "").unwrap();
    becomes_same(&gone("a b", false));
    fs::create_dir_all(folder.path("full/of")).unwrap();
    symlink(folder.path("full"), folder.path("link")).unwrap();
    becomes_same(&gone("link", true));
    assert!(folder.path("full/of").exists(), "a link goes, and not what it leads to");
    refuses(&gone("full", false), "recursive: true");
    becomes_same(&gone("full", true));
    fs::create_dir(folder.path("empty")).unwrap();
    becomes_same(&gone("empty", false));
    assert!(folder.names().is_empty());
}

#[test]
fn a_line_takes_the_place_of_those_that_begin_so() {
    let folder = Folder::new();
    let path = folder.path("a=b");
    let line = |line: &str, starts_with: Option<&str>| {
        Resource::Line(Line { path: folder.text("a=b"), line: line.to_owned(), starts_with: starts_with.map(str::to_owned) })
    };
    for (before, wanted, start, after) in [
        ("", "x", None, "x\n"),
        ("a", "x\\n$(id)", None, "a\nx\\n$(id)\n"),
        ("a\nPort 22\nb\n", "Port 23", Some("Port "), "a\nPort 23\nb\n"),
        ("a\nPort 22\nb\nPort 24\n", "Port 23", Some("Port "), "a\nPort 23\nb\n"),
        ("Port 22\na\nPort 23\n", "Port 23", Some("Port "), "a\nPort 23\n"),
        ("#Port 22\n", "Port 23", Some("Port "), "#Port 22\nPort 23\n"),
        ("1\n", "1.0", None, "1\n1.0\n"),
        ("}\n}\n", "}", None, "}\n}\n"),
    ] {
        fs::write(&path, before).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        becomes_same(&line(wanted, start));
        assert_eq!(fs::read_to_string(&path).unwrap(), after, "{before:?}");
        assert_eq!((fs::metadata(&path).unwrap().permissions().mode() & 0o7777, folder.names()), (0o640, vec!["a=b".to_owned()]));
    }
    fs::remove_file(&path).unwrap();
    becomes_same(&line("x", None));
    fs::remove_file(&path).unwrap();
    symlink("/etc/hostname", &path).unwrap();
    refuses(&line("certainly not there", None), "is a symbolic link");
}

#[test]
fn a_line_shows_what_it_replaces() {
    let line = Resource::Line(Line { path: "/f".to_owned(), line: "Port 23".to_owned(), starts_with: Some("Port ".to_owned()) });
    let piece = Piece::Line { path: "/f".to_owned(), line: "Port 23".to_owned(), starts_with: Some("Port ".to_owned()) };
    let seen = |said: &str| Observations { pieces: [(piece.clone(), said.to_owned())].into(), ..Observations::default() };
    assert_eq!(diff_text(&line, &Observations::default()), "unseen");
    assert_eq!(diff_text(&line, &seen("= 1\n")), "same");
    assert_eq!(diff_text(&line, &seen("")), "add because the line is missing");
    let Verdict::Differs(change) = line.diff(&seen("- Port 22\n= 0\n")) else { panic!("nothing to do") };
    assert_eq!(change.diff.as_deref(), Some("--- /f (host)\n+++ /f (desired)\n@@ -1 +1 @@\n-Port 22\n+Port 23\n"));
}

#[test]
fn blocks_of_several_names_stand_in_one_file() {
    let folder = Folder::new();
    let path = folder.path("hosts");
    let block = |mark: Option<&str>, text: &str| {
        Resource::Block(Block { path: folder.text("hosts"), text: text.to_owned(), mark: mark.map(str::to_owned) })
    };
    fs::write(&path, "127.0.0.1 localhost\n").unwrap();
    becomes_same(&block(None, "ours\n"));
    becomes_same(&block(Some("block:/etc/hosts"), "one\n"));
    becomes_same(&block(Some("a.b"), "two\n"));
    becomes_same(&block(Some("axb"), "three\n"));
    becomes_same(&block(Some("a.b"), "2\n"));
    let text = fs::read_to_string(&path).unwrap();
    assert!(
        text.contains("# BEGIN kokctl\nours\n# END kokctl\n") && text.contains("# BEGIN kokctl axb\nthree\n# END kokctl axb\n"),
        "{text}"
    );
    assert!(
        text.contains("# BEGIN kokctl block:/etc/hosts\none\n") && text.ends_with("# BEGIN kokctl a.b\n2\n# END kokctl a.b\n"),
        "{text}"
    );
    assert_eq!(text.matches("a.b").count(), 2);
}

#[test]
fn owners_are_compared_by_their_numbers() {
    let owner = |user: &str, group: Option<&str>| Owner { user: user.to_owned(), group: group.map(str::to_owned) };
    let file = |owner| Resource::File(File::text("/f", "x").owned(owner));
    let mut seen = at("/f", Some(Metadata { user: 7, group: 9, ..metadata(Kind::File, 0o644, "x") }));
    assert_eq!(diff_text(&file(owner("7", Some("9"))), &seen), "same");
    assert_eq!(diff_text(&file(owner("app", Some("web"))), &seen), "unseen");
    seen.pieces = [(Piece::User("app".to_owned()), String::new()), (Piece::Group("web".to_owned()), "web:x:9:\n".to_owned())].into();
    assert_eq!(diff_text(&file(owner("app", Some("web"))), &seen), "set mode 0644 and owner app:web because there is no user app yet");
    seen.pieces.insert(Piece::User("app".to_owned()), "app:x:7:9::/:/bin/sh".to_owned());
    assert_eq!(diff_text(&file(owner("app", Some("web"))), &seen), "same");
    assert_eq!(diff_text(&file(owner("app", None)), &seen), "same", "the user's own group");
    assert_eq!(diff_text(&file(owner("root", None)), &seen), "set mode 0644 and owner root because it has mode 0644 and owner 7:9");
}

fn account(name: &str) -> Account {
    Account { name: name.to_owned(), uid: None, group: None, groups: Vec::new(), home: None, shell: None, comment: None, system: false }
}

#[test]
fn a_user_is_compared_by_what_is_said_of_it() {
    let seen = |user: &str, group: &str| Observations {
        pieces: [(Piece::User("app".to_owned()), user.to_owned()), (Piece::Group("docker".to_owned()), group.to_owned())].into(),
        ..Observations::default()
    };
    let user = |account| Resource::User(User { account, recorded: false });
    let wanted = Account { shell: Some("/bin/bash".to_owned()), groups: vec!["docker".to_owned()], ..account("app") };
    let line = "app:x:1000:1000::/home/app:/bin/sh";
    assert_eq!(diff_text(&user(wanted.clone()), &seen("", "docker:x:9:")), "create because it does not exist");
    assert_eq!(diff_text(&user(wanted.clone()), &seen(line, "docker:x:9:other")), "set because its shell is /bin/sh, it is not in docker");
    assert_eq!(diff_text(&user(wanted), &seen(&line.replace("/bin/sh", "/bin/bash"), "docker:x:9:other,app")), "same");
    assert_eq!(diff_text(&user(account("app")), &seen(line, "")), "same", "what is not said is as it is");
}

#[test]
fn keys_and_packages_and_groups_are_there_or_made() {
    let key = Resource::AuthorizedKey(AuthorizedKey { user: "app".to_owned(), key: "ssh-ed25519 AAAA' me".to_owned() });
    let packages = Resource::NamedPackages(NamedPackages {
        manager: Manager::Apt,
        names: vec!["a".to_owned(), "b".to_owned()],
        environment: Vec::new(),
    });
    let group = Resource::Group(Group { name: "web".to_owned(), gid: Some(70), system: false });
    let answer = |pieces: &[(Piece, &str)]| Observations {
        pieces: pieces.iter().map(|(piece, text)| (piece.clone(), (*text).to_owned())).collect(),
        ..Observations::default()
    };
    let piece = Piece::Key { user: "app".to_owned(), key: "ssh-ed25519 AAAA' me".to_owned() };
    assert_eq!(diff_text(&key, &answer(&[(piece.clone(), "yes\n")])), "same");
    assert_eq!(diff_text(&key, &answer(&[(piece, "")])), "add because the user has no such key");
    let (a, b) = (Piece::Package("a".to_owned()), Piece::Package("b".to_owned()));
    assert_eq!(diff_text(&packages, &answer(&[(a.clone(), "yes")])), "unseen");
    assert_eq!(diff_text(&packages, &answer(&[(a.clone(), "yes"), (b.clone(), "")])), "install because b is not installed");
    assert_eq!(diff_text(&packages, &answer(&[(a, "yes"), (b, "yes")])), "same");
    let web = Piece::Group("web".to_owned());
    assert_eq!(diff_text(&group, &answer(&[(web.clone(), "web:x:71:")])), "set to gid 70 because it has gid 71");
    assert_eq!(diff_text(&group, &answer(&[(web, "web:x:70:")])), "same");
}

/// Names of users, groups and packages are asked for with one command each.
#[test]
fn pieces_are_asked_for_together() {
    let names = ["root", "it's nobody"];
    let looks: Looks = names
        .iter()
        .flat_map(|name| [Piece::User((*name).to_owned()), Piece::Group((*name).to_owned()), Piece::Package((*name).to_owned())])
        .map(kok_tasks::observe::Look::Piece)
        .collect();
    let script = probe_script(&nonce(), &looks, None);
    assert_eq!((script.matches("$(grep ").count(), script.matches("getent ").count()), (1, 1));
    for shell in SHELLS {
        let seen = parse(&nonce(), &looks, &run(shell, &[], &script).stdout).unwrap();
        assert!(seen.pieces[&Piece::User("root".to_owned())].starts_with("root:"));
        assert_eq!((seen.pieces.len(), seen.pieces[&Piece::User("it's nobody".to_owned())].as_str()), (6, ""));
    }
}

/// The files of a host are not all that knows a user: what does not stand there is asked of whatever else does.
#[test]
fn users_that_no_file_has_are_asked_for() {
    let users = ["root", "ro", "daemon", "somebody", "nobody"].map(|name| Piece::User(name.to_owned()));
    let groups = ["root", "somebody"].map(|name| Piece::Group(name.to_owned()));
    let looks: Looks = users.iter().chain(&groups).cloned().map(kok_tasks::observe::Look::Piece).collect();
    let elsewhere = "getent() {\n  echo \"$*\" >&2\n  [ \"$1\" != passwd ] || echo 'somebody:x:7:7::/:/bin/sh'\n}\n";
    for shell in SHELLS {
        let output = run(shell, &[], &format!("{elsewhere}{}", probe_script(&nonce(), &looks, None)));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{shell:?}: what it complains of is nobody's business");
        let seen = parse(&nonce(), &looks, &output.stdout).unwrap();
        let said = |piece: &Piece| seen.pieces[piece].as_str().split(':').next().unwrap_or_default().to_owned();
        assert_eq!(users.each_ref().map(said), ["root", "", "daemon", "somebody", "nobody"], "{shell:?}");
        assert_eq!(groups.each_ref().map(said), ["root", ""], "{shell:?}");
    }
}

#[test]
fn units_are_what_is_declared_and_no_more() {
    let unit = |running, enabled| {
        Resource::Unit(Unit { name: "u.service".to_owned(), goal: UnitGoal::Declared { running, enabled }, reads: Vec::new() })
    };
    let seen = |active: &str, file: &str| {
        let state = UnitState { load: "loaded".to_owned(), active: active.to_owned(), file: file.to_owned(), ..UnitState::default() };
        Observations { units: [("u.service".to_owned(), state)].into(), ..Observations::default() }
    };
    for (wanted, is, verdict) in [
        ((Some(true), Some(true)), ("active", "enabled"), "same"),
        ((Some(true), Some(true)), ("inactive", "disabled"), "start because it is inactive"),
        ((Some(true), Some(true)), ("active", "disabled"), "enable because it is disabled"),
        ((Some(true), None), ("active", "disabled"), "same"),
        ((Some(false), Some(false)), ("active", "enabled"), "stop because it is active"),
        ((Some(false), Some(false)), ("inactive", "enabled"), "disable because it is enabled"),
        ((Some(false), Some(true)), ("inactive", "enabled"), "same"),
        ((None, Some(true)), ("inactive", "disabled"), "enable because it is disabled"),
        ((None, None), ("failed", "static"), "same"),
    ] {
        let resource = unit(wanted.0, wanted.1);
        assert_eq!(diff_text(&resource, &seen(is.0, is.1)), verdict, "{wanted:?} {is:?}");
    }
}
