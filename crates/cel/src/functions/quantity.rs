//! Resource quantities.

use std::cmp::Ordering;

use outrigger_apimachinery::quantity::Quantity;

use super::{Function, text};
use crate::error::Error;
use crate::meter::Meter;
use crate::types::Type;
use crate::value::{Opaque, Value};

type Result<T> = std::result::Result<T, Error>;

fn quantity() -> Type {
    Type::object("kubernetes.Quantity")
}

pub(super) fn functions() -> Vec<Function> {
    use Type::{Bool, Double, Int, String};
    let one = || [quantity()];
    let two = || [quantity(), quantity()];
    let with_int = || [quantity(), Int];
    vec![
        Function::new("quantity").global("string_to_quantity", [String], quantity(), parse),
        Function::new("isQuantity").global("is_quantity_string", [String], Bool, is_quantity),
        Function::new("sign").global("quantity_sign", one(), Int, sign),
        Function::new("isGreaterThan").member(
            "quantity_is_greater_than",
            two(),
            Bool,
            |_, args| Ok(Value::Bool(compare(args)?.is_gt())),
        ),
        Function::new("isLessThan").member("quantity_is_less_than", two(), Bool, |_, args| {
            Ok(Value::Bool(compare(args)?.is_lt()))
        }),
        Function::new("compareTo").member("quantity_compare_to", two(), Int, |_, args| {
            Ok(Value::Int(compare(args)? as i64))
        }),
        Function::new("asApproximateFloat").member("quantity_get_float", one(), Double, float),
        Function::new("asInteger").member("quantity_get_int", one(), Int, integer),
        Function::new("isInteger").member("quantity_is_integer", one(), Bool, is_integer),
        Function::new("add")
            .member("quantity_add", two(), quantity(), add)
            .member("quantity_add_int", with_int(), quantity(), add),
        Function::new("sub")
            .member("quantity_sub", two(), quantity(), subtract)
            .member("quantity_sub_int", with_int(), quantity(), subtract),
    ]
}

fn only(args: &[Value<'_>]) -> Result<Quantity> {
    match args {
        [Value::Opaque(Opaque::Quantity(quantity))] => Ok(*quantity),
        _ => Err(Error::NoSuchOverload),
    }
}

fn parse<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let text = text(args.first().ok_or(Error::NoSuchOverload)?)?;
    match Quantity::parse(text) {
        Ok(quantity) => Ok(Value::Opaque(Opaque::Quantity(quantity))),
        Err(error) => Err(Error::function(error.to_string())),
    }
}

fn is_quantity<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let text = text(args.first().ok_or(Error::NoSuchOverload)?)?;
    Ok(Value::Bool(Quantity::parse(text).is_ok()))
}

fn sign<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let quantity = only(args)?;
    let sign = match (quantity.is_zero(), quantity.is_negative()) {
        (true, _) => 0,
        (false, true) => -1,
        (false, false) => 1,
    };
    Ok(Value::Int(sign))
}

fn compare(args: &[Value<'_>]) -> Result<Ordering> {
    match args {
        [
            Value::Opaque(Opaque::Quantity(one)),
            Value::Opaque(Opaque::Quantity(other)),
        ] => one.partial_cmp(other).ok_or(Error::NoSuchOverload),
        _ => Err(Error::NoSuchOverload),
    }
}

fn float<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    Ok(Value::Double(only(args)?.to_f64()))
}

fn whole(quantity: Quantity) -> Option<i64> {
    let whole = quantity.is_whole().then(|| quantity.rounded_up());
    whole.and_then(|whole| i64::try_from(whole).ok())
}

fn integer<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let whole = whole(only(args)?);
    let whole = whole.ok_or_else(|| Error::function("cannot convert value to integer"))?;
    Ok(Value::Int(whole))
}

fn is_integer<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    Ok(Value::Bool(whole(only(args)?).is_some()))
}

fn two(args: &[Value<'_>]) -> Result<(Quantity, Quantity)> {
    match args {
        [
            Value::Opaque(Opaque::Quantity(one)),
            Value::Opaque(Opaque::Quantity(other)),
        ] => Ok((*one, *other)),
        [Value::Opaque(Opaque::Quantity(one)), Value::Int(other)] => {
            Ok((*one, Quantity::from(*other)))
        }
        _ => Err(Error::NoSuchOverload),
    }
}

fn add<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let (one, other) = two(args)?;
    Ok(Value::Opaque(Opaque::Quantity(one.plus(other))))
}

fn subtract<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let (one, other) = two(args)?;
    Ok(Value::Opaque(Opaque::Quantity(one.minus(other))))
}
