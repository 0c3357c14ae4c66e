//! The commands of staged plugins: help, files, and mistakes.

use outrigger_testing::TestContext;

fn context() -> TestContext {
    TestContext::new(env!("CARGO_BIN_EXE_outrigger")).unwrap()
}

#[test]
fn help_lists_the_verbs() {
    insta::assert_snapshot!(context().run(["stack", "--help"]).unwrap());
}

#[test]
fn each_verb_has_help_with_an_example() {
    for verb in ["new", "plugins", "init", "render", "plan", "diff", "lint"] {
        let text = context().run(["stack", verb, "--help"]).unwrap();
        assert!(text.starts_with("exit code: 0"), "{text}");
        assert!(text.contains("Examples:"), "{text}");
        assert!(text.contains(&format!("outrigger stack {verb}")), "{text}");
    }
}

#[test]
fn without_a_configuration_the_error_has_a_hint() {
    insta::assert_snapshot!(context().run(["stack", "lint"]).unwrap());
}

#[test]
fn new_does_not_overwrite_a_file() {
    let context = context();
    context.write("cluster.yaml", "mine").unwrap();
    let text = context.run(["stack", "new", "demo"]).unwrap();
    assert!(text.starts_with("exit code: 1"), "{text}");
    let kept = fs_err::read_to_string(context.directory().join("cluster.yaml")).unwrap();
    assert_eq!(kept, "mine");
}

#[test]
fn a_fatal_finding_leaves_the_last_render_as_it_was() {
    let context = context();
    context.run(["stack", "new", "demo"]).unwrap();
    let text = context.run(["stack", "render"]).unwrap();
    assert!(text.starts_with("exit code: 0"), "{text}");
    let index = context.directory().join("stack/render/index.yaml");
    let before = fs_err::read(&index).unwrap();
    let configuration = context.directory().join("cluster.yaml");
    let text = fs_err::read_to_string(&configuration).unwrap();
    let text = text.replace("vpcCIDR: 10.0.0.0/16", "vpcCIDR: nonsense");
    context.write("cluster.yaml", &text).unwrap();

    let text = context.run(["stack", "render"]).unwrap();
    assert!(text.starts_with("exit code: 1"), "{text}");
    assert!(text.contains("fatal: network:"), "{text}");
    assert_eq!(fs_err::read(&index).unwrap(), before);
}

#[test]
fn a_plan_of_an_unknown_plugin_is_an_error_with_a_suggestion() {
    let context = context();
    context.run(["stack", "new", "demo"]).unwrap();
    let text = context
        .run(["stack", "plan", "--plugin", "kube2ima"])
        .unwrap();
    assert!(text.starts_with("exit code: 1"), "{text}");
    assert!(text.contains("plugin kube2ima does not exist"), "{text}");
    assert!(text.contains("did you mean kube2iam?"), "{text}");
}

#[test]
fn new_rejects_a_name_that_is_not_the_name_of_a_stack() {
    for name in ["Bad_Name", "1demo", "a.b"] {
        let context = context();
        let text = context.run(["stack", "new", name]).unwrap();
        assert!(text.starts_with("exit code: 1"), "{text}");
        assert!(text.contains("invalid cluster name"), "{text}");
        assert!(!context.directory().join("cluster.yaml").exists());
    }
}
