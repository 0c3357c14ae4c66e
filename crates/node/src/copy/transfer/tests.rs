//! Copies while other users of the machine interfere.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;

use super::super::Entry;
use super::*;

/// A copy to a folder in which every user can create files, such as `/tmp`. `plant` runs between comparison and transfer,
/// when names of staging folders can be known.
async fn copy_to_shared(plant: impl FnOnce(&Plan<'_>)) -> (tempfile::TempDir, Option<CopyError>) {
    let folder = tempfile::tempdir().unwrap();
    let shared = folder.path().join("shared");
    fs_err::create_dir(&shared).unwrap();
    fs_err::set_permissions(&shared, std::fs::Permissions::from_mode(0o1777)).unwrap();
    fs_err::create_dir(folder.path().join("files")).unwrap();
    fs_err::write(folder.path().join("files/hook"), "ours").unwrap();
    let entry = |source: &str, destination: &str| Entry {
        source: source.into(),
        destination: shared.join(destination).display().to_string(),
    };
    let entries = [entry("files/hook", "hook"), entry("files", "hooks")];
    let tree = Tree::scan(folder.path(), &entries, &BTreeSet::new()).unwrap();
    let state = folder.path().join("state").display().to_string();
    let machine = Machine::local_with_state(Some(state));
    let (mut shell, preamble) = machine.start_with_state(&program(&tree)).await.unwrap();
    let mut answers = Answers::new(&machine, &mut shell.events, preamble, max_answer(&tree));
    let answer = answers.until_line("end").await.unwrap();
    let plan = plan(&tree, &answer, "m").unwrap();
    plant(&plan);
    let result = machine
        .transfer(&plan, &mut shell.input, &mut answers)
        .await;
    (folder, result.err())
}

fn plant(folder: &str) {
    fs_err::create_dir(folder).unwrap();
    fs_err::set_permissions(folder, std::fs::Permissions::from_mode(0o777)).unwrap();
}

#[tokio::test]
async fn folders_that_somebody_else_made_in_between_are_not_used() {
    let shared = |plan: &Plan<'_>| plan.send[0].0.trim_end_matches("/hook").to_owned();
    let planted: [fn(&Plan<'_>) -> String; 3] = [
        |plan| plan.control_folder(),
        |plan| {
            plan.staged(plan.send[0].0)
                .trim_end_matches("/hook")
                .to_owned()
        },
        |plan| plan.new_folders[0].0.to_owned(),
    ];
    for name in planted {
        let mut planted = String::new();
        let (folder, error) = copy_to_shared(|plan| {
            planted = name(plan);
            assert!(planted.starts_with(&shared(plan)), "{planted}");
            plant(&planted);
        })
        .await;
        let error = error.expect("the folder is in the way").to_string();
        assert!(error.contains("File exists"), "{error}");
        let left = fs_err::read_dir(&planted).map_or(0, Iterator::count);
        assert_eq!(left, 0, "nothing is written to {planted}");
        assert!(!folder.path().join("shared/hook").exists());
    }
}

#[tokio::test]
async fn files_reach_shared_folders() {
    let mut stages = Vec::new();
    for _ in 0..2 {
        let (folder, error) = copy_to_shared(|plan| stages.push(plan.stage())).await;
        assert!(error.is_none(), "{error:?}");
        for name in ["hook", "hooks/hook"] {
            let path = folder.path().join("shared").join(name);
            assert_eq!(fs_err::read_to_string(path).unwrap(), "ours");
        }
        let names = fs_err::read_dir(folder.path().join("shared")).unwrap();
        assert_eq!(names.count(), 2, "no staging folder is left");
    }
    let random = |stage: &String| stage.rsplit_once('.').map(|(name, _)| name.to_owned());
    assert_ne!(
        random(&stages[0]),
        random(&stages[1]),
        "names can be guessed"
    );
}
