//! By `kokctl upgrade`.

use std::error::Error;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::Instant;

use super::report::ByKokctl;
use super::story::Story;
use super::{NEW, Older, upgraded};
use crate::bench::site::milliseconds;

pub(super) fn run(older: Older, progress: &(dyn Fn(&str) + Sync)) -> Result<ByKokctl, Box<dyn Error>> {
    let site = &older.site;
    site.write_manifest(NEW)?;
    let began = Instant::now();
    let mut kokctl = site.verb("upgrade", &["--yes", "--json"])?.stdout(Stdio::piped()).stderr(site.file("err")?).spawn()?;
    let mut story = Story::default();
    for line in BufReader::new(kokctl.stdout.take().ok_or("no output")?).lines() {
        let line = line?;
        story.take(milliseconds(began), &serde_json::from_str(&line)?);
    }
    let ended = kokctl.wait()?;
    let said = fs::read_to_string(site.path("err"))?;
    if !ended.success() {
        return Err(format!("kokctl upgrade: {said}").into());
    }
    site.wait_for_nodes(&upgraded())?;
    let milliseconds = milliseconds(began);
    progress(&format!("kokctl: {:.1} s until all nodes were Ready with {NEW}", milliseconds / 1e3));
    let stages = story.parts(&said, milliseconds);
    older.site.lab.down()?;
    let Story { sending, programs, images, .. } = story;
    Ok(ByKokctl { milliseconds, sending_milliseconds: sending, programs, images, stages })
}
