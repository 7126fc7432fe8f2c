//! With which keys, or by which plugin, an API server is to encrypt, as its file says it.

use kok_crds::go_duration;
use kok_crds::model::{EncryptionAlgorithm, KmsPlugin};

use super::{ParseError, Section, text_of};
use crate::encryption::{Entry, Layout, Provider};

/// The keys of an EncryptionConfiguration, as far as they are no secret.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EncryptionKeys {
    /// The sha256 of the file; empty where there is none.
    pub digest: String,
    /// The sha256 of names and keys alone: two control planes with the same keys have the same.
    pub sum: String,
    /// Whether the API server is started with such a file.
    pub is_read: bool,
    /// Whether it is started so that it reads the file again by itself.
    pub reloads: bool,
    /// The folder of a KMS plugin's socket that the API server is shown by kokctl.
    pub plugin_folder: Option<String>,
    /// What is encrypted with which of them; empty where the file says it in another way than kokctl does.
    pub layout: Layout,
}

impl EncryptionKeys {
    /// Their names in the file's order, each once; the first is written with.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.layout.names()
    }
}

/// As the template writes it, and with lists of resources in lines of their own.
pub(in super::super) const KEYS: &str = r#"mark encryption-keys
encryption=/etc/kubernetes/apiserver/encryption.yaml
if [ -s "$encryption" ] || grep -q -e '--encryption-provider-config=' /etc/kubernetes/manifests/kube-apiserver.yaml 2>/dev/null; then
  if [ -s "$encryption" ]; then
    sha256sum <"$encryption" | cut -d ' ' -f 1
    sed -n -e 's/^ *- name: //p' -e 's/^ *secret: //p' "$encryption" | tr -d '" ' | sha256sum | cut -d ' ' -f 1
  else
    printf 'lost\nlost\n'
  fi
  if grep -q -e '--encryption-provider-config-automatic-reload=true' /etc/kubernetes/manifests/kube-apiserver.yaml 2>/dev/null; then
    echo reloads
  elif grep -q -e '--encryption-provider-config=' /etc/kubernetes/manifests/kube-apiserver.yaml 2>/dev/null; then
    echo once
  else
    echo stays
  fi
  awk '$1 == "name:" && $2 == "kokctl-kms" && folder { print "folder " folder; exit } { folder = "" } /^ *- mountPath: / { folder = $3 }' \
    /etc/kubernetes/manifests/kube-apiserver.yaml 2>/dev/null
  [ ! -s "$encryption" ] || tr -d '"' <"$encryption" | awk '
    /^- resources:/ {
      sub(/^- resources: */, "")
      gsub(/[][ ]/, "")
      print "of " $0
      listed = 1
    }
    listed && /^  - [^:]*$/ { print "more " $2 }
    /^  providers:/ { listed = 0 }
    /^  - [a-z0-9]*:/ { print "by " substr($2, 1, index($2, ":") - 1) }
    /^ *- name:/ { print "key " $3 }
    /^      (apiVersion|name|endpoint|timeout):/ { print "plugin " substr($1, 1, length($1) - 1) " " $2 }
  ' | head -n 500
fi
"#;

/// What is told of a KMS plugin, line by line.
#[derive(Default)]
struct PluginLines {
    /// Whether it was begun, and not all of it is told yet.
    is_open: bool,
    is_v2: bool,
    name: Option<String>,
    socket: Option<String>,
    timeout_millis: Option<u64>,
}

impl PluginLines {
    /// Nothing, if kokctl writes no such line.
    fn add(&mut self, line: &str) -> Option<()> {
        let (word, value) = line.split_once(' ')?;
        match word {
            "apiVersion" => self.is_v2 = value == "v2",
            "name" => self.name = Some(value.to_owned()).filter(|name| KmsPlugin::is_name(name)),
            "endpoint" => self.socket = KmsPlugin::socket_of(value).map(str::to_owned),
            _ => self.timeout_millis = Some(u64::try_from(go_duration(value)?.as_millis()).ok()?),
        }
        let is_known = self.is_v2 && (word != "name" || self.name.is_some()) && (word != "endpoint" || self.socket.is_some());
        (self.is_open && is_known).then_some(())
    }

    /// The plugin, once all of it is told.
    fn whole(&mut self) -> Option<KmsPlugin> {
        let whole = self.name.clone().zip(self.socket.clone()).zip(self.timeout_millis);
        let ((name, socket), timeout_millis) = whole?;
        *self = Self::default();
        Some(KmsPlugin { name, socket, timeout_millis })
    }
}

/// The layout that these lines tell; an empty one, if there is more in the file than kokctl writes.
fn read_layout<'a>(lines: impl Iterator<Item = &'a str>) -> Option<Layout> {
    let is_name =
        |name: &str| (1..=253).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._*".contains(&byte));
    let mut entries: Vec<Entry> = Vec::new();
    let (mut by, mut plugin) = (None, PluginLines::default());
    for line in lines {
        let (word, rest) = line.split_once(' ')?;
        let resources = || rest.split(',').filter(|name| !name.is_empty()).map(str::to_owned);
        match word {
            "of" | "by" if plugin.is_open => return None,
            "of" => entries.push(Entry { resources: resources().collect(), providers: Vec::new() }),
            "more" => entries.last_mut()?.resources.extend(resources()),
            "by" if rest == "identity" => entries.last_mut()?.providers.push(Provider::Identity),
            "by" if rest == "kms" => plugin.is_open = true,
            "plugin" => {
                plugin.add(rest)?;
                entries.last_mut()?.providers.extend(plugin.whole().map(Provider::Kms));
            }
            "by" => by = Some(EncryptionAlgorithm::ALL.into_iter().find(|algorithm| algorithm.as_str() == rest)?),
            "key" if is_name(rest) => entries.last_mut()?.providers.push(Provider::Key { algorithm: by?, name: rest.to_owned() }),
            _ => return None,
        }
    }
    let is_whole =
        |entry: &Entry| !entry.resources.is_empty() && entry.resources.iter().all(|name| is_name(name)) && !entry.providers.is_empty();
    (!plugin.is_open && entries.iter().all(is_whole)).then(|| Layout::new(entries))
}

/// What [`KEYS`] says.
pub(in super::super) fn read_keys(sections: &[Section<'_>]) -> Result<EncryptionKeys, ParseError> {
    let text = text_of(sections, "encryption-keys")?.trim();
    if text.is_empty() {
        return Ok(EncryptionKeys::default());
    }
    let wrong = || ParseError::new("encryption-keys", text);
    let is_sum = |sum: &&str| sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut lines = text.lines();
    let mut sum = || match lines.next() {
        // The API server is started with a file that is not there, or is empty.
        Some("lost") => Ok(String::new()),
        line => line.filter(is_sum).map(str::to_owned).ok_or_else(wrong),
    };
    let (digest, sum) = (sum()?, sum()?);
    let word = lines.next().unwrap_or_default();
    let (is_read, reloads) = (matches!(word, "reloads" | "once"), word == "reloads");
    let mut lines = lines.peekable();
    let plugin_folder = lines.next_if(|line| line.starts_with("folder ")).and_then(|line| line.strip_prefix("folder ")).map(str::to_owned);
    let layout = read_layout(lines).unwrap_or_default();
    Ok(EncryptionKeys { digest, sum, is_read, reloads, plugin_folder, layout })
}
