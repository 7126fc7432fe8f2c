//! Variables of time.

use crate::variables::row::{Variable, flag, text, value, word};

const CHRONY: &str = "kokctl keeps the time by chrony, with a configuration of its own";

pub(super) static ROWS: &[Variable] = &[
    flag("ntp_enabled", "false", "Whether the hosts' time is kept. With ntp_manage_config it is, from ntp_servers; without, the hosts keep the sources that they have.")
        .field_of("spec.time.servers"),
    flag("ntp_manage_config", "false", "Whether the configuration of the time daemon is written.").field_of("spec.time.servers"),
    value("ntp_servers", "list of names or addresses, perhaps followed by iburst", "none", "NTP servers that every host asks.").field_of("spec.time.servers"),
    word("ntp_package", "name of a package", "chrony", "Which program keeps the time.").moot(CHRONY),
    value("ntp_restrict", "list", "[]", "Who may ask the host for the time.").moot(CHRONY),
    text("ntp_driftfile", "chrony's", "Where the drift of the clock is kept.").moot(CHRONY),
    flag("ntp_tinker_panic", "true", "Whether a clock that is far off is set.").moot("chrony steps a clock that is far off, in its first three updates"),
    text("ntp_filter_interface", "none", "Which interfaces the daemon listens on.").moot(CHRONY),
    value("ntp_interfaces", "list of names", "none", "Which interfaces the daemon listens on.").moot(CHRONY),
    flag("ntp_force_sync_immediately", "true", "Sets the clock at once.").moot("with `spec.time` the run always waits until each host's clock follows"),
    text("ntp_timezone", "none", "The time zone of hosts."),
];
