//! What a user writes: the Cluster objects, their validation and the model that comes out.
//!
//! [`read_input`] takes whatever a user gives: manifests, an inventory with its variables. Objects and inventories (`objects`, `inventory`,
//! `resolve`) become the tree of a Cluster in the inline form (`translate`), by one table of variables (`variables`).
//!
//! [`read_cluster`] takes a file's text and gives a [`model::Cluster`], or every [`Problem`] of the file at once, each with its line and
//! column. The text becomes a tree (`tree`), the tree becomes typed values (`decode`, `read`), and the whole is checked (`check`).

mod check;
mod convert;
mod decode;
mod encoding;
mod examine;
mod given;
mod hide;
mod input;
pub mod inventory;
mod machines;
mod manifest;
mod message;
pub mod model;
pub mod objects;
pub mod operation;
mod position;
mod read;
pub mod resolve;
pub mod schema;
mod secret;
mod shell;
mod source;
mod syntax;
mod translate;
pub mod tree;
mod variables;
mod vault;
mod words;

pub use encoding::not_text;
pub use examine::{Reading, examine_cluster, read_cluster};
pub use given::{Given, Outcome};
pub use input::{Asked, AskedRestore, File, Input, Intent, Role, read_input, read_input_with};
pub use manifest::{in_two_addons, read_manifest};
pub use message::{Fault, Kind as MessageKind, Message, Note, Notice, Problem, Subject as MessageSubject, Weight};
pub use objects::operator::interval_seconds;
pub use objects::read_objects;
pub use position::{Position, Positions};
pub use read::FIRST_MINOR as OLDEST_KUBERNETES_MINOR;
pub use secret::Secret;
pub use source::{Place, Source};
pub use syntax::duration::duration as go_duration;
pub use syntax::name::dns_name as wrong_in_dns_name;
pub use translate::DEFAULT_VERSION as DEFAULT_KUBERNETES;
pub use tree::MOST_MANIFEST_BYTES;
pub use variables::{SUBJECTS, TablePart, Variable, VariableEffect, variable, variables};
pub use vault::{Closed, Envelope, NoVault, Vault, VaultPassword};
pub use words::{count, counted, listed, nearest};
