//! What the simulation writes of a history (`src/run/dispatch/tests/simulation/kept.rs`).

use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub struct History {
    etcd: String,
    pub lives: Vec<Life>,
    pub end: End,
}

impl History {
    /// Whether members of etcd are units on hosts of their own.
    pub fn has_units(&self) -> bool {
        self.etcd == "units"
    }
}

/// One run, and what happens while it is under way.
#[derive(Debug, Deserialize)]
pub struct Life {
    pub order: Order,
    pub edited: Vec<(String, String)>,
    pub removed: Vec<(String, String)>,
    pub cut_after: Vec<usize>,
    pub killed_after: Option<usize>,
    pub happenings: Vec<(u64, Happening)>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    Apply,
    Remove(String),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Happening {
    Away { hosts: Vec<String>, program: String, seconds: u64 },
    Lost(String),
    Stop,
}

#[derive(Debug, Deserialize)]
pub struct End {
    pub members: Vec<String>,
    pub nodes: Vec<String>,
}
