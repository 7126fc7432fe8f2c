//! Resources: what is seen of them and what is done about it.

mod brought;
mod declared;
mod digests;
mod mounts;
mod preparation;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use kok_crds::model::SelinuxState;
use kok_tasks::artifact::{Artifact, Placed, Supply};
use kok_tasks::bundle::ArchiveEntry;
use kok_tasks::change::Verdict;
use kok_tasks::digest::sha256;
use kok_tasks::observe::{
    Firewall, ImageState, ImageStore, Kind, Looks, Metadata, ModuleState, Observations, PathState, SwapState, UnitState, parse,
    probe_script,
};
use kok_tasks::resources::{
    Absent, Act, Archive, Binary, Block, Directory, File, FileContent, Hostname, Image, KernelModule, Manager, NoSwap, OpenFirewall,
    Packages, Replace, Resource, Selinux, Sysctl, Unit, UnitGoal, Unpacked,
};
use kok_tasks::secret_name::SecretName;

use crate::support::nonce;
use crate::support::shell::{Folder, SHELLS, run, script_of};

fn metadata(kind: Kind, mode: u32, content: &str) -> Metadata {
    Metadata { kind, mode, user: 0, group: 0, size: 0, changed_nanoseconds: 5_000_000_000, sha256: Some(sha256(content.as_bytes())) }
}

fn at(path: &str, metadata: Option<Metadata>) -> Observations {
    let state = metadata.map_or(PathState::Missing, PathState::Present);
    Observations { paths: [(path.to_owned(), state)].into(), ..Observations::default() }
}

/// `summary because reason`, or what else the verdict is.
fn diff_text(resource: &Resource, seen: &Observations) -> String {
    match resource.diff(seen) {
        Verdict::Same => "same".to_owned(),
        Verdict::Unseen => "unseen".to_owned(),
        Verdict::Differs(change) => format!("{} because {}", change.summary(), change.because),
    }
}

fn artifact(content: &str) -> Artifact {
    let sha256 = sha256(content.as_bytes());
    Artifact { title: "tool 1.0".to_owned(), path: "files/tool".to_owned(), size: content.len() as u64, sha256, supply: Supply::Sent }
}

#[test]
fn files() {
    let file = Resource::File(File::text("/f", "one\ntwo\n").mode(0o600));
    let good = metadata(Kind::File, 0o600, "one\ntwo\n");
    assert_eq!(diff_text(&file, &Observations::default()), "unseen");
    assert_eq!(diff_text(&file, &at("/f", Some(good.clone()))), "same");
    assert_eq!(diff_text(&file, &at("/f", None)), "create because it does not exist");
    assert_eq!(
        diff_text(&file, &at("/f", Some(metadata(Kind::Symlink, 0o600, "one\ntwo\n")))),
        "create because something that is no regular file stands in its place"
    );
    assert_eq!(
        diff_text(&file, &at("/f", Some(metadata(Kind::File, 0o644, "one\ntwo\n")))),
        "set mode 0600 and owner root because it has mode 0644 and owner 0:0"
    );
    assert_eq!(
        diff_text(&file, &at("/f", Some(Metadata { group: 7, ..good.clone() }))),
        "set mode 0600 and owner root because it has mode 0600 and owner 0:7"
    );
    assert_eq!(
        diff_text(&file, &at("/f", Some(Metadata { sha256: None, ..good }))),
        "replace the content because its content is not what it should be"
    );
    let mut other = at("/f", Some(metadata(Kind::File, 0o600, "one\n2\n")));
    other.contents.insert("/f".to_owned(), b"one\n2\n".to_vec());
    let Verdict::Differs(change) = file.diff(&other) else { panic!("nothing to do") };
    assert_eq!(change.diff.as_deref(), Some("--- /f (host)\n+++ /f (desired)\n@@ -1,2 +1,2 @@\n one\n-2\n+two\n"));
}

#[test]
fn secret_files_are_judged_once() {
    let name = SecretName::DiscoveryKubeconfig;
    let replace = |at: i128| Some(Replace { because: "it expired".to_owned(), changed_nanoseconds: at });
    let file = |replace| Resource::File(File::new("/f", 0o600, FileContent::Secret { name: name.clone(), replace, without: None }));
    let found = at("/f", Some(metadata(Kind::File, 0o600, "")));
    assert_eq!(diff_text(&file(None), &found), "same");
    assert_eq!(diff_text(&file(replace(5_000_000_000)), &found), "write because it expired");
    assert_eq!(diff_text(&file(replace(4_000_000_000)), &found), "same", "the file that was judged is not this one");
    assert!(file(None).looks().iter().all(|look| matches!(look, kok_tasks::observe::Look::Path(_))), "a secret is read");
}

#[test]
fn directories() {
    let directory = Resource::Directory(Directory::new("/d".to_owned(), 0o700));
    assert_eq!(diff_text(&directory, &Observations::default()), "unseen");
    assert_eq!(diff_text(&directory, &at("/d", None)), "create because it does not exist");
    assert_eq!(diff_text(&directory, &at("/d", Some(metadata(Kind::Directory, 0o700, "")))), "same");
    assert_eq!(
        diff_text(&directory, &at("/d", Some(metadata(Kind::File, 0o700, "")))),
        "create because something that is no directory stands in its place"
    );
    assert_eq!(
        diff_text(&directory, &at("/d", Some(metadata(Kind::Directory, 0o755, "")))),
        "set mode 0700 and owner root because it has mode 0755 and owner 0:0"
    );
}

#[test]
fn binaries_and_archives() {
    let binary = Resource::Binary(Binary::executable("/b", artifact("v1")));
    let entry = ArchiveEntry { path: "bin/b".to_owned(), size: 2, sha256: sha256(b"v1") };
    let archive = Resource::Archive(Archive {
        artifact: artifact("?"),
        folder: "/".to_owned(),
        unpacked: Unpacked::Files(vec![Placed { entry, path: "/b".to_owned() }]),
    });
    for resource in [binary, archive] {
        assert_eq!(diff_text(&resource, &Observations::default()), "unseen");
        assert_eq!(diff_text(&resource, &at("/b", None)), "install because /b does not exist");
        assert_eq!(diff_text(&resource, &at("/b", Some(metadata(Kind::File, 0o755, "v1")))), "same");
        assert_eq!(
            diff_text(&resource, &at("/b", Some(metadata(Kind::File, 0o755, "v2")))),
            "install because /b is another file than the bundle's"
        );
        assert_eq!(
            diff_text(&resource, &at("/b", Some(metadata(Kind::Symlink, 0o755, "v1")))),
            "install because /b is another file than the bundle's"
        );
        let rights = if matches!(resource, Resource::Binary(_)) {
            "set mode 0755 and owner root because it has mode 0700 and owner 0:0"
        } else {
            "install because /b has mode 0700 and owner 0:0"
        };
        assert_eq!(diff_text(&resource, &at("/b", Some(metadata(Kind::File, 0o700, "v1")))), rights);
    }
}

#[test]
fn images() {
    let image = Resource::Image(Image { reference: "r/i:1".to_owned(), digest: "sha256:aa".to_owned(), artifact: artifact("") });
    let store = |digest: &str, pinned| ImageStore::Images([("r/i:1".to_owned(), ImageState { digest: digest.to_owned(), pinned })].into());
    let with = |images| Observations { images: Some(images), ..Observations::default() };
    assert_eq!(diff_text(&image, &Observations::default()), "unseen");
    assert_eq!(diff_text(&image, &with(ImageStore::Unavailable)), "import because containerd does not run yet");
    assert_eq!(diff_text(&image, &with(ImageStore::Images([].into()))), "import because containerd does not have it");
    assert_eq!(diff_text(&image, &with(store("sha256:bb", true))), "import because containerd has sha256:bb under this name");
    assert_eq!(diff_text(&image, &with(store("sha256:aa", false))), "import because it is not pinned");
    assert_eq!(diff_text(&image, &with(store("sha256:aa", true))), "same");
}

#[test]
fn kernel() {
    let sysctl = Resource::Sysctl(Sysctl { name: "a.b".to_owned(), value: "1 2".to_owned() });
    let with =
        |value: Option<&str>| Observations { sysctls: [("a.b".to_owned(), value.map(str::to_owned))].into(), ..Observations::default() };
    assert_eq!(diff_text(&sysctl, &Observations::default()), "unseen");
    assert_eq!(diff_text(&sysctl, &with(Some("1\t2"))), "same");
    assert_eq!(diff_text(&sysctl, &with(Some("1"))), "set to 1 2 because it is 1");
    assert_eq!(diff_text(&sysctl, &with(None)), "set to 1 2 because the kernel does not have it yet");
    let module = Resource::KernelModule(KernelModule { name: "m".to_owned() });
    let with = |there| Observations { modules: [("m".to_owned(), there)].into(), ..Observations::default() };
    assert_eq!(
        (diff_text(&module, &Observations::default()).as_str(), diff_text(&module, &with(ModuleState::Loaded)).as_str()),
        ("unseen", "same")
    );
    assert_eq!(diff_text(&module, &with(ModuleState::Missing)), "load because it is neither loaded nor built in");
}

#[test]
fn units() {
    let unit = |goal| Resource::Unit(Unit { name: "u.service".to_owned(), goal, reads: vec!["/f".to_owned()] });
    let state = |active: &str, file: &str, started: u64| UnitState {
        load: "loaded".into(),
        active: active.into(),
        file: file.into(),
        needs_reload: false,
        started_microseconds: started,
        restarts: 0,
    };
    let with = |state: UnitState| {
        let mut seen = at("/f", Some(metadata(Kind::File, 0o644, "")));
        (seen.monotonic_microseconds, seen.clock_nanoseconds) = (10_000_000, 10_000_000_000);
        seen.units.insert("u.service".to_owned(), state);
        seen
    };
    let running = unit(UnitGoal::Running);
    assert_eq!(diff_text(&running, &Observations::default()), "unseen");
    assert_eq!(diff_text(&running, &with(state("active", "enabled", 6_000_000))), "same");
    assert_eq!(diff_text(&running, &with(state("active", "enabled", 4_000_000))), "restart because /f changed after it was started");
    let mut set_back = with(state("active", "enabled", 4_000_000));
    set_back.clock_nanoseconds = 2_000_000_000;
    assert_eq!(diff_text(&running, &set_back), "same", "a file of the future can't say that the unit is older");
    assert_eq!(diff_text(&running, &with(state("failed", "enabled", 6_000_000))), "start because it is failed");
    assert_eq!(diff_text(&running, &with(state("active", "disabled", 6_000_000))), "enable because it is disabled");
    let missing = UnitState { load: "not-found".into(), active: "inactive".into(), ..UnitState::default() };
    assert_eq!(diff_text(&running, &with(missing)), "start because it is not-found");
    let reload = UnitState { needs_reload: true, ..state("active", "enabled", 6_000_000) };
    assert_eq!(diff_text(&running, &with(reload)), "reload because its unit file changed since systemd read it");
    assert_eq!(diff_text(&unit(UnitGoal::Enabled), &with(state("inactive", "enabled", 0))), "same");

    let script = |seen: &Observations| match running.diff(seen) {
        Verdict::Differs(change) => script_of(&running.act(&change)),
        other => panic!("{other:?}"),
    };
    assert!(!script(&with(state("active", "disabled", 6_000_000))).contains("systemctl restart"), "enabling interrupts");
    assert!(script(&with(state("active", "enabled", 4_000_000))).contains("systemctl restart"));
}

/// Looks, acts and looks again in a real folder, with each shell.
fn becomes_same(resource: &Resource) {
    let looks: Looks = resource.looks().into_iter().collect();
    for shell in SHELLS {
        let look = || parse(&nonce(), &looks, &run(shell, &[], &probe_script(&nonce(), &looks, None)).stdout).unwrap();
        let Verdict::Differs(change) = resource.diff(&look()) else { continue };
        let output = run(shell, &[], &script_of(&resource.act(&change)));
        assert!(output.status.success(), "{shell:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(resource.diff(&look()), Verdict::Same, "{shell:?}");
    }
}

#[test]
fn what_is_done_makes_it_the_same() {
    let folder = Folder::new();
    let text = File::text(folder.text("it's a file"), "$HOME `id`\n'--END--\n").mode(0o640);
    becomes_same(&Resource::File(text.clone()));
    fs::write(folder.path("it's a file"), "changed by hand").unwrap();
    becomes_same(&Resource::File(text.clone()));
    fs::set_permissions(folder.path("it's a file"), fs::Permissions::from_mode(0o777)).unwrap();
    becomes_same(&Resource::File(text.clone()));
    fs::write(folder.path("elsewhere"), "untouched").unwrap();
    fs::remove_file(folder.path("it's a file")).unwrap();
    symlink(folder.path("elsewhere"), folder.path("it's a file")).unwrap();
    becomes_same(&Resource::File(text));
    assert_eq!(fs::read_to_string(folder.path("elsewhere")).unwrap(), "untouched", "a link was followed");

    becomes_same(&Resource::Directory(Directory::new(folder.text("a/b c"), 0o711)));
    fs::set_permissions(folder.path("a/b c"), fs::Permissions::from_mode(0o777)).unwrap();
    becomes_same(&Resource::Directory(Directory::new(folder.text("a/b c"), 0o711)));
}

/// What a fragment gives to a job.
pub(crate) fn decoded(fragment: &kok_tasks::script::Fragment) -> String {
    use base64::Engine as _;
    let text = crate::support::shell::text_of(fragment);
    let body = text.rsplit("job packages\n").next().unwrap().split("--END--").next().unwrap().replace('\n', "");
    String::from_utf8(base64::engine::general_purpose::STANDARD.decode(body).unwrap()).unwrap()
}

/// Needs no host: each script of a plan with everything in it is read by both shells.
#[test]
fn every_action_is_valid_shell() {
    let world = crate::support::world::World::with_everything();
    let plan = world.plan();
    let mut scripts = BTreeSet::new();
    for (step, change) in plan.changes().filter(|(step, _)| step.host == "worker1") {
        if let Act::Script(fragment) | Act::Fetch(fragment) | Act::Stream { script: fragment, .. } = step.act(change) {
            let parts = fragment.parts().iter().map(|part| match part {
                kok_tasks::script::Part::Text(text) => text.as_str(),
                kok_tasks::script::Part::Secret(_) | kok_tasks::script::Part::Digest(_) => "",
            });
            scripts.insert(parts.collect::<String>());
        }
    }
    assert!(scripts.len() > 30, "{}", scripts.len());
    for shell in SHELLS {
        for script in &scripts {
            let output = run(shell, &["-n"], script);
            assert!(output.status.success(), "{shell:?}: {}\n{script}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

#[test]
fn a_binary_that_arrives_damaged_is_not_installed() {
    let folder = Folder::new();
    let binary = Resource::Binary(Binary::executable(folder.text("tool"), artifact("right")));
    let Act::Stream { .. } = binary.act(&kok_tasks::change::Change::new(kok_tasks::change::ChangeKind::Install, "")) else {
        panic!("not streamed")
    };
    for (content, good) in [("wrong", false), ("right", true)] {
        let script = script_of(&binary.act(&kok_tasks::change::Change::new(kok_tasks::change::ChangeKind::Install, "")));
        let fed = format!("( {script}\n) <<'--DATA--'\n{content}\n--DATA--\n").replace("cat >\"$temporary\"", "head -c 5 >\"$temporary\"");
        let output = run(SHELLS[0], &[], &fed);
        assert_eq!(output.status.success(), good, "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(folder.names().len(), usize::from(good), "something was left behind: {:?}", folder.names());
    }
}
