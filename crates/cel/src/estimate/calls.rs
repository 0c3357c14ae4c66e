//! The estimated cost of calls.

use super::{Argument, CallEstimate, CostEstimate, Coster, EntrySize, ONE, SizeEstimate};
use crate::ast::{Expr, Kind, Literal};
use crate::evaluate::LIST_COST;
use crate::evaluate::cost::AUTHORIZATION_COST;
use crate::types::Type;

/// The cost of reading a character.
const TRAVERSAL: f64 = 0.1;
/// The cost of a character of a regular expression.
const REGEX: f64 = 0.25;

/// The cost of a call without its arguments.
#[expect(
    clippy::unnecessary_wraps,
    reason = "calls without an estimate are none"
)]
fn cost(cost: CostEstimate) -> Option<CallEstimate> {
    Some(CallEstimate { cost, size: None })
}

/// The cost of a call, and the size of its result.
#[expect(
    clippy::unnecessary_wraps,
    reason = "calls without an estimate are none"
)]
fn sized(cost: CostEstimate, size: SizeEstimate) -> Option<CallEstimate> {
    let size = Some(size);
    Some(CallEstimate { cost, size })
}

impl Coster<'_> {
    /// The cost of a call of an overload, with its arguments.
    pub(super) fn overload(
        &mut self,
        expr: &Expr,
        function: &str,
        overload: &str,
        target: Option<&Argument<'_>>,
        args: &[Argument<'_>],
    ) -> CallEstimate {
        let args_cost = args
            .iter()
            .fold(CostEstimate::fixed(0), |sum, arg| sum.add(arg.cost));
        let estimate = self
            .list_extension(overload, target, args)
            .or_else(|| self.authorization(function, args))
            .or_else(|| self.kubernetes(function, overload, target, args));
        if let Some(estimate) = estimate {
            return CallEstimate {
                cost: estimate.cost.add(args_cost),
                size: estimate.size,
            };
        }
        match (overload, args) {
            ("logical_or" | "logical_and", [one, other]) => {
                let cost = CostEstimate {
                    min: one.cost.min,
                    max: one.cost.add(other.cost).max,
                };
                CallEstimate { cost, size: None }
            }
            ("conditional", [condition, truthy, falsy]) => {
                let size = known(truthy).union(known(falsy));
                let entries = [truthy, falsy].map(|branch| self.entry_size(branch.expr));
                if let Some(entry) = EntrySize::union(entries[0], entries[1]) {
                    self.entries.insert(expr.id, entry);
                }
                let cost = condition.cost.add(truthy.cost.union(falsy.cost));
                let size = Some(size);
                CallEstimate { cost, size }
            }
            _ => {
                let estimate = self.standard(expr, overload, target, args);
                CallEstimate {
                    cost: estimate.cost.add(args_cost),
                    size: estimate.size,
                }
            }
        }
    }

    /// The functions of the standard library.
    fn standard(
        &mut self,
        expr: &Expr,
        overload: &str,
        target: Option<&Argument<'_>>,
        args: &[Argument<'_>],
    ) -> CallEstimate {
        let estimate = match (overload, target, args) {
            ("string_format", Some(target), _) => cost(known(target).factor(TRAVERSAL)),
            ("string_to_bytes", _, [arg]) => {
                let size = known(arg);
                let result = SizeEstimate {
                    min: size.min,
                    max: size.max.wrapping_mul(4),
                };
                sized(size.factor(TRAVERSAL), result)
            }
            ("bytes_to_string", _, [arg]) => {
                let size = known(arg);
                let result = SizeEstimate {
                    min: size.min / 4,
                    max: size.max,
                };
                sized(size.factor(TRAVERSAL), result)
            }
            ("strings_quote", _, [arg]) => {
                let size = known(arg);
                let result = SizeEstimate {
                    min: size.min.wrapping_add(2),
                    max: size.max.wrapping_mul(2).wrapping_add(2),
                };
                sized(size.factor(TRAVERSAL), result)
            }
            ("starts_with_string" | "ends_with_string", _, [arg]) => {
                cost(known(arg).factor(TRAVERSAL))
            }
            ("in_list", _, [_, list]) => cost(known(list).as_cost()),
            ("matches_string", Some(target), [pattern]) => {
                cost(regex(known(target), known(pattern)))
            }
            ("contains_string", Some(target), [part]) => {
                let text = known(target).factor(TRAVERSAL);
                cost(text.multiply(known(part).factor(TRAVERSAL)))
            }
            ("add_string" | "add_bytes" | "add_list", _, [one, other]) => {
                let size = known(one).add(known(other));
                let entries = [one, other].map(|operand| self.entry_size(operand.expr));
                if let Some(entry) = EntrySize::union(entries[0], entries[1]) {
                    self.entries.insert(expr.id, entry);
                }
                if overload == "add_list" {
                    sized(ONE, size)
                } else {
                    sized(size.factor(TRAVERSAL), size)
                }
            }
            (overload, _, [one, other]) if compares_contents(overload) => {
                let max = known(one).max.min(known(other).max);
                let min = u64::from(max > 0);
                cost(CostEstimate { min, max }.factor(TRAVERSAL))
            }
            _ => None,
        };
        estimate.unwrap_or(CallEstimate {
            cost: ONE,
            size: None,
        })
    }

    /// The size that is known, declared, or unknown.
    fn size_of(&self, argument: &Argument<'_>) -> SizeEstimate {
        let size = argument.size.or_else(|| self.declared_size(&argument.path));
        size.unwrap_or(SizeEstimate::UNKNOWN)
    }

    /// The size of the elements of a list; `None` if the argument is no list.
    fn element_size(&self, list: &Argument<'_>) -> Option<(Type, SizeEstimate)> {
        let element = list.type_.parameters().first()?;
        let mut path = list.path.clone();
        let size = if path.is_empty() {
            None
        } else {
            path.push("@items".into());
            self.declared_size(&path)
        };
        Some((element.clone(), size.unwrap_or(SizeEstimate::UNKNOWN)))
    }

    /// The functions of the library for authorization checks.
    fn authorization(&self, function: &str, args: &[Argument<'_>]) -> Option<CallEstimate> {
        match function {
            "check" => cost(CostEstimate::fixed(AUTHORIZATION_COST)),
            "serviceAccount" | "path" | "group" | "resource" | "subresource" | "namespace"
            | "name" | "allowed" | "reason" | "error" | "errored" => cost(ONE),
            "fieldSelector" | "labelSelector" => {
                let length = self.size_of(args.first()?);
                let requirements = length.factor(0.5).factor(50.0);
                let parsed = length.factor(TRAVERSAL).add(requirements);
                cost(parsed.add(CostEstimate::fixed(LIST_COST)))
            }
            _ => None,
        }
    }

    /// The libraries of Kubernetes, and cel-go's `strings`.
    fn kubernetes(
        &self,
        function: &str,
        overload: &str,
        target: Option<&Argument<'_>>,
        args: &[Argument<'_>],
    ) -> Option<CallEstimate> {
        let first = args.first();
        match function {
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => {
                let target = target?;
                let size = self.size_of(target);
                let Some((type_, element)) = self.element_size(target) else {
                    return cost(size.factor(TRAVERSAL));
                };
                let is_text = matches!(type_, Type::String | Type::Bytes);
                let per_element = if is_text {
                    ONE.add(element.factor(TRAVERSAL))
                } else {
                    ONE
                };
                cost(size.times(per_element))
            }
            "url" | "jsonpatch.escapeKey" => {
                let size = self.size_of(first?);
                sized(size.factor(TRAVERSAL), size)
            }
            "lowerAscii" | "upperAscii" | "substring" | "trim" => {
                let size = self.size_of(target?);
                sized(size.factor(TRAVERSAL), size)
            }
            "replace" => self.replace(target?, args),
            "split" => self.split(target?, args),
            "join" => self.join(target?, args),
            "find" | "findAll" => {
                let size = self.size_of(target?);
                let result = SizeEstimate {
                    min: 0,
                    max: size.max,
                };
                sized(regex(size, self.size_of(first?)), result)
            }
            "ip" if overload == "cidr_ip" => cost(ONE),
            "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver"
            | "isSemver" => cost(self.size_of(first?).factor(TRAVERSAL)),
            "ip.isCanonical" => cost(self.size_of(first?).factor(2.0 * TRAVERSAL)),
            "containsIP" | "containsCIDR" => cost(self.network(function, overload, first?)),
            "validate" => {
                let text = self.size_of(first?).factor(TRAVERSAL);
                cost(text.factor(128.0 * REGEX))
            }
            "masked"
            | "prefixLength"
            | "family"
            | "isUnspecified"
            | "isLoopback"
            | "isLinkLocalMulticast"
            | "isLinkLocalUnicast"
            | "isGlobalUnicast"
            | "format.named"
            | "sign"
            | "asInteger"
            | "isInteger"
            | "asApproximateFloat"
            | "isGreaterThan"
            | "isLessThan"
            | "compareTo"
            | "add"
            | "sub"
            | "major"
            | "minor"
            | "patch"
            | "getScheme"
            | "getHostname"
            | "getHost"
            | "getPort"
            | "getEscapedPath"
            | "getQuery" => cost(ONE),
            "_==_" => equality(args),
            _ => None,
        }
    }

    fn network(&self, function: &str, overload: &str, argument: &Argument<'_>) -> CostEstimate {
        let address = SizeEstimate { min: 4, max: 16 };
        let mut cost = address.add(address).factor(TRAVERSAL);
        if function == "containsCIDR" {
            cost = cost.add(address.factor(TRAVERSAL)).add(ONE);
        }
        if overload.ends_with("_string") {
            cost = cost.add(self.size_of(argument).factor(TRAVERSAL));
        }
        cost
    }

    fn replace(&self, target: &Argument<'_>, args: &[Argument<'_>]) -> Option<CallEstimate> {
        let [old, new, ..] = args else { return None };
        let (size, old, new) = (self.size_of(target), self.size_of(old), self.size_of(new));
        let longest = if old.min == 0 {
            (size.max.saturating_add(1), size.max)
        } else if new.max <= old.min {
            (0, size.max)
        } else {
            (ceil_div(size.max, old.min), 0)
        };
        let shortest = if old.max == 0 {
            (size.min.saturating_add(1), size.min)
        } else if old.max <= new.min {
            (0, size.min)
        } else {
            (ceil_div(size.min, old.max), 0)
        };
        let count = SizeEstimate {
            min: shortest.0,
            max: longest.0,
        };
        let retained = SizeEstimate {
            min: shortest.1,
            max: longest.1,
        };
        let result = count.multiply(new).add(retained);
        sized(size.factor(2.0 * TRAVERSAL), result)
    }

    fn split(&self, target: &Argument<'_>, args: &[Argument<'_>]) -> Option<CallEstimate> {
        let size = self.size_of(target);
        let limit = args.get(1).and_then(|limit| match &limit.expr.kind {
            Kind::Literal(Literal::Int(limit)) => Some(limit.cast_unsigned()),
            _ => None,
        });
        let result = SizeEstimate {
            min: 0,
            max: limit.unwrap_or(size.max),
        };
        sized(size.factor(2.0 * TRAVERSAL), result)
    }

    fn join(&self, target: &Argument<'_>, args: &[Argument<'_>]) -> Option<CallEstimate> {
        let list = self.size_of(target);
        let mut size = match self.element_size(target) {
            Some((_, element)) => list.multiply(element),
            None => SizeEstimate::fixed(0),
        };
        if let Some(separator) = args.first() {
            let separators = SizeEstimate {
                min: list.min.saturating_sub(1),
                max: list.max.saturating_sub(1),
            };
            size = size.add(self.size_of(separator).multiply(separators));
        }
        sized(size.factor(TRAVERSAL), size)
    }

    /// The `lists` and `sets` extensions.
    fn list_extension(
        &self,
        overload: &str,
        target: Option<&Argument<'_>>,
        args: &[Argument<'_>],
    ) -> Option<CallEstimate> {
        let allocating = |factor: f64, size: SizeEstimate| {
            let cost = size.factor(factor).add(CostEstimate::fixed(11));
            sized(cost, size)
        };
        let compare_all = |list: &Argument<'_>, factor: f64| {
            let size = self.size_of(list);
            allocating(factor, size.multiply(size))
        };
        match (overload, target, args) {
            ("list_slice", Some(list), [start, end]) => {
                let size = self.size_of(list);
                let (start, end) = (literal_int(start, 0), literal_int(end, size.max));
                allocating(1.0, SizeEstimate::fixed(end.wrapping_sub(start)))
            }
            ("lists_range", None, [end]) => {
                allocating(1.0, SizeEstimate::fixed(literal_int(end, u64::MAX)))
            }
            ("list_reverse" | "list_flatten", Some(list), []) => {
                allocating(1.0, self.size_of(list))
            }
            ("list_flatten_int", Some(list), [depth]) => {
                #[expect(clippy::cast_precision_loss, reason = "as in cel-go")]
                let depth = literal_int(depth, u64::MAX) as f64;
                allocating(depth, self.size_of(list))
            }
            ("list_distinct", Some(list), []) => compare_all(list, 2.0),
            ("list_sets_contains_list" | "list_sets_intersects_list", _, [one, other]) => cost(
                self.size_of(one)
                    .multiply(self.size_of(other))
                    .as_cost()
                    .add(ONE),
            ),
            ("list_sets_equivalent_list", _, [one, other]) => {
                let pairs = self.size_of(one).multiply(self.size_of(other));
                cost(pairs.factor(2.0).add(ONE))
            }
            (overload, Some(list), []) if overload.ends_with("_sort") => {
                compare_all(list, sort_factor(overload))
            }
            (overload, Some(_), [keys]) if overload.ends_with("_sortByAssociatedKeys") => {
                compare_all(keys, sort_factor(overload))
            }
            _ => None,
        }
    }
}

fn known(argument: &Argument<'_>) -> SizeEstimate {
    argument.size.unwrap_or(SizeEstimate::UNKNOWN)
}

fn regex(text: SizeEstimate, pattern: SizeEstimate) -> CostEstimate {
    let text = text.add(SizeEstimate::fixed(1)).factor(TRAVERSAL);
    text.multiply(pattern.factor(REGEX))
}

fn compares_contents(overload: &str) -> bool {
    let is_relation = overload.starts_with("less_") || overload.starts_with("greater_");
    let is_text = overload.ends_with("_string") || overload.ends_with("_bytes");
    matches!(overload, "equals" | "not_equals") || (is_relation && is_text)
}

/// Equality of the types of Kubernetes' libraries.
fn equality(args: &[Argument<'_>]) -> Option<CallEstimate> {
    let [one, other] = args else { return None };
    if one.type_.runtime_name() != other.type_.runtime_name() {
        return None;
    }
    match one.type_.runtime_name() {
        "net.IP" | "net.CIDR" | "kubernetes.Quantity" | "kubernetes.Semver" => cost(ONE),
        "kubernetes.NamedFormat" => cost(CostEstimate { min: 1, max: 64 }.factor(TRAVERSAL)),
        "kubernetes.URL" => {
            let max = other.size.map_or(1, |size| size.max);
            cost(CostEstimate { min: 1, max }.factor(TRAVERSAL))
        }
        _ => None,
    }
}

fn sort_factor(overload: &str) -> f64 {
    let is_text = overload.starts_with("list_string_") || overload.starts_with("list_bytes_");
    if is_text { 2.0 + TRAVERSAL } else { 2.0 }
}

/// The value of a literal integer, or a default.
fn literal_int(argument: &Argument<'_>, default: u64) -> u64 {
    match &argument.expr.kind {
        Kind::Literal(Literal::Int(number)) => u64::try_from(*number).unwrap_or(0),
        _ => default,
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes are divided as floats in Kubernetes"
)]
fn ceil_div(size: u64, by: u64) -> u64 {
    (size as f64 / by as f64).ceil() as u64
}
