//! Ways to the API that exclude each other, or that would not be there when they are needed.

use std::net::IpAddr;

use crate::decode::Decoder;
use crate::model::{ExternalEndpoint, Settings};
use crate::read::ReadHost;
use crate::variables::ADDRESS_OF_EXTERNAL;
use crate::words::quote;
use crate::{Position, Problem};

const IN_HOSTS_FILE: &str = "populate_loadbalancer_apiserver_to_hosts_file";

/// What an external endpoint can't be together with.
pub(crate) fn endpoint(decoder: &mut Decoder, settings: &Settings, hosts: &[ReadHost<'_>], spec: &Position) {
    let given = &settings.api_endpoint;
    let at = |decoder: &Decoder, places: &[&str]| places.iter().find_map(|path| decoder.position(path)).unwrap_or(spec).clone();
    let is_address = |external: &ExternalEndpoint| external.address.parse::<IpAddr>().is_ok();
    if given.name_in_hosts_file && (given.name.is_none() || !given.external.as_ref().is_some_and(is_address)) {
        let problem = Problem::new(format!("`{IN_HOSTS_FILE}` has nothing to write"))
            .at(&at(decoder, &[&format!("spec.vars.{IN_HOSTS_FILE}")]))
            .because("a line of that file is an address and a name")
            .hint("give `loadbalancer_apiserver` an IP address, and the name as `apiserver_loadbalancer_domain_name`; or leave it out");
        decoder.report(problem);
    }
    let Some(external) = &given.external else { return };
    let at = at(decoder, &ADDRESS_OF_EXTERNAL);
    if given.local_load_balancers == Some(true) {
        let problem = Problem::new("hosts cannot have load balancers of their own here")
            .at(&at)
            .because(format!("all of them reach the API at {}, the load balancer that the user runs", quote(&external.address)))
            .hint("leave one of the two out; `apiEndpoint.loadBalancer: none` and `loadbalancer_apiserver_localhost: false` say the same");
        decoder.report(problem);
    }
    if let Some(problem) = lost_with_its_host(external, hosts) {
        decoder.report(problem.at(&at));
    }
}

/// The address of one of several control planes leads nowhere while that one is off.
fn lost_with_its_host(external: &ExternalEndpoint, hosts: &[ReadHost<'_>]) -> Option<Problem> {
    let is_plane = |host: &&ReadHost<'_>| host.roles.as_ref().is_some_and(|(roles, _)| roles.control_plane);
    let address = external.address.parse::<IpAddr>().ok()?;
    let planes: Vec<&ReadHost<'_>> = hosts.iter().filter(is_plane).collect();
    let one = planes.iter().find(|host| host.address.as_ref().is_some_and(|(own, _)| *own == address))?;
    let name = one.name.as_ref().map(|(name, _)| quote(name)).unwrap_or_default();
    (planes.len() > 1).then(|| {
        Problem::new(format!("the API cannot be reached at {} alone", quote(&external.address)))
            .because(format!("that is the control plane {name}: without it nobody would reach the others"))
            .hint(
                "leave it out, and each host finds the control planes by itself; or give the address of a load balancer before all of them",
            )
    })
}
