//! `kokctl convert`

use clap::Args;
use kok_crds::Notice;

use super::files::{ClusterFiles, ExtraVars};
use crate::failure::{Failure, Kind};
use crate::ui::{line, status_line};

/// Print one Cluster file that says what an inventory with its variables says
///
/// Each line names the place that it came from. Passwords and keys are left out, and a comment says where they stand.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterFiles,
    #[command(flatten)]
    extra: ExtraVars,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Vec<Failure>> {
    let input = arguments.cluster.input(&arguments.extra)?;
    if !input.problems.is_empty() {
        return Err(input.problems.into_iter().map(Failure::problem).collect());
    }
    let Some(text) = input.inline_file() else {
        let failure = Failure::new(Kind::Input, "there is nothing to convert").at(arguments.cluster.path().display().to_string());
        return Err(vec![failure.because("the Cluster is in the inline form already").hint("use the file as it is")]);
    };
    line(text.trim_end());
    let left_out = input.secrets_left_out();
    if !left_out.is_empty() {
        let places = left_out.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let notice = Notice::new(format!("{} left out of the file, for what is secret is in no copy", values(left_out.len())));
        let notice = notice.because(format!("see {places}"));
        status_line(&format!(
            "\n{}",
            notice.hint("a comment stands in the place of each; write it there, or give it beside the file by `-e @FILE`")
        ));
    }
    input.notices.iter().for_each(|notice| status_line(&format!("\n{notice}")));
    Ok(())
}

fn values(count: usize) -> String {
    if count == 1 { "a value is".to_owned() } else { format!("{count} values are") }
}
