//! Bugs that tests switch on, to see that the simulation finds each of them. Nothing of it is in what is released.

/// Whether a bug is switched on; never outside of tests.
macro_rules! seeded {
    ($bug:ident) => {{
        #[cfg(test)]
        {
            $crate::run::dispatch::seeded::is_on($crate::run::dispatch::seeded::Bug::$bug)
        }
        #[cfg(not(test))]
        {
            false
        }
    }};
}
pub(super) use seeded;

/// What can be switched on.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bug {
    /// Nobody asks the gate.
    GateNotAsked,
    /// What has to wait is let through.
    WaitsGoOn,
    /// Members that nobody is certain of count as healthy.
    DoubtfulIsHealthy,
    /// Every API server counts as ready.
    ApiServersTakenForReady,
    /// Every node counts as Ready.
    NodesTakenForReady,
    /// What nobody has heard of counts as done.
    UnheardIsDone,
    /// What was lost is begun again without asking the host.
    LostIsRepeated,
    /// So is what has not ended in time.
    LateIsRepeated,
    /// What begins is not on the disk before it is sent.
    NotFlushed,
    /// The user's wish is not heeded.
    StopIgnored,
    /// A run goes on whose hosts another one has taken.
    HeldIgnored,
    /// Steps are sent to hosts that were given up.
    GoneIsAskedAgain,
    /// A run takes hosts under an epoch that they have had.
    EpochNotRaised,
    /// A run begins although something of an earlier one is at work.
    WorkNotWaitedFor,
    /// Nobody looks whose data etcd has.
    ForeignDataNotSeen,
    /// Nobody looks which versions run.
    VersionsNotSeen,
    /// A reset takes any host for a worker.
    ResetTakesAnyHost,
    /// Kubelets are upgraded before API servers.
    KubeletsFirst,
    /// etcd goes to the next minor version from any patch.
    AnyPatchOfEtcd,
    /// Nobody drains nodes.
    NobodyDrains,
    /// Nobody waits until a kubelet of another version has made static pods anew.
    PodsNotAwaited,
}

#[cfg(test)]
impl Bug {
    pub(super) const ALL: [Self; 21] = [
        Self::GateNotAsked,
        Self::WaitsGoOn,
        Self::DoubtfulIsHealthy,
        Self::ApiServersTakenForReady,
        Self::NodesTakenForReady,
        Self::UnheardIsDone,
        Self::LostIsRepeated,
        Self::LateIsRepeated,
        Self::NotFlushed,
        Self::StopIgnored,
        Self::HeldIgnored,
        Self::GoneIsAskedAgain,
        Self::EpochNotRaised,
        Self::WorkNotWaitedFor,
        Self::ForeignDataNotSeen,
        Self::VersionsNotSeen,
        Self::ResetTakesAnyHost,
        Self::KubeletsFirst,
        Self::AnyPatchOfEtcd,
        Self::NobodyDrains,
        Self::PodsNotAwaited,
    ];

    /// Whether only an upgrade shows it.
    pub(super) fn is_of_upgrades(self) -> bool {
        matches!(self, Self::KubeletsFirst | Self::AnyPatchOfEtcd | Self::NobodyDrains | Self::PodsNotAwaited)
    }

    /// What has to say so of those that one oracle alone is there for; any may of the others.
    pub(super) fn found_by(self) -> &'static str {
        match self {
            Self::ResetTakesAnyHost => "S3: ",
            Self::ForeignDataNotSeen => "S4: ",
            Self::VersionsNotSeen => "S5: ",
            Self::KubeletsFirst => "newer than an API server",
            Self::AnyPatchOfEtcd => "has etcd",
            Self::NobodyDrains => "beside pods",
            Self::PodsNotAwaited => "makes static pods anew while",
            Self::EpochNotRaised => "S6: ",
            _ => "",
        }
    }
}

#[cfg(test)]
thread_local! {
    static ON: std::cell::Cell<Option<Bug>> = const { std::cell::Cell::new(None) };
}

#[cfg(test)]
pub(super) fn is_on(bug: Bug) -> bool {
    ON.get() == Some(bug)
}

/// Switches a bug on, for this thread.
#[cfg(test)]
pub(super) fn switch(bug: Option<Bug>) {
    ON.set(bug);
}
