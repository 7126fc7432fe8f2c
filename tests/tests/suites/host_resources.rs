//! What is declared for hosts without Kubernetes: the page of the documentation as it stands, and each kind made, left alone, drifted and refused.

use std::fs;
use std::path::{Path, PathBuf};

use kok_tests::lab::{Host, Lab, LabSpec};

use crate::cluster_support::clock::Clock;
use crate::cluster_support::kokctl::{Kokctl, KokctlOutput};
use crate::cluster_support::{hosts, ok};

const PAGE: &str = include_str!("../../../docs/host-resources.md");
const SECRET: &str = "correct-horse-battery-staple";

/// A fleet on hosts of the lab.
struct Fleet<'a> {
    kokctl: &'a Kokctl<'a>,
    file: PathBuf,
}

impl<'a> Fleet<'a> {
    /// With a text as its file, of this name.
    fn with_file(kokctl: &'a Kokctl<'a>, name: &str, text: &str) -> Self {
        let file = kokctl.folder().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        Self { kokctl, file }
    }

    fn converge(&self, more: &[&str]) -> KokctlOutput {
        self.kokctl.run(&[&["converge", "-f", self.file.to_str().unwrap()], more].concat())
    }

    /// What a run that has to succeed says.
    fn converge_output(&self, more: &[&str]) -> String {
        let said = self.converge(more);
        assert_eq!(said.code, 0, "{}\n{}", said.stdout, said.stderr);
        said.stdout
    }

    fn has_nothing_to_do(&self) {
        assert_eq!(self.converge_output(&[]), "nothing to do\n");
        assert_eq!(self.converge_output(&["--check"]), "nothing to do\n");
    }
}

/// What stands in a fence of the page behind these words.
fn fenced(after: &str) -> &'static str {
    let rest = PAGE.split_once(after).unwrap_or_else(|| panic!("the page has no {after}")).1;
    let body = rest.split_once("```").unwrap().1.split_once('\n').unwrap().1;
    body.split_once("```").unwrap().0
}

/// Logins by the lab's key and host keys, as those of a user who says nothing of them.
fn log_in_by_default(lab: &Lab, home: &Path) {
    let ssh = home.join(".ssh");
    fs::create_dir_all(&ssh).unwrap();
    let key = lab.private_key_path();
    fs::copy(&key, ssh.join("id_ed25519")).unwrap();
    fs::copy(key.with_file_name("known_hosts"), ssh.join("known_hosts")).unwrap();
}

#[test]
fn what_is_declared_comes_about_and_stays() {
    let mut clock = Clock::start();
    let lab = Lab::up(LabSpec::unique(2)).unwrap_or_else(|error| panic!("{error}"));
    let kokctl = Kokctl::new(&lab);
    log_in_by_default(&lab, kokctl.folder());
    let hosts = hosts(&lab);
    clock.lap("two hosts");
    the_page(&kokctl, &hosts);
    clock.lap("the page of the documentation");
    drifts(&kokctl, &hosts);
    clock.lap("what drifted is brought back");
    each_kind(&kokctl, &hosts);
    clock.lap("each kind is made and left alone");
    brought(&kokctl, &hosts);
    clock.lap("programs, archives, certificates and mounts");
    refused(&kokctl, &hosts);
    clock.lap("what can't be is refused");
    assert!(!kokctl.transcript().contains(SECRET) && !kokctl.journals().contains(SECRET), "the secret was told");
}

fn page<'a>(kokctl: &'a Kokctl<'a>) -> Fleet<'a> {
    for (file, after) in [
        ("page/files/hello.conf.j2", "`files/hello.conf.j2`"),
        ("page/files/hello.sh", "`files/hello.sh`:"),
        ("page/files/hello.service", "`files/hello.service`:"),
    ] {
        Fleet::with_file(kokctl, file, fenced(after));
    }
    Fleet::with_file(kokctl, "page/fleet.yaml", fenced("Here it is one file, `fleet.yaml`:"))
}

fn the_page(kokctl: &Kokctl<'_>, hosts: &[Host]) {
    let fleet = page(kokctl);
    let check = fleet.converge_output(&["--check"]);
    assert!(check.contains("+GREETING=\"Hello from web1, debian on ") && check.contains("+GREETING=\"Good day from web2"), "{check}");
    assert!(check.contains("‹secret: changed›") && check.contains("file /etc/hello/token: create"), "{check}");
    assert_eq!(ok(&hosts[0], "ls -d /etc/hello 2>&1 || :"), "ls: cannot access '/etc/hello': No such file or directory", "only looked at");
    let said = fleet.converge_output(&["--limit", "web1"]);
    assert!(said.contains(" on 1 host of hello"), "{said}");
    assert_eq!(ok(&hosts[1], "[ ! -e /etc/hello ] && echo untouched"), "untouched");
    let said = fleet.converge_output(&[]);
    assert!(said.contains(" on 1 host of hello"), "{said}");
    fleet.has_nothing_to_do();
    for host in hosts {
        assert_eq!(
            ok(host, "stat -c '%U:%G %a' /srv/hello /etc/hello/token /usr/local/bin/hello"),
            "hello:hello 750\nhello:hello 400\nroot:root 755"
        );
        assert_eq!(ok(host, "systemctl is-active hello; systemctl is-enabled hello"), "active\nenabled");
        assert_eq!(
            ok(host, "cat /proc/sys/net/core/somaxconn; cat /etc/hello/token; grep -c '^UMASK' /etc/login.defs"),
            format!("1024\n{SECRET}1")
        );
    }
    assert!(ok(&hosts[1], "cat /etc/hello/hello.conf").ends_with("# another one is web1 at 10.20.0.11"));
}

/// Everything of the page is changed by hand on one host: each is seen, and brought back; the service is started again for its settings.
fn drifts(kokctl: &Kokctl<'_>, hosts: &[Host]) {
    let fleet = page(kokctl);
    let started = |host: &Host| ok(host, "systemctl show -P ExecMainStartTimestampMonotonic hello");
    let before = [started(&hosts[0]), started(&hosts[1])];
    ok(
        &hosts[0],
        "echo x >>/etc/hello/hello.conf; echo stray >/etc/hello/token; chmod 777 /srv/hello; echo 128 >/proc/sys/net/core/somaxconn\n\
         rm /usr/local/bin/hello; sed -i 's/^UMASK.*/UMASK 022/' /etc/login.defs; systemctl disable -q hello; usermod -s /bin/sh hello",
    );
    let check = fleet.converge_output(&["--check"]);
    for seen in [
        "-x",
        "file /etc/hello/token: write",
        "directory /srv/hello: set mode 0750 and owner hello",
        "sysctl net.core.somaxconn: set to 1024\n    because it is 128",
        "file /usr/local/bin/hello: create",
        "-UMASK 022",
        "user hello: set\n    because its shell is /bin/sh",
        "unit hello.service: ",
    ] {
        assert!(check.contains(seen), "{seen}: {check}");
    }
    assert!(!check.contains("web2:") && !check.contains("stray"), "{check}");
    fleet.converge_output(&[]);
    fleet.has_nothing_to_do();
    assert_eq!(ok(&hosts[0], "systemctl is-active hello; systemctl is-enabled hello"), "active\nenabled");
    assert_ne!(started(&hosts[0]), before[0], "it was started again");
    assert_eq!(started(&hosts[1]), before[1], "nothing was to be done there");
}

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl me@example";

/// The rest of the kinds, with a package out of a repository on the host.
fn each_kind(kokctl: &Kokctl<'_>, hosts: &[Host]) {
    for host in hosts {
        ok(host, REPOSITORY);
        ok(host, "echo theirs >/etc/theirs; mkdir -p /opt/old/x; touch /etc/old; echo 'a=1' >/etc/settings");
    }
    let fleet = Fleet::with_file(kokctl, "kinds.yaml", &kinds(""));
    let said = fleet.converge_output(&[]);
    assert!(said.contains(" on 2 hosts of kinds"), "{said}");
    fleet.has_nothing_to_do();
    for host in hosts {
        assert_eq!(ok(host, "readlink /etc/link; [ ! -e /etc/old ] && [ ! -e /opt/old ] && echo gone"), "/etc/theirs\ngone");
        assert_eq!(ok(host, "cat /etc/settings; cat /etc/theirs"), "a=2\ntheirs\n# BEGIN kokctl ours\nb\n# END kokctl ours");
        assert_eq!(ok(host, "id app; dpkg-query -W -f '${Status}' hello-kok; cat /usr/share/hello-kok"), APP);
        assert_eq!(
            ok(host, "stat -c '%U %a' /home/app/.ssh/authorized_keys; cat /home/app/.ssh/authorized_keys"),
            format!("app 600\n{KEY}")
        );
        assert_eq!(
            ok(host, "systemctl is-active cron 2>&1 || :; cat /etc/modules-load.d/kokctl-overlay.conf | tail -n 1"),
            "inactive\noverlay"
        );
    }
    ok(
        &hosts[1],
        "ln -sfn /etc/hostname /etc/link; mkdir /opt/old; sed -i 's/^b$/c/' /etc/theirs; gpasswd -d app users >/dev/null; : >/home/app/.ssh/authorized_keys",
    );
    let check = fleet.converge_output(&["--check"]);
    for seen in ["link /etc/link: replace", "nothing at /opt/old: remove", "-c\n", "it is not in users", "key of app: add"] {
        assert!(check.contains(seen), "{seen}: {check}");
    }
    fleet.converge_output(&[]);
    fleet.has_nothing_to_do();
}

const APP: &str = "uid=4711(app) gid=4712(app) groups=4712(app),100(users)\ninstall ok installedhello";

/// A package, and a source that apt trusts, both on the host: the lab has no way out.
const REPOSITORY: &str = "rm -rf /srv/repository /tmp/package; mkdir -p /srv/repository /tmp/package/DEBIAN /tmp/package/usr/share\n\
printf 'Package: hello-kok\\nVersion: 1\\nArchitecture: all\\nMaintainer: a <a@example.org>\\nDescription: hello\\n' >/tmp/package/DEBIAN/control\n\
printf hello >/tmp/package/usr/share/hello-kok\n\
dpkg-deb -b /tmp/package /srv/repository/hello-kok.deb >/dev/null\n\
cd /srv/repository\n\
{ cat /tmp/package/DEBIAN/control; printf 'Filename: ./hello-kok.deb\\nSize: %s\\nSHA256: %s\\n' \"$(stat -c %s hello-kok.deb)\" \
\"$(sha256sum <hello-kok.deb | cut -d ' ' -f 1)\"; } >Packages";

fn kinds(more: &str) -> String {
    format!(
        "apiVersion: kubeonkube.clay.io/v1alpha1
kind: Fleet
metadata: {{name: kinds}}
spec:
  hosts:
    - {{name: web1, address: 10.20.0.11}}
    - {{name: web2, address: 10.20.0.12}}
  hostResources:
    - unit: {{name: cron.service, state: stopped}}
    - symlink: {{path: /etc/link, target: /etc/theirs}}
    - absent: {{path: /etc/old}}
    - absent: {{path: /opt/old, recursive: true}}
    - line: {{path: /etc/settings, line: a=2, startsWith: a=}}
    - {{name: ours, block: {{path: /etc/theirs, text: b}}}}
    - authorizedKey: {{user: app, key: {KEY}}}
    - user: {{name: app, uid: 4711, group: app, groups: [users], shell: /bin/sh}}
    - group: {{name: app, gid: 4712}}
    - kernelModule: {{name: overlay}}
    - package: {{names: [hello-kok]}}
    - file: {{path: /etc/apt/sources.list.d/own.list, content: \"deb [trusted=yes] file:/srv/repository ./\\n\"}}
{more}"
    )
}

/// A certificate of an authority, or of somebody who is none.
fn certificate(is_authority: bool) -> String {
    let mut parameters = rcgen::CertificateParams::default();
    if is_authority {
        parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    }
    parameters.distinguished_name.push(rcgen::DnType::CommonName, "Corporation");
    parameters.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().pem()
}

/// A tar with a program and a link in a folder that is left out.
fn archive(text: &str) -> Vec<u8> {
    let mut builder = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default()));
    let mut header = tar::Header::new_gnu();
    header.set_mode(0o755);
    header.set_size(text.len() as u64);
    builder.append_data(&mut header, "app-2.1/bin/app", text.as_bytes()).unwrap();
    let mut link = tar::Header::new_gnu();
    link.set_entry_type(tar::EntryType::Symlink);
    link.set_size(0);
    link.set_mode(0o777);
    builder.append_link(&mut link, "app-2.1/current", "bin/app").unwrap();
    builder.into_inner().unwrap().finish().unwrap()
}

fn write(kokctl: &Kokctl<'_>, name: &str, bytes: impl AsRef<[u8]>) {
    fs::write(kokctl.folder().join(name), bytes).unwrap();
}

const BROUGHT: &str = "    - {name: corp, caCertificate: {name: corp, source: corp.crt}}
    - {name: tool, binary: {path: /usr/local/bin/tool, source: tool, mode: \"0750\", group: app}}
    - {archive: {into: /opt/app, source: app.tar.gz, strip: 1, owner: app}}
    - {dir: {path: /srv/shown}}
    - {mount: {path: /mnt/scratch, device: scratch, fstype: tmpfs, options: \"size=1m,noexec\"}}
    - {mount: {path: /mnt/bound, device: /srv/shown, options: \"bind,ro\"}}
    - {file: {path: /mnt/scratch/note, content: x}}
";

/// What comes from this side, and what is mounted: made, left alone, drifted, refused, gone.
fn brought(kokctl: &Kokctl<'_>, hosts: &[Host]) {
    write(kokctl, "corp.crt", certificate(true));
    write(kokctl, "tool", b"#!/bin/sh\n# \xff\necho tool\n");
    write(kokctl, "app.tar.gz", archive("#!/bin/sh\necho app\n"));
    let fleet = Fleet::with_file(kokctl, "brought.yaml", &kinds(BROUGHT));
    let check = fleet.converge_output(&["--check"]);
    for seen in
        ["binary /usr/local/bin/tool (tool): install", "archive app.tar.gz in /opt/app: install", "mount scratch at /mnt/scratch: mount"]
    {
        assert!(check.contains(seen), "{seen}: {check}");
    }
    assert!(check.contains("+scratch /mnt/scratch tmpfs size=1m,noexec 0 0") && check.contains("corp.crt"), "{check}");
    fleet.converge_output(&[]);
    fleet.has_nothing_to_do();
    const LOOK: &str = "/usr/local/bin/tool; /opt/app/current; cat /mnt/scratch/note; stat -c '%U:%G %a' /usr/local/bin/tool /opt/app/bin/app\n\
                        grep -c scratch /etc/fstab; touch /mnt/bound/x 2>/dev/null || echo kept";
    for host in hosts {
        assert_eq!(ok(host, LOOK), "tool\napp\nxroot:app 750\napp:app 755\n1\nkept");
        let body = fs::read_to_string(kokctl.folder().join("corp.crt")).unwrap();
        let line = body.lines().nth(1).unwrap();
        assert_eq!(ok(host, &format!("grep -c '^{line}' /etc/ssl/certs/ca-certificates.crt")), "1", "programs trust it");
    }
    ok(
        &hosts[0],
        "chmod 777 /usr/local/bin/tool; echo x >/opt/app/bin/app; umount /mnt/bound; mount -o remount,exec /mnt/scratch\n\
         sed -i '/scratch/d' /etc/fstab; mv /usr/local/share/ca-certificates/corp.crt /root; update-ca-certificates >/dev/null 2>&1\n\
         mv /root/corp.crt /usr/local/share/ca-certificates",
    );
    let check = fleet.converge_output(&["--check"]);
    for seen in [
        "set mode 0750 and owner root:app",
        "/opt/app/bin/app is not as app.tar.gz has it",
        "mount /srv/shown at /mnt/bound: mount\n",
        "it is mounted without noexec",
        "trust in /usr/local/share/ca-certificates/corp.crt: update",
    ] {
        assert!(check.contains(seen), "{seen}: {check}");
    }
    assert!(!check.contains("web2:"), "{check}");
    fleet.converge_output(&[]);
    fleet.has_nothing_to_do();
    // Another version of it all.
    write(kokctl, "tool", "#!/bin/sh\necho new\n");
    write(kokctl, "app.tar.gz", archive("#!/bin/sh\necho newer\n"));
    fleet.converge_output(&[]);
    assert_eq!(ok(&hosts[1], "/usr/local/bin/tool; /opt/app/current"), "new\nnewer");
    not_brought(kokctl, hosts);
    gone(kokctl, hosts);
}

/// What can't be brought: before a host is asked, or by the host.
fn not_brought(kokctl: &Kokctl<'_>, hosts: &[Host]) {
    write(kokctl, "none.crt", certificate(false));
    let converge = |more: &str| Fleet::with_file(kokctl, "refused.yaml", &kinds(more)).converge(&["--limit", "web1"]);
    for (more, why) in [
        ("    - {caCertificate: {name: none, source: none.crt}}\n", "CA:TRUE"),
        ("    - {archive: {into: /opt/none, source: none.crt}}\n", "can't be read as a tar"),
        ("    - {binary: {path: /opt/none, source: missing}}\n", "missing: No such file"),
        ("    - {mount: {path: /mnt/none, device: none}}\n", "`fstype` is missing"),
    ] {
        let said = converge(more);
        assert!(said.code == 2 && said.stderr.contains(why) && said.stderr.contains("hint:"), "{more}: {}", said.stderr);
    }
    ok(&hosts[0], "systemd-run -q --unit uses-scratch -p WorkingDirectory=/mnt/scratch sleep infinity");
    let said = converge("    - {mount: {path: /mnt/scratch, state: absent}}\n");
    assert!(said.code == 4 && said.stderr.contains("is not taken away while it is in use"), "{}", said.stderr);
    assert_eq!(ok(&hosts[0], "systemctl stop uses-scratch; grep -c scratch /etc/fstab; cat /mnt/scratch/note"), "1\nx", "all is as it was");
    let said = converge("    - {mount: {path: /mnt/none, device: LABEL=nobody-has-it, fstype: ext4}}\n");
    assert!(said.code == 4 && said.stderr.contains("resources/mount:/mnt/none"), "{}", said.stderr);
    assert_eq!(ok(&hosts[0], "grep -c nobody-has-it /etc/fstab || :"), "0", "the next start would wait for it");
}

fn gone(kokctl: &Kokctl<'_>, hosts: &[Host]) {
    let more = "    - {caCertificate: {name: corp, state: absent}}\n    - {mount: {path: /mnt/scratch, state: absent}}\n    \
                - {mount: {path: /mnt/bound, state: unmounted}}\n";
    let fleet = Fleet::with_file(kokctl, "gone.yaml", &kinds(more));
    fleet.converge_output(&[]);
    fleet.has_nothing_to_do();
    for host in hosts {
        let look = "grep -c scratch /etc/fstab /proc/self/mountinfo; grep -c /mnt/bound /etc/fstab; ls /usr/local/share/ca-certificates; \
                    ls /etc/ssl/certs | grep -c corp";
        assert_eq!(ok(host, &format!("{look} || :")), "/etc/fstab:0\n/proc/self/mountinfo:0\n1\n0");
    }
}

/// Nothing is changed by what is wrong before a host is asked; what a host refuses is told with its step, and the rest is done.
fn refused(kokctl: &Kokctl<'_>, hosts: &[Host]) {
    let template = |text: &str| {
        Fleet::with_file(kokctl, "motd.j2", text);
        let more = "    - {name: motd, file: {path: /etc/motd, template: motd.j2}}\n    - dir: {path: /srv/new}\n";
        Fleet::with_file(kokctl, "refused.yaml", &kinds(more)).converge(&[])
    };
    let said = template("\n{{ vars.nobody }}\n");
    assert!(
        said.code == 2 && said.stderr.contains("motd.j2:2") && said.stderr.contains("the host has no `vars.nobody`"),
        "{}",
        said.stderr
    );
    let said = template("{{ facts.interfaces.host9.mac }}");
    assert!(
        said.code == 3 && said.stderr.contains("for the host web") && said.stderr.contains("facts.interfaces.host9"),
        "{}",
        said.stderr
    );
    assert_eq!(ok(&hosts[0], "[ ! -e /srv/new ] && echo untouched"), "untouched");
    for (more, step, why) in [
        ("    - package: {names: [certainly-no-package]}\n", "resources/package:certainly-no-package", "certainly-no-package"),
        ("    - symlink: {path: /mnt, target: /etc}\n", "resources/symlink:/mnt", "/mnt is a folder"),
        ("    - absent: {path: /srv/repository}\n", "resources/absent:/srv/repository", "recursive: true"),
        ("    - unit: {name: nothing.service, state: running}\n", "resources/unit:nothing.service", "nothing.service"),
        ("    - kernelModule: {name: certainly_not}\n", "resources/kernelModule:certainly_not", "certainly_not"),
        ("    - file: {path: /srv/nowhere/x, content: x}\n", "resources/file:/srv/nowhere/x", "/srv/nowhere"),
        ("    - file: {path: /srv/x, content: x, owner: nobody-here}\n", "resources/file:/srv/x", "nobody-here"),
        (
            "    - authorizedKey: {user: nobody-here, key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl}\n",
            "resources/authorizedKey:nobody-here",
            "no such user",
        ),
    ] {
        let said = Fleet::with_file(kokctl, "refused.yaml", &kinds(&format!("{more}    - dir: {{path: /srv/beside}}\n")))
            .converge(&["--limit", "web1"]);
        assert_eq!(said.code, 4, "{more}: {}\n{}", said.stdout, said.stderr);
        assert!(said.stderr.contains(step) && said.stderr.contains(why), "{more}: {}", said.stderr);
        // Folders wait for packages; of all else they need nothing.
        let beside = if more.contains("package:") { "" } else { "made" };
        let made = ok(&hosts[0], "[ ! -e /srv/beside ] || { rmdir /srv/beside; echo made; }");
        assert_eq!(made, beside, "{more}: what needs nothing of it is done");
    }
    let cluster = kokctl.verb("converge", &[]);
    assert!(cluster.code == 2 && cluster.stderr.contains("kokctl apply"), "{}", cluster.stderr);
    let fleet = Fleet::with_file(kokctl, "kinds.yaml", &kinds(""));
    let said = kokctl.run(&["apply", "-f", fleet.file.to_str().unwrap()]);
    assert!(said.code == 2 && said.stderr.contains("kokctl converge"), "{}", said.stderr);
}
