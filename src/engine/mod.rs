//! The verbs, for every caller: they return data, and never print, ask or read the environment.
//!
//! A caller brings a [`Context`] (who it is, whom it tells, by what it reaches hosts, what it wishes meanwhile) and a [`Store`] (what is kept
//! beside the hosts). Two of them in one process know nothing of each other.

mod apply;
mod architectures;
mod aside;
mod backup;
mod certificates;
mod change_encryption;
mod check;
mod context;
mod converge;
mod driver;
mod error;
mod etcd;
mod exec;
mod facts;
mod fleet;
mod given;
mod keep;
mod kubeconfig;
mod plain;
mod plan;
mod reboot;
mod recover;
mod renew;
mod replace;
mod reset;
mod restore;
mod rotate_authority;
mod rotate_key;
mod rotate_token_key;
mod status;
mod store;
mod support;
mod upgrade;

pub use apply::{Applied, ApplyRequest, apply};
pub use architectures::architectures;
pub use aside::aside;
pub use backup::{BackedUp, BackupRequest, LocalBackup, Rehearsal, RehearsalRequest, back_up, bucket_of, rehearse};
pub use certificates::{EndUrgency, HeldCertificate, InUse, RunningProcess, certificates};
pub use change_encryption::{EncryptionStanding, change_encryption, encryption};
pub use check::{CheckFinding, CheckReport, CheckResult, CheckStatus, check};
pub use context::{Approve, Begins, Context, Options, Verdict};
pub use converge::{Planned, RecoveryStanding, Survey, Tolerance, survey};
pub use error::{Error, PlanChanged};
pub use etcd::{EtcdMemberStatus, etcd_room, etcd_status};
pub use exec::{Ended, ExecFailure, ExecRequest, ExecResults, Executed, MOST_OUTPUT, exec};
pub use facts::{KnownHost, facts};
pub use fleet::{FleetRequest, fleet, fleet_plan};
pub use given::Given;
pub use kubeconfig::{Administrator, Server, UserRequest, kubeconfig, user_kubeconfig};
pub use plan::{PlanRequest, plan};
pub use reboot::reboot;
pub use recover::{RecoverRequest, RecoverWish, Recovered, RecoveryChoice, recover, recovery_id, snapshot_artifact};
pub use renew::{RenewRequest, Renewed, renew, to_be_issued_by_others};
pub use replace::{First, Replaced, Replacement, replace};
pub use reset::{Follows, Removal, ResetDone, ResetRequest, Silent, SnapshotWish, reset};
pub use restore::{Unpacked, found_from_backup};
pub use rotate_authority::{AuthorityRotated, AuthorityWish, rotate_authority};
pub use rotate_key::{KeyRotated, rotate_key};
pub use rotate_token_key::{TokenKeyRotated, TokenKeyWish, rotate_token_key};
pub use status::{
    ApiServerHealth, Certificate, ClusterStatus, Cordoned, Drift, Endpoint, EtcdHealth, HostStatus, LoadBalancers, ProgramVersions,
    Renewal, StatusRequest, VirtualAddress, status,
};
pub use store::{FolderStore, Lock, Store};
pub use support::support;
pub use upgrade::{Meant, UpgradeRequest, Upgraded, Way, running, upgrade, upgrade_way};

#[cfg(test)]
mod tests;
