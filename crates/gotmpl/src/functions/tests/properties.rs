//! For arguments of the declared types, no function panics or exhausts memory.

use proptest::prelude::*;

use super::host::FixedHost;
use crate::function::{Call, Dialect, Function, Ty};
use crate::functions::{MAX_TEXT, table};
use crate::value::{Element, List, Map, MapType, Value};
use crate::{fmt, json};

/// Too slow to be called thousands of times without optimization.
const SLOW: [&str; 4] = ["bcrypt", "derivePassword", "genPrivateKey", "htpasswd"];

/// Text that looks like what functions parse: numbers, patterns, layouts, documents.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9 (){}\\[\\]\\\\.*+?|^$:,;=\"'<>\n#%/@!~_-]{0,24}",
        "\\PC{0,12}",
        "[0-9a-fxXeEpP_.+-]{0,12}",
        "[><=~^!vxX*0-9. ,|-]{0,16}",
        "(2006|01|02|Jan|Mon|15|04|05|PM|MST|-0700|Z07:00|\\.000|[-: T])*",
        "[0-9TZ:. +-]{0,24}",
        Just("é€😀\u{2028}".to_owned()),
    ]
}

fn integer() -> impl Strategy<Value = i64> {
    prop_oneof![
        -70_i64..70,
        any::<i64>(),
        prop_oneof![
            Just(i64::MAX),
            Just(i64::MIN),
            Just(1 << 40),
            Just(1_000_000_000)
        ],
    ]
}

fn float() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        -1e6..1e6,
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(-0.0),
        Just(5e-324),
    ]
}

fn string() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => text().prop_map(Value::str),
        1 => proptest::collection::vec(any::<u8>(), 0..12).prop_map(Value::str),
    ]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Nil),
        any::<bool>().prop_map(Value::Bool),
        integer().prop_map(Value::Int),
        integer().prop_map(Value::Int64),
        any::<u8>().prop_map(Value::Uint8),
        any::<u64>().prop_map(Value::Uint64),
        float().prop_map(Value::Float),
        string(),
        Just(Value::List(List::nil(Element::Any))),
        Just(Value::Map(Map::nil(MapType::Any))),
        Just(time()),
        Just(call("semver", &[Value::str("v1.2.3-a+b")])),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::list),
            proptest::collection::vec(inner, 0..4).prop_map(|values| {
                let keys = ["a", "b", "scheme", "path"];
                let entries = keys.iter().map(|key| (*key).into()).zip(values);
                Value::map(entries.collect())
            }),
        ]
    })
}

fn time() -> Value {
    call("toDate", &[Value::str("2006"), Value::str("2024")])
}

fn certificate() -> Value {
    let key = call("genPrivateKey", &[Value::str("ed25519")]);
    call("genCAWithKey", &[Value::str("ca"), Value::Int(1), key])
}

/// A value of the type, or nil where Go allows it.
fn of_type(ty: Ty) -> BoxedStrategy<Value> {
    match ty {
        Ty::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Ty::Int => integer().prop_map(Value::Int).boxed(),
        Ty::Int64 => integer().prop_map(Value::Int64).boxed(),
        Ty::Float64 => float().prop_map(Value::Float).boxed(),
        Ty::String => string().boxed(),
        Ty::Map => any_value()
            .prop_map(|value| match value {
                Value::Map(map) => Value::Map(map),
                other => Value::map(vec![("a".into(), other)]),
            })
            .boxed(),
        Ty::List => proptest::collection::vec(any_value(), 0..4)
            .prop_map(Value::list)
            .boxed(),
        Ty::Named("time.Time") => Just(time()).boxed(),
        Ty::Named("sprig.certificate") => Just(certificate()).boxed(),
        Ty::Named("uint32") => any::<u32>().prop_map(|n| Value::Uint64(n.into())).boxed(),
        _ => any_value().boxed(),
    }
}

fn arguments(function: &Function) -> BoxedStrategy<Vec<Value>> {
    let mut strategies: Vec<BoxedStrategy<Value>> =
        function.params.iter().map(|ty| of_type(*ty)).collect();
    if function.variadic {
        strategies.extend(strategies.last().cloned());
    }
    let least = function.params.len() - usize::from(function.variadic);
    let most = strategies.len();
    (strategies, least..=most)
        .prop_map(|(mut args, count)| {
            args.truncate(count);
            args
        })
        .boxed()
}

fn call(name: &str, args: &[Value]) -> Value {
    let function = table().iter().find(|function| function.name == name);
    let host = FixedHost::default();
    let mut call = Call {
        host: &host,
        dialect: &Dialect::HELM_4,
        memory_bytes: usize::MAX,
    };
    let body = function.expect("the function exists").body;
    body(&mut call, args).expect("the call succeeds")
}

fn run(function: &Function, dialect: &Dialect, args: &[Value]) -> Result<Value, String> {
    let host = FixedHost::default();
    let mut call = Call {
        host: &host,
        dialect,
        memory_bytes: usize::MAX,
    };
    (function.body)(&mut call, args).map_err(|error| error.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn no_function_panics(
        (at, args) in (0..table().len())
            .prop_flat_map(|at| (Just(at), arguments(&table()[at]))),
        helm_4 in any::<bool>(),
    ) {
        let function = &table()[at];
        if !SLOW.contains(&function.name) {
            let dialect = if helm_4 { Dialect::HELM_4 } else { Dialect::HELM_3 };
            if let Ok(Value::Str(text)) = run(function, &dialect, &args) {
                prop_assert!(text.len() <= MAX_TEXT + 1024);
            }
        }
    }

    #[test]
    fn no_format_panics(format in "(%[-+# 0]*[0-9*]{0,2}(\\.[0-9*]{0,3})?(\\[[0-9]\\])?[vTtdsqxXcUeEfFgGbopO%z]|[a-z%]){0,6}",
        args in proptest::collection::vec(any_value(), 0..4)) {
        fmt::sprintf(format.as_bytes(), &args);
        fmt::sprint(&args);
        fmt::sprintln(&args);
    }

    #[test]
    fn json_reads_back_what_it_writes(value in any_value()) {
        for escape_html in [true, false] {
            if let Ok(text) = json::encode(&value, escape_html) {
                let read = json::decode(&text).expect("its own text");
                prop_assert_eq!(json::encode(&read, escape_html).expect("a plain value").is_empty(), text.is_empty());
            }
        }
        if let Ok(text) = json::encode_pretty(&value) {
            prop_assert!(json::decode(&text).is_ok());
        }
    }

    #[test]
    fn floats_read_back_the_same(x in any::<f64>()) {
        if x.is_finite() {
            let shown = String::from_utf8(fmt::display(&Value::Float(x))).expect("ASCII");
            prop_assert_eq!(shown.parse::<f64>().expect("a number").to_bits(), x.to_bits());
        }
    }

    #[test]
    fn versions_sort_the_same_both_ways(a in "v?[0-9]{1,3}(\\.[0-9]{1,2}){0,2}(-[a-z0-9.]{1,5})?", b in "[0-9]\\.[0-9](-[a-z0-9.]{1,5})?") {
        if let (Ok(a), Ok(b)) = (outrigger_gostd::semver::Version::parse(&a), outrigger_gostd::semver::Version::parse(&b)) {
            prop_assert_eq!(a.compare(&b), b.compare(&a).reverse());
            let range = outrigger_gostd::semver::Constraint::parse(&format!(">={a}")).expect("a range");
            prop_assert!(range.check(&a));
        }
    }
}

#[test]
fn rejects_results_that_exhaust_memory() {
    let huge = Value::Int(1_000_000_000);
    let lines = Value::str("\n".repeat(1000));
    let cases: [(&str, Vec<Value>); 9] = [
        ("repeat", vec![huge.clone(), Value::str("x")]),
        ("repeat", vec![Value::Int(i64::MAX), Value::str("xy")]),
        ("indent", vec![huge.clone(), Value::str("")]),
        ("nindent", vec![Value::Int(1_000_000), lines.clone()]),
        ("until", vec![huge.clone()]),
        (
            "untilStep",
            vec![Value::Int(i64::MIN), Value::Int(i64::MAX), Value::Int(1)],
        ),
        ("seq", vec![huge.clone()]),
        ("randAlphaNum", vec![huge]),
        (
            "replace",
            vec![Value::str(""), Value::str("x".repeat(100_000)), lines],
        ),
    ];
    for (name, args) in cases {
        let function = table().iter().find(|function| function.name == name);
        let outcome = run(
            function.expect("the function exists"),
            &Dialect::HELM_3,
            &args,
        );
        assert_eq!(
            outcome.err().as_deref(),
            Some("exceeded maximum size of a value (67108864 bytes)"),
            "{name}"
        );
    }
}

#[test]
fn traversals_of_a_map_that_contains_itself_terminate() {
    let map = Map::default();
    map.set("self".into(), Value::Map(map.clone()));
    let value = Value::Map(map.clone());
    assert!(json::encode(&value, true).is_err());
    assert!(fmt::display(&value).ends_with(b"]"));
    for name in [
        "deepCopy",
        "toJson",
        "toToml",
        "deepEqual",
        "merge",
        "quote",
    ] {
        let function = table().iter().find(|function| function.name == name);
        let function = function.expect("the function exists");
        let args = vec![value.clone(); function.params.len()];
        let _ = run(function, &Dialect::HELM_4, &args);
    }
    map.remove(b"self");
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    for (name, open, close) in [
        ("regexMatch", "(", ")"),
        ("regexMatch", "(?:a|", ")"),
        ("fromJson", "[", "]"),
        ("fromJson", "{\"a\":", "}"),
        ("fromToml", "a=[", "]"),
        ("fromToml", "a={a=", "}"),
    ] {
        for depth in [190, 900] {
            let text = format!("{}{}", open.repeat(depth), close.repeat(depth));
            let args = [Value::str(text), Value::str("x")];
            let function = table().iter().find(|function| function.name == name);
            let function = function.expect("the function exists");
            assert!(run(function, &Dialect::HELM_3, &args[..function.params.len()]).is_ok());
        }
    }
}
