//! The expected results are those of `helm show values --jsonpath` 3.17.3 for these values.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn values() -> Value {
    json!({
        "s": "text", "million": 1e6, "f": 1.5, "b": true, "z": null, "big": 123_456_789.0, "i": 80.0, "e": {}, "el": [],
        "m": {"k": [10.0, 20.0, 30.0], "b.c": 7.0},
        "list": [
            {"name": "x", "v": 1.0}, {"name": "why", "v": 2.0}, {"name": "z"}, {"name": "<&>", "v": 2.5},
        ],
        "mixed": [{"a": 1.0}, null, {"a": 2.0}],
        "nest": [{"p": [1.0, 2.0]}, {"p": []}, {"p": [3.0]}],
        "str": ["b", "a"],
    })
}

/// Helm prints nothing if the evaluation fails.
#[track_caller]
fn check(template: &str, expected: &str) {
    let path = JsonPath::parse(template).unwrap();
    let found = path.execute(&values(), MissingKeys::Reject);
    assert_eq!(found.unwrap_or_default(), expected, "{template}");
}

#[track_caller]
fn check_invalid(template: &str, expected: &str) {
    let error = JsonPath::parse(template).unwrap_err();
    assert_eq!(error.to_string(), expected, "{template}");
}

#[test]
fn fields_are_selected_as_by_helm() {
    check("{.s}", "text");
    check("{.million}", "1e+06");
    check("{.big}", "1.23456789e+08");
    check("{.f}", "1.5");
    check("{.b}", "true");
    check("{.z}", "null");
    check("{.missing}", "");
    check("{.missing.x}", "");
    check("{.}", "");
    check("{$.s}", "text");
    check("{@.s}", "text");
    check("{.m.k}", "[10,20,30]");
    check("{.list[0]}", r#"{"name":"x","v":1}"#);
    check("{.e}{.i}", "{}80");
    check("{.s.x}", "");
    check("{ .s }", "text");
    check("{.s}{.missing}{.f}", "");
    check("{.m['b.c']}", "");
    check(r"{.m['b\.c']}", "7");
    check(r"{.m.b\.c}", "7");
    check("{.m['k'][1]}", "20");
    check("{.list['name']}", "");
    check("{.z.x}", "");
    check("{.5}", "");
    check("{.s.*}", "116 101 120 116");
    check("{.mixed[*].a}", "1 2");
}

#[test]
fn slices_are_selected_as_by_helm() {
    check("{.list[0].name}", "x");
    check("{.list[-1].name}", "<&>");
    check("{.list[*].name}", "x why z <&>");
    check("{.list[*].v}", "1 2 2.5");
    check("{.list[0:2].name}", "x why");
    check("{.list[0:3:2].name}", "x z");
    check("{.list[7]}", "");
    check("{.list[1:1].name}", "");
    check("{.list[:].name}", "x why z <&>");
    check("{.list[].name}", "x");
    check("{.list[0,2].name}", "x z");
    check("{.list[*]['name','v']}", "x why z <&> 1 2 2.5");
    check("{.m.k[-2:]}", "20 30");
    check("{.m.k[:2]}", "10 20");
    check("{.m.k[::2]}", "10 30");
    check("{.m.k[::0]}", "");
    check("{.m.k[::-1]}", "");
    check("{.m.k[2:1]}", "");
    check("{.m.k[-1:0]}", "");
    check("{.m.k[-5]}", "");
    check("{.m.k[1:-1]}", "20");
    check("{.m.k[0:9]}", "");
    check("{.el[*]}", "");
    check("{.el[0]}", "");
    check("{.mixed[1]}", "null");
    check("{.mixed[1].a}", "");
    check("{.mixed[1][0]}", "");
    check("{.s[0]}", "");
}

#[test]
fn filters_are_evaluated_as_by_helm() {
    check(r#"{.list[?(@.name=="why")].v}"#, "2");
    check("{.list[?(@.name=='why')].v}", "2");
    check("{.list[?(@.v==2.0)].name}", "");
    check("{.nest[?(@.p)].p}", "[1,2] [] [3]");
    check("{.list[?(@.v)].name}", "x why <&>");
    check(r#"{.list[?(@.name!="why")].name}"#, "x z <&>");
    check("{.m.k[?(@>15)]}", "");
    check("{.m.k[?(@>15.0)]}", "20 30");
    check("{.m.k[?(@>=20.0)]}", "20 30");
    check("{.m.k[?(@<=20.0)]}", "10 20");
    check("{.m.k[?(@<20.0)]}", "10");
    check(r#"{.str[?(@=="a")]}"#, "a");
    check(r#"{.str[?(@>"a")]}"#, "b");
    check("{.list[?(@.name==@.name)].v}", "1 2 2.5");
    check("{.b[?(@.x)]}", "");
    check("{.z[?(@.x)]}", "");
    check("{.list[?(@.v=1)]}", "");
    check("{.mixed[?(@.a)].a}", "1 2");
    check("{.mixed[?(@)].a}", "1 2");
    check("{.str[?(@==1)]}", "");
    check(r#"{.str[?(@=="a)")]}"#, "");
    check(r#"{.str[?(@!="a)")]}"#, "b a");
    check("{.mixed[?(@==null)]}", "");
}

#[test]
fn descents_select_as_by_helm() {
    check("{..k}", "[10,20,30]");
    check("{..name}", "x why z <&>");
    check("{..k[0]}", "10");
    check("{.list..v}", "1 2 2.5");
    check("{...k}", "[10,20,30]");
    check("{.nest..p[*]}", "1 2");
    check("{.str..}", r#"["b","a"] b a"#);
}

#[test]
fn ranges_and_text_are_printed_as_by_helm() {
    check(
        r#"{range .list[*]}{.name}{"\t"}{end}done"#,
        "x\twhy\tz\t<&>\tdone",
    );
    check("{range .m.k[*]}[{@}]{end}", "[10][20][30]");
    check(r#"{range .list[*]}{.name}={.v}{"\n"}{end}"#, "");
    check("{range .el[*]}{.x}{end}after", "");
    check("{range .el[*]}{@}{end}after", "after");
    check("{range .el[*]}q{end}after", "after");
    check("{range .list[*]}{.name}", "");
    check("{range .mixed[*]}{.a},{end}", "");
    check(
        "{range .nest[*]}({range .p[*]}{@};{end}){end}.",
        "(1;2;)()(3;).",
    );
    check("{range .nest[*]}{range .p[*]}{@}{end}{end}{.s}", "123text");
    check("text {.s} more", "text text more");
    check(".s", ".s");
    check("{s}", "");
    check("{end}", "");
    check(r#"{"a\tb"}"#, "a\tb");
    check(r#"{'a"b'}"#, r#"a"b"#);
    check(r"{'it\'s'}", "it's");
    check("{1}{1.5}{true}{-3}", "11.5true-3");
    check("{1.}{+5}", "15");
    check("{.s}}", "text}");
    check("{true}", "true");
    check("{truex}", "");
    check(r#"{"é"}"#, "é");
}

#[test]
fn invalid_templates_have_the_errors_of_helm() {
    check_invalid("{.s", "unclosed action");
    check_invalid("{.list[a]}", "invalid array index a");
    check_invalid("{.list[?(@.name)}", "unclosed array expect ]");
    check_invalid(
        r#"{.list[?(@.name=~"^x")].name}"#,
        "unrecognized character in action: U+007E '~'",
    );
    check_invalid("{%}", "unrecognized character in action: U+0025 '%'");
    check_invalid("{.list[ 0 ].name}", "invalid array index  0 ");
    check_invalid("{.str..*}", "unrecognized character in action: U+002A '*'");
    check_invalid(r#"{.m["b.c"]}"#, r#"invalid array index "b.c""#);
    check_invalid(r#"{"unterminated}"#, "unterminated quoted string");
    check_invalid("{{.s}}", "unrecognized character in action: U+007B '{'");
    check_invalid("{.list[*]", "unclosed action");
    check_invalid(
        "{.m.k[999999999999999999999]}",
        "array index 999999999999999999999 is not a number",
    );
    check_invalid("{.m.k[-]}", "array index - is not a number");
    check_invalid("{5.5.5}", "cannot parse number 5.5.5");
    check_invalid("{-}", "cannot parse number -");
    check_invalid(r"{'\q'}", r"unquote string '\q' error invalid syntax");
    check_invalid("{.m[k]}", "invalid array index k");
    check_invalid("{.m.k[0", "unterminated array");
    check_invalid("{.list[?(@.name", "unterminated filter");
    check_invalid("{.....k}", "invalid multiple recursive descent");
    check_invalid("{.m.k[1:2:3:4]}", "invalid array index 1:2:3:4");
    check("{.m.k[?()]}", "10 20 30");
}

proptest! {
    #[test]
    fn templates_never_panic(text in "[.\\[\\]?()@=<>{}'\"a-c0-9:*, \\\\-]{0,24}") {
        for template in [text.clone(), format!("{{{text}}}")] {
            if let Ok(path) = JsonPath::parse(&template) {
                let _ = path.execute(&json!({"a": [{"b": 1}, {"c": [1, 2]}]}), MissingKeys::Allow);
            }
        }
    }
}
