//! Large files are compared by the fastest program that a host has, and the same comes of it whichever that is.

use super::brought::{sent, users_artifact, verdict};
use super::*;
use kok_tasks::observe::Look;
use kok_tasks::script::PRELUDE;

/// What a host may have in openssl's place: the real one, none, one that fails in the middle, and one that says what it likes.
const OPENSSLS: [&str; 4] = [
    "",
    "openssl() { return 127; }\n",
    "openssl() { echo 'Error setting digest' >&2; printf '%064d' 0; return 1; }\n",
    "openssl() { echo 'SHA256(stdin)= 0'; }\n",
];

#[test]
fn a_digest_is_the_same_by_whatever_program() {
    let folder = Folder::new();
    fs::write(folder.path("it's"), "large").unwrap();
    for shell in SHELLS {
        for openssl in OPENSSLS {
            for bytes in [5, 4 << 20, 500 << 20] {
                let (there, not) = (folder.text("it's").replace('\'', "'\\''"), folder.text("not"));
                let script = format!(
                    "{PRELUDE}set -eu\n{openssl}digest_of '{there}' {bytes}\necho \"$sum\"\nif digest_of {not} {bytes} 2>/dev/null; then echo yes; fi\n"
                );
                let output = run(shell, &[], &script);
                let said = String::from_utf8_lossy(&output.stdout);
                assert_eq!(said, format!("{}\n", sha256(b"large")), "{shell:?} {openssl} {bytes}");
                assert!(output.stderr.is_empty(), "{shell:?} {openssl}: {output:?}");
            }
        }
    }
}

fn placed(folder: &Folder, name: &str, to: &str, content: &str) -> Placed {
    let entry = ArchiveEntry { path: name.to_owned(), size: content.len() as u64, sha256: sha256(content.as_bytes()) };
    Placed { entry, path: folder.text(to) }
}

/// Of several files of an archive one may have another name, and one may be another file than promised: then it is named, and none is put in place.
#[test]
fn files_of_an_archive_are_put_in_place_together_or_not_at_all() {
    let folder = Folder::new();
    let made = format!(
        "cd '{}'\nmkdir bin to else\nprintf one >bin/a\nprintf two >\"bin/it's\"\nprintf three >c\ntar -czf tar bin c\n",
        folder.text("")
    );
    assert!(run(SHELLS[0], &["-e"], &made).status.success());
    let archive = |third: &str| {
        let files = vec![
            placed(&folder, "bin/a", "to/a", "one"),
            placed(&folder, "bin/it's", "to/it's", "two"),
            placed(&folder, "c", "else/other", third),
        ];
        let artifact = users_artifact(&folder.path("tar"));
        Resource::Archive(Archive { artifact, folder: folder.text("to"), unpacked: Unpacked::Files(files) })
    };
    for shell in SHELLS {
        let (done, said) = sent(&archive("four"), &folder.path("tar"), shell);
        assert!(!done && said.contains("c: FAILED"), "{shell:?}: {said}");
        assert!(!said.contains("/a: FAILED") && !folder.path("to/a").exists() && !folder.path("to/.kokctl-unpacked").exists(), "{said}");
        assert_eq!(sent(&archive("three"), &folder.path("tar"), shell), (true, String::new()), "{shell:?}");
        assert_eq!(verdict(&archive("three")), Verdict::Same, "{shell:?}");
        for (name, content) in [("to/a", "one"), ("to/it's", "two"), ("else/other", "three")] {
            assert_eq!(fs::read_to_string(folder.path(name)).unwrap(), content);
            assert_eq!(fs::metadata(folder.path(name)).unwrap().permissions().mode() & 0o7777, 0o755);
            fs::remove_file(folder.path(name)).unwrap();
        }
    }
}

/// Each file has its own digest noted; where one of them is not there, nothing is: the digest of another one would have it installed anew.
#[test]
fn digests_of_several_files_are_noted_together() {
    for shell in SHELLS {
        let folder = Folder::new();
        let names = ["a", "b c", "d"].map(|name| {
            fs::write(folder.path(name), name).unwrap();
            folder.text(name)
        });
        let looks: Looks = names.iter().map(|name| Look::LargeFile(name.clone())).collect();
        let within = |script: &str| script.replace("/var/lib/kokctl", &folder.text("."));
        let noted = ["1", "2", "3"].map(|digit| digit.repeat(64));
        let of = |name: &str| {
            format!("{PRELUDE}set -eu\nremember {} '{}' {} '{}' {} '{name}'\n", noted[0], names[0], noted[1], names[1], noted[2])
        };
        let remembered = run(shell, &[], &within(&of(&folder.text("not"))));
        assert!(remembered.status.success() && !folder.path("hashes").exists(), "{shell:?}: {remembered:?}");
        assert!(run(shell, &[], &within(&of(&names[2]))).status.success());
        let seen = parse(&nonce(), &looks, &run(shell, &[], &within(&probe_script(&nonce(), &looks, None))).stdout).unwrap();
        let sums = names.map(|name| seen.paths[&name].present().and_then(|file| file.sha256.clone()).unwrap());
        assert_eq!(sums, noted, "{shell:?}");
    }
}
