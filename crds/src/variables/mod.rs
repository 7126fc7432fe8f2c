//! The one table of variables: by the names that Kubespray, kubean and Ansible use, and a few of our own.
//!
//! Adding one that is honoured is a field of [`crate::model::Settings`], a reader in `read` and a row in `table`. Every other name that
//! people bring along has a row too, which says why it does nothing here, or what would have to be done first.

mod effect;
mod given;
mod judge;
mod lookup;
mod members;
mod of_hosts;
mod plain;
mod read;
mod readers;
mod row;
mod spec;
mod table;

pub(crate) use crate::given::{Given, Outcome};
pub use effect::VariableEffect;
pub use lookup::{variable, variables};
pub use row::Variable;
pub use table::{SUBJECTS, TablePart};

pub(crate) use judge::{Verdict, judge, neither, same};
pub(crate) use lookup::{field_called, nearest_variable, variable_of_field};
pub(crate) use members::{EtcdHost, OF_MEMBERS, SERVER_PORTS, is_of_server, other_members, server_port};
pub(crate) use of_hosts::{OfHost, OwnField};
pub(crate) use plain::{flag, plain, spelled};
pub(crate) use read::backup::MOST as MOST_BACKUPS;
pub(crate) use read::calico::OFF as WITHOUT_CALICO;
pub(crate) use read::host::url;
pub(crate) use read::load_balancing::{ADDRESS_OF_EXTERNAL, LOAD_BALANCERS};
pub(crate) use read::policies::STATIC_POLICY_OPTIONS;
pub(crate) use read::values::{json, scalar};
pub(crate) use readers::Readers;
pub(crate) use row::{Rule, Shape, Switch};
pub(crate) use spec::{FieldValue, Sayings};
