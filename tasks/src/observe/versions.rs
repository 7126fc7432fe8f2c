//! Which versions of programs run on a host, and which would run after their next start.
//!
//! What runs may be another file than the one that is there: that is asked by `/proc/PID/exe`, which leads to the program that was started even
//! when its file was replaced. Static pods say it by their manifests, and the API server by its own word.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use semver::Version;
use serde_json::Value;

use super::parse::{ParseError, Section, text_of};
use super::{RUNTIME_DIRECTORY, STATE_DIRECTORY};

/// Versions of one program on one host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Installed {
    /// Of the process that runs.
    pub running: Option<Version>,
    /// Of what its next start would run: the file of a program, the manifest of a static pod.
    pub next: Option<Version>,
    /// The minor version that a static pod is told to work as, by its manifest (`--emulated-version`).
    pub emulates: Option<(u64, u64)>,
}

impl Installed {
    /// What runs, and what would.
    pub fn all(&self) -> impl Iterator<Item = &Version> {
        self.running.iter().chain(&self.next)
    }

    /// What runs; of a program that does not run, what would.
    #[must_use]
    pub fn version(&self) -> Option<&Version> {
        self.running.as_ref().or(self.next.as_ref())
    }
}

/// Versions on a host, by the names of programs.
pub type ProgramVersions = BTreeMap<String, Installed>;

/// The API server.
pub const API_SERVER: &str = "kube-apiserver";
/// The kubelet.
pub const KUBELET: &str = "kubelet";
/// containerd.
pub const CONTAINERD: &str = "containerd";
/// etcd.
pub const ETCD: &str = "etcd";

/// What works by the API server beside it, as containers are called.
pub const CONTROLLERS: [&str; 2] = ["kube-controller-manager", "kube-scheduler"];

/// Static pods of a control plane.
pub const STATIC_PODS: [&str; 4] = [API_SERVER, CONTROLLERS[0], CONTROLLERS[1], ETCD];

/// Programs that units of the same name run, and these units.
const UNITS: [&str; 3] = [KUBELET, CONTAINERD, ETCD];
pub(super) const SERVICES: [&str; 3] = ["kubelet.service", "containerd.service", "etcd.service"];

/// A program is asked once: what it said is kept until the host's next start, beside its size, times and inode, and holds while these do. Nothing is
/// started on a host that kokctl has no folder on.
///
/// A process is one that systemd calls the main one of the unit: `$units` begins with those of [`SERVICES`], in their order. One `stat` looks at all files, the
/// program of a unit before what its process was started from.
const SCRIPT: &str = r#"newline='
'
version_of() {
  key=
  case "$stats" in *"$newline$2 "*) key=${stats##*"$newline$2 "} key=${key%%"$newline"*};; esac
  key="$1|$key"
  case "$newline$known_versions$newline" in
    *"$newline$key "*)
      said=${known_versions##*"$key "}
      said=${said%%"$newline"*};;
    *)
      said=$("$2" --version </dev/null 2>/dev/null | head -n 1)
      [ -z "$said" ] || printf '%s %s\n' "$key" "$said" >>"$versions";;
  esac
}
programs_of_units() {
  set -f
  IFS=$newline
  set --
  for line in $units; do case $line in MainPID=*) set -- "$@" "${line#MainPID=}";; esac; done
  unset IFS
  set +f
  processes="${1:-0} ${2:-0} ${3:-0}"
  set --
  for program in @PROGRAMS@; do
    process=${processes%% *} processes=${processes#* }
    [ -x "/usr/local/bin/$program" ] || continue
    set -- "$@" "/usr/local/bin/$program"
    if [ "$process" != 0 ] && [ -x "/proc/$process/exe" ]; then set -- "$@" "/proc/$process/exe"; fi
  done
  [ $# != 0 ] || return 0
  stats="$newline$(stat -Lc '%n %s|%.9Y|%.9Z|%i' -- "$@" 2>/dev/null)"
  for path; do
    case $path in /proc/*) state=running;; *) state=next program=${path##*/};; esac
    version_of "$program" "$path"
    printf '%s %s %s\n' "$state" "$program" "$said"
  done
}
"#;

/// What the manifests of static pods say, by one `grep` for all of them.
const PODS: &str = r#"versions_of_pods() {
  set --
  for program in @PROGRAMS@; do [ ! -f "/etc/kubernetes/manifests/$program.yaml" ] || set -- "$@" "/etc/kubernetes/manifests/$program.yaml"; done
  [ $# != 0 ] || return 0
  said=$(grep -HE '^[- ]*image: *|^ *- --emulated-version=' -- "$@" 2>/dev/null)
  set -f
  IFS=$newline
  for line in $said; do
    line=${line#/etc/kubernetes/manifests/}
    program=${line%%.yaml:*} line=${line#*.yaml:}
    case $line in
      *'- --emulated-version='*) printf 'emulates %s %s\n' "$program" "${line#*--emulated-version=}";;
      *) printf 'pod %s %s\n' "$program" "${line#*image:}";;
    esac
  done
  unset IFS
  set +f
}
"#;

/// The API server of the host itself, after the question whether it is ready.
pub(super) const OWN: &str = r#"mark kube-version
if [ -n "$version" ]; then printf '%s\n' "$version"; elif [ -n "$api_server" ]; then kube get --raw /version 2>/dev/null; fi
"#;

/// After [`super::units::push`].
pub(super) fn push(script: &mut String) {
    script.push_str(&SCRIPT.replace("@PROGRAMS@", &UNITS.join(" ")));
    script.push_str(&PODS.replace("@PROGRAMS@", &STATIC_PODS.join(" ")));
    let _ = write!(
        script,
        r#"mark versions
if [ -d {STATE_DIRECTORY} ]; then
  [ -d {RUNTIME_DIRECTORY} ] || mkdir -p {RUNTIME_DIRECTORY}
  versions={RUNTIME_DIRECTORY}/versions
  known_versions=
  [ ! -s "$versions" ] || while IFS= read -r line; do known_versions="$known_versions$newline$line"; done <"$versions"
  programs_of_units
fi
versions_of_pods
"#
    );
}

/// What the host says of its programs.
pub(super) fn read(sections: &[Section<'_>]) -> Result<ProgramVersions, ParseError> {
    let mut versions = ProgramVersions::new();
    for line in text_of(sections, "versions")?.lines().filter(|line| !line.trim().is_empty()) {
        let mut words = line.splitn(3, ' ');
        let (Some(kind), Some(program), answer) = (words.next(), words.next(), words.next().unwrap_or_default()) else {
            return Err(ParseError::new("versions", line));
        };
        let known = STATIC_PODS.iter().chain(&UNITS).any(|known| *known == program);
        if kind == "emulates" {
            let minor = minor_of(answer).filter(|_| known);
            versions.entry(program.to_owned()).or_default().emulates = minor;
            continue;
        }
        let version = if kind == "pod" { of_image(program, answer) } else { of_words(answer) };
        // Beside the program a pod may have others, that its owner has put there.
        let Some(version) = version.filter(|_| known) else { continue };
        let installed = versions.entry(program.to_owned()).or_default();
        match kind {
            "running" => installed.running = Some(version),
            "next" | "pod" => installed.next = Some(version),
            _ => return Err(ParseError::new("versions", line)),
        }
    }
    let own = text_of(sections, "kube-version").ok().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let own = own.as_ref().and_then(|value| value.pointer("/gitVersion")?.as_str()).and_then(version_of);
    if own.is_some() {
        versions.entry(API_SERVER.to_owned()).or_default().running = own;
    }
    Ok(versions)
}

/// No program has a longer one; a host may say anything, and tables have to stay tables.
const LONGEST: usize = 40;

/// A version as programs say it: with or without a `v`, and with what a build adds to it.
#[must_use]
pub fn version_of(text: &str) -> Option<Version> {
    if text.len() > LONGEST {
        return None;
    }
    let version: Version = text.trim_start_matches('v').parse().ok()?;
    // What a distributor adds (`1.36.3-fips1`) makes no other version of it; before 1.36.3 are alpha, beta and rc.
    let is_before = ["alpha", "beta", "rc"].iter().any(|word| version.pre.starts_with(word));
    let pre = if is_before { version.pre } else { semver::Prerelease::EMPTY };
    Some(Version { pre, build: semver::BuildMetadata::EMPTY, ..version })
}

/// `1.36`, or `kube=1.36` as the flag has it too.
fn minor_of(answer: &str) -> Option<(u64, u64)> {
    let text = answer.trim().trim_matches(['"', '\'']);
    let (major, minor) = text.strip_prefix("kube=").unwrap_or(text).split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// `Kubernetes v1.37.1`, `containerd github.com/containerd/containerd/v2 v2.3.7 0123abc`, `etcd Version: 3.7.0`.
fn of_words(answer: &str) -> Option<Version> {
    answer.split_whitespace().find_map(version_of)
}

/// By the tag of a program's own image; that of etcd counts its builds after a `-`.
fn of_image(program: &str, reference: &str) -> Option<Version> {
    let reference = reference.trim().trim_matches(['"', '\'']);
    let (repository, tag) = reference.split('@').next()?.rsplit_once(':')?;
    if repository.rsplit('/').next() != Some(program) {
        return None;
    }
    version_of(if program == ETCD { tag.split('-').next()? } else { tag })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    fn read_of(versions: &str, own: &str) -> Result<ProgramVersions, ParseError> {
        let section = |name, body: &'static str| Section { name, argument: "", body: body.as_bytes() };
        read(&[section("versions", versions.to_owned().leak()), section("kube-version", own.to_owned().leak())])
    }

    #[test]
    fn what_runs_and_what_would_run_are_told_apart() {
        let said = "next kubelet Kubernetes v1.37.1\nrunning kubelet Kubernetes v1.36.3\n\
                    next containerd containerd github.com/containerd/containerd/v2 v2.3.7 0123abc\nnext etcd etcd Version: 3.6.8\n\
                    pod kube-apiserver \"registry.k8s.io/kube-apiserver:v1.37.1\"\npod kube-scheduler mirror:5000/x/kube-scheduler:v1.37.1@sha256:00\n\
                    pod etcd registry.k8s.io/etcd:3.7.0-0\npod etcd sidecar:1.2.3\nemulates kube-apiserver 1.36\nemulates kube-scheduler kube=1.36\n\
                    emulates kube-controller-manager x\n";
        let versions = read_of(said, "{\"gitVersion\": \"v1.36.3+build\"}").unwrap();
        let told = |program: &str| {
            let installed = versions[program].clone();
            [installed.running, installed.next].map(|version| version.map_or_else(String::new, |version| version.to_string()))
        };
        assert_eq!(told(KUBELET), ["1.36.3", "1.37.1"]);
        assert_eq!(told(CONTAINERD), ["", "2.3.7"]);
        assert_eq!(told(API_SERVER), ["1.36.3", "1.37.1"]);
        assert_eq!(told("kube-scheduler"), ["", "1.37.1"]);
        assert_eq!((versions[API_SERVER].emulates, versions["kube-scheduler"].emulates), (Some((1, 36)), Some((1, 36))));
        assert_eq!(versions["kube-controller-manager"].emulates, None);
        assert_eq!(told(ETCD), ["", "3.7.0"], "a pod's manifest says more than a file that nothing runs");
    }

    #[test]
    fn what_a_distributor_adds_makes_no_other_version() {
        assert_eq!(version_of("v1.36.3-fips1"), Some(Version::new(1, 36, 3)));
        assert_eq!(of_image(API_SERVER, "reg.corp/kube-apiserver:v1.36.3-fips1"), Some(Version::new(1, 36, 3)));
        assert!(version_of("v1.37.0-rc.1").unwrap() < Version::new(1, 37, 0));
    }

    #[test]
    fn what_says_no_version_is_not_known() {
        let versions =
            read_of("next kubelet \nrunning kubelet broken\npod kube-apiserver kube-apiserver:latest\nrunning other v1.2.3\n", "no");
        assert_eq!(versions, Ok(ProgramVersions::new()));
        assert_eq!(read_of("walking kubelet v1.2.3\n", "").unwrap_err().section, "versions");
    }
}
