//! Carrying out: connections, probes, secrets, and the dispatcher that runs a plan.

mod batch;
mod carry_out;
mod descriptors;
mod dispatch;
mod holder;
mod hosts;
mod keys;
mod link;
mod outcome;
mod over_ssh;
mod probe;
mod progress;
mod schedule;
mod secrets;
mod served;
mod snapshot;
mod target;
mod wish;

pub use carry_out::{Carried, PlanMeans, carry_out};
pub use holder::{Held, Taking, forget, may_write};
pub(crate) use keys::judged_keys;
pub use link::{Link, Links, connect_each};
pub use outcome::{InDoubt, Outcome, StepFailure};
pub use probe::{LookAt, look, probe_all};
pub use secrets::{Keepers, MadeSigner, Secrets, Token, cluster_keys};
pub use served::served;
pub use snapshot::{EncryptionKey, fetch_key, fetch_snapshot, take_snapshot, with_host_output};
pub(crate) use target::judged_ways;
pub use target::{in_order, targets};
pub use wish::{Stop, unless_wished, wished};
