//! Functions on the types of values.

use super::args::{any, text};
use super::{CallResult, fixed};
use crate::function::{Call, Function, Ty};
use crate::traversal::VisitBudget;
use crate::value::{List, Map, Value};

const ANY: Ty = Ty::Any;
const BOOL: Ty = Ty::Bool;
const STR: Ty = Ty::String;

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("typeOf", &[ANY], STR, |_, args| {
        Ok(Value::str(any(args, 0).type_name()))
    }),
    fixed("typeIs", &[STR, ANY], BOOL, |_, args| {
        Ok(Value::Bool(text(args, 0) == any(args, 1).type_name()))
    }),
    fixed("typeIsLike", &[STR, ANY], BOOL, type_is_like),
    fixed("kindOf", &[ANY], STR, |_, args| {
        Ok(Value::str(any(args, 0).kind().name()))
    }),
    fixed("kindIs", &[STR, ANY], BOOL, |_, args| {
        Ok(Value::Bool(text(args, 0) == any(args, 1).kind().name()))
    }),
    fixed("deepEqual", &[ANY, ANY], BOOL, |_, args| {
        Ok(Value::Bool(deep_equal(any(args, 0), any(args, 1))))
    }),
];

fn type_is_like(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let (expected, found) = (text(args, 0), any(args, 1).type_name());
    let is_like = found == expected || found.strip_prefix('*') == Some(&expected);
    Ok(Value::Bool(is_like))
}

/// `reflect.DeepEqual`: the same types with the same contents. An `int` never equals a `float64`.
pub fn deep_equal(a: &Value, b: &Value) -> bool {
    equal(a, b, 0, &mut VisitBudget::new())
}

fn equal(a: &Value, b: &Value, depth: usize, budget: &mut VisitBudget) -> bool {
    if !budget.visit(depth) {
        // Go considers cycles equal if no difference was found.
        return true;
    }
    match (a, b) {
        (Value::Nil, Value::Nil) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) | (Value::Int64(a), Value::Int64(b)) => a == b,
        (Value::Uint8(a), Value::Uint8(b)) => a == b,
        (Value::Uint64(a), Value::Uint64(b)) => a == b,
        #[expect(clippy::float_cmp, reason = "Go compares floats exactly")]
        (Value::Float(a), Value::Float(b)) => a == b,
        (Value::Str(a), Value::Str(b)) => a == b,
        (Value::List(a), Value::List(b)) => equal_lists(a, b, depth, budget),
        (Value::Map(a), Value::Map(b)) => equal_maps(a, b, depth, budget),
        (Value::Object(x), Value::Object(y)) => {
            std::rc::Rc::ptr_eq(x, y)
                || (x.type_name() == y.type_name()
                    && x.deep_equals(&**y)
                    && equal(&x.to_plain(), &y.to_plain(), depth + 1, budget))
        }
        _ => false,
    }
}

fn equal_lists(a: &List, b: &List, depth: usize, budget: &mut VisitBudget) -> bool {
    if a.element() != b.element() || a.is_nil() != b.is_nil() {
        return false;
    }
    a.ptr_eq(b)
        || (a.items().len() == b.items().len()
            && a.items()
                .iter()
                .zip(b.items())
                .all(|(a, b)| equal(a, b, depth + 1, budget)))
}

fn equal_maps(a: &Map, b: &Map, depth: usize, budget: &mut VisitBudget) -> bool {
    if a.ty() != b.ty() || a.is_nil() != b.is_nil() {
        return false;
    }
    if a.ptr_eq(b) {
        return true;
    }
    a.with_entries(|a| {
        b.with_entries(|b| {
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|((ka, va), (kb, vb))| ka == kb && equal(va, vb, depth + 1, budget))
        })
    })
}
