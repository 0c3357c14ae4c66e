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
