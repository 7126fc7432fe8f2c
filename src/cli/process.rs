//! What this process was started with: the environment, the terminal, the home directory. Nobody below the command line asks for it.

use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use super::who::who;
use crate::artifacts::sums;
use crate::engine::Context;
use crate::event::Events;
use crate::failure::{Failure, Kind};
use crate::inputs::LocalFiles;
use crate::remote::{Ask, Limits, PASSPHRASE_FILE, Passphrases, Surroundings, Transport, Variables};
use crate::state::{Controller, StateFolder};
use crate::ui::{Notes, ask_hidden, is_terminal};

/// The system's configuration of ssh(1).
const SYSTEM_CONFIG: &str = "/etc/ssh/ssh_config";

/// What identifies whoever started this process.
pub(super) fn surroundings() -> Surroundings {
    Surroundings {
        home: home(),
        local_user: ["LOGNAME", "USER"].iter().find_map(|name| env::var(name).ok()).filter(|name| !name.is_empty()),
        agent_socket: path_of("SSH_AUTH_SOCK"),
        passphrases: passphrases(),
        system_config: Some(PathBuf::from(SYSTEM_CONFIG)),
        variables: Variables::new(|name| env::var_os(name)),
    }
}

/// The home directory.
pub(super) fn home() -> Option<PathBuf> {
    env::home_dir()
}

/// The path that a variable of the environment names.
pub(super) fn path_of(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn passphrases() -> Passphrases {
    match path_of(PASSPHRASE_FILE) {
        Some(path) => Passphrases::File(path),
        None if is_terminal() => Passphrases::Asked(Ask::new(ask_hidden)),
        None => Passphrases::Nobody,
    }
}

/// The files that this user's files name. What was fetched is kept where this user keeps state, if anywhere.
pub(super) fn files() -> LocalFiles {
    LocalFiles::new(home(), state().ok().map(|state| state.path().to_owned()))
}

/// By what this process reaches hosts. One for each run of a verb: what it learns of keys ends with it.
pub(super) fn transport() -> Transport {
    Transport::new(surroundings(), Arc::new(Limits::default()))
}

/// For a verb that changes nothing: it says on standard error what it waits for, and shows its result alone.
pub(super) fn context(controller: Controller) -> Context {
    context_by(controller, transport())
}

/// The same by what has reached hosts already: nobody is asked for a passphrase twice.
pub(super) fn context_by(controller: Controller, transport: Transport) -> Context {
    Context::new(controller, Events::new(vec![Box::new(Notes)]), transport)
}

/// Where digests of large files of this machine are kept.
pub(super) fn sums() -> Option<PathBuf> {
    state().ok().map(|state| sums::kept_in(state.path()))
}

/// The folder of kokctl's state: `$XDG_STATE_HOME/kokctl`, by default below the home directory (XDG Base Directory Specification).
///
/// # Errors
/// [`Failure`] where neither is known.
pub(super) fn state() -> Result<StateFolder, Failure> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    state.map(|state| StateFolder::at(state.join("kokctl"))).ok_or_else(|| {
        Failure::new(Kind::Internal, "it is not known where to keep the journal")
            .because("neither XDG_STATE_HOME nor HOME is set")
            .hint("set one of them")
    })
}

/// This controller.
///
/// # Errors
/// [`Failure`] if its folder is not known, or can't be written.
pub(super) fn controller() -> Result<Controller, Failure> {
    state()?.controller(who())
}
