//! A controller whose clock is wrong changes nothing.

use std::path::PathBuf;
use std::process::Command;

use kok_tests::lab::Lab;

use crate::cluster_support::cluster::kubectl;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::snapshot::{assert_same, fingerprint};

const DAY: i64 = 86_400;

/// More than a year: all leaves have ended by the one clock, and are not yet valid by the other.
const DAYS: i64 = 400;

/// The hosts' own clocks are this machine's, so it is the controller's alone that is another. That a whole year passes, for hosts too, can't
/// be had here; a controller that is a year ahead of its hosts is refused like any other.
pub fn is_refused_and_changes_nothing(lab: &Lab, kokctl: &Kokctl<'_>) {
    let library = library(kokctl);
    let before = fingerprint(lab);
    for (ahead, sentence) in [(-DAYS * DAY, " s behind that of "), (DAYS * DAY, " s ahead of that of ")] {
        for verb in ["plan", "apply"] {
            let (manifest, bundle) = (kokctl.manifest(), kokctl.bundle().to_owned());
            let mut command = kokctl.command(&[verb, "-f", manifest.to_str().unwrap(), "--bundle", bundle.to_str().unwrap()]);
            command.env("LD_PRELOAD", &library).env("KOK_TEST_CLOCK", ahead.to_string());
            // What is told of the runs of this cluster is told in the order of their clocks.
            command.env("XDG_STATE_HOME", kokctl.folder().join("state-of-another-clock"));
            let output = command.output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            kokctl.note(&format!("{said}{}", String::from_utf8_lossy(&output.stdout)));
            let is_refused = said.contains("error: the clock of this machine is ") && said.contains(sentence);
            assert!(output.status.code() == Some(EXIT) && is_refused, "{verb}, {ahead} s: {output:?}");
            let off = said.split("the clock of this machine is ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
            assert!((off.parse::<i64>().unwrap() - ahead.abs()).abs() < 60, "{said}");
        }
    }
    assert_same(&before, &fingerprint(lab), "whoever has another clock must not change anything");
    assert_eq!(kubectl(lab, "get --raw /readyz"), "ok");
    kokctl.has_nothing_to_do();
}

/// Of what is not to be done to hosts, when nothing was done (docs/apply.md).
const EXIT: i32 = 3;

/// The file beside this one, for this machine. A C compiler is there, for kokctl itself needs one.
fn library(kokctl: &Kokctl<'_>) -> PathBuf {
    let library = kokctl.folder().join("clock.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suites/cluster_support/clock.c");
    let output = Command::new("cc").args(["-shared", "-fPIC", "-Wall", "-Werror", "-o"]).arg(&library).arg(source).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    library
}
