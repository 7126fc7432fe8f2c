//! Another key of service accounts: in which order control planes get it, and that every token is taken by all of them at every moment, whoever is killed.

use std::collections::{BTreeMap, BTreeSet};

use kok_tasks::facts::HostFacts;
use kok_tasks::observe::{ApiServerState, Observations};
use kok_tasks::operations::{Operation, ReadTokenKeys, TokenKeysReader};
use kok_tasks::pem_set::PemSet;
use kok_tasks::plan::{
    Action, Making, Plan, Refusal, Seen, TokenKeyRotation, TokenKeyStage, TokenKeyStanding, may_end_token_key, rotate_token_key,
    rotate_token_key_looks, token_key_standing,
};
use kok_tasks::token_keys::{SIGNING_KEY, TOKEN_KEYS, key_id};

use crate::bootstrap::refusal_text;
use crate::support::world::World;
use crate::support::{cluster_of, good_facts, own_etcd_of_three};

const ONE: &str = include_str!("../fixtures/cluster.yaml");
const THREE: &str = include_str!("../fixtures/highly-available.yaml");

/// The public half of what a run makes. The private half is what the name of the secret stands for.
const NEW: &str = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n";

/// A cluster, and what its API servers have read at their start: private key and public keys.
#[derive(Clone)]
struct Story {
    world: World,
    read: BTreeMap<String, (String, PemSet)>,
    /// Public halves by the private ones, of which each run makes another.
    halves: BTreeMap<String, String>,
    /// Keys that have signed what may be in use.
    signed: BTreeSet<String>,
}

impl Story {
    fn from_text(text: &str) -> Self {
        let world = World::bare_of(cluster_of(text)).converge();
        let halves = [SIGNING_KEY, TOKEN_KEYS].map(|path| world.hosts["cp1"].text(path).to_owned());
        let halves = [halves.into()].into();
        let mut story = Self { world, read: BTreeMap::new(), halves, signed: BTreeSet::new() };
        story.planes().iter().for_each(|host| story.reads(host));
        story
    }

    fn planes(&self) -> Vec<String> {
        self.world.cluster.control_planes().map(|host| host.name.clone()).collect()
    }

    fn keys(&self, host: &str) -> PemSet {
        PemSet::parse(self.world.hosts[host].text(TOKEN_KEYS))
    }

    fn reads(&mut self, host: &str) {
        let key = self.world.hosts[host].text(SIGNING_KEY).to_owned();
        self.read.insert(host.to_owned(), (key, self.keys(host)));
    }

    /// What a run makes, and no other one.
    fn makes(&mut self) -> String {
        let letter = char::from(b'A' + u8::try_from(self.halves.len() - 1).unwrap());
        let public = NEW.replace("AAAA", &format!("AAA{letter}"));
        self.halves.insert(format!("private of {}", key_id(&public).unwrap()), public.clone());
        public
    }

    /// Everybody takes what anybody signs, also where somebody is started anew at this moment and goes by his files; and what was signed before, until that ends.
    fn all_are_taken(&mut self, is_ended: bool, after: &str) {
        let planes = self.planes();
        self.signed.extend(self.read.values().map(|(key, _)| self.halves[key].clone()));
        let of_files = planes.iter().map(|host| self.halves[self.world.hosts[host].text(SIGNING_KEY)].clone());
        let signs: BTreeSet<String> = self.read.values().map(|(key, _)| self.halves[key].clone()).chain(of_files).collect();
        let before = if is_ended { BTreeSet::new() } else { self.signed.clone() };
        for host in &planes {
            for (known, key) in
                [&self.read[host].1, &self.keys(host)].into_iter().flat_map(|known| signs.union(&before).map(move |key| (known, key)))
            {
                assert!(known.has(key), "{host} refuses a token of {key} after {after}: {known:?}");
            }
        }
    }

    fn seen(&self) -> Seen {
        let mut seen = Seen::default();
        for (host, number) in self.world.cluster.hosts.iter().zip(11..) {
            let cluster = self.world.hosts[&host.name].has("/var/lib/kokctl/cluster").then(|| self.world.cluster.name.clone());
            seen.add_facts(&host.name, HostFacts { cluster, ..good_facts(&host.name, number) });
            seen.add_observations(&host.name, self.world.look(&host.name, rotate_token_key_looks(host, true).iter()));
        }
        seen
    }

    fn standing(&self) -> TokenKeyStanding {
        token_key_standing(&self.world.cluster, &self.seen()).unwrap()
    }

    fn plan(&self, rotation: &TokenKeyRotation<'_>) -> Plan {
        let mut seen = self.seen();
        loop {
            match rotate_token_key(&self.world.cluster, rotation, &seen).unwrap() {
                Making::Made(plan) => return *plan,
                Making::LookFirst(asked) => {
                    for (host, looks) in asked {
                        seen.add_observations(&host, self.world.look(&host, looks.iter()));
                    }
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// So many steps of these stages; how many are left of them at the end.
    fn driven(&mut self, stages: &[TokenKeyStage], mut steps: usize) -> usize {
        let (key, keeper) = match self.standing() {
            TokenKeyStanding::One if stages == END => return steps,
            TokenKeyStanding::One => (self.makes(), None),
            TokenKeyStanding::Unread { .. } if stages != END => (self.makes(), None),
            TokenKeyStanding::Unread { key, keeper }
            | TokenKeyStanding::Begun { key, keeper }
            | TokenKeyStanding::Replaced { key, keeper, .. } => (key, Some(keeper)),
        };
        for stage in stages {
            loop {
                let plan = self.plan(&TokenKeyRotation { key: &key, keeper: keeper.as_deref(), stage: *stage });
                if plan.is_empty() {
                    break;
                }
                // All of one plan, as a run does it: who looks again after each step would write the private key again and again.
                let begun = self.world.clone();
                for done in 1..=plan.changes().count() {
                    if steps == 0 {
                        return 0;
                    }
                    steps -= 1;
                    let mut world = begun.clone();
                    world.carry_out_some(&plan, done);
                    let before = std::mem::replace(&mut self.world, world);
                    self.have_read(&before, &plan);
                    self.all_are_taken(stages.contains(&TokenKeyStage::Alone), &format!("{stage:?}"));
                }
            }
        }
        steps
    }

    /// API servers that were started anew by what was done.
    fn have_read(&mut self, before: &World, plan: &Plan) {
        let reader = Operation::ReadTokenKeys(ReadTokenKeys { reader: TokenKeysReader::ApiServer });
        for host in self.planes() {
            let is_changed = before.hosts[&host].programs["kube-apiserver"] != self.world.hosts[&host].programs["kube-apiserver"];
            if is_changed && plan.changes().any(|(step, _)| step.host == host && step.action == Action::Operation(reader.clone())) {
                self.reads(&host);
            }
        }
    }
}

const REPLACE: [TokenKeyStage; 2] = [TokenKeyStage::Known, TokenKeyStage::Signs];
const END: [TokenKeyStage; 2] = [TokenKeyStage::Signs, TokenKeyStage::Alone];

#[test]
fn a_run_that_is_killed_after_any_step_is_gone_on_with() {
    for text in [ONE, THREE, &own_etcd_of_three()] {
        let story = Story::from_text(text);
        let planes = story.planes().len();
        let mut whole = story.clone();
        let steps = usize::MAX - whole.driven(&REPLACE, usize::MAX);
        // What is known, what reads it and the node beside it; and what signs, what is known, two that read it, and the node.
        assert!((planes * 6..=planes * 11).contains(&steps), "{steps}");
        for killed in 0..=steps {
            let mut story = story.clone();
            story.driven(&REPLACE, killed);
            assert!(story.world.plan().is_empty(), "`apply` leaves it as it is, after {killed}");
            story.driven(&REPLACE, usize::MAX);
            assert!(matches!(story.standing(), TokenKeyStanding::Replaced { .. }), "after {killed}");
            assert!(story.planes().iter().all(|host| story.read[host].0.starts_with("private of")), "after {killed}");
            let signers: BTreeSet<String> = story.planes().iter().map(|host| story.read[host].0.clone()).collect();
            assert_eq!(signers.len(), 1, "after {killed}");
            let said = kok_tasks::preconditions::reminders(&story.world.cluster, &story.world.seen());
            assert!(said.iter().any(|it| it.what.contains("service accounts is being replaced")), "after {killed}: {said:?}");
            story.driven(&END, killed);
            story.driven(&END, usize::MAX);
            assert_eq!(story.standing(), TokenKeyStanding::One, "after {killed}");
            let alone = &story.halves[signers.first().unwrap()];
            assert!(story.planes().iter().all(|host| story.read[host].1 == PemSet::parse(alone)), "after {killed}: {:?}", story.read);
            assert!(story.planes().iter().all(|host| story.world.hosts[host].text(TOKEN_KEYS) == alone), "after {killed}");
            assert!(
                story.world.plan().is_empty() && kok_tasks::preconditions::reminders(&story.world.cluster, &story.world.seen()).is_empty()
            );
        }
    }
}

#[test]
fn what_is_not_done_yet_does_not_end() {
    let mut story = Story::from_text(THREE);
    assert_eq!(story.standing(), TokenKeyStanding::One);
    let mut signs = 0;
    while story.standing() == TokenKeyStanding::One {
        signs += 1;
        story = Story::from_text(THREE);
        story.driven(&REPLACE, signs);
    }
    assert!(matches!(story.standing(), TokenKeyStanding::Begun { keeper, .. } if keeper == "cp1"), "{:?}", story.standing());
}

#[test]
fn what_keeps_the_key_from_being_replaced_is_said_with_its_host() {
    let story = Story::from_text(THREE);
    let refused = |story: &Story, change: &dyn Fn(&mut Observations)| {
        let mut seen = story.seen();
        let mut of_second = seen.observations("cp2").clone();
        change(&mut of_second);
        seen.add_observations("cp2", of_second);
        refusal_text(&token_key_standing(&story.world.cluster, &seen).expect_err("nothing is refused"))
    };
    let said = refused(&story, &|seen| seen.api_server = Some(ApiServerState::NotReady("etcd failed".to_owned())));
    assert!(said.contains("cp2") && said.contains("etcd failed") && !said.contains("cp1"), "{said}");
    let said = refused(&story, &|seen| seen.api_server = Some(ApiServerState::Absent));
    assert!(said.contains("no control plane of the cluster yet") && said.contains("cp2"), "{said}");
    let said = refused(&story, &|seen| drop(seen.contents.insert(TOKEN_KEYS.to_owned(), Vec::new())));
    assert!(said.contains("has no key in it") && said.contains("cp2"), "{said}");
    let said = refused(&story, &|seen| drop(seen.contents.insert(TOKEN_KEYS.to_owned(), NEW.as_bytes().to_vec())));
    assert!(said.contains("tokens of cp1, cp2, cp3 are refused elsewhere"), "{said}");
    let mut other = story.clone();
    let options = "\n  vars: {kube_kubeadm_apiserver_extra_args: {service-account-signing-endpoint: /run/signer.sock}}\n";
    other.world.cluster = cluster_of(&format!("{THREE}{options}"));
    assert!(refused(&other, &|_| {}).contains("`service-account-signing-endpoint`"));
}

/// A host that comes back as it was before, such as from an image of its disk.
#[test]
fn one_that_was_away_meanwhile_gets_the_key_by_the_same_command() {
    let mut story = Story::from_text(THREE);
    let (key, keys) = (story.world.hosts["cp3"].text(SIGNING_KEY).to_owned(), story.world.hosts["cp3"].text(TOKEN_KEYS).to_owned());
    story.driven(&REPLACE, usize::MAX);
    for (path, text) in [(SIGNING_KEY, &key), (TOKEN_KEYS, &keys)] {
        story.world.host("cp3").write(path, 0o600, text);
    }
    let said = kok_tasks::preconditions::reminders(&story.world.cluster, &story.world.seen());
    assert!(said.iter().any(|it| it.because.as_deref().is_some_and(|because| because.contains("lacks the key of cp1, cp2"))), "{said:?}");
    assert!(matches!(story.standing(), TokenKeyStanding::Begun { keeper, .. } if keeper == "cp1"));
    story.reads("cp3");
    story.signed.clear();
    let plan = story.plan(&TokenKeyRotation { key: NEW, keeper: Some("cp1"), stage: TokenKeyStage::Known });
    assert!(plan.changes().all(|(step, _)| step.id.to_string().starts_with("cp3/")), "{plan:?}");
    for stage in REPLACE {
        let plan = story.plan(&TokenKeyRotation { key: NEW, keeper: Some("cp1"), stage });
        story.world.carry_out_all(&plan);
    }
    assert!(matches!(story.standing(), TokenKeyStanding::Replaced { .. }));
}

/// A run was killed when all files were there, and somebody goes on a day later: until then everybody has signed with the old key.
#[test]
fn time_counts_from_when_api_servers_sign_with_the_key() {
    let mut story = Story::from_text(THREE);
    let started: Vec<u64> = story.planes().iter().map(|host| story.world.hosts[host].programs["kube-apiserver"]).collect();
    story.driven(&REPLACE, usize::MAX);
    let day = 24 * 3600;
    story.world.hosts.values_mut().for_each(|host| host.now += day);
    let age = |story: &Story| match story.standing() {
        TokenKeyStanding::Replaced { age_seconds, .. } => age_seconds,
        other => panic!("{other:?}"),
    };
    assert!((day..day + 600).contains(&age(&story)), "{}", age(&story));
    let other = story.world.hosts["cp2"].now - 60;
    story.world.host("cp2").programs.insert("kube-apiserver".to_owned(), other);
    assert!(age(&story) <= 61, "it was started anew, and nobody knows by which key the one before it signed");
    story.world.host("cp2").programs.insert("kube-apiserver".to_owned(), started[1]);
    assert_eq!(age(&story), 0, "it has not read the key yet");
}

#[test]
fn tokens_that_may_be_in_use_are_not_refused() {
    let story = Story::from_text(ONE);
    let ends = |age: u64, secrets: Result<&[(&str, &str)], &str>| {
        let mut seen = story.seen();
        let secrets = secrets.map(|all| all.iter().map(|(name, key)| ((*name).to_owned(), (*key).to_owned())).collect());
        let observed = Observations { token_secrets: Some(secrets.map_err(str::to_owned)), ..seen.observations("cp1").clone() };
        seen.add_observations("cp1", observed);
        may_end_token_key(&story.world.cluster, (NEW, age), &seen)
    };
    let (day, own) = (25 * 3600, key_id(NEW).unwrap());
    let said = |result: Result<(), Vec<Refusal>>| refusal_text(&result.unwrap_err());
    assert_eq!(ends(day, Ok(&[])), Ok(()));
    assert_eq!(ends(day, Ok(&[("a/new", &own)])), Ok(()));
    let text = said(ends(day - 3601, Ok(&[])));
    assert!(text.contains("pods may still have tokens") && text.contains("end it in 2 h"), "{text}");
    let text = said(ends(day, Ok(&[("a/new", &own), ("a/old", "k0"), ("b/unsigned", "")])));
    assert!(text.contains("a/old, b/unsigned") && text.contains("kubectl patch secret old -n a") && !text.contains("a/new"), "{text}");
    assert!(said(ends(day, Err("no answer"))).contains("no answer"));
}
