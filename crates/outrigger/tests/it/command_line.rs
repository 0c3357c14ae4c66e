//! Help, usage errors, completion and output formats.

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
fn no_arguments_print_the_help_as_a_usage_error() {
    let text = run(&[]);
    assert!(text.starts_with("exit code: 2"), "{text}");
    assert!(text.contains("Usage: outrigger"), "{text}");
}

#[test]
fn an_unknown_flag_is_named_with_a_suggestion() {
    insta::assert_snapshot!(run(&["version", "--outputt", "json"]));
}

#[test]
fn an_unknown_command_is_named_with_a_suggestion() {
    insta::assert_snapshot!(run(&["versoin"]));
}

#[test]
fn an_invalid_output_format_lists_the_valid_ones() {
    insta::assert_snapshot!(run(&["version", "-o", "xml"]));
}

/// Before a chart is loaded or a cluster is connected to.
#[test]
fn an_invalid_expression_of_a_value_is_the_same_usage_error_in_all_commands() {
    let commands: [&[&str]; 9] = [
        &["chart", "template", "web", "./gone"],
        &["chart", "lint", "./gone"],
        &["chart", "images", "./gone"],
        &["image", "list", "--chart", "./gone"],
        &["plugin", "install", "web", "./gone"],
        &["plugin", "set", "web"],
        &["plugin", "upgrade", "web"],
        &["plugin", "upgrade", "web", "./gone"],
        &["plugin", "diff", "web", "--repo", "./gone"],
    ];
    for command in commands {
        for (flag, expression, message) in [
            ("--set", "a", "--set data: key \"a\" has no value"),
            (
                "--set",
                "a[x]=1",
                "--set data: error parsing index: strconv.Atoi: parsing \"x\": invalid syntax",
            ),
            (
                "--set-string",
                "a",
                "--set-string data: key \"a\" has no value",
            ),
            (
                "--set-literal",
                "a",
                "--set-literal data: key \"a\" has no value",
            ),
            ("--set-file", "a", "--set-file data: key \"a\" has no value"),
            ("--set-json", "a={", "--set-json data a={"),
            ("--set-json", "{", "--set-json data JSON: {"),
        ] {
            let text = run(&[command, &[flag, expression]].concat());
            assert!(text.starts_with("exit code: 2"), "{command:?}: {text}");
            let message = format!("Error: failed parsing {message}\n");
            assert!(text.contains(&message), "{command:?}: {text}");
        }
        let text = run(&[command, &["--set-file", "a=gone.txt"]].concat());
        assert!(text.starts_with("exit code: 1"), "{command:?}: {text}");
        let message = "Error: failed parsing --set-file data: open gone.txt: no such file";
        assert!(text.contains(message), "{command:?}: {text}");
    }
}

#[test]
fn version_prints_as_table_json_or_yaml() {
    let version = env!("CARGO_PKG_VERSION");
    let platform = "linux/x86_64";
    let lines =
        |format: &str| run(&["version", "-o", format]).replace(std::env::consts::ARCH, "x86_64");
    assert!(lines("table").contains(&format!("VERSION   PLATFORM\n{version}     {platform}\n")));
    assert!(lines("json").contains(&format!("{{\n  \"version\": \"{version}\",\n")));
    assert!(lines("yaml").contains(&format!("platform: {platform}\nversion: {version}\n")));
}

#[test]
fn an_unknown_shell_prints_a_hint() {
    insta::assert_snapshot!(run(&["completion"]));
}

#[test]
fn completion_prints_a_script_for_each_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let text = run(&["completion", shell]);
        assert!(text.starts_with("exit code: 0"), "{text}");
        assert!(text.contains("outrigger"), "{text}");
    }
}

/// The script calls the program that is completed, which is a function here.
#[test]
fn names_of_objects_are_completed_in_bash() {
    let bash = TestContext::new("/bin/bash").unwrap();
    if !std::path::Path::new("/bin/bash").exists() {
        return;
    }
    let script = run(&["completion", "bash"]);
    let script = script.split("----- stdout -----\n").nth(1).unwrap();
    let script = script.split("\n----- stderr -----").next().unwrap();
    bash.write("script", script).unwrap();
    let complete = |words: &str| {
        let text = format!(
            "outrigger() {{ [ \"$1 $2\" = 'completion --names' ] && echo \"my-$3 other\"; }}
             . ./script
             COMP_WORDS=({words}) COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
             _outrigger_with_names outrigger \"${{COMP_WORDS[COMP_CWORD]}}\" ''
             for word in \"${{COMPREPLY[@]}}\"; do echo \"$word\"; done"
        );
        let output = bash.run(["-c", &text]).unwrap();
        let lines = output.lines().skip(2);
        let lines = lines.take_while(|line| !line.starts_with("-----"));
        let names = lines.filter(|line| line.starts_with("my-"));
        names.map(ToOwned::to_owned).collect::<Vec<String>>()
    };
    assert_eq!(complete("outrigger cluster status my"), ["my-clusters"]);
    assert_eq!(complete("outrigger machines run my"), ["my-machines"]);
    assert_eq!(complete("outrigger plugin uninstall my"), ["my-plugins"]);
    let flag = complete("outrigger machine list --cluster my");
    assert_eq!(flag, ["my-clusters"]);
    assert!(complete("outrigger cluster create my").is_empty());
    assert!(complete("outrigger chart lint my").is_empty());
}

#[test]
fn the_help_command_prints_the_help_of_a_command() {
    assert_eq!(run(&["help"]), run(&["--help"]));
    let help = run(&["help", "apiserver", "backup"]);
    assert_eq!(help, run(&["apiserver", "backup", "--help"]));
    assert!(help.starts_with("exit code: 0"), "{help}");
}

#[test]
fn a_server_needs_a_place_for_its_data() {
    let text = run(&["apiserver"]);
    assert!(text.starts_with("exit code: 2"), "{text}");
    assert!(text.contains("<--data <DIR>|--in-memory>"), "{text}");
    assert!(text.contains("Error: the following required"), "{text}");
}

#[test]
fn an_invalid_address_is_answered_with_an_example() {
    let text = run(&["apiserver", "--in-memory", "--listen", "example.com:80"]);
    assert!(text.starts_with("exit code: 2"), "{text}");
    assert!(text.contains("such as 127.0.0.1:7445"), "{text}");
}

#[test]
fn a_port_in_use_is_answered_with_another_port() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    for command in [
        &["apiserver", "--in-memory", "--listen", &address][..],
        &["up", "--listen", &address],
        &["registry", "serve", "--data", "a", "--listen", &address],
    ] {
        let text = run(command);
        assert!(
            text.contains("hint: choose another port, or 0 for a free one"),
            "{text}"
        );
        assert!(!text.contains("--allow-remote"), "{text}");
    }
}
