//! Expressions that are meant to crash, hang or exhaust the memory.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use outrigger_cel::{Activation, Allowance, Env, Error, Exhausted, Limits, Program, Type, Value};
use serde_json::json;

fn compile_error(expression: &str) -> String {
    let env = Env::new().variable("self", Type::Dyn);
    env.compile(expression).unwrap_err().to_string()
}

fn run(expression: &str, data: &serde_json::Value) -> Result<String, Error> {
    let env = Env::new().variable("self", Type::Dyn);
    let program = env.compile(expression).unwrap().program().unwrap();
    let activation = Activation::new().variable("self", Value::from_json(data));
    let evaluation = program.evaluate(&activation, Limits::PER_CALL);
    evaluation.result.map(|value| value.to_expression())
}

#[test]
fn message_construction_is_an_undeclared_reference() {
    let error = compile_error("Foo{a:1}.a == 1");
    assert!(error.contains("undeclared reference to 'Foo'"), "{error}");
}

#[test]
fn huge_precision_of_a_format_is_an_error() {
    let error = compile_error("'%.9999999999999999999f'.format([1.0]) == ''");
    assert!(error.contains("value out of range"), "{error}");
    let error = run("self.format([1.0])", &json!("%.99999999f")).unwrap_err();
    assert!(error.to_string().contains("value out of range"), "{error}");
}

#[test]
fn selections_after_a_comment_are_limited_in_depth() {
    let expression = format!("// '\nself{} == 1", ".a".repeat(3900));
    let error = compile_error(&expression);
    assert!(error.contains("max recursion depth exceeded"), "{error}");
}

#[test]
fn every_kind_of_nesting_is_limited_in_depth() {
    let nested =
        |open: &str, close: &str| format!("{}1{}", open.repeat(4_000), close.repeat(4_000));
    for expression in [
        nested("(", ")"),
        nested("[", "]"),
        nested("{1:", "}"),
        nested("f(", ")"),
        nested("[1].all(x, ", ")"),
        nested("-(", ")"),
        nested("!(", ")"),
        "1 + ".repeat(4_000) + "1",
        "true ? 1 : ".repeat(4_000) + "1",
        format!("self{}", "[0]".repeat(4_000)),
    ] {
        let error = compile_error(&expression);
        let is_limit = error.contains("recursion limit exceeded")
            || error.contains("max recursion depth exceeded");
        assert!(is_limit, "{error}");
    }
}

#[test]
fn macros_that_copy_their_target_do_not_explode() {
    let expression = format!("optional.of(1){}", ".optMap(x, x)".repeat(100));
    assert!(compile_error(&expression).contains("expression is too large"));
}

#[test]
fn exponential_types_are_rejected() {
    let expression = format!("[[1]]{}", ".map(x, {1: [x, x], 2: [x, x]})".repeat(50));
    let env = Env::new();
    let _ = env.compile(&expression);
    let expression = format!("[dyn(1)]{}", ".transformMap(i, x, [{'a': x}])".repeat(50));
    let _ = env.compile(&expression);
}

#[test]
fn nested_comprehensions_end_by_their_cost() {
    let mut expression = "true".to_owned();
    for i in 0..8 {
        expression = format!("self.all(v{i}, {expression})");
    }
    let data: Vec<i64> = (0..100).collect();
    assert_eq!(
        run(&expression, &json!(data)),
        Err(Error::CostLimitExceeded)
    );
}

#[test]
fn strings_that_double_end_by_their_size() {
    let expression = format!("[self]{}", ".map(x, dyn(x) + dyn(x))".repeat(60));
    let error = run(&expression, &json!("0123456789")).unwrap_err();
    assert!(error.is_cancellation(), "{error}");
}

#[test]
fn equality_of_shared_values_ends_by_its_size() {
    let expression = format!(
        "[self]{}.map(x, x == x)",
        ".map(x, [x, x, x, x, x, x, x, x, x, x])".repeat(12)
    );
    let error = run(&expression, &json!([1, 2, 3])).unwrap_err();
    assert!(error.is_cancellation(), "{error}");
}

#[test]
fn lists_that_double_cost_no_memory_until_they_are_read() {
    let expression = format!("[self]{}.map(x, x.size())", ".map(x, x + x)".repeat(40));
    assert!(run(&expression, &json!([1])).is_ok());
    let expression = format!(
        "[self]{}.all(x, x.all(y, y == 1))",
        ".map(x, x + x)".repeat(40)
    );
    let error = run(&expression, &json!([1])).unwrap_err();
    assert!(error.is_cancellation(), "{error}");
}

#[test]
fn ranges_and_joins_end_by_their_cost() {
    for expression in [
        "lists.range(9223372036854775807)",
        "lists.range(900000).map(x, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa').join('bbbbbbbbbbbbbbbbbbbbb')",
        "'%s%s%s%s%s%s%s%s%s%s'.format([self,self,self,self,self,self,self,self,self,self]).replace('a', self)",
    ] {
        let error = run(expression, &json!("a".repeat(100_000))).unwrap_err();
        assert!(error.is_cancellation(), "{expression}: {error}");
    }
}

fn program(expression: &str) -> Program {
    let compiled = Env::new().compile(expression).unwrap();
    compiled.program().unwrap()
}

#[test]
fn an_evaluation_that_is_stopped_ends() {
    let program = program("lists.range(1000).all(x, lists.range(1000).all(y, x >= 0))");
    let allowance = Allowance {
        cost: u64::MAX,
        stop: Some(Arc::new(AtomicBool::new(true))),
    };
    let mut result = Ok(false);
    let exhausted = allowance.apply(|| {
        let evaluation = program.evaluate(&Activation::new(), Limits::PER_CALL);
        result = evaluation.result.map(|_| true);
    });
    assert_eq!(exhausted, Err(Exhausted));
    assert_eq!(result, Err(Error::Interrupted));
}

#[test]
fn evaluations_share_their_allowance() {
    let program = program("lists.range(100).all(x, x >= 0)");
    let evaluate = || {
        let evaluation = program.evaluate(&Activation::new(), Limits::PER_CALL);
        evaluation.result.is_ok()
    };
    let allowance = Allowance {
        cost: 2_000,
        stop: None,
    };
    assert_eq!(allowance.clone().apply(evaluate), Ok(true));
    let many = allowance.clone().apply(|| (0..100).all(|_| evaluate()));
    assert_eq!(many, Err(Exhausted));
    // Also if the function ignores the error of an evaluation.
    let ignoring = allowance.apply(|| (0..100).filter(|_| evaluate()).count());
    assert_eq!(ignoring, Err(Exhausted));
    assert!(evaluate(), "the allowance ends with the function");
}

#[test]
fn long_strings_that_are_only_counted_end_by_their_size() {
    let data = json!({"l": (0..1000).collect::<Vec<_>>(), "s": "a".repeat(1_000_000)});
    for expression in [
        "self.l.all(x, self.l.all(y, self.s.size() > 0))",
        "self.l.all(x, self.l.all(y, self.s.charAt(5) == 'a'))",
        "self.l.all(x, self.s.split('').size() > 0)",
    ] {
        let error = run(expression, &data).unwrap_err();
        assert!(error.is_cancellation(), "{expression}: {error}");
    }
    // The length of the other operand bounds the cost, so the long one is not counted.
    let error = run("self.l.all(x, self.l.all(y, self.s != 'b'))", &data).unwrap_err();
    assert_eq!(error, Error::CostLimitExceeded);
}
