//! How long the parts of a story take.
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::time::Instant;

/// Says how long each part took; seen where the test fails, or with --nocapture.
pub struct Clock(Instant);

impl Clock {
    pub fn start() -> Self {
        Self(Instant::now())
    }

    pub fn lap(&mut self, what: &str) {
        println!("{:6.1} s  {what}", self.0.elapsed().as_secs_f64());
        self.0 = Instant::now();
    }
}
