//! Making certificates anew, and seeing to it that what runs has them.

use std::time::{Duration, Instant};

use kok_crds::counted;
use kok_crds::model::Cluster;
use kok_tasks::renewal::{DueCertificate, Renewal};

use super::apply::make_secrets;
use super::certificates::{HeldCertificate, InUse, certificates};
use super::context::{Context, Options};
use super::converge::{Planned, Tolerance, renew_certificates};
use super::driver::{Run, StagedOrder, Work};
use super::error::Error;
use super::given::Given;
use super::store::Lock;
use crate::clock::day;
use crate::failure::{Failure, Kind};
use crate::run::{Outcome, Stop, unless_wished};

/// An API server reads a certificate a minute after it was written at the latest, etcd with the next connection.
const READ_WITHIN: Duration = Duration::from_secs(90);
/// Between two looks.
const PAUSE: Duration = Duration::from_secs(5);

/// What is made anew.
pub struct RenewRequest<'a> {
    /// The cluster as its file says.
    pub cluster: &'a Cluster,
    /// What is asked for.
    pub renewal: &'a Renewal<'a>,
    /// In the caller's words; nothing for all of it.
    pub part: Option<String>,
    /// What is random.
    pub given: &'a Given,
}

/// What was made anew.
pub struct Renewed {
    /// How it ended; nothing, if there was nothing to do.
    pub outcome: Option<Outcome>,
    /// What somebody else has to issue.
    pub due: Vec<DueCertificate>,
    /// What the hosts have by now.
    pub certificates: Vec<HeldCertificate>,
}

/// Makes certificates anew that end soon, or all that are meant, has programs read them, and looks whether these show them. Whoever calls has the cluster's
/// lock, which ends with the run.
///
/// # Errors
/// [`Error`] if not all of it is done.
pub async fn renew(context: &Context, lock: Lock, request: &RenewRequest<'_>, options: Options<'_>) -> Result<Renewed, Error> {
    let run = Run::begin("certs renew", request.cluster, request.part.clone(), (context, lock), options);
    let mut order = Renew { request, due: Vec::new(), answered: Vec::new() };
    let driven = run.drive(&mut order).await?;
    let shown = unless_wished(&mut context.stop.clone(), Stop::Finish, shown(context, request, &order.answered)).await;
    let certificates = shown.unwrap_or_else(|| Ok(Vec::new()))?;
    Ok(Renewed { outcome: driven.outcome, due: order.due, certificates })
}

struct Renew<'a> {
    request: &'a RenewRequest<'a>,
    due: Vec<DueCertificate>,
    /// The hosts that answered, of those that are meant.
    answered: Vec<String>,
}

impl StagedOrder for Renew<'_> {
    async fn plan(&mut self, run: &Run<'_>) -> Result<Planned, Vec<Failure>> {
        let tolerance = Tolerance { holder: run.options.take_over, ..Tolerance::default() };
        let (planned, due) = renew_certificates(self.request.cluster, self.request.renewal, tolerance, run.context).await?;
        self.due = due;
        let RenewRequest { cluster, renewal, .. } = self.request;
        let answered = cluster.hosts.iter().filter(|host| planned.links.contains_key(&host.name) && renewal.concerns(cluster, host));
        self.answered = answered.map(|host| host.name.clone()).collect();
        Ok(planned)
    }

    async fn prepare(&mut self, run: &Run<'_>, planned: &Planned) -> Result<Work, Error> {
        let secrets = make_secrets(run, planned, &self.request.given.token).await?;
        Ok(Work { secrets, bundle: None, whole: false, most_failed: None })
    }

    fn is_done_by(&self, _: &Run<'_>, planned: &Planned) -> bool {
        planned.plan.is_empty()
    }
}

/// What the hosts have, once no program shows another certificate than its file has.
async fn shown(context: &Context, request: &RenewRequest<'_>, meant: &[String]) -> Result<Vec<HeldCertificate>, Error> {
    if meant.is_empty() {
        return Ok(Vec::new());
    }
    let until = Instant::now() + READ_WITHIN;
    loop {
        let (found, failures) = certificates(context, request.cluster, meant).await?;
        if !failures.is_empty() {
            return Err(Error::from(failures));
        }
        let behind: Vec<&HeldCertificate> = found.iter().filter(|it| it.running.has == InUse::No).collect();
        if behind.is_empty() {
            return Ok(found);
        }
        if Instant::now() >= until {
            return Err(Error::from(vec![not_read(&behind)]));
        }
        // Not a wait for time to pass but the interval between two looks at what has its own deadline.
        tokio::time::sleep(PAUSE).await;
    }
}

fn not_read(behind: &[&HeldCertificate]) -> Failure {
    let why = |it: &&HeldCertificate| format!("{} of {}: {}", it.name, it.host, it.running.because.clone().unwrap_or_default());
    let what = format!("the files are new, and after {} s not all that runs has read them", READ_WITHIN.as_secs());
    let failure = Failure::new(Kind::Incomplete, what).because(behind.iter().map(why).collect::<Vec<_>>().join("; "));
    failure.hint("start these programs anew, one host after the other: `kokctl reboot -f FILE HOST` does, with all that it takes")
}

/// What certificates ask for whose authorities have their keys elsewhere: each with its host, its file and its end.
#[must_use]
pub fn to_be_issued_by_others(due: &[DueCertificate]) -> Option<Failure> {
    let until = |due: &DueCertificate| match due.end {
        Some(end) => format!("{}/{} until {}", due.host, due.path, day(end)),
        None => format!("{}/{}, which can't be read", due.host, due.path),
    };
    let what = counted(due.len(), "certificate has to be issued by others", "certificates have to be issued by others");
    let because = due.iter().map(until).collect::<Vec<_>>().join(", ");
    (!due.is_empty()).then(|| {
        let failure = Failure::new(Kind::Host, what).because(format!("the hosts have no key that could sign them: {because}"));
        failure
            .hint("have them issued, put them with their keys into the folder `certificates.issued` under these names, and `kokctl apply`")
    })
}
