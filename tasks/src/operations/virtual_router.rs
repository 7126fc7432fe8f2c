//! keepalived, which moves an address between control planes: by which configuration it goes, and how it goes away.

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::digest::sha256;
use crate::observe::{Look, Observations, PathState};
use crate::resources::Act;
use crate::script::Fragment;
use crate::shell::quote;

/// A unit of its own: that of the distribution may be the user's, with addresses of his.
pub const VIRTUAL_ROUTER_UNIT: &str = "kokctl-keepalived.service";
/// File of that unit.
pub const VIRTUAL_ROUTER_UNIT_FILE: &str = "/etc/systemd/system/kokctl-keepalived.service";
/// The unit that looks whether the host's API server is ready; [`VIRTUAL_ROUTER_UNIT`] begins and ends it.
pub const VIRTUAL_ROUTER_CHECK_UNIT: &str = "kokctl-keepalived-check.service";
/// File of that unit. It comes and goes with the other one.
pub const VIRTUAL_ROUTER_CHECK_FILE: &str = "/etc/systemd/system/kokctl-keepalived-check.service";
/// Where its configuration is.
pub const VIRTUAL_ROUTER_FOLDER: &str = "/etc/kubernetes/keepalived";
/// Its configuration.
pub const VIRTUAL_ROUTER_CONFIGURATION: &str = "/etc/kubernetes/keepalived/keepalived.conf";
/// What it has read of that. The unit copies it when keepalived starts, and when it is to read it again.
pub const VIRTUAL_ROUTER_READ: &str = "/run/kokctl-keepalived/keepalived.conf";

/// Where it stands whether the host may have the address: `0` as long as its API server is ready.
pub const VIRTUAL_ROUTER_STATE: &str = "/run/kokctl-keepalived/api-server";

/// keepalived, which runs, goes by this configuration. To read it again does not move the address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VirtualRouter {
    /// Its configuration.
    pub configuration: String,
}

impl VirtualRouter {
    fn sum(&self) -> String {
        sha256(self.configuration.as_bytes())
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::File { path: VIRTUAL_ROUTER_READ.to_owned(), expected: Some(self.sum()) }]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        match seen!(seen.paths.get(VIRTUAL_ROUTER_READ)) {
            PathState::Present(is) if is.sha256 == Some(self.sum()) => Verdict::Same,
            PathState::Present(_) => Verdict::differs(ChangeKind::Reload, "keepalived goes by an older configuration"),
            PathState::Missing => Verdict::differs(ChangeKind::Reload, "keepalived has read no configuration"),
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        // One that was started just now has read it.
        Act::Script(Fragment::text(format!(
            "cmp -s {VIRTUAL_ROUTER_CONFIGURATION} {VIRTUAL_ROUTER_READ} || systemctl reload-or-restart -- {}\n",
            quote(VIRTUAL_ROUTER_UNIT)
        )))
    }

    pub(super) fn title(&self) -> String {
        "keepalived goes by its configuration".to_owned()
    }
}

/// keepalived runs and lets the host have the address, for its API server is ready and shows a certificate that has it. What stands in the file that says
/// so outlives who wrote it, so systemd is asked whether both run still.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VirtualRouterReady;

impl VirtualRouterReady {
    pub(super) fn looks(&self) -> Vec<Look> {
        let units = [VIRTUAL_ROUTER_UNIT, VIRTUAL_ROUTER_CHECK_UNIT].map(|unit| Look::Unit(unit.to_owned()));
        units.into_iter().chain([Look::Path(VIRTUAL_ROUTER_STATE.to_owned()), Look::Content(VIRTUAL_ROUTER_STATE.to_owned())]).collect()
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        for unit in [VIRTUAL_ROUTER_UNIT, VIRTUAL_ROUTER_CHECK_UNIT] {
            let is = seen!(seen.units.get(unit));
            if is.active != "active" {
                let state = if is.load == "loaded" { &is.active } else { &is.load };
                return Verdict::differs(ChangeKind::Wait, format!("{unit} does not run: it is {state}"));
            }
        }
        if *seen!(seen.paths.get(VIRTUAL_ROUTER_STATE)) == PathState::Missing {
            return Verdict::differs(ChangeKind::Wait, format!("{VIRTUAL_ROUTER_UNIT} has not said yet that it runs"));
        }
        match seen.contents.get(VIRTUAL_ROUTER_STATE) {
            Some(state) if state.trim_ascii() == b"0" => Verdict::Same,
            _ => Verdict::differs(
                ChangeKind::Wait,
                format!(
                    "{VIRTUAL_ROUTER_CHECK_UNIT} has not found yet that its API server is ready and shows a certificate with the address"
                ),
            ),
        }
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        Act::Wait
    }

    pub(super) fn title(&self) -> String {
        "keepalived lets the host have the address".to_owned()
    }
}

/// Nothing moves an address of ours to this host. The package stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoVirtualRouter;

impl NoVirtualRouter {
    pub(super) fn looks(&self) -> Vec<Look> {
        vec![Look::Path(VIRTUAL_ROUTER_FOLDER.to_owned()), Look::Path(VIRTUAL_ROUTER_UNIT_FILE.to_owned())]
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        for path in [VIRTUAL_ROUTER_UNIT_FILE, VIRTUAL_ROUTER_FOLDER] {
            if seen!(seen.paths.get(path)) != &PathState::Missing {
                return Verdict::differs(ChangeKind::Remove, format!("{path} exists, and no address is to move"));
            }
        }
        Verdict::Same
    }

    /// When it is stopped it gives the address up. Its files go last, so that a run that was cut off is seen.
    pub(super) fn act(&self, _: &Change) -> Act {
        let unit = quote(VIRTUAL_ROUTER_UNIT);
        Act::Script(Fragment::text(format!(
            "systemctl disable --quiet --now -- {unit} || ! systemctl is-active --quiet -- {unit}\nrm -f {VIRTUAL_ROUTER_CHECK_FILE} {VIRTUAL_ROUTER_UNIT_FILE}\n\
             systemctl daemon-reload\nrm -rf {VIRTUAL_ROUTER_FOLDER}\n"
        )))
    }

    pub(super) fn title(&self) -> String {
        "no virtual address".to_owned()
    }
}
