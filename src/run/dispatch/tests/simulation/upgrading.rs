//! Upgrades by seed: commands of users who pause, leave hosts out, emulate, take back and finish, each cut off somewhere; and one at the end that nothing happens
//! to, after which all of it has the new version and no node is kept from pods.

use std::cell::LazyCell;

use kok_tasks::drain::{Budget, Cordon, Pod, PodOwner, Selector};
use kok_tasks::observe::{API_SERVER, ETCD, KUBELET};
use kok_tasks::upgrade::{ClusterPart, Hop, Pause, Running, Stage, StageName, Turn, Wish, hops, stages};
use model::support::upgrading::{NEW, OLD, alone_of_version, of_version, upgradable};

use super::super::super::seeded::seeded;
use super::*;

thread_local! {
    /// Three control planes, and one.
    static WORLDS: LazyCell<[World; 2]> = LazyCell::new(|| [of_version(OLD), alone_of_version(OLD)].map(upgradable));
}

/// What somebody types.
#[derive(Debug, Clone, Default)]
pub(super) struct TypedCommand {
    turn: Turn,
    wish: Wish,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Complete,
    /// Killed, stopped, or something failed.
    CutOff,
    /// Nothing was begun of it, or of a stage.
    Refused,
}

/// The cluster as its file says it.
fn file(world: &World) -> Cluster {
    if world.cluster.is_highly_available() { of_version(NEW) } else { alone_of_version(NEW) }
}

impl TypedCommand {
    fn any(random: &mut Random, may_go_back: bool) -> Self {
        let turn = match random.below(5) {
            _ if !may_go_back => Turn::Whole,
            0 | 1 => Turn::Emulate,
            2 | 3 => Turn::TakeBack,
            _ => Turn::Finish,
        };
        let limit = match random.below(8) {
            0 => vec!["cp1".to_owned()],
            1 => vec!["cp2".to_owned(), "worker1".to_owned()],
            _ => Vec::new(),
        };
        let part = match random.below(8) {
            0 => Some(ClusterPart::ControlPlanes),
            1 => Some(ClusterPart::Workers),
            _ => None,
        };
        let pause = match random.below(6) {
            0 => Some(Pause::First),
            1 => Some(Pause::ControlPlanes),
            _ => None,
        };
        let wish = Wish { limit, part, pause, undrained: random.one_in(8), ..Wish::default() };
        Self { turn, wish }
    }

    /// The stages that it comes to, as `engine::upgrade` makes them of what hosts say.
    fn stages(&self, world: &World) -> Result<Vec<Stage>, String> {
        self.stages_to(file(world), world)
    }

    /// The same where the cluster's file is this one.
    pub(super) fn stages_to(&self, file: Cluster, world: &World) -> Result<Vec<Stage>, String> {
        let mut world = world.clone();
        world.cluster = file;
        let running = Running::from_seen(&world.cluster, &world.seen_before_upgrade()).map_err(|refusals| format!("{refusals:?}"))?;
        let hops = hops(self.turn, &world.cluster, &running, &NEW.parse().unwrap(), &world.bundle);
        let mut hops = hops.map_err(|refused| format!("{refused:?}"))?;
        if seeded!(AnyPatchOfEtcd) {
            hops.retain(|hop| !matches!(hop, Hop::Etcd(_)));
        }
        let mut stages = stages(&world.cluster, &running, &hops, &self.wish).map_err(|refusal| format!("{refusal:?}"))?;
        if seeded!(KubeletsFirst) {
            stages.sort_by_key(|stage| stage.name != StageName::Kubelets);
        }
        for stage in &mut stages {
            stage.cluster.settings.drains.off = self.wish.undrained;
            stage.cluster.underway.iter_mut().filter(|_| seeded!(NobodyDrains)).for_each(|underway| underway.drained.clear());
        }
        Ok(stages)
    }
}

/// Controllers of workloads have made pods again, where they may be.
fn fill(world: &mut World) {
    let labels = BTreeMap::from([("app".to_owned(), "cart".to_owned())]);
    let takes_pods = |node: &&String| world.api.nodes[*node].cordon == Cordon::None;
    let workers: Vec<String> = world.api.nodes.keys().filter(takes_pods).filter(|node| node.starts_with("worker")).cloned().collect();
    for node in workers {
        let pod = Pod {
            namespace: "shop".into(),
            name: format!("cart-{node}"),
            labels: labels.clone(),
            owner: PodOwner::Another,
            ..Pod::default()
        };
        world.api.pods.insert(node, vec![pod]);
    }
}

/// A budget that lets no pod go.
fn never() -> Budget {
    let selector = Selector::of_labels(BTreeMap::from([("app".to_owned(), "cart".to_owned())]));
    Budget { namespace: "shop".into(), name: "all".into(), selector, allowed: 0, healthy: 2, desired: 2, expected: 2 }
}

impl History {
    pub(super) fn upgrade(&mut self, seed: u64) {
        let mut random = Random(seed);
        let mut world = WORLDS.with(|worlds| worlds[usize::from(random.one_in(4))].clone());
        let may_go_back = random.one_in(3);
        if random.one_in(6) {
            world.api.budgets.push(never());
        }
        for number in 0..1 + random.below(3) {
            world.token_id = format!("kokab{number}");
            if self.ground.take(&mut world, Taker::any(&mut random)) {
                let command = TypedCommand::any(&mut random, may_go_back);
                let end;
                (world, end) = self.run_stages(world, &command, (Some(&mut random), None));
                if self.broken.is_empty() && end == End::CutOff && random.one_in(2) {
                    world.token_id = format!("kokac{number}");
                    world = self.again_at_once(world, &command, &mut random);
                }
            }
            if !self.broken.is_empty() {
                return;
            }
        }
        heal(&mut world);
        world.api.budgets.clear();
        self.end_upgrade(world);
    }

    /// The same command, while the API server of a control plane is still away: whatever would go on without that goes on.
    fn again_at_once(&mut self, mut world: World, command: &TypedCommand, random: &mut Random) -> World {
        if command.stages(&world).is_err() || !self.ground.take(&mut world, Taker { controller: "ours", take_over: true }) {
            return world;
        }
        let plane = if world.cluster.is_highly_available() { random.one_of(&["cp1", "cp2", "cp3"]) } else { "cp1" };
        let (world, end) = self.run_stages(world, command, (None, Some(plane)));
        if end == End::Refused && self.broken.is_empty() {
            let told = self.log.last().cloned().unwrap_or_default();
            self.broken.push(format!("with the API server of {plane} away {command:?} is refused: {told}"));
        }
        world
    }

    /// Goes through the stages of a command until one does not end well, with what happens by chance, or with the API server of a host that is away in the
    /// beginning.
    fn run_stages(
        &mut self,
        mut world: World,
        command: &TypedCommand,
        (mut random, mut away): (Option<&mut Random>, Option<&'static str>),
    ) -> (World, End) {
        self.log.push(format!("{command:?}, without the API server of {away:?}"));
        if let Some(host) = away {
            world.host(host).down.insert("kube-apiserver".to_owned());
        }
        let stages = match command.stages(&world) {
            Ok(stages) => stages,
            Err(refused) => return (self.is_refused(world, refused), End::Refused),
        };
        for stage in stages {
            self.log.push(format!("{}: {:?}", stage.name, stage.hosts));
            world.cluster = stage.cluster;
            fill(&mut world);
            let plan = match world.try_plan() {
                Ok(plan) => plan,
                Err(refusals) => return (self.is_refused(world, format!("{refusals:?}")), End::Refused),
            };
            let mut life = random.as_mut().map_or_else(SimulatedLife::quiet, |random| SimulatedLife::of_stage(random, &world));
            life.happenings.extend(away.take().map(|host| (0, Happening::api_server_away(host))));
            let outcome;
            (outcome, world) = self.live(world, &plan, &life);
            let is_complete = outcome.as_ref().is_some_and(Outcome::is_complete);
            self.log.extend((!is_complete).then(|| format!("{outcome:?}")));
            if !self.broken.is_empty() || !is_complete {
                return (world, End::CutOff);
            }
        }
        (world, End::Complete)
    }

    /// What was away comes back.
    fn is_refused(&mut self, mut world: World, why: String) -> World {
        self.log.push(why);
        world.hosts.values_mut().for_each(|host| host.down.clear());
        world
    }

    /// Finishes it, with nothing that happens: where nothing was begun that can be taken back that is the whole upgrade.
    fn end_upgrade(&mut self, mut world: World) {
        if !self.ground.take(&mut world, Taker { controller: "ours", take_over: true }) {
            return self.broken.push("hosts can't be taken over".to_owned());
        }
        world.token_id = "kokzzz".to_owned();
        let command = TypedCommand { turn: Turn::Finish, ..TypedCommand::default() };
        let end;
        (world, end) = self.run_stages(world, &command, (None, None));
        if !self.broken.is_empty() {
            return;
        }
        if end != End::Complete {
            let told = self.log.last().cloned().unwrap_or_default();
            return self.broken.push(format!("an upgrade without a fault does not end: {told}"));
        }
        for (program, version) in [(API_SERVER, NEW), (KUBELET, NEW), (ETCD, "3.7.0")] {
            let runs: Vec<String> =
                world.versions_of(program).iter().map(|(major, minor, patch)| format!("{major}.{minor}.{patch}")).collect();
            if runs != [version] {
                self.broken.push(format!("{program} is {runs:?} in the end, and not {version}"));
            }
        }
        let kept: Vec<&String> = world.api.nodes.iter().filter(|(_, node)| node.cordon != Cordon::None).map(|(name, _)| name).collect();
        if !kept.is_empty() {
            self.broken.push(format!("{kept:?} take no pods in the end"));
        }
        world.cluster = file(&world);
        let left = left(&world);
        if !left.is_empty() {
            self.broken.push(format!("{left:?} is left to an apply after it"));
        }
    }
}
