//! Kubespray's tags stand for tasks that there are.

use kok_crds::operation::TAGS;
use kok_tasks::list::TASKS;

#[test]
fn every_task_of_a_tag_is_there() {
    let names: Vec<&str> = TASKS.iter().map(|task| task.name).collect();
    let missing: Vec<&str> = TAGS.iter().flat_map(|tag| tag.tasks).copied().filter(|task| !names.contains(task)).collect();
    assert_eq!(missing, Vec::<&str>::new());
}
