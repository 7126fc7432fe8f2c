//! The plan: what is to be done on which host, in which order and why. Data, and nothing else.

mod aside;
mod ask;
mod change_encryption;
mod compare;
mod document;
mod draft;
mod etcd_room;
mod fleet;
mod graph;
mod held;
mod hooked;
mod id;
mod leave;
mod leave_etcd;
mod lint;
mod looks;
mod machine;
mod make;
mod missing;
mod reason;
mod reboot;
mod recover;
mod refusal;
mod renew;
mod reset;
mod rotate_authority;
mod rotate_key;
mod rotate_token_key;
mod select;
mod supply;
mod why;

pub use aside::{Aside, How, aside};
pub use change_encryption::{EncryptionChange, encryption_change, encryption_words};
pub use compare::Asked;
pub use document::{
    ActDocument, ActKind, ArtifactDocument, Aspect, ChangeDocument, Difference, DocumentError, DocumentInputs, NeedDocument, PLAN_VERSION,
    PlanDocument, StepDocument,
};
pub use draft::{Draft, HostView};
pub use etcd_room::{EtcdRoom, etcd_room, etcd_room_looks, is_fragmented};
pub use fleet::{fleet, fleet_looks};
pub use graph::{Action, Plan, Step};
pub use id::{NewName, StepId, StepName};
pub use leave::{Leaving, leave};
pub use leave_etcd::{asks_members, looks_beside};
pub use lint::{LintFinding, lint, ungated};
pub use looks::looks;
pub use make::{Inputs, Making, Seen, make, make_part};
pub use reason::Reason;
pub use reboot::{Reboots, boots, reboot, reboot_looks};
pub use recover::{Recovering, RecoveryStage, begins_recovery, recover, recovery_looks, take_back};
pub use refusal::Refusal;
pub use renew::{renew, renew_looks};
pub use reset::{reset, reset_looks};
pub use rotate_authority::{
    AuthorityRotation, AuthorityStage, AuthorityStanding, authority_standing, may_begin_authority, may_end_authority, rotate_authority,
    rotate_authority_looks, trusted_authorities, trusts_authority,
};
pub use rotate_key::{KeyRotation, KeyStage, key_to_encrypt_with, rotate_key, rotate_key_looks};
pub use rotate_token_key::{
    TokenKeyRotation, TokenKeyStage, TokenKeyStanding, may_end_token_key, rotate_token_key, rotate_token_key_looks, token_key_standing,
};
pub use select::{Choice, Selection};
pub use why::Why;
