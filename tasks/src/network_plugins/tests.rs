#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::fs;
use std::path::{Path, PathBuf};

use kok_crds::model::NetworkPlugin;

use super::{all, plugin_of_kind};

#[test]
fn every_kind_has_its_own_module() {
    for kind in NetworkPlugin::ALL {
        assert_eq!(plugin_of_kind(kind).kind, kind);
    }
}

#[test]
fn steps_of_plugins_are_of_the_tasks_that_make_them() {
    for plugin in all() {
        assert!(plugin.images.iter().all(|step| step.task() == "images"), "{}", plugin.called);
        assert!(plugin.programs.iter().all(|program| program.step.task() == "container-runtime"), "{}", plugin.called);
        assert!(plugin.workloads.iter().all(|workload| workload.step.task() == "network"), "{}", plugin.called);
        assert!(plugin.workloads.iter().all(|workload| plugin.images.contains(&workload.image)), "{}", plugin.called);
    }
}

/// What stands in `reset` as it stands in the plugin: a script that does not end its last line would swallow the next one.
#[test]
fn leftovers_fit_into_the_script_of_reset() {
    for plugin in all() {
        let left = &plugin.leftovers;
        assert!(left.script.is_empty() || left.script.ends_with('\n'), "{}", plugin.called);
        assert!(left.paths.iter().all(|path| path.starts_with('/') && path.matches('/').count() > 1), "{}", plugin.called);
        assert!(left.tables.iter().all(|table| table.split(' ').count() == 2), "{}", plugin.called);
    }
}

/// Which plugin it is decides only here: whoever asks elsewhere would have to be found when the next one comes.
#[test]
fn nothing_else_asks_which_plugin_it_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut found, mut read) = (Vec::new(), 0);
    for path in ["src", "../src"].into_iter().flat_map(|folder| files(&root.join(folder))) {
        let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        if name.starts_with("src/network_plugins/") || name.contains("/tests/") || name.ends_with("/tests.rs") {
            continue;
        }
        read += 1;
        found.extend(asking_lines(&fs::read_to_string(&path).unwrap()).map(|line| format!("{name}: {line}")));
    }
    assert!(read > 300, "these are not the sources: {read}");
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn who_asks_is_found() {
    let asks =
        ["match network.plugin { NetworkPlugin::Flannel => 1, _ => 2 }", "if network.plugin.as_str() == \"flannel\" {", "plugin.kind =="];
    for line in asks {
        assert_eq!(asking_lines(line).count(), 1, "{line}");
    }
    let other = "/// `NetworkPlugin` is the model's.\nformat!(\"{}\", cluster.network.plugin.as_str())\n#[cfg(test)]\nmod tests { NetworkPlugin::None }";
    assert_eq!(asking_lines(other).count(), 0);
}

/// Lines of what runs that ask which one it is: by the enum, or by its word.
fn asking_lines(text: &str) -> impl Iterator<Item = String> {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let asks = |line: &&str| ["NetworkPlugin", "plugin.as_str() ==", "plugin.kind =="].iter().any(|word| line.contains(word));
    let code: Vec<String> = code.lines().map(str::trim).filter(|line| !line.starts_with("//")).filter(asks).map(str::to_owned).collect();
    code.into_iter()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    found
}
