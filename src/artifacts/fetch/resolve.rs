//! What is asked of upstream before anything is fetched.

use std::path::Path;
use std::sync::Arc;

use kok_tasks::bundle::{Bundle, BundlePackages};
use kok_tasks::catalog::Item;

use super::client::Client;
use super::trouble::{self, Remedy, Trouble};
use super::{Progress, Wanted, all, file, image, packages};
use crate::failure::Failure;

/// What became of asking for one.
enum Answer {
    Wanted(Wanted),
    /// Its reference, and why it is left out.
    Absent(String),
    /// The folder has it, as it turned out.
    Held,
}

/// Asks for digests and lengths of all before the first is fetched: what can't be had is told at once.
pub(super) async fn resolve(
    client: &Arc<Client>,
    (folder, held): (&Path, &Bundle),
    items: Vec<Item>,
    progress: &Arc<dyn Progress>,
) -> Result<(Vec<Wanted>, Vec<String>), Vec<Failure>> {
    let held = Arc::new(held.packages.clone());
    let answers = all(items, |item| {
        let (client, folder, held, progress) = (Arc::clone(client), folder.to_owned(), Arc::clone(&held), Arc::clone(progress));
        async move { resolve_one(&client, item, (&folder, &held), &*progress).await }
    })
    .await;
    let (mut wanted, mut absent, mut troubles) = (Vec::new(), Vec::new(), Vec::new());
    for answer in answers {
        match answer {
            Ok(Answer::Wanted(one)) => wanted.push(one),
            Ok(Answer::Absent(absence)) => absent.push(absence),
            Ok(Answer::Held) => {}
            Err(trouble) => troubles.push(trouble),
        }
    }
    if troubles.is_empty() { Ok((wanted, absent)) } else { Err(trouble::failures(troubles)) }
}

async fn resolve_one(
    client: &Client,
    item: Item,
    (folder, held): (&Path, &[BundlePackages]),
    progress: &dyn Progress,
) -> Result<Answer, Trouble> {
    match item {
        Item::File(file) => file::resolve(client, &file).await.map(|(digest, size)| Answer::Wanted(Wanted::File(file, digest, size))),
        Item::Image(image) => match image::resolve(client, &image).await {
            Ok(resolved) => Ok(Answer::Wanted(Wanted::Image(image, Box::new(resolved)))),
            // Registries don't say of all that they lack that they lack it: some deny it, as if it were somebody's.
            Err(trouble) if image.may_be_absent && trouble.remedy != Remedy::Network => {
                Ok(Answer::Absent(format!("{} is left out: {}", image.reference, trouble.because())))
            }
            Err(trouble) => Err(trouble),
        },
        Item::Packages(item) => {
            let resolved = packages::resolve(client, folder, (&item, held), progress).await?;
            Ok(resolved.map_or(Answer::Held, |resolved| Answer::Wanted(Wanted::Packages(item, resolved))))
        }
    }
}
