//! Connecting: through the bastions first, each hop paced, tried again where sshd dropped us, and its host key verified.
use super::error::ConnectFault;
use super::host_key::HostKeys;
use super::identity::SshIdentities;
use super::nonce::jittered;
use super::session::SshSession;
use super::socket::Socket;
use super::target::{Deadlines, Target};
use super::transport::Transport;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tokio::time::Instant;
use tracing::{Instrument as _, debug, info, info_span};

/// A server that is to be handshaken with greets at once. One that does not costs nobody anything while it is waited for, so it waits
/// without a place among the handshakes: a hundred hosts that hang take no longer than one.
const PROMPT: Duration = Duration::from_secs(1);
/// How often a connection is tried that sshd drops before it greets us, as it does at random above `MaxStartups`, or that breaks before the
/// host key is there.
const ATTEMPTS: u32 = 5;
/// The least wait before the second try, doubled for each further one: 3 to 6 s for all.
const RETRY: Duration = Duration::from_millis(200);
/// What sshd says since OpenSSH 9.8 to an address that it keeps out for a while because of `PerSourcePenalties`. Trying again would
/// only be in vain, so this decides how long we try and nothing else.
const PENALTY: &str = "Not allowed at this time";

/// The bastions of a run, so that all hosts behind one share a single connection and login.
#[derive(Default)]
pub(super) struct Bastions(Mutex<Vec<Arc<Bastion>>>);

struct Bastion {
    target: Target,
    state: tokio::sync::Mutex<State>,
}

#[derive(Default)]
struct State {
    session: Weak<SshSession>,
    failed: Option<(Instant, HopFault)>,
}

/// What went wrong, and at which server of the way.
#[derive(Clone)]
pub(super) struct HopFault {
    pub(super) hop: Box<Target>,
    pub(super) fault: Arc<ConnectFault>,
}

impl HopFault {
    fn at(hop: &Target, fault: impl Into<ConnectFault>) -> Self {
        Self { hop: Box::new(hop.clone()), fault: Arc::new(fault.into()) }
    }
}

/// What a hop needs apart from its target.
#[derive(Clone, Copy)]
pub(super) struct Journey<'a> {
    pub(super) deadlines: &'a Deadlines,
    pub(super) transport: &'a Transport,
}

impl Journey<'_> {
    /// A session with the target, logged in.
    pub(super) async fn connect(self, target: &Target) -> Result<SshSession, HopFault> {
        let host_keys = HostKeys::load(target, self.transport).map_err(|fault| HopFault::at(target, fault))?;
        let identities = SshIdentities::gather(target, self.transport).await.map_err(|fault| HopFault::at(target, fault))?;
        let session = self.greet(target, Arc::new(host_keys), Login::Needed(Box::new(identities))).await?;
        Ok(session)
    }

    /// Connects and verifies the host key, and goes no further.
    pub(super) async fn meet(self, target: &Target, host_keys: Arc<HostKeys>) -> Result<SshSession, HopFault> {
        self.greet(target, host_keys, Login::None).await
    }

    async fn greet(self, target: &Target, host_keys: Arc<HostKeys>, login: Login) -> Result<SshSession, HopFault> {
        let here = |fault| HopFault::at(target, fault);
        let under = match &target.bastion {
            Some(bastion) => Some(self.bastion(bastion).await?),
            None => None,
        };
        let places = self.transport.limits().places(target);
        let mut attempts = 1;
        loop {
            // The semaphores are never closed; without a permit we would only be less polite.
            if places.available_permits() == 0 {
                debug!("waits for its turn: others are not logged in there yet");
            }
            let place = places.acquire().await.ok();
            debug!(attempt = attempts, bastion = target.bastion.as_ref().map(|hop| hop.endpoint()), "dials");
            let socket = self.socket(target, under.as_deref()).await.map_err(here)?;
            let fault = match self.handshake(socket, Arc::clone(&host_keys), under.as_ref()).await {
                Ok(session) => {
                    return match login {
                        Login::None => Ok(session),
                        Login::Needed(identities) => session.login(target, *identities, self.deadlines).await.map_err(here),
                    };
                }
                Err(ConnectFault::Dropped { output: Some(output), .. }) if output.contains(PENALTY) => ConnectFault::Penalty { output },
                Err(ConnectFault::Dropped { output, .. }) => ConnectFault::Dropped { attempts, output },
                Err(ConnectFault::Broken { reason, .. }) => ConnectFault::Broken { attempts, reason },
                Err(fault) => fault,
            };
            if !matches!(fault, ConnectFault::Dropped { .. } | ConnectFault::Broken { .. }) || attempts == ATTEMPTS {
                return Err(here(fault));
            }
            drop(place);
            info!(attempt = attempts, "tries again: {fault}");
            tokio::time::sleep(jittered(RETRY * 2_u32.pow(attempts - 1))).await;
            attempts += 1;
        }
    }

    /// Up to a verified host key, in its turn. The permit of a bastion comes first: those who wait for one must not hold up the others.
    async fn handshake(
        self,
        mut socket: Socket,
        host_keys: Arc<HostKeys>,
        under: Option<&Arc<SshSession>>,
    ) -> Result<SshSession, ConnectFault> {
        let eager = self.transport.limits().eager.try_acquire().ok().filter(|_| under.is_none());
        let greeted = eager.is_none() && socket.speaks(PROMPT).await;
        let _through = match under.filter(|_| greeted) {
            Some(session) => session.handshakes.acquire().await.ok(),
            None => None,
        };
        let _permit = if eager.is_some() {
            eager
        } else if greeted {
            self.transport.limits().handshakes.acquire().await.ok()
        } else {
            None
        };
        SshSession::handshake(socket, host_keys, self.deadlines, under.cloned()).await
    }

    async fn socket(self, target: &Target, under: Option<&SshSession>) -> Result<Socket, ConnectFault> {
        let after = target.configured.connect_timeout.unwrap_or(self.deadlines.connect);
        match under {
            Some(bastion) => bastion.tunnel(target, after).await,
            None => Socket::connect(target, after).await,
        }
    }

    /// The session with a bastion: the one that there is, or a new one. Those who wait while it is opened share its failure, so that a
    /// wrong password is tried once and not once for each host behind.
    async fn bastion(self, target: &Target) -> Result<Arc<SshSession>, HopFault> {
        let asked = Instant::now();
        let bastion = self.transport.bastions().registered(target);
        let mut state = bastion.state.lock().await;
        if let Some(session) = state.session.upgrade().filter(|session| !session.is_lost()) {
            return Ok(session);
        }
        if let Some((_, fault)) = state.failed.as_ref().filter(|(when, _)| *when >= asked) {
            return Err(fault.clone());
        }
        match Box::pin(self.connect(target).instrument(info_span!("bastion", address = target.endpoint()))).await {
            Ok(session) => {
                let session = Arc::new(session);
                *state = State { session: Arc::downgrade(&session), failed: None };
                Ok(session)
            }
            Err(fault) => {
                state.failed = Some((Instant::now(), fault.clone()));
                Err(fault)
            }
        }
    }
}

enum Login {
    None,
    Needed(Box<SshIdentities>),
}

impl Bastions {
    fn registered(&self, target: &Target) -> Arc<Bastion> {
        let mut bastions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = bastions.iter().find(|bastion| bastion.target == *target) {
            return Arc::clone(known);
        }
        let bastion = Arc::new(Bastion { target: target.clone(), state: tokio::sync::Mutex::default() });
        bastions.push(Arc::clone(&bastion));
        bastion
    }
}
