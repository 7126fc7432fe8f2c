//! Mounts that users declare, each in a namespace of its own in which `/etc` is empty.

use super::*;
use kok_crds::model::{Mount as Wanted, MountState};
use kok_tasks::change::Change;
use kok_tasks::resources::Mount;

const PLACE: &str = "/etc/a b";

/// What a host has before: awk, which lies behind a link of `/etc` in places, and a systemctl that notes what it was told.
const NAMESPACE: &str = "set -e; awk=$(readlink -f \"$(command -v awk)\"); mount -t tmpfs tmpfs /etc; mkdir /etc/bin; ln -s \"$awk\" /etc/bin/awk; printf '#!/bin/sh\\necho \"$@\" >>/etc/told\\n' >/etc/bin/systemctl; \
                         chmod 755 /etc/bin/systemctl; PATH=/etc/bin:$PATH; exec sh";

fn wanted(state: MountState) -> Wanted {
    Wanted {
        path: PLACE.to_owned(),
        device: "data".to_owned(),
        fstype: "tmpfs".to_owned(),
        options: "size=1m,noexec".to_owned(),
        dump: 0,
        pass: 0,
        state,
    }
}

const LINE: &str = "data /etc/a\\040b tmpfs size=1m,noexec 0 0";

/// What a host in this state is looked at, and perhaps changed before.
fn verdict(setup: &str, act: Option<&str>, mount: &Resource) -> (Verdict, String) {
    let looks: Looks = mount.looks().into_iter().collect();
    let act = act.map(|script| format!("( set -eu\n{script}\n) || exit 1\n")).unwrap_or_default();
    let script = format!("{setup}\n{act}{}", probe_script(&nonce(), &looks, None));
    let output = run(&["unshare", "--map-root-user", "--mount", "sh", "-c", NAMESPACE], &[], &script);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let seen = parse(&nonce(), &looks, &output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    (mount.diff(&seen), said)
}

fn change(setup: &str, wanted: &Wanted) -> Change {
    match verdict(setup, None, &Resource::Mount(Mount(wanted.clone()))) {
        (Verdict::Differs(change), _) => change,
        (other, said) => panic!("{other:?}: {said}"),
    }
}

/// Once it was done, nothing is left to do; returns why it was, and what more is asked of the host then.
fn becomes_right(setup: &str, wanted: &Wanted, then: &str) -> String {
    let change = change(setup, wanted);
    let resource = Resource::Mount(Mount(wanted.clone()));
    let script =
        format!("{}\n( {then} ) || {{ echo 'not so: {}' >&2; exit 1; }}", script_of(&resource.act(&change)), then.replace('\'', " "));
    let (after, said) = verdict(setup, Some(&script), &resource);
    assert_eq!((after, said.as_str()), (Verdict::Same, ""), "{change:?}");
    format!("{} because {}", change.summary(), change.because)
}

fn fails(setup: &str, wanted: &Wanted, why: &str) {
    let resource = Resource::Mount(Mount(wanted.clone()));
    let script = script_of(&resource.act(&change(setup, wanted)));
    let output = run(&["unshare", "--map-root-user", "--mount", "sh", "-c", NAMESPACE], &[], &format!("{setup}\nset -eu\n{script}"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains(why), "{said}");
}

const MOUNTED: &str = "mkdir '/etc/a b'; mount -t tmpfs -o size=1m,noexec data '/etc/a b'";

fn with_line(setup: &str) -> String {
    format!("{setup}\nprintf '%s\\n' '# others' 'proc /proc proc defaults 0 0' '{LINE}' >/etc/fstab")
}

#[test]
fn what_is_declared_is_mounted_and_listed() {
    let mounted = wanted(MountState::Mounted);
    let is_there = format!(
        "grep -qxF '{LINE}' /etc/fstab && grep -q ' /etc/a.040b rw,noexec,' /proc/self/mountinfo && grep -q daemon-reload /etc/told"
    );
    assert_eq!(becomes_right(":", &mounted, &is_there), "mount because nothing is mounted there");
    let diff = change(":", &mounted).diff.unwrap();
    assert!(diff.contains("+++ /etc/fstab (desired)") && diff.contains(&format!("+{LINE}")), "{diff}");
    assert_eq!(becomes_right(MOUNTED, &mounted, &is_there), "add because it would not be mounted at the next start");
    let stays = "[ \"$(head -n 2 /etc/fstab)\" = \"$(printf '# others\\nproc /proc proc defaults 0 0')\" ]";
    assert_eq!(becomes_right(&with_line(":"), &mounted, stays), "mount because nothing is mounted there");
    // Blanks, a slash at the end and zeros that are left out are no difference.
    let spaced = format!("{MOUNTED}\necho 'data\t/etc/a\\\\040b/   tmpfs size=1m,noexec # mine' >/etc/fstab");
    let (same, said) = verdict(&spaced, None, &Resource::Mount(Mount(mounted)));
    assert_eq!((same, said.as_str()), (Verdict::Same, ""));
}

#[test]
fn what_is_mounted_otherwise_is_mounted_anew() {
    let mounted = wanted(MountState::Mounted);
    let exec = with_line(MOUNTED).replace("-o size=1m,noexec", "-o size=1m");
    assert_eq!(becomes_right(&exec, &mounted, "true"), "mount anew with its options because it is mounted without noexec");
    let larger = with_line(&MOUNTED.replace("1m", "2m")).replace(LINE, &LINE.replace("1m", "2m"));
    let is_smaller = "grep -q 'size=1024k' /proc/self/mountinfo && ! grep -q 2m /etc/fstab";
    let why = "mount anew with its options because its line of /etc/fstab is another one";
    assert_eq!(becomes_right(&larger, &mounted, is_smaller), why);
    let other = with_line(&MOUNTED.replace(" data ", " other "));
    let why = "unmount what is there, and mount because other (tmpfs) is mounted there";
    assert_eq!(becomes_right(&other, &mounted, "true"), why);
    let twice = format!("{}\nprintf '%s\\n' 'x /etc/a\\040b ext4' >>/etc/fstab", with_line(MOUNTED));
    assert_eq!(becomes_right(&twice, &mounted, "[ \"$(wc -l </etc/fstab)\" = 3 ]"), "replace because /etc/fstab has 2 lines for it");
}

/// Nothing that is in use is taken away, and no line is left for what can't be mounted.
#[test]
fn what_can_not_be_is_said_and_leaves_no_trace() {
    let busy = "is not taken away while it is in use";
    let used = format!("{}\nexec 9<'/etc/a b'", with_line(&MOUNTED.replace(" data ", " other ")));
    fails(&used, &wanted(MountState::Mounted), busy);
    fails(&used, &wanted(MountState::Absent), busy);
    fails(&used, &wanted(MountState::Unmounted), busy);
    let unknown = Wanted { fstype: "no-such-type".to_owned(), ..wanted(MountState::Mounted) };
    fails(":", &unknown, "mount: /etc/a b: ");
    let gone = change(":", &unknown);
    let script = script_of(&Resource::Mount(Mount(unknown.clone())).act(&gone));
    let (_, said) = verdict(":", Some(&format!("( {script} ) 2>/dev/null || [ ! -e /etc/fstab ]")), &Resource::Mount(Mount(unknown)));
    assert_eq!(said, "", "a line was left");
    fails("mkdir /etc/real; ln -s real '/etc/a b'", &wanted(MountState::Mounted), "leads to /etc/real: write that as path");
}

#[test]
fn each_state_is_what_its_word_says() {
    let (present, unmounted, absent) = (wanted(MountState::Present), wanted(MountState::Unmounted), wanted(MountState::Absent));
    let same = |setup: &str, wanted: &Wanted| {
        let (verdict, said) = verdict(setup, None, &Resource::Mount(Mount(wanted.clone())));
        assert_eq!((verdict, said.as_str()), (Verdict::Same, ""), "{setup}");
    };
    assert_eq!(becomes_right(":", &present, "! grep -q a.040b /proc/self/mountinfo"), "add because /etc/fstab has no line for it");
    same(&with_line(":"), &present);
    let other = with_line(":").replace("1m", "2m");
    assert_eq!(becomes_right(&other, &present, "true"), "replace because its line of /etc/fstab is another one");
    let why = "unmount because data (tmpfs) is mounted there";
    assert_eq!(becomes_right(&with_line(MOUNTED), &unmounted, "grep -q a.040b /etc/fstab"), why);
    same(":", &unmounted);
    let twice = format!("{}\nmount -t tmpfs data '/etc/a b'", with_line(MOUNTED));
    assert_eq!(becomes_right(&twice, &absent, "[ \"$(wc -l </etc/fstab)\" = 2 ] && [ -d '/etc/a b' ]"), why);
    assert_eq!(becomes_right(&with_line(":"), &absent, "true"), "remove because it would be mounted at the next start");
    same(":", &absent);
}

#[test]
fn a_folder_is_shown_at_another_place() {
    let bind =
        Wanted { device: "/etc/from".to_owned(), fstype: "none".to_owned(), options: "bind,ro".to_owned(), ..wanted(MountState::Mounted) };
    let setup = "mkdir /etc/from /etc/other; echo x >/etc/from/x";
    let is_shown = "[ \"$(cat '/etc/a b/x')\" = x ] && ! touch '/etc/a b/x' 2>/dev/null";
    assert_eq!(becomes_right(setup, &bind, is_shown), "mount because nothing is mounted there");
    let other = format!("{setup}; mkdir '/etc/a b'; mount --bind /etc/other '/etc/a b'");
    assert!(becomes_right(&other, &bind, is_shown).starts_with("unmount what is there, and mount because tmpfs (tmpfs)"));
    let writable = format!("{setup}; mkdir '/etc/a b'; mount --bind /etc/from '/etc/a b'");
    assert_eq!(becomes_right(&writable, &bind, is_shown), "mount anew with its options because it is mounted without ro");
}
