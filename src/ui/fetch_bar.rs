//! How far fetching or pushing is: a bar on a terminal, else a line for each that is there.

use std::io::{IsTerminal as _, stderr};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::writer::{draw_above, status_line};
use crate::artifacts::fetch::Progress;

const TEMPLATE: &str = "{prefix} {bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left  {msg}";

/// What is told of the way on which bytes go.
struct Words {
    doing: &'static str,
    things: &'static str,
    done: &'static str,
}

const FETCH: Words = Words { doing: "fetching", things: "files and images", done: "fetched" };
const PUSH: Words = Words { doing: "pushing", things: "images", done: "pushed" };

/// Shows how far fetching or pushing is.
pub struct FetchBar {
    words: Words,
    bar: Option<ProgressBar>,
}

impl FetchBar {
    /// One of fetching, that shows nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::with_words(FETCH)
    }

    /// One of pushing.
    #[must_use]
    pub fn pushing() -> Self {
        Self::with_words(PUSH)
    }

    fn with_words(words: Words) -> Self {
        let bar = stderr().is_terminal().then(|| {
            let bars = MultiProgress::new();
            draw_above(Some(bars.clone()));
            let bar = bars.add(ProgressBar::new(0));
            bar.set_style(ProgressStyle::with_template(TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_prefix(words.doing);
            bar
        });
        Self { words, bar }
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
        status_line(&format!("{} {items} {}, {megabytes:.0} MB", self.words.doing, self.words.things));
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
            None => status_line(&format!("{} {title}", self.words.done)),
        }
    }

    fn notice(&self, text: &str) {
        status_line(&format!("note: {text}"));
    }
}
