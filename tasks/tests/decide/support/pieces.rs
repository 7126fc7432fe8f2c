//! What resources make of hosts of the model.

use kok_tasks::change::{Change, ChangeKind};
use kok_tasks::observe::{BLOCK_BEGIN, BLOCK_END, Firewall, ImageState, SwapState};
use kok_tasks::resources::{File, FileContent, Resource, Unit, UnitGoal, Unpacked};

use super::api::{self, Api};
use super::host::{Host, matches};
use super::world::World;

impl World {
    pub(super) fn resource(&mut self, host: &str, resource: &Resource, change: &Change) {
        let text = match resource {
            Resource::File(File { content: FileContent::Text(text), .. }) => text.clone(),
            Resource::File(File { content: FileContent::Secret { name, .. }, .. }) => self.secret(name),
            _ => String::new(),
        };
        let host = self.hosts.get_mut(host).unwrap();
        match resource {
            Resource::File(file) => {
                if let FileContent::Secret { without: Some(other), .. } = &file.content {
                    host.paths.remove(other);
                }
                host.write(&file.path, file.mode, &text);
            }
            Resource::Directory(directory) => host.folder(&directory.path, directory.mode),
            Resource::Binary(binary) => host.place(&binary.path, 0o755, "", binary.artifact.sha256.clone()),
            Resource::Archive(archive) => {
                assert!(host.is_folder(&archive.folder), "{}: unpacked into {}, which is not there", host.name, archive.folder);
                let Unpacked::Files(files) = &archive.unpacked else { panic!("nobody declares a tree here") };
                for file in files {
                    host.place(&file.path, 0o755, "", file.entry.sha256.clone());
                }
            }
            Resource::Image(image) => {
                assert!(host.is_active("containerd.service"), "{}: {} is imported before containerd runs", host.name, image.reference);
                host.images.insert(image.reference.clone(), ImageState { digest: image.digest.clone(), pinned: true });
            }
            Resource::Sysctl(sysctl) => drop(host.sysctls.insert(sysctl.name.clone(), sysctl.value.clone())),
            Resource::KernelModule(module) => drop(host.modules.insert(module.name.clone())),
            Resource::Unit(unit) => start(host, unit, change, &self.api),
            Resource::User(user) => drop(host.users.insert(user.account.name.clone())),
            Resource::Block(block) => {
                let text = host.paths.get(&block.path).map(|entry| entry.content.clone()).unwrap_or_default();
                let own = text.split(BLOCK_BEGIN).next().unwrap_or_default().to_owned();
                host.write(&block.path, 0o644, &format!("{own}{BLOCK_BEGIN}\n{}{BLOCK_END}\n", block.text));
            }
            Resource::Absent(absent) => {
                let goes = |path: &String| matches(&absent.pattern, path) && !absent.except.contains(path);
                let gone: Vec<String> = host.paths.keys().filter(|path| goes(path)).cloned().collect();
                for path in gone {
                    let below = if absent.with_folder { path.rsplit_once('/').unwrap().0.to_owned() } else { path };
                    host.paths.retain(|path, _| *path != below && !path.starts_with(&format!("{below}/")));
                }
            }
            Resource::Hostname(hostname) => {
                host.sysctls.insert("kernel.hostname".to_owned(), hostname.name.clone());
                host.write("/etc/hostname", 0o644, &format!("{}\n", hostname.name));
            }
            // The model's links have what they lead to.
            Resource::Symlink(link) => {
                let text = host.text(&link.target).to_owned();
                host.links.insert(link.path.clone(), link.target.clone());
                host.write(&link.path, 0o777, &text);
                host.paths.get_mut(&link.path).unwrap().kind = kok_tasks::observe::Kind::Symlink;
            }
            Resource::NoSwap(_) => host.swap = SwapState::default(),
            Resource::Packages(packages) => host.commands.extend(packages.commands.iter().map(|(command, _)| command.clone())),
            Resource::PackageArchive(archive) => host.folder(&archive.folder, 0o700),
            Resource::PackageDatabase(_) => host.paths.retain(|path, _| !path.starts_with("/var/lib/dpkg/updates/")),
            Resource::Hook(hook) => {
                hook.creates.iter().for_each(|path| host.write(path, 0o644, ""));
                match hook.owed.as_ref().map(|debt| (debt.path(), debt.paid())) {
                    Some((path, Some(text))) => host.write(path, 0o644, text),
                    Some((path, None)) => drop(host.paths.remove(path)),
                    None => {}
                }
                if let Some((path, text)) = hook.kept() {
                    host.folder(path.rsplit_once('/').unwrap().0, 0o755);
                    host.write(&path, 0o644, &text);
                }
            }
            Resource::Debt(debt) => host.write(debt.path(), 0o644, debt.text()),
            Resource::Managed(managed) => host.write("/var/lib/kokctl/managed", 0o644, &managed.text()),
            // Only what somebody declares for hosts has these, and no world does.
            Resource::Group(_)
            | Resource::AuthorizedKey(_)
            | Resource::Gone(_)
            | Resource::Line(_)
            | Resource::Mount(_)
            | Resource::NamedPackages(_) => panic!("{}: a world knows nothing of {resource:?}", host.name),
            Resource::Selinux(selinux) => {
                host.write("/sys/fs/selinux/enforce", 0o644, "0");
                host.write("/etc/selinux/config", 0o644, &format!("SELINUX={}\n", selinux.state.as_str()));
            }
            Resource::OpenFirewall(open) => {
                if let Firewall::Firewalld(firewalld) = &mut host.firewall {
                    for zone in &open.zones {
                        let ports = open.opening.ports.iter().map(kok_tasks::ports::Port::dashed);
                        firewalld.zones.get_mut(zone).unwrap().ports.extend(ports);
                    }
                    firewalld.zones.get_mut("trusted").unwrap().sources.extend(open.opening.pods.clone());
                }
            }
        }
    }
}

fn start(host: &mut Host, unit: &Unit, change: &Change, api: &Api) {
    unit.reads.iter().for_each(|path| host.uses(path));
    host.reads(&unit.name, &unit.reads);
    if unit.goal == UnitGoal::Stopped {
        let state = host.units.get_mut(&unit.name).unwrap();
        (state.active, state.file) = ("inactive".into(), "disabled".into());
        return;
    }
    match unit.name.as_str() {
        "containerd.service" => {
            host.uses("/usr/local/sbin/runc");
            assert!(host.modules.contains("overlay"), "containerd starts before its snapshots' module is loaded");
        }
        "kokctl-node-dns.service" => {
            host.uses("/etc/systemd/system/kokctl-node-dns.service");
            host.folder("/sys/class/net/nodelocaldns", 0o755);
        }
        "kubelet.service" => ["/usr/local/bin/kubelet", "/etc/systemd/system/kubelet.service"].iter().for_each(|path| host.uses(path)),
        "etcd.service" => {
            ["/usr/local/bin/etcd", "/etc/systemd/system/etcd.service"].iter().for_each(|path| host.uses(path));
            assert!(host.users.contains("etcd"), "{}: etcd starts before there is its user", host.name);
            let lost = host.has("/var/lib/kokctl/made/etcd-started") && !host.has("/var/lib/etcd/member/wal");
            assert!(!lost, "{}: a member that lost its data is started", host.name);
            assert!(api::unit_begins(api, host), "{}: etcd neither founds nor joins by {}", host.name, host.text("/etc/etcd/etcd.yaml"));
            // Written before it has found any other member.
            host.folder("/var/lib/etcd/member/wal", 0o700);
        }
        "kokctl-keepalived.service" => {
            host.uses("/etc/kubernetes/keepalived/ready.sh");
            assert!(host.users.contains("kokctl-vip"), "{}: keepalived starts before there is the user of its check", host.name);
            host.start("kokctl-keepalived-check.service");
        }
        // What it reads is there, as for each.
        "chrony.service" | "kokctl-pod-network.service" => {}
        other => panic!("the model does not know {other}"),
    }
    if unit.goal == UnitGoal::Running && !matches!(change.kind, ChangeKind::Reload | ChangeKind::Enable) {
        host.start(&unit.name);
    } else {
        let active = if host.is_active(&unit.name) { "active" } else { "inactive" };
        let state = host.units.entry(unit.name.clone()).or_default();
        (state.load, state.file, state.active) = ("loaded".into(), "enabled".into(), active.into());
        state.needs_reload = false;
    }
}
