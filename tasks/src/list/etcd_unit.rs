//! A member of etcd as a unit of systemd, on a host of its own or beside whatever else the host does.
//!
//! All members that found etcd are started at once, with the list of all; others join one after the other. Members that work already are restarted one after
//! the other, and never because of another list.

use std::net::SocketAddr;
use std::time::Duration;

use kok_crds::model::Host;
use serde::Serialize;

use super::etcd::{CONFIGURATION, MEMBER, PROGRAMS, SERVICE, UNIT, version};
use super::founding::{Founding, JOINING, founding};
use super::{certificates, container_runtime, joining_member, rolling};
use crate::artifact::Placed;
use crate::etcd_options::EtcdOptions;
use crate::membership::peer_url;
use crate::operations::{BINARIES, EtcdMemberReady, Operation};
use crate::plan::{Draft, HostView, Reason, Refusal, StepId};
use crate::preconditions::{ETCD_CONFIGURATION, ETCD_STARTED};
use crate::resources::{Archive, Directory, File, Resource, Unit as SystemdUnit, UnitGoal, Unpacked, User};
use crate::templates::render;
use crate::{ETCD_CLIENT_PORT, ETCD_PEER_PORT};

const FOLDER: &str = "/etc/etcd";
const UNIT_FILE: &str = "/etc/systemd/system/etcd.service";
/// As whom it runs.
const USER: &str = "etcd";

/// What counts of upstream's archive.
const NAMES: [&str; 3] = ["etcd", "etcdctl", "etcdutl"];

/// What it is given of `/etc/kubernetes/pki/etcd`: copies, which systemd makes when it starts.
const CREDENTIALS: [&str; 5] = ["ca.crt", "server.crt", "server.key", "peer.crt", "peer.key"];

/// The same as paths below `/etc/kubernetes`.
pub(super) fn credentials() -> impl Iterator<Item = String> {
    CREDENTIALS.into_iter().map(|name| format!("pki/etcd/{name}"))
}

#[derive(Serialize)]
struct Configuration<'a> {
    name: &'a str,
    listens_at: String,
    clients: String,
    peers: String,
    initial_cluster: String,
    joins: bool,
    initial_cluster_token: Option<String>,
    #[serde(flatten)]
    options: EtcdOptions,
}

#[derive(Serialize)]
struct Service {
    user: &'static str,
    credentials: [&'static str; 5],
    started: &'static str,
}

pub(super) fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let programs = programs(view, draft)?;
    let user = draft.add("user", Resource::User(User::of_unit(USER)));
    let folder = draft.add("folder", Resource::Directory(Directory::new(FOLDER, 0o755)));
    let configuration = draft.add(CONFIGURATION, Resource::File(File::text(ETCD_CONFIGURATION, configuration(view)?)));
    draft.needs(&configuration, &folder, Reason::Inside);
    let text = render("etcd/etcd.service.j2", &Service { user: USER, credentials: CREDENTIALS, started: ETCD_STARTED })?;
    let unit_file = draft.add(UNIT, Resource::File(File::text(UNIT_FILE, text)));

    let mut reads = vec![ETCD_CONFIGURATION.to_owned(), UNIT_FILE.to_owned(), format!("{BINARIES}/etcd")];
    let credentials: Vec<String> = credentials().collect();
    reads.extend(credentials.iter().map(|path| format!("/etc/kubernetes/{path}")));
    let service = draft.add(SERVICE, Resource::Unit(SystemdUnit { name: "etcd.service".to_owned(), goal: UnitGoal::Running, reads }));
    draft.follows(&service, &programs, Reason::Runs);
    draft.needs(&service, &user, Reason::Because("it runs as that user"));
    draft.follows(&service, &configuration, Reason::Reads);
    draft.follows(&service, &unit_file, Reason::Reads);
    certificates::read_once_by(view, draft, &service, &credentials);
    for before in restarted_before(view) {
        let member = MEMBER.on(&before.name);
        draft.needs(&service, &member, Reason::Because("a member that works is restarted only while all before it work"));
    }
    if view.joins_etcd() {
        joining_member::announced(view, draft, &service)?;
    }
    joining_member::needed_by(view, draft, &service);
    rolling::restarts_member(view, draft, &service);
    member(view, draft, &service)
}

/// The programs, unpacked where containerd's archive is unpacked too.
fn programs(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<StepId, Refusal> {
    let version = version(&view.release_image("etcd")?.reference);
    let file = view.file("etcd", Some(version))?;
    let placed = file.contents.iter().filter_map(|entry| {
        let (_, name) = entry.path.rsplit_once('/')?;
        NAMES.contains(&name).then(|| Placed { entry: entry.clone(), path: format!("{BINARIES}/{name}") })
    });
    let archive = Archive { artifact: view.file_artifact(file), folder: BINARIES.to_owned(), unpacked: Unpacked::Files(placed.collect()) };
    let step = draft.add(PROGRAMS, Resource::Archive(archive));
    if view.host.roles.is_node() {
        let other = view.id(container_runtime::ARCHIVE);
        draft.needs(&step, &other, Reason::Because("one archive at a time is unpacked in that folder"));
    }
    Ok(step)
}

/// Members stand in the order of their names: in which order hosts stand in the file is no reason to start one again.
fn configuration(view: &HostView<'_>) -> Result<String, Refusal> {
    let Founding { members: list, state, token, .. } = founding(view);
    let mut members: Vec<&str> = list.split(',').collect();
    members.sort_unstable();
    let url = |port: u16| format!("https://{}", SocketAddr::new(view.host.address, port));
    let context = Configuration {
        name: &view.host.name,
        listens_at: format!("{},https://127.0.0.1:{ETCD_CLIENT_PORT}", url(ETCD_CLIENT_PORT)),
        clients: url(ETCD_CLIENT_PORT),
        peers: url(ETCD_PEER_PORT),
        initial_cluster: members.join(","),
        joins: state == JOINING,
        initial_cluster_token: token,
        options: EtcdOptions::new(view.cluster()),
    };
    Ok(render("etcd/etcd.yaml.j2", &context)?)
}

/// Members that have to work before this one may be restarted: all that do not answer now, and the one before it among those that do. A
/// member that does not answer waits for none: it can only make things better.
pub(super) fn restarted_before<'a>(view: &HostView<'a>) -> Vec<&'a Host> {
    if !answers(view, view.host) {
        return Vec::new();
    }
    let voters = view.membership().voters;
    let silent = voters.iter().copied().filter(|host| !answers(view, host));
    let earlier = voters.iter().copied().take_while(|host| host.name != view.host.name);
    silent.chain(earlier.filter(|host| answers(view, host)).last()).collect()
}

fn answers(view: &HostView<'_>, host: &Host) -> bool {
    rolling::has_member(view.seen, host)
}

/// The member is ready when all have found each other, or when it has its vote, and from then on it is not started without its data.
fn member(view: &HostView<'_>, draft: &mut Draft<'_>, service: &StepId) -> Result<(), Refusal> {
    let image = view.release_image("etcd")?;
    let membership = view.membership();
    let (members, later) = membership.until(view.host);
    let members = members.iter().map(|host| host.name.clone()).collect();
    let joining = later.iter().map(|host| peer_url(host)).collect();
    let version = version(&image.reference).to_owned();
    let ready = draft.add(MEMBER, Operation::EtcdMemberReady(EtcdMemberReady { version, members, joining }));
    // As long as a control plane with its member has.
    draft.within(Duration::from_secs(240));
    draft.follows(&ready, service, Reason::TalksTo);
    if membership.joins(view.host) {
        joining_member::promoted(view, draft, &ready)?;
    }
    for host in membership.voters.into_iter().filter(|host| host.name != view.host.name && !answers(view, host)) {
        draft.needs(&ready, &SERVICE.on(&host.name), Reason::Because("every member has to be started"));
    }
    let folder = draft.add("record-folder", Resource::Directory(Directory::new("/var/lib/kokctl/made", 0o700)));
    let started = draft.add("started", Resource::File(File::text(ETCD_STARTED, "This host has a member of etcd with data.\n").mode(0o600)));
    draft.needs(&started, &folder, Reason::Inside);
    draft.needs(&started, &ready, Reason::Because("only then there is something that could be lost"));
    Ok(())
}
