//! `kokctl support`

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use clap::Args;
use flate2::Compression;
use flate2::write::GzEncoder;
use kok_crds::count;
use kok_tasks::support::redacted;

use super::files::{ClusterFiles, ExtraVars};
use super::process;
use crate::engine::{self, StatusRequest};
use crate::failure::{Failure, Kind};
use crate::state::{Controller, Record};
use crate::ui::{line, status_line};

/// Write what another person needs to help into one file: status, the last runs, what hosts and cluster say, without secrets
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
    /// The archive that is written, such as support.tar.gz
    #[arg(long, short = 'o', value_name = "ARCHIVE")]
    output: PathBuf,
}

/// So many runs, the last ones.
const RUNS: usize = 10;

/// So much of the journal of a run, its end.
const MOST_OF_A_RUN: usize = 2 << 20;

pub(super) async fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let (_, cluster) = arguments.cluster.without_manifests(&arguments.extra)?;
    let context = process::context(process::controller().unwrap_or_else(|_| Controller::nobody()));
    let one = |failure: Failure| vec![failure];
    let mut archive = Archive::create(&arguments.output).map_err(|error| one(not_written(&arguments.output, &error)))?;
    let said = engine::support(&context, &cluster).await?;
    let request = StatusRequest { cluster: &cluster, bundle: Err("it was not asked for"), whole: Box::new(|| Err(String::new())) };
    let status = engine::status(&context, request).await.map(|(status, _)| status);
    let mut parts = vec![("version.txt".to_owned(), format!("kokctl {}\n", env!("CARGO_PKG_VERSION")))];
    if let Ok(status) = &status {
        parts.push(("status.json".to_owned(), serde_json::to_string_pretty(status).unwrap_or_default()));
    }
    let silent: Vec<&Failure> = said.values().filter_map(|said| said.as_ref().err()).collect();
    for (host, said) in &said {
        let text = said.as_ref().map_or_else(Failure::one_line, Clone::clone);
        parts.push((format!("hosts/{host}.txt"), text));
    }
    parts.extend(runs(&cluster.name));
    for (name, text) in &parts {
        archive.add(name, redacted(text).as_bytes()).map_err(|error| one(not_written(&arguments.output, &error)))?;
    }
    let bytes = archive.finish().map_err(|error| one(not_written(&arguments.output, &error)))?;
    let path = arguments.output.display();
    line(&format!("{path}: {} of {}, {} kB", count(parts.len(), "file"), cluster.name, bytes.div_ceil(1000)));
    status_line("what looks like a secret was left out; look at it before you give it away: names, addresses and logs of yours are in it");
    silent.iter().for_each(|failure| status_line(&format!("not asked: {}", failure.one_line())));
    Ok(())
}

/// The journals of the last runs of a cluster.
fn runs(cluster: &str) -> Vec<(String, String)> {
    let Ok(state) = process::state() else { return Vec::new() };
    let names = state.run_names().unwrap_or_default();
    let is_its = |name: &&String| state.read_run(name).is_ok_and(|story| Record::of(&story).cluster == cluster);
    let end = |text: String| {
        let from = text.len().saturating_sub(MOST_OF_A_RUN);
        let from = text.char_indices().map(|(index, _)| index).find(|index| *index >= from).unwrap_or_default();
        text.get(from..).unwrap_or_default().to_owned()
    };
    let last = names.iter().rev().filter(is_its).take(RUNS);
    last.filter_map(|name| Some((format!("runs/{name}.jsonl"), end(state.journal_of(name)?)))).collect()
}

fn not_written(path: &std::path::Path, error: &std::io::Error) -> Failure {
    Failure::new(Kind::Internal, format!("{} can't be written", path.display()))
        .because(error.to_string())
        .hint("name another file, that is not there yet")
}

/// A compressed archive that nobody else may read.
struct Archive(tar::Builder<GzEncoder<Counted>>);

struct Counted {
    file: std::fs::File,
    bytes: u64,
}

impl Write for Counted {
    fn write(&mut self, piece: &[u8]) -> std::io::Result<usize> {
        let written = self.file.write(piece)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

impl Archive {
    fn create(path: &std::path::Path) -> std::io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        Ok(Self(tar::Builder::new(GzEncoder::new(Counted { file, bytes: 0 }, Compression::default()))))
    }

    fn add(&mut self, name: &str, content: &[u8]) -> std::io::Result<()> {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o600);
        header.set_mtime(0);
        self.0.append_data(&mut header, format!("support/{name}"), content)
    }

    fn finish(self) -> std::io::Result<u64> {
        let counted = self.0.into_inner()?.finish()?;
        counted.file.sync_all()?;
        Ok(counted.bytes)
    }
}
