//! What is installed from.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{Expected, INPUT, Refusals};
use crate::cluster_support::kokctl::program_of;

/// Then it would be fetched, and the lab has no way to upstream: each server is told of once.
pub fn none_given(refusals: &Refusals<'_>) {
    refusals.kokctl.write_manifest(&refusals.manifest);
    let servers = [(3, "dl.k8s.io"), (2, "ghcr.io"), (5, "github.com"), (7, "registry.k8s.io")];
    let told = servers.map(|(files, server)| (format!("{files} files or images of {server} can't be fetched"), server));
    let hint = "without a network, give a bundle that was made elsewhere with --bundle";
    let expected = |(what, at)| Expected { what, at, because: "error sending request", hint };
    let expected: Vec<Expected<'_>> = told.iter().map(|(what, at)| expected((what.as_str(), *at))).collect();
    refusals.refuses_verb(&[], INPUT, &expected);
}

pub fn not_there(refusals: &Refusals<'_>) {
    let folder = refusals.kokctl.folder().join("no-bundle");
    let expected = Expected {
        what: "there is no bundle",
        at: &folder.join("bundle.json").display().to_string(),
        because: "No such file or directory",
        hint: "give the folder of a bundle with --bundle",
    };
    refusals.refuses_from(&folder, &refusals.manifest, INPUT, &[expected]);
}

pub fn lacks_the_version(refusals: &Refusals<'_>) {
    let manifest = refusals.manifest_with("kubernetesVersion: 1.37.1", "kubernetesVersion: 1.37.99");
    let expected = Expected {
        what: "the bundle holds no Kubernetes 1.37.99",
        at: &refusals.position(&manifest, "1.37.99"),
        because: "1.37.1",
        hint: "--bundle",
    };
    refusals.refuses(&manifest, INPUT, &[expected]);
    let manifest = refusals.manifest_with("\n  vars:\n", "\n  vars:\n    containerd_version: 2.0.99\n");
    let expected = Expected {
        what: "the bundle holds no containerd 2.0.99",
        at: &refusals.position(&manifest, "2.0.99"),
        because: "2.3.7",
        hint: "leave it out for the newest",
    };
    refusals.refuses(&manifest, INPUT, &[expected]);
}

pub fn corrupted_file(refusals: &Refusals<'_>) {
    let (bundle, file) = copy(refusals, "corrupted");
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let expected = Expected {
        what: "kubelet 1.37.1 is corrupted",
        at: &file.display().to_string(),
        because: &format!("its {} bytes have the sha256 ", bytes.len()),
        hint: "nothing was changed on any host",
    };
    refusals.refuses_from(&bundle, &refusals.manifest, INPUT, &[expected]);
}

pub fn file_cut_off_or_missing(refusals: &Refusals<'_>) {
    let (bundle, file) = copy(refusals, "cut-off");
    fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(1000).unwrap();
    let expected = |what, because| Expected { what, at: file.to_str().unwrap(), because, hint: "build or fetch the bundle again" };
    refusals.refuses_from(&bundle, &refusals.manifest, INPUT, &[expected("kubelet 1.37.1 is corrupted", "its 1000 bytes have")]);
    fs::remove_file(&file).unwrap();
    refusals.refuses_from(&bundle, &refusals.manifest, INPUT, &[expected("kubelet 1.37.1 can't be read", "No such file or directory")]);
}

/// A bundle of links to the right one, with a kubelet of its own that can be damaged.
fn copy(refusals: &Refusals<'_>, name: &str) -> (PathBuf, PathBuf) {
    let (right, copy) = (refusals.kokctl.bundle(), refusals.kokctl.folder().join(name));
    link(right, &copy);
    let kubelet = program_of(&copy, "kubelet");
    fs::remove_file(&kubelet).unwrap();
    fs::copy(program_of(right, "kubelet"), &kubelet).unwrap();
    (copy, kubelet)
}

fn link(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() { link(&entry.path(), &target) } else { symlink(entry.path(), target).unwrap() }
    }
}
