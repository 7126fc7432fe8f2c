//! An address that moves between the control planes, for clients outside: keepalived as a unit of each.
//!
//! The API server listens at all addresses of its host, so that whoever has this one answers by the API server beside it. keepalived lets go of it as
//! soon as that one is not ready; no load balancer is needed between the two. Hosts of the cluster don't use it: they have ways of their own.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use kok_crds::model::Host;
use kok_pki::{AuthorityKind, Material};
use serde::Serialize;

use super::{Task, certificates, control_plane, kubeadm_configuration};
use crate::identity;
use crate::observe::{Look, PathState};
use crate::operations::{
    EndpointReady, NoVirtualRouter, Operation, VIRTUAL_ROUTER_CHECK_FILE, VIRTUAL_ROUTER_CHECK_UNIT, VIRTUAL_ROUTER_CONFIGURATION,
    VIRTUAL_ROUTER_FOLDER, VIRTUAL_ROUTER_READ, VIRTUAL_ROUTER_STATE, VIRTUAL_ROUTER_UNIT, VIRTUAL_ROUTER_UNIT_FILE, VirtualRouter,
    VirtualRouterReady,
};
use crate::plan::{Draft, HostView, Reason, Refusal, Seen, StepId, StepName};
use crate::resources::{Directory, File, Resource, Unit, UnitGoal, User};
use crate::templates::render;

const NAME: &str = "virtual-address";

pub(super) const TASK: Task =
    Task { name: NAME, about: "an address that moves between the control planes, for clients outside, where it is wanted", plan };

/// Step after which keepalived goes by the configuration of the host.
const READ: StepName<'static> = StepName::new(NAME, "read");

/// Step after which keepalived lets the host have the address.
const ABLE: StepName<'static> = StepName::new(NAME, "able");

/// As whom it asks the API server whether that is ready.
pub(crate) const CHECKER: &str = "kokctl-vip";

/// What [`VIRTUAL_ROUTER_CHECK_UNIT`] asks by.
const CHECK: &str = "/etc/kubernetes/keepalived/ready.sh";
/// What takes the address away that keepalived left behind.
const RELEASE: &str = "/etc/kubernetes/keepalived/release.sh";
/// The authority of the API server, where others than root may read it.
const KNOWN: &str = "/run/kokctl-keepalived/ca.crt";

/// Priorities are apart by as much as makes two that miss the same one wait for 50 ms more or less (RFC 9568: `Skew_Time`), so that they don't both
/// take the address.
const HIGHEST: usize = 250;
const APART: usize = 20;
const LOWEST: usize = 10;

/// Whom the only control plane speaks to: keepalived without anybody to speak to speaks to a group, and listens to whoever is in it.
const NOBODY: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// An API server may read a new certificate a minute after it was written.
const WITHIN: Duration = Duration::from_secs(150);

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
    address: String,
    authority: &'static str,
    port: u16,
    read: &'static str,
    state: &'static str,
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
    release: &'static str,
}

impl Service {
    fn new() -> Self {
        Self {
            configuration: VIRTUAL_ROUTER_CONFIGURATION,
            read: VIRTUAL_ROUTER_READ,
            authority: certificates::absolute(Material::AuthorityCertificate(AuthorityKind::Kubernetes)),
            known: KNOWN,
            state: VIRTUAL_ROUTER_STATE,
            user: CHECKER,
            check: CHECK,
            check_unit: VIRTUAL_ROUTER_CHECK_UNIT,
            release: RELEASE,
        }
    }
}

/// What decides which steps there are.
pub(crate) fn looks(host: &Host) -> impl Iterator<Item = Look> {
    let paths = [VIRTUAL_ROUTER_UNIT_FILE, VIRTUAL_ROUTER_FOLDER, VIRTUAL_ROUTER_READ].map(|path| Look::Path(path.to_owned()));
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
    after_others(view, draft, &unit);
    let read = draft.add(READ, Operation::VirtualRouter(VirtualRouter { configuration: text }));
    draft.follows(&read, &unit, Reason::Runs);
    draft.follows(&read, &file, Reason::Reads);
    let able = draft.add(ABLE, Operation::VirtualRouterReady(VirtualRouterReady));
    draft.within(WITHIN);
    draft.follows(&able, &read, Reason::Because("what it read may keep the address from it"));
    answers(view, draft)
}

/// Whether keepalived went before the run.
fn runs(seen: &Seen, host: &Host) -> bool {
    matches!(seen.observations(&host.name).paths.get(VIRTUAL_ROUTER_READ), Some(PathState::Present(_)))
}

/// Which steps of other hosts come before keepalived is started. One that begins would take the address for itself if those who know who has it did not
/// speak to it yet. One that is started anew gives the address up, and somebody has to be there who takes it.
fn after_others(view: &HostView<'_>, draft: &mut Draft<'_>, unit: &StepId) {
    if runs(view.seen, view.host) {
        for before in turns(view).into_iter().take_while(|host| host.name != view.host.name) {
            draft.needs(unit, &ABLE.on(&before.name), Reason::While("whoever has the address gives it to one who may have it"));
        }
    } else if view.seen.facts(&view.host.name).is_some() {
        for other in speaking(view) {
            draft.needs(unit, &READ.on(&other.name), Reason::Because("it has to hear of them who has the address"));
        }
    }
}

/// Hosts whose keepalived goes, in the order in which it is started anew: whoever has the address comes last.
fn turns<'a>(view: &HostView<'a>) -> Vec<&'a Host> {
    let moving = view.cluster().virtual_address().map(IpAddr::V4);
    let has_it = |host: &Host| view.seen.facts(&host.name).is_some_and(|facts| facts.addresses().any(|own| Some(own) == moving));
    let mut turns: Vec<&Host> = view.cluster().control_planes().filter(|host| runs(view.seen, host)).collect();
    turns.sort_by_key(|host| (has_it(host), host.address));
    turns
}

/// The others that may have the address: those whose keepalived goes, those that nobody has asked yet, and where there are any of these, those that can't
/// be asked.
fn speaking<'a>(view: &HostView<'a>) -> Vec<&'a Host> {
    let others = || view.cluster().control_planes().filter(|host| host.name != view.host.name);
    let is_away = |host: &Host| view.seen.is_unreachable(&host.name);
    let may_go = |host: &Host| runs(view.seen, host) || (view.seen.facts(&host.name).is_none() && !is_away(host));
    if others().any(may_go) { others().filter(|host| may_go(host) || is_away(host)).collect() } else { Vec::new() }
}

/// The step that starts keepalived, the one that writes its configuration, and that.
fn unit(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(StepId, StepId, String), Refusal> {
    let text = configuration(view)?;
    let user = draft.add("user", Resource::User(User::of_unit(CHECKER)));
    let folder = draft.add("folder", Resource::Directory(Directory::new(VIRTUAL_ROUTER_FOLDER, 0o755)));
    draft.needs(&folder, &view.id(kubeadm_configuration::FOLDER), Reason::Inside);
    let check = draft.add("check", Resource::File(File::text(CHECK, check(view)?)));
    let release = render("keepalived/release.sh.j2", &Service::new())?;
    let release = draft.add("release", Resource::File(File::text(RELEASE, release)));
    let file = draft.add("configuration", Resource::File(File::text(VIRTUAL_ROUTER_CONFIGURATION, text.clone())));
    [&check, &release, &file].into_iter().for_each(|file| draft.needs(file, &folder, Reason::Inside));
    let service = Service::new();
    let check_unit = render("keepalived/kokctl-keepalived-check.service.j2", &service)?;
    let check_unit = draft.add("check-unit", Resource::File(File::text(VIRTUAL_ROUTER_CHECK_FILE, check_unit)));
    let unit_file = render("keepalived/kokctl-keepalived.service.j2", &service)?;
    let unit_file = draft.add("unit", Resource::File(File::text(VIRTUAL_ROUTER_UNIT_FILE, unit_file)));
    let reads = [VIRTUAL_ROUTER_UNIT_FILE, VIRTUAL_ROUTER_CHECK_FILE, CHECK].map(str::to_owned).to_vec();
    let unit = draft.add("service", Resource::Unit(Unit { name: VIRTUAL_ROUTER_UNIT.to_owned(), goal: UnitGoal::Running, reads }));
    draft.needs(&unit, &file, Reason::Reads);
    draft.needs(&unit, &release, Reason::Runs);
    draft.needs(&unit, &user, Reason::Because("its check runs as that user"));
    for read in [&check, &check_unit, &unit_file] {
        draft.follows(&unit, read, Reason::Reads);
    }
    Ok((unit, file, text))
}

/// The address of the host's API server, as curl wants it.
fn check(view: &HostView<'_>) -> Result<String, Refusal> {
    let address = identity::address(view.cluster(), view.host);
    let port = view.cluster().api_server_port();
    Ok(render(
        "keepalived/ready.sh.j2",
        &Check { address, authority: KNOWN, port, read: VIRTUAL_ROUTER_READ, state: VIRTUAL_ROUTER_STATE },
    )?)
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
    // In which order hosts stand in the file is no reason to read it again.
    let mut all: Vec<IpAddr> = cluster.control_planes().map(|other| other.address).collect();
    all.sort_unstable();
    let place = all.iter().position(|address| *address == host.address).unwrap_or_default();
    all.retain(|address| *address != host.address);
    let peers = if all.is_empty() { vec![NOBODY] } else { all };
    let context = Configuration {
        name: &host.name,
        state: VIRTUAL_ROUTER_STATE,
        interface: interface(view)?,
        router: cluster.virtual_router().unwrap_or(u8::MAX),
        priority: HIGHEST.saturating_sub(place * APART).max(LOWEST),
        address: host.address,
        peers,
        virtual_address: cluster.virtual_address().map(|address| address.to_string()).unwrap_or_default(),
    };
    Ok(render("keepalived/keepalived.conf.j2", &context)?)
}

/// An API server answers there, whoever asks: the one that has the address reaches itself without the network, and the others don't. One of them is
/// enough, and of a host that is away nobody waits for.
fn answers(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let Some(url) = identity::virtual_url(view.cluster()) else { return Ok(()) };
    let step = draft.add("answers", Operation::EndpointReady(EndpointReady { url }));
    draft.within(WITHIN);
    draft.needs(&step, &control_plane::ADMINISTRATORS.on(&view.speaker()?.name), Reason::Because("they may ask"));
    draft.needs(&step, &view.id(control_plane::READY), Reason::Because("it asks whether that one is of the same cluster"));
    for host in view.cluster().control_planes().filter(|host| !view.seen.is_unreachable(&host.name)) {
        draft.follows(&step, &READ.on(&host.name), Reason::While("one of these hosts has the address"));
    }
    Ok(())
}
