//! What the builder says while it works, on standard error.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// How often a line is added where lines can't be rewritten, as in the log of a CI job.
const LOG_INTERVAL: Duration = Duration::from_secs(20);

/// Shows which component is being built, how far it is, and for how long it has been.
pub struct Progress {
    started: Instant,
    terminal: bool,
    label: String,
    shown: Instant,
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

impl Progress {
    /// Begins to count the time.
    #[must_use]
    pub fn new() -> Self {
        let now = Instant::now();
        Self { started: now, terminal: io::stderr().is_terminal(), label: String::new(), shown: now }
    }

    /// Time since the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Says which component of how many the following lines are about.
    pub fn component(&mut self, number: usize, of: usize, name: &str) {
        self.label = format!("[{number:>2}/{of}] {name}: ");
        self.shown = Instant::now();
    }

    /// A line that stays.
    pub fn line(&mut self, text: &str) {
        let start = if self.terminal { "\r\x1b[K" } else { "" };
        self.write(&format!("{start}{} {}{text}\n", clock(self.elapsed()), self.label));
        self.shown = Instant::now();
    }

    /// A sign of life: rewrites the last line of a terminal, adds a line now and then elsewhere.
    pub fn alive(&mut self, text: &str) {
        if self.terminal {
            // One line of 100 columns at most, so that it can be rewritten.
            let line: String = format!("{} {}{text}", clock(self.elapsed()), self.label).chars().take(100).collect();
            self.write(&format!("\r\x1b[K{line}"));
        } else if self.shown.elapsed() >= LOG_INTERVAL {
            self.line(text);
        }
    }

    fn write(&self, text: &str) {
        // Nobody can be told that standard error is gone, and the build is good without it.
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

/// Minutes and seconds: `1:05`.
#[must_use]
pub fn clock(elapsed: Duration) -> String {
    format!("{}:{:02}", elapsed.as_secs() / 60, elapsed.as_secs() % 60)
}
