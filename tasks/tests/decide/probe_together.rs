//! Files of which one program of a probe reads several.

use std::fs;

use kok_tasks::observe::{Look, Looks, Observations, parse, probe_script};

use crate::support::nonce;
use crate::support::shell::{Folder, SHELLS, run};

/// Probes with a folder below `/run` and without: with it one program reads what several would. Nothing is left in it, and all have to see the same.
fn probe_with_folder_and_without(folder: &Folder, looks: &Looks) -> Observations {
    let seen = SHELLS.into_iter().flat_map(|shell| {
        ["run", "no-run"].map(|run_folder| {
            let script = probe_script(&nonce(), looks, None).replace("/run/kokctl", &folder.text(run_folder));
            let output = run(shell, &[], &script);
            let several =
                [" contents 0 1 ", " kubeconfigs 0 1 "].iter().any(|words| String::from_utf8_lossy(&output.stdout).contains(words));
            assert_eq!(several, run_folder == "run", "{shell:?}: {output:?}");
            let mut seen = parse(&nonce(), looks, &output.stdout).unwrap();
            (seen.clock_nanoseconds, seen.monotonic_microseconds) = (0, 0);
            seen
        })
    });
    let mut seen: Vec<Observations> = seen.collect();
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "{seen:?}");
    assert_eq!(fs::read_dir(folder.path("run")).unwrap().count(), 0);
    seen.remove(0)
}

#[test]
fn what_one_program_reads_of_several_files_is_told_apart() {
    let folder = Folder::new();
    fs::create_dir(folder.path("run")).unwrap();
    let limit = 64 * 1024;
    let long = vec![b'x'; limit + 1];
    let other = format!("\n{} next\nx", "a".repeat(32));
    let files: [(&str, &[u8]); 9] = [
        ("1", b""),
        ("2", b"line\n"),
        ("3", b"open"),
        ("4", b""),
        ("5 it's", b"\n\n"),
        ("6", &long),
        ("7", &[0, 255, b'\n', 0]),
        ("8", other.as_bytes()),
        ("9", b""),
    ];
    for (name, content) in files {
        fs::write(folder.path(name), content).unwrap();
    }
    fs::create_dir(folder.path("folder")).unwrap();
    let asked = files.map(|(name, _)| name).into_iter().chain(["folder", "missing", "3-missing"]);
    let looks: Looks = asked.map(|name| Look::Content(folder.text(name))).collect();
    let seen = probe_with_folder_and_without(&folder, &looks);
    assert_eq!(seen.contents.len(), files.len());
    for (name, content) in files {
        assert_eq!(seen.contents[&folder.text(name)], content[..content.len().min(limit)], "{name}");
    }
}

#[test]
fn what_one_program_reads_of_several_kubeconfigs_is_told_apart() {
    let folder = Folder::new();
    fs::create_dir(folder.path("run")).unwrap();
    let kubeconfig = |server: &str, data: &str| {
        format!(
            "clusters:\n- cluster:\n    server: {server}\nusers:\n- user:\n    client-certificate-data: {data}\n    client-key-data: S0VZ"
        )
    };
    let files = [
        ("1", kubeconfig("https://192.0.2.1:6443", "QQ==")),
        ("2", String::new()),
        ("3", format!("{} next\n{}", "a".repeat(32), kubeconfig("\"https://192.0.2.3:6443\"", "\"Qg==\""))),
        ("4", "nonsense\n".to_owned()),
    ];
    for (name, content) in &files {
        fs::write(folder.path(name), content).unwrap();
    }
    let looks: Looks = ["1", "2", "3", "4", "5"].map(|name| Look::KubeconfigCertificate(folder.text(name))).into_iter().collect();
    let seen = probe_with_folder_and_without(&folder, &looks);
    let of = |name: &str| seen.kubeconfigs.get(&folder.text(name)).map(|data| data.as_deref());
    assert_eq!(["1", "2", "3", "4", "5"].map(of), [Some(Some("A")), Some(None), Some(Some("B")), Some(None), None]);
    let servers: Vec<&str> = seen.kubeconfig_servers.values().map(String::as_str).collect();
    assert_eq!(servers, ["https://192.0.2.1:6443", "https://192.0.2.3:6443"]);
}

/// Of one that says too much nobody hears more than of any other, and the others are heard.
#[test]
fn a_kubeconfig_without_end_hides_no_other() {
    let folder = Folder::new();
    fs::create_dir(folder.path("run")).unwrap();
    fs::write(folder.path("1"), format!("client-certificate-data: {}\n", "QUFB".repeat(100_000))).unwrap();
    fs::write(folder.path("2"), "client-certificate-data: QQ==\n").unwrap();
    let looks: Looks = ["1", "2"].map(|name| Look::KubeconfigCertificate(folder.text(name))).into_iter().collect();
    for shell in SHELLS {
        let output = run(shell, &[], &probe_script(&nonce(), &looks, None).replace("/run/kokctl", &folder.text("run")));
        assert!(output.stdout.len() < 66 * 1024, "{shell:?}: {}", output.stdout.len());
        let seen = parse(&nonce(), &looks, &output.stdout).unwrap();
        assert_eq!(seen.kubeconfigs[&folder.text("1")].as_ref().map(String::len), Some(48 * 1024), "{shell:?}");
        assert_eq!(seen.kubeconfigs[&folder.text("2")].as_deref(), Some("A"), "{shell:?}");
    }
}
