//! A host of the model: what is on it, and what a probe would see of it.

use std::collections::{BTreeMap, BTreeSet};

use kok_tasks::digest::sha256;
use kok_tasks::documents::encryption_keys;
use kok_tasks::encryption::Layout;
use kok_tasks::observe::{
    BLOCK_BEGIN, BLOCK_END, ETCD, EncryptionKeys, EncryptionRead, Firewall, ImageState, ImageStore, Installed, KUBELET, Kind, Look,
    Metadata, ModuleState, Neighbour, Observations, PathState, Piece, PodNetwork, ProgramVersions, STATIC_PODS, SwapState, TimeTracking,
    UnitState, kubeconfig_certificate, kubeconfig_server, version_of,
};
use kok_tasks::snapshot::ENCRYPTION;

/// Something at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    pub(crate) mode: u32,
    pub(crate) content: String,
    /// What stands for the content of a large file.
    pub(crate) sum: String,
    /// When it was written, in seconds of the model.
    pub(crate) changed: u64,
}

/// A host that starts bare.
#[derive(Debug, Clone)]
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) paths: BTreeMap<String, Entry>,
    pub(crate) units: BTreeMap<String, UnitState>,
    pub(crate) sysctls: BTreeMap<String, String>,
    pub(crate) modules: BTreeSet<String>,
    /// Commands that were installed, of those that the host lacked.
    pub(crate) commands: BTreeSet<String>,
    pub(crate) lacks: BTreeSet<String>,
    pub(crate) users: BTreeSet<String>,
    pub(crate) swap: SwapState,
    pub(crate) firewall: Firewall,
    pub(crate) pod_network: PodNetwork,
    pub(crate) images: BTreeMap<String, ImageState>,
    /// When controller manager and scheduler were started, in seconds since boot.
    pub(crate) programs: BTreeMap<String, u64>,
    /// Versions of programs that somebody else has put there: what runs, and what would.
    pub(crate) versions: ProgramVersions,
    /// The sum and the names of the keys to encrypt with that its API server has read; before any was replaced, those that are there.
    pub(crate) keys_read: Option<EncryptionKeys>,
    /// Where links lead to that a run has made.
    pub(crate) links: BTreeMap<String, String>,
    /// What programs have read at their start, by program and path, of what a story asks.
    pub(crate) read: BTreeMap<String, BTreeMap<String, String>>,
    /// Programs of static pods, and etcd as a unit, that are away for a moment.
    pub(crate) down: BTreeSet<String>,
    /// Seconds since boot; every change takes one.
    pub(crate) now: u64,
}

/// Folders that every Linux host with systemd has.
const FOLDERS: &[&str] = &[
    "/etc",
    "/etc/chrony",
    "/etc/modules-load.d",
    "/usr/local/share/ca-certificates",
    "/etc/sysctl.d",
    "/etc/systemd/system",
    "/opt",
    "/run/kokctl",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/var/lib",
];

/// When the model's hosts were started, in seconds since 1970.
const BOOT: u64 = 1_780_000_000;

impl Host {
    pub(crate) fn bare(name: &str) -> Self {
        let mut host = Self {
            name: name.to_owned(),
            paths: BTreeMap::new(),
            units: BTreeMap::new(),
            sysctls: [("net.ipv4.ip_forward", "0"), ("kernel.hostname", "localhost")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            commands: BTreeSet::new(),
            lacks: BTreeSet::new(),
            users: BTreeSet::new(),
            swap: SwapState {
                active: ["/dev/sda2".to_owned()].into(),
                fstab: vec!["/dev/sda2 none swap sw 0 0".to_owned()],
                ..SwapState::default()
            },
            firewall: Firewall::None,
            pod_network: PodNetwork::default(),
            modules: BTreeSet::new(),
            images: BTreeMap::new(),
            programs: BTreeMap::new(),
            versions: ProgramVersions::new(),
            keys_read: None,
            links: BTreeMap::new(),
            read: BTreeMap::new(),
            down: BTreeSet::new(),
            now: 100,
        };
        for folder in FOLDERS {
            host.paths.insert(
                (*folder).to_owned(),
                Entry { kind: Kind::Directory, mode: 0o755, content: String::new(), sum: String::new(), changed: 0 },
            );
        }
        host.folder("/etc/ssl/certs", 0o755);
        host.write("/etc/hosts", 0o644, "127.0.0.1 localhost\n");
        host.write("/etc/hostname", 0o644, "localhost\n");
        host.write("/etc/chrony/chrony.conf", 0o644, "pool 2.debian.pool.ntp.org iburst\n");
        host.start("chrony.service");
        host
    }

    /// Writes a file; its folder has to be there, as for `put`.
    pub(crate) fn write(&mut self, path: &str, mode: u32, content: &str) {
        self.place(path, mode, content, sha256(content.as_bytes()));
    }

    /// Puts a file in place of which only the sum matters.
    pub(crate) fn place(&mut self, path: &str, mode: u32, content: &str, sum: String) {
        let folder = path.rsplit_once('/').unwrap().0;
        assert!(self.is_folder(folder), "{}: {path} is written before {folder} is made", self.name);
        self.now += 1;
        self.paths.insert(path.to_owned(), Entry { kind: Kind::File, mode, content: content.to_owned(), sum, changed: self.now });
    }

    /// `mkdir -p`, then the mode of the last one.
    pub(crate) fn folder(&mut self, path: &str, mode: u32) {
        self.now += 1;
        for (end, _) in path.match_indices('/').skip(1).chain([(path.len(), "")]) {
            let parent = path[..end].to_owned();
            let entry = Entry { kind: Kind::Directory, mode: 0o755, content: String::new(), sum: String::new(), changed: self.now };
            self.paths.entry(parent).or_insert(entry);
        }
        self.paths.get_mut(path).unwrap().mode = mode;
    }

    pub(crate) fn is_folder(&self, path: &str) -> bool {
        self.paths.get(path).is_some_and(|entry| entry.kind == Kind::Directory)
    }

    /// What the host's clock says, in seconds since 1970.
    pub(crate) fn clock_seconds(&self) -> i64 {
        i64::try_from(BOOT + self.now).unwrap()
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.paths.contains_key(path)
    }

    /// Asserts that something is there which an action would use.
    pub(crate) fn uses(&self, path: &str) {
        assert!(self.has(path), "{}: {path} is used before it is there", self.name);
    }

    pub(crate) fn text(&self, path: &str) -> &str {
        self.uses(path);
        &self.paths[path].content
    }

    pub(crate) fn is_active(&self, unit: &str) -> bool {
        self.units.get(unit).is_some_and(|unit| unit.active == "active")
    }

    /// Starts a unit, or starts it again.
    pub(crate) fn start(&mut self, unit: &str) {
        self.now += 1;
        let started_microseconds = self.now * 1_000_000;
        let state = self.units.entry(unit.to_owned()).or_default();
        *state = UnitState {
            load: "loaded".into(),
            active: "active".into(),
            file: "enabled".into(),
            needs_reload: false,
            started_microseconds,
            restarts: 0,
        };
    }

    /// Somebody else puts a version there, and starts it or does not.
    pub(crate) fn has_version(&mut self, program: &str, running: &str, next: &str) {
        let installed = Installed { running: version_of(running), next: version_of(next), ..Installed::default() };
        self.versions.insert(program.to_owned(), installed);
    }

    /// A program that is there works as another minor version.
    pub(crate) fn works_as(&mut self, program: &str, minor: Option<(u64, u64)>) {
        self.versions.get_mut(program).unwrap().emulates = minor;
    }

    /// Those of the bundle, but for what somebody else has put there.
    fn program_versions(&self) -> ProgramVersions {
        let there = |program: &str| {
            let version = version_of(if program == ETCD { "3.7.0" } else { "1.37.1" });
            let (file, unit) = (format!("/usr/local/bin/{program}"), format!("{program}.service"));
            let is_pod = self.has(&format!("/etc/kubernetes/manifests/{program}.yaml"));
            let installed = Installed { running: version.clone().filter(|_| self.is_active(&unit)), next: version, ..Installed::default() };
            (is_pod || self.has(&file)).then(|| (program.to_owned(), installed))
        };
        let of_bundle = [KUBELET].into_iter().chain(STATIC_PODS).filter_map(there);
        let mut versions: ProgramVersions = of_bundle.chain(self.versions.clone()).collect();
        // Of one that rests there is its file alone.
        if self.units.get("kubelet.service").is_some_and(|unit| unit.active == "inactive") {
            versions.get_mut(KUBELET).into_iter().for_each(|kubelet| kubelet.running = None);
        }
        versions
    }

    fn enabled(&self, unit: &str) -> UnitState {
        let known = self.units.get(unit).cloned();
        let file = if self.has(&format!("/etc/systemd/system/{unit}")) { ("loaded", "disabled") } else { ("not-found", "") };
        known.unwrap_or_else(|| UnitState { load: file.0.into(), active: "inactive".into(), file: file.1.into(), ..UnitState::default() })
    }

    fn metadata(&self, path: &str, with_sum: bool) -> PathState {
        self.paths.get(path).map_or(PathState::Missing, |entry| {
            PathState::Present(Metadata {
                kind: entry.kind,
                mode: entry.mode,
                user: 0,
                group: 0,
                size: entry.content.len() as u64,
                changed_nanoseconds: i128::from(BOOT + entry.changed) * 1_000_000_000,
                sha256: with_sum.then(|| entry.sum.clone()),
            })
        })
    }

    /// What a probe with this look would add to `seen`; what only the cluster knows is left out.
    pub(crate) fn look(&self, look: &Look, seen: &mut Observations) {
        match look {
            Look::Path(path) => {
                seen.paths.entry(path.clone()).or_insert_with(|| self.metadata(path, false));
            }
            Look::File { path, expected } => {
                seen.paths.insert(path.clone(), self.metadata(path, true));
                let unlike = self.paths.get(path).filter(|entry| expected.as_ref().is_some_and(|expected| *expected != entry.sum));
                seen.contents.extend(unlike.map(|entry| (path.clone(), entry.content.clone().into_bytes())));
            }
            Look::LargeFile(path) => {
                seen.paths.insert(path.clone(), self.metadata(path, true));
            }
            Look::Content(path) => {
                seen.contents.extend(self.paths.get(path).map(|entry| (path.clone(), entry.content.clone().into_bytes())))
            }
            Look::KubeconfigCertificate(path) => seen.kubeconfigs.extend(self.paths.get(path).map(|entry| {
                seen.kubeconfig_servers.extend(kubeconfig_server(&entry.content).map(|server| (path.clone(), server)));
                let lines = entry.content.lines().filter_map(|line| line.trim().strip_prefix("client-certificate-data: "));
                (path.clone(), kubeconfig_certificate(&lines.collect::<Vec<_>>().join("\n")))
            })),
            Look::KubeconfigAuthorities(path) => {
                let text = self.paths.get(path).and_then(|entry| kubeconfig_authorities(&entry.content));
                seen.kubeconfig_authorities.insert(path.clone(), text);
            }
            Look::Certificate(path) => {
                let text = self.paths.get(path).map(|entry| {
                    let begin = entry.content.find("-----BEGIN CERTIFICATE-----").unwrap_or(entry.content.len());
                    entry.content[begin..].to_owned()
                });
                seen.certificates.insert(path.clone(), text);
            }
            Look::Programs => {
                let started = |at: &u64| i128::from(BOOT + at) * 1_000_000_000;
                seen.programs = Some(self.programs.iter().map(|(name, at)| (name.clone(), started(at))).collect());
            }
            Look::Versions => seen.versions = Some(self.program_versions()),
            Look::Unit(name) => {
                seen.units.insert(name.clone(), self.enabled(name));
            }
            Look::Sysctl(name) => {
                seen.sysctls.insert(name.clone(), self.sysctls.get(name).cloned());
            }
            Look::KernelModule(name) => {
                let state = if self.modules.contains(name) { ModuleState::Loaded } else { ModuleState::Loadable };
                seen.modules.insert(name.clone(), state);
            }
            Look::Block(path) => {
                let text = self.paths.get(path).map(|entry| entry.content.as_str()).unwrap_or_default();
                let block = text.find(BLOCK_BEGIN).map(|start| &text[start..text.rfind(BLOCK_END).unwrap() + BLOCK_END.len() + 1]);
                seen.blocks.insert(path.clone(), block.unwrap_or_default().to_owned());
            }
            Look::Command(name) => {
                seen.commands.insert(name.clone(), self.commands.contains(name));
            }
            Look::Piece(Piece::Link(path)) => {
                seen.pieces.insert(Piece::Link(path.clone()), self.links.get(path).cloned().unwrap_or_default());
            }
            Look::Piece(Piece::User(name)) => {
                let line =
                    if self.users.contains(name) { format!("{name}:x:999:999::/nonexistent:/usr/sbin/nologin") } else { String::new() };
                seen.pieces.insert(Piece::User(name.clone()), line);
            }
            Look::Matching(pattern) => {
                seen.matching.insert(pattern.clone(), self.paths.keys().filter(|path| matches(pattern, path)).cloned().collect());
            }
            Look::Neighbour(address) => {
                let ours = self
                    .paths
                    .get("/etc/kubernetes/keepalived/keepalived.conf")
                    .is_some_and(|it| it.content.contains(&format!(" {address}/32 ")));
                seen.neighbours.insert(*address, if ours { Neighbour::Ours } else { Neighbour::Silent });
            }
            Look::EncryptionKeys => seen.encryption_keys = Some(self.encryption_keys()),
            Look::EncryptionRead => {
                let digest = self.keys_read.clone().unwrap_or_else(|| self.encryption_keys()).digest;
                let manifest = self.paths.get("/etc/kubernetes/manifests/kube-apiserver.yaml");
                let encrypts = manifest.is_some_and(|manifest| manifest.content.contains("encryption-provider-config"));
                let digest = Some(digest).filter(|digest| !digest.is_empty() && encrypts);
                seen.encryption_read = Some(EncryptionRead { digest, age_seconds: Some(1_000) });
            }
            Look::Swap => seen.swap = Some(self.swap.clone()),
            Look::Firewall => seen.firewall = Some(self.firewall.clone()),
            Look::Images if self.is_active("containerd.service") => seen.images = Some(ImageStore::Images(self.images.clone())),
            Look::Images => seen.images = Some(ImageStore::Unavailable),
            _ => {}
        }
        seen.monotonic_microseconds = self.now * 1_000_000;
        seen.clock_nanoseconds = i128::from(BOOT + self.now) * 1_000_000_000;
    }

    /// The keys to encrypt with that its file has.
    pub(crate) fn encryption_keys(&self) -> EncryptionKeys {
        let manifest = self.paths.get("/etc/kubernetes/manifests/kube-apiserver.yaml").map(|manifest| manifest.content.as_str());
        let encrypts = |manifest: &&str| manifest.contains("encryption-provider-config");
        let Some(file) = self.paths.get(ENCRYPTION).filter(|file| !file.content.is_empty()) else {
            let manifest = manifest.filter(encrypts);
            let plugin_folder = manifest.and_then(super::encryption::plugin_folder);
            return EncryptionKeys { is_read: manifest.is_some(), reloads: manifest.is_some(), plugin_folder, ..EncryptionKeys::default() };
        };
        let keys = encryption_keys(&file.content);
        EncryptionKeys {
            digest: file.sum.clone(),
            sum: sha256(format!("{keys:?}").as_bytes()),
            is_read: manifest.is_none_or(|manifest| encrypts(&manifest)),
            reloads: manifest.is_none_or(|manifest| encrypts(&manifest) && !manifest.contains("# reads its keys once")),
            plugin_folder: manifest.and_then(super::encryption::plugin_folder),
            layout: super::encryption::layout(&file.content),
        }
    }

    /// Whether its API server can be started with that file: what it names has to be shown to it.
    pub(crate) fn reaches_plugins(&self) -> bool {
        let EncryptionKeys { layout, plugin_folder, .. } = self.encryption_keys();
        layout.plugin_twice().is_none() && layout.plugins().all(|plugin| plugin_folder.as_deref() == Some(plugin.folder()))
    }

    /// The names of those.
    pub(crate) fn key_names(&self) -> Vec<String> {
        self.encryption_keys().names()
    }

    /// What its API server goes by.
    pub(crate) fn keys_in_use(&self) -> Layout {
        self.keys_read.clone().unwrap_or_else(|| self.encryption_keys()).layout
    }

    /// What chronyd says: a host that serves time follows its own clock, the others follow one that serves.
    pub(crate) fn time(&self, source_serves: bool) -> TimeTracking {
        let serves = self.text("/etc/chrony/chrony.conf").contains("local stratum");
        let started = self.units["chrony.service"].started_microseconds / 1_000_000;
        let current = started > self.paths["/etc/chrony/chrony.conf"].changed;
        let reference = if serves { "7F7F0101" } else { "0A14000B" };
        let synchronised = current && (serves || source_serves);
        let leap = if synchronised { "Normal" } else { "Not synchronised" };
        TimeTracking::Tracking {
            reference: reference.to_owned(),
            stratum: if synchronised { 10 } else { 0 },
            leap: leap.to_owned(),
            sources: Vec::new(),
        }
    }
}

/// Whether a path is one that the pattern stands for.
pub(crate) fn matches(pattern: &str, path: &str) -> bool {
    let Some((start, end)) = pattern.split_once('*') else { return pattern == path };
    path.starts_with(start) && path.ends_with(end) && path.len() >= start.len() + end.len()
}

/// The authorities inside a kubeconfig.
pub(crate) fn kubeconfig_authorities(text: &str) -> Option<String> {
    let data = text.lines().find_map(|line| line.trim().strip_prefix("certificate-authority-data: "))?;
    kubeconfig_certificate(data)
}

impl Host {
    /// A program of it is started, and reads these files.
    pub(crate) fn reads(&mut self, program: &str, paths: &[String]) {
        let texts = paths.iter().filter(|path| self.has(path)).map(|path| (path.clone(), self.text(path).to_owned())).collect();
        self.read.insert(program.to_owned(), texts);
    }
}
