//! `put` in the shells that hosts have: whole files or none.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use kok_tasks::script::{Content, Fragment, PRELUDE};

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
        let spy = "cat() { stat -c '%a %s' \"$temporary\" >&2; command cat; }\n";
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
