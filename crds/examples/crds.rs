//! Writes the CustomResourceDefinitions into a folder, for `make crds`.

use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = env::args_os().nth(1).map(PathBuf::from).ok_or_else(|| io::Error::other("usage: crds FOLDER"))?;
    for definition in kok_crds::schema::definitions() {
        let file = folder.join(definition.path);
        fs::create_dir_all(file.parent().unwrap_or(&folder))?;
        fs::write(file, definition.yaml)?;
    }
    Ok(())
}
