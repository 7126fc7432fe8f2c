//! What happens to the runs of a history.

use serde::Serialize;

use super::*;

impl Taker {
    /// Mostly the next run of the same controller.
    pub(super) fn any(random: &mut Random) -> Self {
        let controller = if random.one_in(4) { "another" } else { "ours" };
        Self { controller, take_over: random.one_in(3) }
    }
}

/// SplitMix64: every number that a history needs comes of its seed.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub(super) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub(super) fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }
}

/// What happens to the cluster by itself.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Happening {
    /// A program is away for so many seconds on all of these hosts.
    Away {
        hosts: &'static [&'static str],
        program: &'static str,
        seconds: u64,
    },
    Lost(&'static str),
    Stop,
}

impl Happening {
    /// From a run that was cut off while it started, or by itself.
    pub(super) fn api_server_away(host: &'static str) -> Self {
        let hosts: &'static [&'static str] = match host {
            "cp1" => &["cp1"],
            "cp2" => &["cp2"],
            _ => &["cp3"],
        };
        Self::Away { hosts, program: "kube-apiserver", seconds: 20 }
    }
}

fn happening(random: &mut Random, world: &World) -> Happening {
    let own_etcd = world.cluster.has_etcd_units();
    if !world.cluster.is_highly_available() {
        return of_one_plane(random);
    }
    let members: &[&[&str]] =
        if own_etcd { &[&["etcd1"], &["etcd2"], &["etcd3"]] } else { &[&["cp1"], &["cp2"], &["cp3"], &["cp1", "cp2"]] };
    let planes: &[&[&str]] = if own_etcd { &[&["cp1"], &["cp2"]] } else { &[&["cp1", "cp2"], &["cp1", "cp3"], &["cp2", "cp3"], &["cp1"]] };
    let seconds = random.one_of(&[5, 20, 50, 100]);
    let anybody: &[&str] = if own_etcd { &["etcd1", "etcd2", "cp2", "worker1"] } else { &["cp2", "cp3", "worker1", "worker2"] };
    match random.below(14) {
        0..=4 => Happening::Away { hosts: random.one_of(members), program: "etcd", seconds },
        5..=7 => Happening::Away { hosts: random.one_of(planes), program: "kube-apiserver", seconds },
        8..=10 if !own_etcd => Happening::Away { hosts: random.one_of(&[&["worker1"], &["worker2"]]), program: "kubelet", seconds },
        11 | 12 => Happening::Lost(random.one_of(anybody)),
        _ => Happening::Stop,
    }
}

/// What happens where one control plane has it all.
fn of_one_plane(random: &mut Random) -> Happening {
    let seconds = random.one_of(&[5, 20, 50, 100]);
    match random.below(10) {
        0 | 1 => Happening::Away { hosts: &["cp1"], program: "etcd", seconds },
        2..=4 => Happening::Away { hosts: &["cp1"], program: "kube-apiserver", seconds },
        5 | 6 => Happening::Away { hosts: random.one_of(&[&["worker1"], &["worker2"]]), program: "kubelet", seconds },
        7 | 8 => Happening::Lost(random.one_of(&["cp1", "worker1", "worker2"])),
        _ => Happening::Stop,
    }
}

/// One life of a run: what breaks and when, and whether it is killed.
#[derive(Debug)]
pub(super) struct SimulatedLife {
    pub(super) faults: Vec<(usize, Fault)>,
    pub(super) dies_at: Option<usize>,
    pub(super) happenings: Vec<(u64, Happening)>,
    /// How long what it leaves at work goes on; nothing if for ever.
    pub(super) goes_on: Option<Duration>,
}

impl SimulatedLife {
    /// Some suffer from links, some from the cluster, and some from both.
    pub(super) fn any(random: &mut Random, world: &World) -> Self {
        let breaking =
            [Fault::LostBefore, Fault::LostAfter, Fault::LostBetween, Fault::StillAtWork, Fault::NeverEnds, Fault::Held, Fault::Held];
        let kind = random.below(3);
        let (faults, dies_at) = match kind {
            0 => (Vec::new(), None),
            _ => {
                let faults = (0..=random.below(3)).map(|_| (small(random, 10), random.one_of(&breaking))).collect();
                (faults, random.one_in(4).then(|| small(random, 12)))
            }
        };
        let count = if kind == 1 { 0 } else { 1 + random.below(4) };
        let mut happenings: Vec<(u64, Happening)> = (0..count).map(|_| (random.below(45_000), happening(random, world))).collect();
        happenings.sort_by_key(|(at, _)| *at);
        let goes_on = (!random.one_in(5)).then(|| Duration::from_secs(1 + random.below(100)));
        Self { faults, dies_at, happenings, goes_on }
    }

    /// Of a founding: links break anywhere in it, for good too, and nothing works yet that could go away.
    pub(super) fn of_founding(random: &mut Random) -> Self {
        let gone = Fault::Gone("worker2");
        let breaking = [Fault::LostBefore, Fault::LostAfter, Fault::LostBetween, Fault::StillAtWork, Fault::NeverEnds, Fault::Held, gone];
        let faults = (0..=random.below(3)).map(|_| (small(random, 60), random.one_of(&breaking))).collect();
        let dies_at = random.one_in(2).then(|| small(random, 60));
        let goes_on = (!random.one_in(5)).then(|| Duration::from_secs(1 + random.below(100)));
        Self { faults, dies_at, happenings: Vec::new(), goes_on }
    }

    /// Of a stage of an upgrade: half of them come through it, so that what follows is seen too.
    pub(super) fn of_stage(random: &mut Random, world: &World) -> Self {
        if random.one_in(2) {
            return Self::quiet();
        }
        let life = Self::any(random, world);
        let faults = life.faults.iter().map(|(at, fault)| (*at * 5 + small(random, 5), *fault)).collect();
        Self { faults, dies_at: life.dies_at.map(|at| at * 5 + small(random, 5)), ..life }
    }

    /// The last one: nothing happens any more.
    pub(super) fn quiet() -> Self {
        Self { faults: Vec::new(), dies_at: None, happenings: Vec::new(), goes_on: None }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.happenings.iter().any(|(_, happening)| matches!(happening, Happening::Stop))
    }
}

fn small(random: &mut Random, limit: u64) -> usize {
    usize::try_from(random.below(limit)).unwrap()
}
