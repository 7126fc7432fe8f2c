//! How far fetching is: a bar on a terminal, else a line for each that is there.

use std::io::{IsTerminal as _, stderr};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::writer::{draw_above, status_line};
use crate::artifacts::fetch::Progress;

const TEMPLATE: &str = "fetching {bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left  {msg}";

/// Shows how far fetching is.
pub struct FetchBar {
    bar: Option<ProgressBar>,
}

impl FetchBar {
    /// One that shows nothing yet.
    #[must_use]
    pub fn new() -> Self {
        let bar = stderr().is_terminal().then(|| {
            let bars = MultiProgress::new();
            draw_above(Some(bars.clone()));
            let bar = bars.add(ProgressBar::new(0));
            bar.set_style(ProgressStyle::with_template(TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Self { bar }
    }

    /// Leaves the terminal to others.
    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
            draw_above(None);
        }
    }
}

impl Default for FetchBar {
    fn default() -> Self {
        Self::new()
    }
}

impl Progress for FetchBar {
    fn begins(&self, items: usize, bytes: u64) {
        #[allow(clippy::cast_precision_loss, reason = "for people")]
        let megabytes = bytes as f64 / 1e6;
        status_line(&format!("fetching {items} files and images, {megabytes:.0} MB"));
        if let Some(bar) = &self.bar {
            bar.set_length(bytes);
            bar.enable_steady_tick(Duration::from_millis(200));
        }
    }

    fn came(&self, bytes: u64) {
        if let Some(bar) = &self.bar {
            bar.inc(bytes);
        }
    }

    fn done(&self, title: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(title.to_owned()),
            None => status_line(&format!("fetched {title}")),
        }
    }

    fn notice(&self, text: &str) {
        status_line(&format!("note: {text}"));
    }
}
