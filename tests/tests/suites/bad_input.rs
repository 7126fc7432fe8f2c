//! What can't be done is refused before anything is changed, and the message says what, where, why and what to do.

use crate::bad_input_cases::{Refusals, bundle, file, host, login};
use crate::cluster_support::up;

/// No cluster is made: all of this has to be found out before.
#[test]
fn bad_input_changes_nothing() {
    let lab = up(3);
    let refusals = Refusals::new(&lab);

    file::two_hosts_with_one_name(&refusals);
    file::misspelled_field(&refusals);
    file::no_file(&refusals);

    bundle::none_given(&refusals);
    bundle::not_there(&refusals);
    bundle::lacks_the_version(&refusals);
    bundle::corrupted_file(&refusals);
    bundle::file_cut_off_or_missing(&refusals);

    login::nobody_there(&refusals);
    login::nothing_listens(&refusals);
    login::no_key(&refusals);
    login::wrong_key(&refusals);
    login::changed_host_key(&refusals);
    login::unknown_host_key(&refusals);
    login::no_sudo(&refusals);

    host::cgroup_v1(&refusals);
    host::ports_taken_and_host_of_another_cluster(&refusals);
    host::authority_and_data_of_somebody_else(&refusals);
    host::one_machine_id(&refusals);
}
