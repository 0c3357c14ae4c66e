//! The commands of provider folders.

use outrigger_testing::TestContext;

fn context() -> TestContext {
    let context = TestContext::new(env!("CARGO_BIN_EXE_outrigger")).unwrap();
    for name in ["kubeadm", "kubectl", "kubelet"] {
        let path = format!("lab/1.36.4/amd64/bin/{name}");
        context.write(&path, name).unwrap();
    }
    context
}

#[test]
fn a_folder_is_built_listed_and_checked() {
    let context = context();
    insta::assert_snapshot!(context.run(["provider", "build", "lab"]).unwrap());
    insta::assert_snapshot!(context.run(["provider", "list", "lab"]).unwrap());
    insta::assert_snapshot!(context.run(["provider", "check", "lab"]).unwrap());
    context
        .write("lab/1.36.4/amd64/bin/kubelet", "another")
        .unwrap();
    context.write("lab/notes", "").unwrap();
    let kubectl = context.directory().join("lab/1.36.4/amd64/bin/kubectl");
    fs_err::remove_file(kubectl).unwrap();
    insta::assert_snapshot!(context.run(["provider", "check", "lab"]).unwrap());
}

#[test]
fn an_archive_without_image_is_named() {
    let context = context();
    context
        .write("lab/1.36.4/amd64/images/x.tar", "not an archive")
        .unwrap();
    insta::assert_snapshot!(context.run(["provider", "build", "lab"]).unwrap());
}

#[test]
fn a_folder_without_index_says_how_to_write_it() {
    insta::assert_snapshot!(context().run(["provider", "check", "lab"]).unwrap());
}

#[test]
fn files_in_no_folder_of_a_kind_are_named() {
    let context = context();
    context.write("lab/notes", "").unwrap();
    let text = context.run(["provider", "build", "lab"]).unwrap();
    for part in [
        "exit code: 0\n",
        "notes is not listed in provider.yaml: files are in VERSION/ARCHITECTURE/bin",
        "provider lab: 1 release, 3 files\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_folder_without_releases_is_refused() {
    let context = context();
    let index = "name: empty\nreleases: []\n";
    context.write("empty/provider.yaml", index).unwrap();
    let text = context.run(["provider", "check", "empty"]).unwrap();
    assert!(text.starts_with("exit code: 1\n"), "{text}");
    assert!(text.contains("there is no release"), "{text}");
    context.write("empty/1.36.4/bin/kubelet", "").unwrap();
    let text = context.run(["provider", "build", "empty"]).unwrap();
    for part in [
        "exit code: 1\n",
        "1.36.4/bin/kubelet is not listed in provider.yaml",
        "Error: folder empty has no release\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_folder_that_does_not_exist_is_named() {
    for verb in ["build", "check", "list"] {
        let text = context().run(["provider", verb, "nope"]).unwrap();
        assert!(
            text.contains("Error: folder nope does not exist\n"),
            "{text}"
        );
    }
}
