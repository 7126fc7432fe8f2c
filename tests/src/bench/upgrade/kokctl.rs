//! By `kokctl upgrade`.

use std::error::Error;
use std::fs;
use std::time::Instant;

use super::report::UpgradedByKokctl;
use super::story::Story;
use super::{NEW, Older, upgraded};
use crate::bench::site::milliseconds;

pub(super) fn run(older: Older, progress: &(dyn Fn(&str) + Sync)) -> Result<UpgradedByKokctl, Box<dyn Error>> {
    let site = &older.site;
    site.write_manifest(NEW)?;
    let began = Instant::now();
    let mut story = Story::default();
    site.follow("upgrade", &["--yes"], |event| {
        story.take(milliseconds(began), event);
        Ok(())
    })?;
    let said = fs::read_to_string(site.path("err"))?;
    site.wait_for_nodes(&upgraded())?;
    let milliseconds = milliseconds(began);
    progress(&format!("kokctl: {:.1} s until all nodes were Ready with {NEW}", milliseconds / 1e3));
    let stages = story.parts(&said, milliseconds);
    older.site.lab.down()?;
    let Story { sending, programs, images, .. } = story;
    Ok(UpgradedByKokctl { milliseconds, sending_milliseconds: sending, programs, images, stages })
}
