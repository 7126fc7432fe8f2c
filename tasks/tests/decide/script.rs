//! `put` in the shells that hosts have: whole files or none.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use kok_tasks::script::{Content, Fragment, PRELUDE};
use kok_tasks::shell::quote;

use crate::support::shell::{Folder, SHELLS, run, text_of};

fn put(path: &str, mode: u32, content: &[u8]) -> String {
    let mut fragment = Fragment::default();
    fragment.put(path, mode, Content::Bytes(content));
    text_of(&fragment)
}

#[test]
fn any_bytes_arrive_with_their_mode() {
    let every: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    for shell in SHELLS {
        for content in [&b""[..], b"no newline", b"--END--\n", b"'; exit 1\n", &every] {
            let folder = Folder::new();
            let path = folder.text("it's a file");
            fs::write(&path, "before").unwrap();
            let output = run(shell, &[], &put(&path, 0o640, content));
            assert!(output.status.success(), "{shell:?}: {}", String::from_utf8_lossy(&output.stderr));
            assert_eq!(fs::read(&path).unwrap(), content);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o640);
            assert_eq!(folder.names(), ["it's a file"], "something was left behind");
        }
    }
}

/// The commands of a host that `put` calls, replaced by ones that say what they find.
#[test]
fn the_mode_is_right_before_the_content_is_there() {
    for shell in SHELLS {
        let folder = Folder::new();
        let spy = "base64() { stat -c '%a %s' \"$temporary\" >&2; command base64 \"$@\"; }\n";
        let script = put(&folder.text("secret"), 0o600, b"content").replace("set -eu\n", &format!("set -eu\numask 022\n{spy}"));
        let output = run(shell, &[], &script);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "600 0\n", "{shell:?}");
        assert_eq!(fs::read(folder.path("secret")).unwrap(), b"content");
    }
}

#[test]
fn a_file_that_cannot_be_written_is_a_failure_and_leaves_nothing() {
    for shell in SHELLS {
        let folder = Folder::new();
        let missing = run(shell, &[], &put(&folder.text("no/such/file"), 0o644, b"x"));
        assert!(!missing.status.success(), "{shell:?}");
        assert_eq!(folder.names(), Vec::<String>::new());

        // A directory can't be replaced by a rename: the last step fails.
        fs::create_dir_all(folder.path("target/inside")).unwrap();
        let taken = run(shell, &[], &put(&folder.text("target"), 0o644, b"x"));
        assert!(!taken.status.success(), "{shell:?}");
        assert_eq!(folder.names(), ["target"], "a temporary file was left behind");

        let failing = put(&folder.text("file"), 0o644, b"x").replace("set -eu\n", "set -eu\nsync() { return 1; }\n");
        assert!(!run(shell, &[], &failing).status.success(), "{shell:?}");
        assert_eq!(folder.names(), ["target"], "{shell:?}: what could not be flushed was put in place");
    }
}

#[test]
fn a_line_is_put_in_place_as_a_whole_or_not_at_all() {
    for shell in SHELLS {
        let folder = Folder::new();
        let path = folder.text("it's a line");
        fs::write(&path, "before").unwrap();
        let put = |with: &str| {
            let script = format!("{PRELUDE}set -eu\numask 022\n{with}put_line {} 0600 'a  $b'\n", quote(&path));
            run(shell, &[], &script).status.success()
        };
        assert!(!put("sync() { return 1; }\n"), "{shell:?}");
        assert_eq!((fs::read(&path).unwrap(), folder.names()), (b"before".to_vec(), vec!["it's a line".to_owned()]), "{shell:?}");
        assert!(put(""), "{shell:?}");
        assert_eq!((fs::read(&path).unwrap(), folder.names()), (b"a  $b\n".to_vec(), vec!["it's a line".to_owned()]), "{shell:?}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600, "{shell:?}");
    }
}

/// A link of this name, or a file that somebody else may read, must not get what is put in place.
#[test]
fn what_lies_where_it_is_written_first_is_made_anew() {
    for shell in SHELLS {
        let folder = Folder::new();
        fs::write(folder.path("other"), "of somebody else").unwrap();
        for is_link in [true, false] {
            match is_link {
                true => std::os::unix::fs::symlink(folder.path("other"), folder.path(".kokctl-file")).unwrap(),
                false => fs::write(folder.path(".kokctl-file"), "left").unwrap(),
            }
            assert!(run(shell, &[], &put(&folder.text("file"), 0o600, b"content")).status.success(), "{shell:?}");
            assert_eq!(folder.names(), ["file", "other"], "{shell:?}");
            assert_eq!(fs::read(folder.path("other")).unwrap(), b"of somebody else", "{shell:?}");
        }
    }
}

#[test]
fn a_failure_ends_the_script() {
    let folder = Folder::new();
    for shell in SHELLS {
        let mut fragment = Fragment::default();
        fragment.put(&folder.text("no/such/file"), 0o644, Content::Bytes(b"x"));
        fragment.line("echo went on");
        assert_eq!(run(shell, &[], &text_of(&fragment)).stdout, b"", "{shell:?}");
    }
}

#[test]
fn the_prelude_is_valid_shell() {
    for shell in SHELLS {
        let output = run(shell, &["-n"], PRELUDE);
        assert!(output.status.success(), "{shell:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// As where the disk below a here-document is full, or the program that decodes it gives up: some of the bytes arrive, and no error.
#[test]
fn what_is_not_what_was_sent_takes_no_place_and_is_given_to_nobody() {
    let losses =
        ["base64() { :; }\n", "base64() { command base64 \"$@\" | head -c 3; }\n", "base64() { command base64 \"$@\"; echo x; }\n"];
    for (shell, loss) in SHELLS.iter().flat_map(|shell| losses.map(|loss| (shell, loss))) {
        let folder = Folder::new();
        let path = folder.text("key");
        fs::write(&path, "before").unwrap();
        let output = run(shell, &[], &put(&path, 0o600, b"content").replace("set -eu\n", &format!("set -eu\n{loss}")));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(&format!("{path}: what arrived is not what was sent")), "{shell:?}: {said}");
        assert_eq!((fs::read(&path).unwrap(), folder.names()), (b"before".to_vec(), vec!["key".to_owned()]), "{shell:?} {loss}");

        let mut fragment = Fragment::default();
        fragment.feed(Content::Bytes(b"content\n"), &format!("tee {}", folder.text("fed")));
        let output = run(shell, &[], &text_of(&fragment).replace("set -eu\n", &format!("set -eu\n{loss}")));
        assert!(!output.status.success() && output.stdout.is_empty(), "{shell:?} {loss}: {output:?}");
        assert_eq!(folder.names(), ["key"], "{shell:?} {loss}");
    }
}

#[test]
fn what_is_fed_arrives_as_it_was_and_fails_as_its_command_does() {
    let every: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    for shell in SHELLS {
        for content in [&b""[..], b"no newline", b"--END--\n", b"\n\n", &every] {
            let mut fragment = Fragment::text("takes() { cat; echo \"$1\"; return 7; }\n");
            fragment.feed(Content::Bytes(content), "takes 'a  b'");
            fragment.line("echo went on");
            let output = run(shell, &[], &text_of(&fragment));
            assert_eq!(output.status.code(), Some(7), "{shell:?}: {output:?}");
            assert!(output.stdout == [content, b"a  b\n"].concat() && output.stderr.is_empty(), "{shell:?}");
        }
    }
}

/// Everybody on a host may read the arguments of its programs, and of a secret with few possible values the digest tells which it is.
#[test]
fn no_program_is_told_a_digest_and_nobody_prints_it() {
    let spies = ["sha256sum", "base64", "cat", "chmod", "sync", "mv", "rm", "mkdir"].map(|name| {
        format!(
            "{name}() {{ for word; do printf '%s\\n' \"{name}: $word\" >>\"$spied\"; done; env >>\"$spied\"; command {name} \"$@\"; }}\n"
        )
    });
    for shell in SHELLS {
        let folder = Folder::new();
        let digest = kok_tasks::digest::sha256(b"content");
        let (spied, path) = (folder.text("spied"), folder.text("secret"));
        let looks =
            format!("mark() {{ :; }}\nwritten {digest} {path}\nwritten {digest} {path}.not\necho x >>{path}\nwritten {digest} {path}\n");
        for script in
            [put(&path, 0o600, b"content") + &looks, put(&path, 0o600, b"content").replacen(&digest, &digest.replace('0', "1"), 1)]
        {
            let output = run(shell, &[], &script.replace("set -eu\n", &format!("set -eu\nspied={spied}\n{}", spies.concat())));
            let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            if output.status.success() {
                assert_eq!(said, "same\nother\nother\n", "{shell:?}");
            }
            let spied = fs::read_to_string(&spied).unwrap();
            assert!(
                spied.contains("mv: -fT") && ![&said, &spied].iter().any(|text| text.contains(&digest[..8])),
                "{shell:?}: {said} {spied}"
            );
        }
    }
}
