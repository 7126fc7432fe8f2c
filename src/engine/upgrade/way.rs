//! The way of an upgrade: its stages, and what is in it.

use std::collections::BTreeSet;
use std::time::Duration;

use kok_tasks::plan::Plan;
use kok_tasks::upgrade::{Found, Hop, Pause, Running, Stage, Turn, check, components, hops, leads_to, members_begun, stages};
use semver::Version;
use tokio::time::Instant;

use super::super::apply::all_there;
use super::super::context::Context;
use super::super::converge::{Base, Tolerance, converge};
use super::{CheckName, UpgradeRequest, running_of};
use crate::clock::Clock;
use crate::event::EventKind;
use crate::failure::{Failure, Kind};

/// A member of etcd that a run was starting anew when it was cut off reads its data first; and where it ended once on the way, as one does that comes before
/// the others, its kubelet starts it again after 10 s, and after 20 s more. One that ends again and again does not come by itself.
const COMES_BACK_WITHIN: Duration = Duration::from_secs(60);

/// The interval between two looks at it.
const PAUSE: Duration = Duration::from_secs(2);

/// The way that an upgrade would go.
pub struct Way {
    /// What runs.
    pub running: Running,
    /// The version that it leads to: back to what the cluster says of itself, or to the one that was asked for.
    pub to: Version,
    /// The steps from version to version.
    pub hops: Vec<Hop>,
    /// The stages, as far as they are wished for.
    pub stages: Vec<Stage>,
    /// Workers that can't be reached, and keep what they have.
    pub left_out: BTreeSet<String>,
    /// What is in its way, or may be; without what does not matter.
    pub found: Vec<Found>,
    /// Hosts whose members of etcd are starting after a run that was cut off, where these are all that is in its way: [`super::upgrade`] waits for them.
    pub awaited: BTreeSet<String>,
    /// What its one stage would change, where components alone are meant: no stage is left of it if that is nothing.
    pub plan: Option<Plan>,
}

impl Way {
    /// What has to be mended before it can be gone, each as an error. Nothing where what is in the way is awaited: it comes by itself.
    #[must_use]
    pub fn blocking(&self) -> Vec<Failure> {
        let blocking = self.found.iter().filter(|found| found.blocks && self.awaited.is_empty());
        blocking.map(super::blocking).collect()
    }
}

impl UpgradeRequest<'_> {
    /// The way, and what was seen for it. Where nothing is in the way but members of etcd that a run which was cut off was starting anew, these are looked
    /// at again until they answer.
    pub(super) async fn settled_way(&self, tolerance: Tolerance, context: &Context) -> Result<(Base, Way), Vec<Failure>> {
        let until = Instant::now() + COMES_BACK_WITHIN;
        let mut announced = BTreeSet::new();
        loop {
            let base = self.meant().base(tolerance, context).await?;
            let way = self.way(&base, context)?;
            if way.awaited.is_empty() || Instant::now() >= until {
                let way = self.planned(way, tolerance, context).await?;
                return Ok((base, way));
            }
            for host in way.awaited.into_iter().filter(|host| announced.insert(host.clone())) {
                let within_milliseconds = u64::try_from(COMES_BACK_WITHIN.as_millis()).unwrap_or(u64::MAX);
                context.events.send(EventKind::MemberAwaited { host, within_milliseconds });
            }
            // Not a wait for time to pass but the interval between two looks at what has its own deadline.
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn place(&self) -> String {
        self.cluster.position_of("spec.kubernetesVersion").map_or_else(|| "spec.kubernetesVersion".to_owned(), ToString::to_string)
    }

    fn way(&self, base: &Base, context: &Context) -> Result<Way, Vec<Failure>> {
        // To go back nothing new is needed.
        if self.turn != Turn::TakeBack {
            all_there(&self.bundle, self.cluster)?;
        }
        let running = running_of(self.cluster, base)?;
        let refused = |refusal| vec![Failure::refusal(Kind::Input, refusal)];
        let hops = hops(self.turn, self.cluster, &running, self.to, self.bundle.bundle());
        let hops = hops.map_err(|is_refused| refused(is_refused.refusal(&self.place())))?;
        if self.wish.pause == Some(Pause::First) && self.cluster.has_etcd_units() {
            return Err(vec![first_of_units()]);
        }
        let wish = self.wish_without(&base.left_out);
        let stages = match self.turn {
            Turn::Components => vec![components(self.cluster, &running, &wish)],
            _ => stages(self.cluster, &running, &hops, &wish).map_err(refused)?,
        };
        let to = leads_to(self.turn, &running, self.to);
        let found = self.found(base, &to);
        let awaited = awaited(&found, members_begun(self.cluster, &base.seen, &context.controller.id));
        let (awaited, left_out) = (awaited.into_iter().map(str::to_owned).collect(), base.left_out.keys().cloned().collect());
        Ok(Way { running, to, hops, stages, left_out, found, awaited, plan: None })
    }

    /// The way, as far as it is known by what was seen.
    pub(super) async fn planned_way(&self, base: &Base, tolerance: Tolerance, context: &Context) -> Result<Way, Vec<Failure>> {
        self.planned(self.way(base, context)?, tolerance, context).await
    }

    /// With what its stage would change where components alone are meant.
    async fn planned(&self, mut way: Way, tolerance: Tolerance, context: &Context) -> Result<Way, Vec<Failure>> {
        let Some(stage) = way.stages.first().filter(|_| self.turn == Turn::Components) else { return Ok(way) };
        let plan =
            converge(&stage.cluster, self.bundle.bundle(), &self.selection(&way.left_out)?, self.given, tolerance, context).await?.plan;
        if plan.is_empty() {
            way.stages.clear();
        }
        way.plan = Some(plan);
        Ok(way)
    }

    /// What is in the way to a version.
    fn found(&self, base: &Base, to: &Version) -> Vec<Found> {
        let found = check(self.cluster, &base.seen, to, Clock::seconds());
        // No node is drained for components.
        let stays = |name: CheckName| name == CheckName::Budgets && self.turn == Turn::Components;
        let found = found.into_iter().filter(|found| !self.ignored.contains(&found.name) && !stays(found.name));
        // What is wrong may be why somebody goes back.
        found.map(|found| Found { blocks: found.blocks && self.turn != Turn::TakeBack, ..found }).collect()
    }
}

/// Those of the members that start for which there is a sense in waiting: they are all that is in the way.
fn awaited<'a>(found: &[Found], starting: BTreeSet<&'a str>) -> BTreeSet<&'a str> {
    let mut blocking = found.iter().filter(|found| found.blocks).peekable();
    let is_all = blocking.peek().is_some() && blocking.all(|found| found.name == CheckName::Etcd);
    if is_all { starting } else { BTreeSet::new() }
}

/// Members and control planes are on hosts of their own there, and change in one stage.
fn first_of_units() -> Failure {
    Failure::new(Kind::Input, "there is no pause after the first control plane")
        .at("--pause-after")
        .because("this cluster's etcd runs as units, whose members come in one stage with the control planes")
        .hint("write --pause-after control-planes")
}

#[cfg(test)]
mod tests {
    use kok_tasks::plan::Refusal;

    use super::*;

    #[test]
    fn members_are_awaited_where_nothing_else_is_in_the_way() {
        let found = |all: &[(CheckName, bool)]| {
            let found = |(name, blocks): &(CheckName, bool)| Found { name: *name, blocks: *blocks, refusal: Refusal::new("it is so") };
            awaited(&all.iter().map(found).collect::<Vec<_>>(), BTreeSet::from(["cp1"])).len()
        };
        assert_eq!(found(&[(CheckName::Etcd, true), (CheckName::Nodes, false)]), 1);
        assert_eq!(found(&[]), 0, "it does not matter, or somebody has said so");
        assert_eq!(found(&[(CheckName::Etcd, true), (CheckName::Certificates, true)]), 0, "the other one stays");
    }
}
