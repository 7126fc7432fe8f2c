//! A bundle with packages of Debian, for hosts that have no source of them: all hosts of the lab.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use kok_tasks::bundle::Bundle;
use kok_tasks::catalog::Catalog;
use kok_tests::lab::DEFAULT_KUBERNETES_VERSION;
use kok_tests::release::mirror::{self, DISTRIBUTION};
use kok_tests::upstream::{Isolated, catalog_of, index_of};

use super::kokctl::{KokctlOutput, bundle, program};

/// A bundle with nothing but packages, from a server that stands for Debian's.
pub fn of_packages(folder: &Path, faults: &[&str]) -> KokctlOutput {
    let debian = mirror::ensure().unwrap();
    let options = [&["--files", debian.to_str().unwrap()], faults].concat();
    let server = Isolated::start(&program().with_file_name("upstream"), &bundle(), &options).unwrap();
    // The others have stories of their own.
    let catalog = Catalog { files: Vec::new(), images: Vec::new(), ..catalog_of(&index_of(&bundle()).unwrap()).unwrap() };
    fs::write(server.file("packages.json"), serde_json::to_string(&catalog).unwrap()).unwrap();
    let mut command = server.command("timeout");
    command.args(["--kill-after=5", "300"]).arg(program()).args(["bundle", "create", "--packages", DISTRIBUTION]);
    command.args(["--kubernetes", DEFAULT_KUBERNETES_VERSION, "--catalog", "packages.json", "--ca", "ca.crt"]);
    command.arg("--output").arg(folder);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    KokctlOutput { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Puts what the lab installs from beside the packages.
pub fn complete(folder: &Path) {
    let packages = index_of(folder).unwrap().packages;
    ["files", "images"].iter().for_each(|name| symlink(bundle().join(name), folder.join(name)).unwrap());
    write_index(folder, &Bundle { packages, ..index_of(&bundle()).unwrap() });
}

pub fn write_index(folder: &Path, index: &Bundle) {
    fs::write(folder.join("bundle.json"), serde_json::to_string(index).unwrap()).unwrap();
}
