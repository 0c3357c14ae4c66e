//! Help, mistakes, completion and the forms of output.

use outrigger_testing::TestContext;

fn run(args: &[&str]) -> String {
    let context = TestContext::new(env!("CARGO_BIN_EXE_outrigger")).unwrap();
    context.run(args.iter().copied()).unwrap()
}

#[test]
fn help_shows_commands_and_examples() {
    insta::assert_snapshot!(run(&["--help"]));
}

#[test]
fn no_arguments_show_the_help_as_a_mistake() {
    let text = run(&[]);
    assert!(text.starts_with("exit code: 2"), "{text}");
    assert!(text.contains("Usage: outrigger"), "{text}");
}

#[test]
fn a_wrong_flag_is_named_and_the_right_one_suggested() {
    insta::assert_snapshot!(run(&["version", "--outputt", "json"]));
}

#[test]
fn an_unknown_verb_is_named_and_the_nearest_suggested() {
    insta::assert_snapshot!(run(&["versoin"]));
}

#[test]
fn a_wrong_form_of_output_lists_the_right_ones() {
    insta::assert_snapshot!(run(&["version", "-o", "xml"]));
}

#[test]
fn a_result_comes_as_table_json_or_yaml() {
    let version = env!("CARGO_PKG_VERSION");
    let platform = "linux/x86_64";
    let lines =
        |form: &str| run(&["version", "-o", form]).replace(std::env::consts::ARCH, "x86_64");
    assert!(lines("table").contains(&format!("VERSION   PLATFORM\n{version}     {platform}\n")));
    assert!(lines("json").contains(&format!("{{\n  \"version\": \"{version}\",\n")));
    assert!(lines("yaml").contains(&format!("platform: {platform}\nversion: {version}\n")));
}

#[test]
fn an_unknown_shell_ends_with_a_hint() {
    insta::assert_snapshot!(run(&["completion"]));
}

#[test]
fn each_shell_gets_a_completion_script() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let text = run(&["completion", shell]);
        assert!(text.starts_with("exit code: 0"), "{text}");
        assert!(text.contains("outrigger"), "{text}");
    }
}
