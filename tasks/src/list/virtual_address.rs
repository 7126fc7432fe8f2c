//! An address that moves between the control planes, for clients outside: keepalived as a unit of each.
//!
//! The API server listens at all addresses of its host, so that whoever has this one answers by the API server beside it. keepalived lets go of it as
//! soon as that one is not ready; no load balancer is needed between the two. Hosts of the cluster don't use it: they have ways of their own.

use std::net::IpAddr;
use std::time::Duration;

use kok_crds::model::Host;
use kok_pki::{AuthorityKind, Material};
use serde::Serialize;

use super::{Task, certificates, control_plane, kubeadm_configuration};
use crate::identity;
use crate::observe::{Look, PathState};
use crate::operations::{
    EndpointReady, NoVirtualRouter, Operation, VIRTUAL_ROUTER_CHECK_FILE, VIRTUAL_ROUTER_CONFIGURATION, VIRTUAL_ROUTER_FOLDER,
    VIRTUAL_ROUTER_READ, VIRTUAL_ROUTER_UNIT, VIRTUAL_ROUTER_UNIT_FILE, VirtualRouter,
};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId, StepName};
use crate::resources::{Directory, File, Resource, Unit, UnitGoal, User};
use crate::templates::render;

const NAME: &str = "virtual-address";

pub(super) const TASK: Task =
    Task { name: NAME, about: "an address that moves between the control planes, for clients outside, where it is wanted", plan };

/// Step after which keepalived goes by the configuration of the host.
const READ: StepName<'static> = StepName::new(NAME, "read");

/// As whom it asks the API server whether that is ready.
pub(crate) const CHECKER: &str = "kokctl-vip";

/// The unit that does; [`VIRTUAL_ROUTER_UNIT`] begins and ends it.
const CHECK_UNIT: &str = "kokctl-keepalived-check.service";
/// What it asks by.
const CHECK: &str = "/etc/kubernetes/keepalived/ready.sh";
/// Where it says so.
const STATE: &str = "/run/kokctl-keepalived/api-server";
/// The authority of the API server, where others than root may read it.
const KNOWN: &str = "/run/kokctl-keepalived/ca.crt";

/// Priorities are apart by as much as makes two that miss the same one wait for 50 ms more or less (RFC 9568: `Skew_Time`), so that they don't both
/// take the address.
const HIGHEST: usize = 250;
const APART: usize = 20;
const LOWEST: usize = 10;

#[derive(Serialize)]
struct Configuration<'a> {
    name: &'a str,
    state: &'static str,
    interface: &'a str,
    router: u8,
    priority: usize,
    address: IpAddr,
    peers: Vec<IpAddr>,
    virtual_address: String,
}

#[derive(Serialize)]
struct Check {
    address: IpAddr,
    authority: &'static str,
    state: &'static str,
    url: String,
}

#[derive(Serialize)]
struct Service {
    configuration: &'static str,
    read: &'static str,
    authority: String,
    known: &'static str,
    state: &'static str,
    user: &'static str,
    check: &'static str,
    check_unit: &'static str,
}

impl Service {
    fn new() -> Self {
        Self {
            configuration: VIRTUAL_ROUTER_CONFIGURATION,
            read: VIRTUAL_ROUTER_READ,
            authority: certificates::absolute(Material::AuthorityCertificate(AuthorityKind::Kubernetes)),
            known: KNOWN,
            state: STATE,
            user: CHECKER,
            check: CHECK,
            check_unit: CHECK_UNIT,
        }
    }
}

/// What decides which steps there are.
pub(crate) fn looks(host: &Host) -> impl Iterator<Item = Look> {
    let paths = [VIRTUAL_ROUTER_UNIT_FILE, VIRTUAL_ROUTER_FOLDER].map(|path| Look::Path(path.to_owned()));
    paths.into_iter().filter(|_| host.roles.control_plane)
}

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    if !view.host.roles.control_plane {
        return Ok(());
    }
    if view.cluster().virtual_address().is_none() {
        let is_there = |path: &&str| matches!(view.observations().paths.get(*path), Some(PathState::Present(_)));
        if [VIRTUAL_ROUTER_UNIT_FILE, VIRTUAL_ROUTER_FOLDER].iter().any(is_there) {
            draft.add("gone", Operation::NoVirtualRouter(NoVirtualRouter));
        }
        return Ok(());
    }
    let (unit, file, text) = unit(view, draft)?;
    let ready = view.id(control_plane::READY);
    draft.needs(&unit, &ready, Reason::Because("the address leads to the API server beside it, by a certificate that has it"));
    let read = draft.add(READ, Operation::VirtualRouter(VirtualRouter { configuration: text }));
    draft.follows(&read, &unit, Reason::Runs);
    draft.follows(&read, &file, Reason::Reads);
    if view.is_speaker() {
        answers(view, draft);
    }
    Ok(())
}

/// The step that starts keepalived, the one that writes its configuration, and that.
fn unit(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(StepId, StepId, String), Refusal> {
    let text = configuration(view)?;
    let user = draft.add("user", Resource::User(User { name: CHECKER.to_owned() }));
    let folder = draft.add("folder", Resource::Directory(Directory { path: VIRTUAL_ROUTER_FOLDER.to_owned(), mode: 0o755 }));
    draft.needs(&folder, &view.id(kubeadm_configuration::FOLDER), Reason::Inside);
    let url = format!("https://{}", identity::address(view.cluster(), view.host));
    let check = render("keepalived/ready.sh.j2", &Check { address: view.host.address, authority: KNOWN, state: STATE, url })?;
    let check = draft.add("check", Resource::File(File::text(CHECK, check)));
    let file = draft.add("configuration", Resource::File(File::text(VIRTUAL_ROUTER_CONFIGURATION, text.clone())));
    draft.needs(&check, &folder, Reason::Inside);
    draft.needs(&file, &folder, Reason::Inside);
    let service = Service::new();
    let check_unit = render("keepalived/kokctl-keepalived-check.service.j2", &service)?;
    let check_unit = draft.add("check-unit", Resource::File(File::text(VIRTUAL_ROUTER_CHECK_FILE, check_unit)));
    let unit_file = render("keepalived/kokctl-keepalived.service.j2", &service)?;
    let unit_file = draft.add("unit", Resource::File(File::text(VIRTUAL_ROUTER_UNIT_FILE, unit_file)));
    let reads = [VIRTUAL_ROUTER_UNIT_FILE, VIRTUAL_ROUTER_CHECK_FILE, CHECK].map(str::to_owned).to_vec();
    let unit = draft.add("service", Resource::Unit(Unit { name: VIRTUAL_ROUTER_UNIT.to_owned(), goal: UnitGoal::Running, reads }));
    draft.needs(&unit, &file, Reason::Reads);
    draft.needs(&unit, &user, Reason::Because("its check runs as that user"));
    for read in [&check, &check_unit, &unit_file] {
        draft.follows(&unit, read, Reason::Reads);
    }
    Ok((unit, file, text))
}

/// The interface that has the host's own address: there it is known that the others are. Its name comes from the host, and goes into a file that is
/// no place for any text.
fn interface<'a>(view: &HostView<'a>) -> Result<&'a str, Refusal> {
    let found = view.facts.interfaces.iter().find(|(_, interface)| interface.addresses.contains(&view.host.address));
    let name = found.map(|(name, _)| name.as_str()).unwrap_or_default();
    if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-:".contains(&byte)) {
        return Ok(name);
    }
    Err(Refusal::new("the interface with the host's address has a name that keepalived can't be told")
        .at(format!("host {}", view.host.name))
        .because("it has other signs than letters, digits and `._-:`")
        .hint("give it another name, or leave `apiEndpoint.vip` out"))
}

fn configuration(view: &HostView<'_>) -> Result<String, Refusal> {
    let (cluster, host) = (view.cluster(), view.host);
    let place = cluster.control_planes().position(|other| other.name == host.name).unwrap_or_default();
    let mut peers: Vec<IpAddr> = cluster.control_planes().filter(|other| other.name != host.name).map(|other| other.address).collect();
    // In which order hosts stand in the file is no reason to read it again.
    peers.sort_unstable();
    let context = Configuration {
        name: &host.name,
        state: STATE,
        interface: interface(view)?,
        router: cluster.virtual_router().unwrap_or(u8::MAX),
        priority: HIGHEST.saturating_sub(place * APART).max(LOWEST),
        address: host.address,
        peers,
        virtual_address: cluster.virtual_address().map(|address| address.to_string()).unwrap_or_default(),
    };
    Ok(render("keepalived/keepalived.conf.j2", &context)?)
}

/// An API server answers there. One of them is enough, and of a host that is away nobody waits for.
fn answers(view: &HostView<'_>, draft: &mut Draft<'_>) {
    let Some(url) = identity::virtual_url(view.cluster()) else { return };
    let step = draft.add("answers", Operation::EndpointReady(EndpointReady { url }));
    draft.needs(&step, &view.id(control_plane::ADMINISTRATORS), Reason::Because("they may ask"));
    for host in view.cluster().control_planes().filter(|host| !view.seen.is_unreachable(&host.name)) {
        draft.follows(&step, &READ.on(&host.name), Reason::Because("one of these hosts has the address"));
    }
    // An API server may read a new certificate a minute after it was written.
    draft.within(Duration::from_secs(150));
}
