#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod stages;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kok_crds::model::Cluster;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::*;
use crate::event::{Event, EventKind, Events, Sink};
use crate::failure::Kind;
use crate::remote::{Limits, Surroundings, Transport};
use crate::run::Stop;
use crate::state::StateFolder;

/// For what takes no time: a test that waits so long has failed.
const LONG: Duration = Duration::from_secs(60);

/// Keeps what it hears.
#[derive(Clone, Default)]
pub(super) struct HeardEvents(Arc<Mutex<Vec<EventKind>>>);

impl Sink for HeardEvents {
    fn take(&mut self, event: &Event) {
        self.0.lock().unwrap().push(event.kind.clone());
    }
}

impl HeardEvents {
    /// The names of events, and the last event.
    pub(super) fn all(&self) -> (Vec<String>, EventKind) {
        let events = self.0.lock().unwrap();
        let name = |event: &EventKind| serde_json::to_value(event).unwrap().get("event").unwrap().as_str().unwrap().to_owned();
        (events.iter().map(name).collect(), events.last().unwrap().clone())
    }

    fn run(&self) -> (String, String) {
        match self.0.lock().unwrap().first() {
            Some(EventKind::RunStarted { run, who, .. }) => (run.clone(), who.clone()),
            other => panic!("{other:?} is first"),
        }
    }
}

/// A caller with a folder, an identity, a sink and a wish of its own.
struct Caller {
    context: Context,
    wish: watch::Sender<Stop>,
    heard: HeardEvents,
    store: FolderStore,
    _folder: tempfile::TempDir,
}

impl Caller {
    fn new(who: &str, limits: &Arc<Limits>) -> Self {
        let (folder, heard) = (tempfile::tempdir().unwrap(), HeardEvents::default());
        let state = StateFolder::at(folder.path());
        let controller = state.controller(who.to_owned()).unwrap();
        let (wish, stop) = watch::channel(Stop::No);
        let events = Events::new(vec![Box::new(heard.clone())]);
        let transport = Transport::new(Surroundings::default(), Arc::clone(limits));
        let context = Context { stop, ..Context::new(controller, events, transport) };
        Self { context, wish, heard, store: FolderStore::new(state), _folder: folder }
    }

    async fn reset(&self, run: &str, cluster: &Cluster) -> Error {
        let lock = self.store.lock(&cluster.name).unwrap();
        let request = ResetRequest::Whole { snapshot: SnapshotWish::None("nobody wants it") };
        let result = reset(&self.context, (&self.store, lock), cluster, request, Options::unattended(run)).await;
        result.err().unwrap()
    }
}

pub(super) fn cluster(port: u16) -> Cluster {
    let text = format!(
        "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {{name: berlin}}\nspec:\n  kubernetesVersion: 1.37.1\n  hosts:\n    \
         - {{name: cp1, address: 10.20.0.11, roles: [control-plane], ssh: {{address: 127.0.0.1, user: root, password: x, port: {port}}}}}\n"
    );
    kok_crds::read_cluster("cluster.yaml", &text).unwrap_or_else(|problems| panic!("{problems:?}"))
}

#[tokio::test]
async fn of_two_runs_in_one_process_one_is_cancelled_and_the_other_comes_to_its_end() {
    let limits = Arc::new(Limits::default());
    let (one, other) = (Caller::new("ann@here", &limits), Caller::new("bob@there", &limits));
    let (silent, closed) = (TcpListener::bind("127.0.0.1:0").await.unwrap(), TcpListener::bind("127.0.0.1:0").await.unwrap());
    let (waits, ends) = (cluster(silent.local_addr().unwrap().port()), cluster(closed.local_addr().unwrap().port()));
    drop(closed);
    let cancel = async {
        // The one is under way, and stays so until it is told, whatever becomes of the other.
        let accepted = silent.accept().await.unwrap();
        let ended = other.reset("run-b", &ends).await;
        assert!(one.store.lock("berlin").is_err() && other.store.lock("berlin").is_ok());
        one.wish.send_replace(Stop::Finish);
        (accepted, ended)
    };
    let both = async { tokio::join!(one.reset("run-a", &waits), cancel) };
    let Ok((cancelled, (_accepted, ended))) = tokio::time::timeout(LONG, both).await else { panic!("{:?}", one.heard.all()) };

    assert!(matches!(&cancelled, Error::Stopped(outcome) if outcome.stopped.is_some()) && cancelled.may_pass(), "{cancelled:?}");
    let (names, last) = one.heard.all();
    assert!(matches!(last, EventKind::RunFinished { stopped: Some(_), .. }), "{names:?}");
    assert!(
        matches!(&ended, Error::Unreachable(failures) if failures.len() == 1) && ended.class() == Kind::Host && ended.may_pass(),
        "{ended:?}"
    );
    let (names, last) = other.heard.all();
    assert!(matches!(last, EventKind::RunRefused { code: 3, .. }), "{names:?}");

    assert_eq!(one.heard.run(), ("run-a".to_owned(), "ann@here".to_owned()));
    assert_eq!(other.heard.run(), ("run-b".to_owned(), "bob@there".to_owned()));
    assert_ne!(one.context.controller.id, other.context.controller.id);
    assert!(one.store.lock("berlin").is_ok(), "the lock ends with the run");
}
