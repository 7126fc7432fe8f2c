//! Scripts of hosts that fetch for themselves.

use crate::artifact::{Artifact, Source};
use crate::shell::quote;

/// Variables of the proxy, as curl and containerd's client read them.
fn environment(source: &Source) -> String {
    source.environment.iter().map(|(name, value)| format!("export {name}={}\n", quote(value))).collect()
}

/// The beginning of a script: behind it, the file that `$fetched` names has the size and the sha256 that the bundle promises. `folder` is on the
/// file system where it is needed, and nobody but root may write there. What a cut has left there is gone on with.
pub(super) fn file(artifact: &Artifact, source: &Source, folder: &str) -> String {
    let name = artifact.path.rsplit('/').next().unwrap_or_default();
    // A server that was asked by TLS leads to no other one.
    let protocols = if source.address.starts_with("https:") { "=https" } else { "=http,https" };
    format!(
        "{}address={}\nsize={}\nwanted={}\nprotocols={protocols}\nfetched={}\n{FILE}",
        environment(source),
        quote(&source.address),
        artifact.size,
        quote(&artifact.sha256),
        quote(&format!("{folder}/.kokctl-{name}.part")),
    )
}

/// A script that brings an image into containerd by the digest of its manifest, and gives it its name.
pub(super) fn image(source: &Source, reference: &str) -> String {
    let plain = if source.is_plain { "--plain-http" } else { "" };
    format!("{}address={}\nreference={}\nplain={plain}\n{IMAGE}", environment(source), quote(&source.address), quote(reference))
}

/// So often without progress. Where nobody answers, or a name is not known, it shows sooner.
///
/// Files that are larger than promised are cut off by the shell's limit, which counts pieces of 512 bytes. curl reads nobody's settings (`-q`), and
/// what it was led to is compared all the same. Its exit codes are those of curl(1).
const FILE: &str = r#"give_up() {
  echo "$address can't be fetched: $1" >&2
  echo "see to it that this host reaches that address, or name a mirror; or have kokctl send it, by \`delivery: push\`" >&2
  exit 1
}
again() {
  rm -f "$fetched"
  (umask 077; : >"$fetched")
  old=
}
[ -f "$fetched" ] && [ ! -h "$fetched" ] || rm -rf "$fetched"
(umask 077; : >>"$fetched")
old=
[ ! -s "$fetched" ] || old=yes
tries=0
most=5
reached=-1
said=
code=0
while :; do
  have=$(stat -c %s "$fetched")
  if [ "$have" -ge "$size" ] || { [ "$tries" != 0 ] && [ "$code" = 0 ]; }; then
    digest_of "$fetched" "$have"
    [ "$have" != "$size" ] || [ "$sum" != "$wanted" ] || break
    [ "$have" -le "$size" ] || have="more than $size"
    # What lay there may have been of another version.
    [ -n "$old" ] || { rm -f "$fetched"; give_up "it is another file than the bundle's: $have bytes with the sha256 $sum; it has to be $size bytes with $wanted"; }
    again
    tries=0
    reached=-1
    continue
  fi
  if [ "$have" -gt "$reached" ]; then reached=$have; tries=0; fi
  tries=$((tries + 1))
  [ "$tries" -le "$most" ] || give_up "$said"
  [ "$tries" = 1 ] || sleep $((1 << (tries - 2)))
  code=0
  said=$(
    ulimit -f $((size / 512 + 1))
    exec curl -q -g -sS -f -L --max-redirs 10 --proto "$protocols" --proto-redir "$protocols" --connect-timeout 20 --speed-limit 1 --speed-time 60 \
      --max-time "${kokctl_limit:-900}" -C "$have" -o "$fetched" -- "$address" 2>&1 </dev/null
  ) || code=$?
  most=5
  case $code in
    5|6|7) most=3;;
    22) case $said in *' 429'*|*' 5'[0-9][0-9]*) ;; *) [ -n "$old" ] || give_up "$said"; again;; esac;;
    33) again;;
    1|2|3|35|51|58|60|77) give_up "$said";;
  esac
done
sync "$fetched"
"#;

/// containerd goes on with what it has of a layer. Its client finds mirrors where containerd does, and is asked itself, so that it takes this
/// script's proxy and the authorities that the host trusts now. What was fetched by another name than its own keeps only its own.
const IMAGE: &str = r#"tries=0
while :; do
  code=0
  said=$(timeout "${kokctl_limit:-900}" /usr/local/bin/ctr -n k8s.io images pull --local --hosts-dir /etc/containerd/certs.d $plain "$address" 2>&1 >/dev/null </dev/null) || code=$?
  [ "$code" != 0 ] || break
  tries=$((tries + 1))
  case $said in *x509:*|*'not found'*|*'digest'*'expected'*|*nauthorized*|*orbidden*) tries=5;; esac
  if [ "$tries" -ge 5 ]; then
    echo "$address can't be fetched: $(printf '%s\n' "$said" | tail -n 3)" >&2
    echo "see to it that this host reaches that registry, or name a mirror; or have kokctl send it, by \`delivery: push\`" >&2
    exit 1
  fi
  sleep $((1 << (tries - 1)))
done
/usr/local/bin/ctr -n k8s.io images tag --force "$address" "$reference" >/dev/null </dev/null
/usr/local/bin/ctr -n k8s.io images label "$reference" io.cri-containerd.pinned=pinned >/dev/null </dev/null
/usr/local/bin/ctr -n k8s.io images rm "$address" >/dev/null </dev/null
"#;
