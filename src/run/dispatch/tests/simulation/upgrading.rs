//! Upgrades by seed: words of users who pause, leave hosts out, emulate, take back and finish, each cut off somewhere; and one at the end that nothing happens
//! to, after which all of it has the new version and no node is kept from pods.

use std::cell::LazyCell;

use kok_tasks::drain::{Budget, Cordon, Owner, Pod, Selector};
use kok_tasks::observe::{API_SERVER, ETCD, KUBELET};
use kok_tasks::upgrade::{Hop, Part, Pause, Running, Stage, StageName, Turn, Wish, hops, stages};
use model::support::upgrading::{NEW, of_version, upgradable};

use super::super::super::seeded::seeded;
use super::*;

thread_local! {
    static WORLD: LazyCell<World> = LazyCell::new(upgradable);
}

/// What somebody types.
#[derive(Debug, Clone, Default)]
struct Typed {
    turn: Turn,
    wish: Wish,
    pause: Option<Pause>,
}

impl Typed {
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
            0 => Some(Part::ControlPlanes),
            1 => Some(Part::Workers),
            _ => None,
        };
        let pause = match random.below(6) {
            0 => Some(Pause::First),
            1 => Some(Pause::ControlPlanes),
            _ => None,
        };
        let wish = Wish { limit, part, first: pause == Some(Pause::First), undrained: random.one_in(8) };
        Self { turn, wish, pause }
    }

    /// The stages that it comes to, as `engine::upgrade` makes them of what hosts say.
    fn stages(&self, world: &World) -> Result<Vec<Stage>, String> {
        let mut world = world.clone();
        world.cluster = of_version(NEW);
        let running = Running::of(&world.cluster, &world.seen()).map_err(|refusals| format!("{refusals:?}"))?;
        let hops = hops(self.turn, &world.cluster, &running, &NEW.parse().unwrap(), &world.bundle);
        let mut hops = hops.map_err(|refused| format!("{refused:?}"))?;
        if seeded!(AnyPatchOfEtcd) {
            hops.retain(|hop| !matches!(hop, Hop::Etcd(_)));
        }
        let mut stages = stages(&world.cluster, &running, &hops, &self.wish).map_err(|refusal| format!("{refusal:?}"))?;
        if let Some(pause) = self.pause {
            stages = pause.before(&running, stages);
        }
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
        let pod =
            Pod { namespace: "shop".into(), name: format!("cart-{node}"), labels: labels.clone(), owner: Owner::Another, ..Pod::default() };
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
        let mut world = WORLD.with(|world| (**world).clone());
        let may_go_back = random.one_in(3);
        if random.one_in(6) {
            world.api.budgets.push(never());
        }
        for number in 0..1 + random.below(3) {
            world.token_id = format!("kokab{number}");
            if self.ground.take(&mut world, Taker::any(&mut random)) {
                let typed = Typed::any(&mut random, may_go_back);
                world = self.word(world, &typed, Some(&mut random)).0;
            }
            if !self.broken.is_empty() {
                return;
            }
        }
        heal(&mut world);
        world.api.budgets.clear();
        self.end_upgrade(world);
    }

    /// Goes through the stages of a word until one does not end well. The world, and whether all of them have.
    fn word(&mut self, mut world: World, typed: &Typed, mut random: Option<&mut Random>) -> (World, bool) {
        self.told.push(format!("{typed:?}"));
        let stages = match typed.stages(&world) {
            Ok(stages) => stages,
            Err(refused) => {
                self.told.push(refused);
                return (world, false);
            }
        };
        for stage in stages {
            self.told.push(format!("{}: {:?}", stage.name, stage.hosts));
            world.cluster = stage.cluster;
            fill(&mut world);
            let plan = match world.try_plan() {
                Ok(plan) => plan,
                Err(refusals) => {
                    self.told.push(format!("{refusals:?}"));
                    return (world, false);
                }
            };
            let life = random.as_mut().map_or_else(Life::quiet, |random| Life::of_stage(random, &world));
            let outcome;
            (outcome, world) = self.live(world, &plan, &life);
            let is_complete = outcome.as_ref().is_some_and(Outcome::is_complete);
            self.told.extend((!is_complete).then(|| format!("{outcome:?}")));
            if !self.broken.is_empty() || !is_complete {
                return (world, false);
            }
        }
        (world, true)
    }

    /// Finishes it, with nothing that happens: where nothing was begun that can be taken back that is the whole upgrade.
    fn end_upgrade(&mut self, mut world: World) {
        if !self.ground.take(&mut world, Taker { controller: "ours", take_over: true }) {
            return self.broken.push("hosts can't be taken over".to_owned());
        }
        world.token_id = "kokzzz".to_owned();
        let typed = Typed { turn: Turn::Finish, ..Typed::default() };
        let is_complete;
        (world, is_complete) = self.word(world, &typed, None);
        if !self.broken.is_empty() {
            return;
        }
        if !is_complete {
            let told = self.told.last().cloned().unwrap_or_default();
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
        world.cluster = of_version(NEW);
        let left = left(&world);
        if !left.is_empty() {
            self.broken.push(format!("{left:?} is left to an apply after it"));
        }
    }
}
