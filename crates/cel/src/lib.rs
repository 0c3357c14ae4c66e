//! CEL, the expression language of Kubernetes, as its API server 1.36 evaluates it.
//!
//! An expression is compiled once and evaluated many times. No expression and no data can make either of them panic,
//! overflow the stack, or take long: expressions have the limits of cel-go, and an evaluation stops when its cost exceeds
//! the limit.
//!
//! ```
//! use outrigger_cel::{Activation, Env, Limits, Type, Value};
//!
//! let env = Env::new().variable("self", Type::Dyn);
//! let compiled = env.compile("self.replicas <= self.maxReplicas")?;
//! let program = compiled.program()?;
//!
//! let object = serde_json::json!({"replicas": 3, "maxReplicas": 5});
//! let activation = Activation::new().variable("self", Value::from_json(&object));
//! let evaluation = program.evaluate(&activation, Limits::PER_CALL);
//! assert!(matches!(evaluation.result, Ok(Value::Bool(true))));
//! assert_eq!(evaluation.cost, 5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`Env`] declares variables. With a [`DeclType`] of a [`Schema`], expressions are checked against the schema, and
//!   [`Compiled::estimate_cost`] is what Kubernetes decides on whether to accept a definition.
//! - [`Value::from_json`] and [`Value::from_json_with_schema`] borrow the data; nothing is copied.
//! - `variables` of admission policies, which are evaluated when they are read, implement [`Lookup`].
//! - An [`Allowance`] bounds the cost of many evaluations together, and stops them.
//! - The variable `authorizer` of admission policies asks an [`Authorizer`].

#![deny(clippy::arithmetic_side_effects)]

mod allowance;
mod ast;
mod checker;
mod compiled;
mod decl;
mod env;
mod error;
mod estimate;
mod evaluate;
mod functions;
mod identifier;
mod lexer;
mod meter;
mod parser;
mod plan;
mod program;
pub mod schema;
mod source;
mod types;
mod value;

pub use allowance::{Allowance, Exhausted, RegexError, regex_program, spend};
pub use compiled::{Compiled, ProgramError};
pub use decl::DeclType;
pub use env::Env;
pub use error::Error;
pub use estimate::CostEstimate;
pub use identifier::is_identifier;
pub use program::{Activation, Evaluation, Limits, Program};
pub use schema::Schema;
pub use source::Issues;
pub use types::Type;
pub use value::{
    Authorization, Authorizer, AuthorizerValue, Check, Decision, List, Lookup, Map, Object, Opaque,
    ResourceCheck, ServiceAccount, Text, Value,
};
