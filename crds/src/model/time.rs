//! Where the hosts take their time from.

/// Where the hosts take their time from. At most one of the two lists has entries; with both empty the hosts keep the time sources they
/// have, and it is only checked that their clocks are not far apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeSync {
    /// NTP servers (names or addresses) that every host asks.
    pub servers: Vec<String>,
    /// Names of hosts that serve their own time to all others, for a network without an NTP server.
    pub sources: Vec<String>,
    /// How many seconds the clocks of two hosts may be apart before anything is begun.
    pub max_skew_seconds: u32,
}

impl TimeSync {
    /// Whether kokctl keeps the hosts' clocks, by chrony.
    #[must_use]
    pub fn is_managed(&self) -> bool {
        !self.servers.is_empty() || !self.sources.is_empty()
    }
}

impl Default for TimeSync {
    /// 30 s: clocks further apart can't share certificates and leases safely; k0sctl draws the line there too.
    fn default() -> Self {
        Self { servers: Vec::new(), sources: Vec::new(), max_skew_seconds: 30 }
    }
}
