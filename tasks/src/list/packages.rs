//! Packages of the distribution that a minimal installation lacks.

use std::time::Duration;

use super::Task;
use crate::artifact::Artifact;
use crate::facts::Program;
use crate::plan::{Draft, HostView, Reason, Refusal, StepName};
use crate::preconditions::{bundled, missing_programs, unknown_distribution};
use crate::resources::{Manager, PackageArchive, PackageDatabase, PackageSource, Packages, Resource, folder_of_packages};

const NAME: &str = "packages";

pub(super) const TASK: Task = Task { name: NAME, about: "packages of the distribution that a minimal installation lacks", plan };

/// The step before every other that may run a command of a package.
pub(crate) const INSTALLED: StepName<'static> = StepName::new(NAME, "installed");

/// The lock of another package manager is waited for 5 minutes, and cloud-init as long; what is installed are some MB.
const DEADLINE: Duration = Duration::from_secs(900);

fn plan(view: &HostView<'_>, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let facts = view.facts;
    let missing = missing_programs(facts, view.cluster(), view.host);
    if missing.is_empty() {
        return Ok(());
    }
    let distribution = facts.distribution().ok_or_else(|| unknown_distribution(facts))?;
    let manager = distribution.manager;
    let command = |program: &&Program| (program.name.to_owned(), (distribution.package_of)(program).to_owned());
    let commands: Vec<(String, String)> = missing.iter().copied().map(|program| command(&program)).collect();
    let environment = super::proxy::environment(view).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let bundled = bundled(view.inputs.bundle, facts, (view.cluster(), view.host));
    let source = bundled.map(|bundled| PackageSource::from_bundle(bundled.packages, bundled.keyring));
    let installed = draft.add(INSTALLED, Resource::Packages(Packages { manager, commands: commands.clone(), environment, source }));
    draft.within(DEADLINE);
    if let Some(bundled) = bundled {
        let (artifact, folder) = (Artifact::from(bundled.packages), folder_of_packages(bundled.packages));
        let brought = draft.add("archive", Resource::PackageArchive(PackageArchive { commands, artifact, folder }));
        draft.needs(&installed, &brought, Reason::Reads);
    }
    if manager == Manager::Apt {
        let repaired = draft.add("package-manager", Resource::PackageDatabase(PackageDatabase));
        draft.within(DEADLINE);
        draft.needs(&installed, &repaired, Reason::Because("dpkg installs nothing before it has ended what it began"));
    }
    Ok(())
}
